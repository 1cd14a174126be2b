mod outlive;

use serde_json::json;

use super::*;
use crate::{Cancel, Context, Ending, Input, Next, Port, Stage};

/// Executes the commands in its messages.
struct Scripted {
    seen: u32,
}

#[derive(Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// The first count.
    first: u32,
}

impl Stage for Scripted {
    const NAME: &'static str = "scripted";
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
            "panic" => panic!("on command"),
            "fail" => return Err(Error::new("on command")),
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

fn scripted(config: Value) -> Result<Harness> {
    crate::harness!(Scripted, config)
}

#[test]
fn messages_in_and_out() {
    let mut harness = scripted(json!({ "first": 3 })).unwrap();
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
        scripted(json!({ "first": 99 })).err().unwrap().to_string(),
        "99 is too much"
    );
    let unknown = scripted(json!({ "frist": 1 })).err().unwrap();
    assert!(
        unknown.to_string().contains("unknown field `frist`"),
        "{unknown}"
    );
    let mut harness = scripted(json!({})).unwrap();
    assert_eq!(
        harness.send(0, "x/1", &"fail").err().unwrap().to_string(),
        "on command"
    );
    let unread = harness.send(0, "x/1", &7).err().unwrap();
    assert_eq!(unread.status(), abi::BAD_MESSAGE);
}

#[test]
fn a_panic_is_an_error_and_the_stage_is_recreated() {
    let mut harness = scripted(json!({ "first": 10 })).unwrap();
    harness.send(0, "x/1", &"count").unwrap();
    let panic = harness.send(0, "x/1", &"panic").err().unwrap();
    assert_eq!(panic.status(), abi::PANIC);
    assert!(panic.to_string().contains("tests.rs:"), "{panic}");
    assert!(panic.to_string().ends_with("on command"), "{panic}");
    assert_eq!(harness.send(0, "x/1", &"count").unwrap()[0].body, json!(11));
}

#[test]
fn a_shared_frame_is_copied_before_it_is_written() {
    let mut harness = scripted(json!({})).unwrap();
    let picture = (Format::Rgb8, 2, 1);
    let emitted = harness
        .send_picture("x/1", &"frame", picture, &[1; 6])
        .unwrap();
    assert_eq!(emitted[0].frame.as_ref().unwrap().pixels(), [7; 6]);
    assert_eq!(emitted[0].captured_ns, 5);
}

#[test]
fn cancellation_is_reported() {
    let mut harness = scripted(json!({})).unwrap();
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
    let error = scripted(json!({}))
        .unwrap()
        .run_file(&path)
        .err()
        .unwrap()
        .to_string();
    std::fs::remove_file(&path).unwrap();
    assert!(error.contains("jsonl:3: invalid type"), "{error}");
}

#[test]
fn a_shorter_table_of_an_extension_is_not_used() {
    /// Its memory ends after these fields.
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

    let harness = scripted(json!({})).unwrap();
    // SAFETY: the harness is valid to the end, and the table of the handle until it is revoked.
    unsafe {
        let mut table = (&raw const (*harness.shared.as_ptr()).table).read();
        table.get_extension = shorter;
        let host = Host::grant(&raw const table);
        assert!(host.handle().lasting().is_none());
        assert!(host.is_dry() && host.is_ending());
        host.end_run(Ending::Done, "ignored");
        host.revoke();
    }
    assert_eq!(HEAD.reserved, 0);
}
