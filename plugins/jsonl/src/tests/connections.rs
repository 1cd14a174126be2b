//! Connections that break, hang or can't be accepted.

use std::time::Duration;

use rustix::net::sockopt::{set_socket_linger, socket_keepalive};

use super::*;
use crate::stream::Listener;

/// Sends some bytes, lets the source read them, and resets the connection.
fn send_and_reset(stage: &mut Harness, tcp: &str, bytes: &[u8]) -> Vec<Value> {
    let mut stream = TcpStream::connect(tcp).unwrap();
    stream.write_all(bytes).unwrap();
    let found = all(stage);
    set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    drop(stream);
    [found, all(stage)].concat()
}

#[test]
fn a_connection_that_is_reset_ends_alone() {
    let tcp = free_address();
    let config = json!({ "tcp": tcp, "listen": true, "keep_listening": true, "schema": "x.a/1" });
    let mut stage = source(config).unwrap();
    assert_eq!(send_and_reset(&mut stage, &tcp, b""), [json!(null); 0]);
    assert_eq!(
        send_and_reset(&mut stage, &tcp, b"1\n{\"a\": 1,"),
        [json!(1)]
    );
    // The rest of the line is not joined to what another program sends.
    let mut other = TcpStream::connect(&tcp).unwrap();
    other.write_all(b"\"b\": 2}\n3\n").unwrap();
    let found = all(&mut stage);
    let error = found[0]["error"].as_str().unwrap();
    assert!(error.contains(", connection 2, line 1: "), "{error}");
    assert_eq!(found[1..], [json!(3)]);
}

#[test]
fn the_reset_of_the_only_connection_is_a_failure() {
    let tcp = free_address();
    let config = json!({ "tcp": tcp, "listen": true, "schema": "x.a/1" });
    let mut stage = source(config).unwrap();
    // A connection that sends nothing does not count.
    assert_eq!(send_and_reset(&mut stage, &tcp, b""), [json!(null); 0]);
    let found = send_and_reset(&mut stage, &tcp, b"1\n23");
    assert_eq!(found[0], json!(1));
    let error = found[1]["error"].as_str().unwrap();
    assert!(
        error.starts_with(&format!("can't read the address {tcp}")),
        "{error}"
    );
    // What had come of its last line is no message.
    assert_eq!(found.len(), 2, "{found:?}");
    TcpStream::connect(&tcp).unwrap_err();
}

#[test]
fn a_connection_lives_as_long_as_its_other_machine() {
    let tcp = free_address();
    let mut listener =
        Listener::bind(&Address::Tcp(tcp.clone(), vec![tcp.parse().unwrap()])).unwrap();
    assert!(listener.accept().is_none());
    let _other = TcpStream::connect(&tcp).unwrap();
    let accepted = listener.accept().unwrap();
    assert!(socket_keepalive(&accepted).unwrap());
}

#[test]
fn the_error_of_a_second_listener_has_a_hint() {
    let tcp = free_address();
    let config = json!({ "tcp": tcp, "listen": true, "schema": "x.a/1" });
    let _first = source(config.clone()).unwrap();
    let text = refusal(source(config)).1;
    assert!(text.contains("can't listen at the address"), "{text}");
    assert!(
        text.contains("restart the run, or choose another"),
        "{text}"
    );
}
