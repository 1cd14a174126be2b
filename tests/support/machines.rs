//! Pipelines on several machines, which are programs of this one.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

/// An address of this machine that nobody listens on.
///
/// # Panics
/// When the system gives none.
#[must_use]
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there are free ports");
    listener.local_addr().expect("it has an address")
}

/// A pipeline with one stage on the machine `rack`, and the others on `desk`. `transport`: `tcp` or `tls`.
///
/// # Panics
/// When the pipeline is no TOML.
#[must_use]
pub fn divided(pipeline: &str, on_rack: &str, transport: &str) -> String {
    let mut pipeline: toml::Table = pipeline.parse().expect("it is TOML");
    let stages = pipeline["stages"].as_table_mut();
    for (name, stage) in stages.expect("it has stages") {
        let machine = if name == on_rack { "rack" } else { "desk" };
        let stage = stage.as_table_mut().expect("a stage is a table");
        stage.insert("machine".to_owned(), machine.into());
    }
    let address = free_address();
    let machines =
        format!("[machines.desk]\nlisten = \"{transport}/{address}\"\n[machines.rack]\n");
    let machines: toml::Table = machines.parse().expect("it is TOML");
    pipeline.extend(machines);
    pipeline.to_string()
}
