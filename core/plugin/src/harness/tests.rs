mod outlive;

use serde_json::json;

use super::*;
use crate::{Cancel, Context, Input, Next, Port, Stage};

/// Does as it is told by its messages.
struct Obedient {
    seen: u32,
}

#[derive(Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Where to begin counting.
    first: u32,
}

impl Stage for Obedient {
    const NAME: &'static str = "obedient";
    type Config = Config;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", "*")]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", "*")]
    }

    fn new(config: Config, _: &Host) -> Result<Self> {
        if config.first == 99 {
            return Err(Error::bad_config("99 is too much"));
        }
        Ok(Self { seen: config.first })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::End);
        };
        self.seen += 1;
        match message.parse::<String>()?.as_str() {
            "panic" => panic!("as told"),
            "fail" => return Err(Error::new("as told")),
            "mark" => context.mark("here"),
            "log" => context.host().log(tracing::Level::INFO, "a line"),
            "frame" => {
                let mut frame = message
                    .frame()
                    .ok_or_else(|| Error::new("no frame came along"))?;
                let shared = frame.clone();
                frame.pixels_mut()?.fill(7);
                assert!(shared.pixels().iter().all(|&byte| byte == 1));
                context.emit_frame(0, &self.seen, &frame, 5)?;
            }
            _ => context.emit(0, &self.seen)?,
        }
        if context.cancel().is_cancelled() {
            Err(Error::cancelled())
        } else {
            Ok(Next::More)
        }
    }
}

fn obedient(config: Value) -> Result<Harness> {
    crate::harness!(Obedient, config)
}

#[test]
fn messages_in_and_out() {
    let mut harness = obedient(json!({ "first": 3 })).unwrap();
    let emitted = harness.send(0, "x/1", &"count").unwrap();
    assert_eq!((emitted[0].port, &emitted[0].body), (0, &json!(4)));
    harness.send(0, "x/1", &"mark").unwrap();
    harness.send(0, "x/1", &"log").unwrap();
    assert_eq!(harness.marks(), ["here"]);
    assert_eq!(harness.log(), ["a line"]);
    assert!(harness.finish().unwrap().is_empty());
}

#[test]
fn errors_keep_their_text() {
    assert_eq!(
        obedient(json!({ "first": 99 })).err().unwrap().to_string(),
        "99 is too much"
    );
    let unknown = obedient(json!({ "frist": 1 })).err().unwrap();
    assert!(
        unknown.to_string().contains("unknown field `frist`"),
        "{unknown}"
    );
    let mut harness = obedient(json!({})).unwrap();
    assert_eq!(
        harness.send(0, "x/1", &"fail").err().unwrap().to_string(),
        "as told"
    );
    let unread = harness.send(0, "x/1", &7).err().unwrap();
    assert_eq!(unread.status(), abi::BAD_MESSAGE);
}

#[test]
fn a_panic_is_an_error_and_the_stage_is_made_anew() {
    let mut harness = obedient(json!({ "first": 10 })).unwrap();
    harness.send(0, "x/1", &"count").unwrap();
    let panic = harness.send(0, "x/1", &"panic").err().unwrap();
    assert_eq!(panic.status(), abi::PANIC);
    assert!(panic.to_string().contains("tests.rs:"), "{panic}");
    assert!(panic.to_string().ends_with("as told"), "{panic}");
    assert_eq!(harness.send(0, "x/1", &"count").unwrap()[0].body, json!(11));
}

#[test]
fn a_shared_frame_is_copied_before_it_is_written() {
    let mut harness = obedient(json!({})).unwrap();
    let picture = (Format::Rgb8, 2, 1);
    let emitted = harness
        .send_picture("x/1", &"frame", picture, &[1; 6])
        .unwrap();
    assert_eq!(emitted[0].frame.as_ref().unwrap().pixels(), [7; 6]);
    assert_eq!(emitted[0].captured_ns, 5);
}

#[test]
fn cancellation_is_seen() {
    let mut harness = obedient(json!({})).unwrap();
    harness.cancel_when(|| true);
    assert_eq!(
        harness.send(0, "x/1", &"log").err().unwrap().status(),
        abi::CANCELLED
    );
    assert!(Cancel::by(&|| true).is_cancelled() && !Cancel::never().is_cancelled());
}

#[test]
fn messages_from_a_file() {
    let path = std::env::temp_dir().join(format!("flowpipe-{}.jsonl", std::process::id()));
    std::fs::write(
        &path,
        "{\"schema\":\"x/1\",\"body\":\"count\"}\n\n{\"schema\":1}\n",
    )
    .unwrap();
    let error = obedient(json!({}))
        .unwrap()
        .run_file(&path)
        .err()
        .unwrap()
        .to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(error.contains("jsonl:3: invalid type"), "{error}");
}

#[test]
fn a_shorter_table_of_frame_functions_is_not_used() {
    /// Its memory ends after these.
    #[repr(C, align(8))]
    struct Head {
        struct_size: u32,
        reserved: u32,
    }
    static HEAD: Head = Head {
        struct_size: size_of::<Head>() as u32,
        reserved: 0,
    };
    unsafe extern "C" fn shorter(
        _: *const abi::Host,
        _: *const std::ffi::c_char,
    ) -> *const std::ffi::c_void {
        (&raw const HEAD).cast()
    }

    let harness = obedient(json!({})).unwrap();
    // SAFETY: the harness lives to the end, and the table of the handle until it is revoked.
    unsafe {
        let mut table = (&raw const (*harness.shared.as_ptr()).table).read();
        table.get_extension = shorter;
        let host = Host::grant(&raw const table);
        assert!(host.frames().is_none());
        host.revoke();
    }
    assert_eq!(HEAD.reserved, 0);
}
