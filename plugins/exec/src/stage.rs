//! A command as a stage of no special role: its config declares its ports.

use std::ffi::CString;

use flowpipe_plugin::{
    Context, Effect, Error, Frame, Host, Input, Message, Next, Port, Result, Stage,
};

use serde_json::value::RawValue;

use crate::buffer::BufferFile;
use crate::effects::RUNS_ITS_COMMAND;
use crate::pixels::{FrameFile, Picture};
use crate::ports::{DeclaredEffect, PortNames, StageConfig};
use crate::protocol::{IncomingMessage, OutgoingMessage, StageReply, StageRequest};
use crate::session::{Caller, Session};

/// The delay of the next request to a source that had no message, in nanoseconds: less than a display's frame.
const PAUSE_NS: i64 = 10_000_000;
/// The most bytes of all pictures and buffers of an answer: three of 8K with four bytes a pixel.
const MOST_PICTURE_BYTES: u64 = 512 << 20;
/// The most pictures and buffers of an answer: each may take a file descriptor of the program and of a stage in a process
/// of its own, and systems permit 1,024.
const MOST_FRAMES: usize = 256;
/// How many messages without a picture or buffer are prepared from one check for cancellation to the next.
const MESSAGES_IN_A_POLL: usize = 1_000;

/// The stage.
pub struct Exec {
    /// `None` in a dry run of a command that drives the mouse: nothing is started.
    session: Option<Session>,
    ports: PortNames,
    frames: FrameFile,
    /// How often a source was asked.
    ticks: u64,
    /// Whether the command has said that it ends.
    ended: bool,
}

/// A message that can be sent.
struct PreparedMessage {
    port: usize,
    schema: CString,
    frame: Option<Frame>,
    body: Box<RawValue>,
}

impl Stage for Exec {
    const NAME: &'static str = "exec";
    const DOC: &'static str = "A command in any language as a stage of no special role: it gets each message as a line \
         of JSON on standard input, and answers with a line on standard output that holds the messages to send on, or \
         none. The pixels of a frame, or the elements of a buffer, lie in a file. Its config declares its ports, its effects and whether it is \
         deterministic. \
         See the chapter \"Stages in any language\" of the book.";
    const EFFECTS: Option<&'static [Effect]> = Some(RUNS_ITS_COMMAND);
    const DECLARED_BY_CONFIG: bool = true;
    type Config = StageConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", "*")]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", "*")]
    }

    fn new(config: StageConfig, host: &Host) -> Result<Self> {
        let ports = PortNames::of(&config);
        let drives_mouse = config.effects.contains(&DeclaredEffect::DrivesMouse);
        let session = match drives_mouse && host.is_dry() {
            true => None,
            false => Some(Session::start(config.run, "stage", *host)?),
        };
        Ok(Self {
            session,
            ports,
            frames: FrameFile::default(),
            ticks: 0,
            ended: false,
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Some(session) = &mut self.session else {
            // A source would be asked for ever.
            return Ok(match input {
                Input::Message(_) => Next::More,
                _ => Next::End,
            });
        };
        if self.ended {
            // Its last answer failed after it had ended.
            return Ok(Next::End);
        }
        let is_tick = matches!(input, Input::Tick);
        let reply: StageReply = match input {
            Input::Message(message) => {
                let port = self.ports.inputs.get(message.port());
                let port = port.map_or("", String::as_str);
                send(session, &mut self.frames, port, &message, context)?
            }
            Input::Finish => session.call(&StageRequest::Finish(true), context)?,
            Input::Tick => {
                let reply = session.call(&StageRequest::Tick(self.ticks), context)?;
                self.ticks += 1;
                reply
            }
            _ => {
                return Err(Error::new(
                    "it is called for a reason that it does not know",
                ));
            }
        };
        self.ended = reply.end;
        let is_idle = reply.messages.is_empty() && !reply.end;
        let name = session.name().to_owned();
        check_sizes(&reply.messages).map_err(|text| Error::new(format!("{name}: {text}")))?;
        // What is wrong with one message sends none of the others. A check may still refuse some.
        let mut prepared = Vec::new();
        for (number, message) in reply.messages.into_iter().enumerate() {
            let carries = message.frame.is_some() || message.buffer.is_some();
            let polls = carries || number % MESSAGES_IN_A_POLL == 0;
            if polls && context.cancel().is_cancelled() {
                return Err(Error::cancelled());
            }
            prepared.push(self.prepare(message, &name, context)?);
        }
        for message in prepared {
            let now = context.host().now_ns();
            let PreparedMessage {
                port,
                schema,
                frame,
                body,
            } = message;
            context.emit_document(port, &schema, body.get().as_bytes(), frame.as_ref(), now)?;
        }
        if is_tick && is_idle {
            let now_ns = context.host().now_ns();
            context.wait_until(now_ns.saturating_add(PAUSE_NS))?;
        }
        Ok(if self.ended { Next::End } else { Next::More })
    }
}

impl Exec {
    fn prepare(
        &self,
        message: OutgoingMessage,
        command: &str,
        context: &Context<'_>,
    ) -> Result<PreparedMessage> {
        let port = self.ports.output(message.port.as_deref());
        let port = port.map_err(|error| Error::new(format!("{command}: {error}")))?;
        let declared = self.ports.outputs.get(port);
        let declared = declared.and_then(|(_, schema)| schema.clone());
        let Some(schema) = message.schema.or(declared) else {
            return Err(Error::new(
                "a message without \"schema\", which the config does not declare either",
            ));
        };
        let host = context.host();
        let frame = match (message.frame, message.buffer) {
            (Some(picture), None) => Some(picture.load(host)?),
            (None, Some(buffer)) => Some(buffer.load(host)?.as_frame().clone()),
            (None, None) => None,
            (Some(_), Some(_)) => {
                return Err(Error::new(format!(
                    "{command}: a message with \"frame\" and \"buffer\": it carries one of them at most"
                )));
            }
        };
        Ok(PreparedMessage {
            port,
            schema: CString::new(schema.as_str()).map_err(|_| {
                Error::new(format!(
                    "{command}: the \"schema\" {schema:?} of a message contains a NUL: give its schema id, such as \
                     \"mines.field/1\""
                ))
            })?,
            frame,
            body: message.body,
        })
    }
}

/// Checks that the pictures and buffers of an answer are few, and take little memory together: all of them are read before
/// the first is sent. A single one may be as large as a frame.
fn check_sizes(messages: &[OutgoingMessage]) -> Result<(), String> {
    let sizes = || {
        messages.iter().filter_map(|message| {
            let picture = message.frame.as_ref().map(Picture::frame_bytes);
            picture.or_else(|| message.buffer.as_ref().map(BufferFile::bytes))
        })
    };
    let count = sizes().count();
    if count > MOST_FRAMES {
        return Err(format!(
            "its answer has {count} pictures and buffers, and an answer may have {MOST_FRAMES}: send them with several \
             answers, or several buffers as one"
        ));
    }
    let bytes = sizes().fold(0_u64, u64::saturating_add);
    match bytes > MOST_PICTURE_BYTES && count > 1 {
        true => Err(format!(
            "the pictures and buffers of its answer have {bytes} bytes, and those of one answer may have {MOST_PICTURE_BYTES}: send \
             them with several answers"
        )),
        false => Ok(()),
    }
}

/// Sends a message to the command, and waits for its answer.
fn send(
    session: &mut Session,
    frames: &mut FrameFile,
    port: &str,
    message: &Message<'_>,
    context: &mut Context<'_>,
) -> Result<StageReply> {
    let (picture, buffer) = match (message.buffer(), message.frame()) {
        (Some(buffer), _) => (None, Some(BufferFile::of(&buffer, frames)?)),
        (None, Some(frame)) => (Some(frames.show(&frame)?), None),
        (None, None) => (None, None),
    };
    let incoming = IncomingMessage {
        port,
        schema: message.schema(),
        body: serde_json::from_slice(message.json())?,
        frame: picture.as_ref(),
        buffer: buffer.as_ref(),
        sequence: message.sequence(),
        frame_sequence: message.frame_sequence(),
        captured_ns: message.captured_ns(),
    };
    session.call(&StageRequest::Message(incoming), context)
}

impl Caller for Context<'_> {
    fn is_cancelled(&self) -> bool {
        self.cancel().is_cancelled()
    }

    fn mark(&mut self, name: &str) {
        Context::mark(self, name);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use flowpipe_plugin::harness::Harness;
    use serde_json::{Value, json};

    use super::*;
    use crate::protocol::MOST_MESSAGES;

    /// A command whose answer to a message is the body of that message, and which is a source of odd numbers.
    const ECHO: &str = "
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {'id': asked['id']}
    if 'message' in asked:
        answer |= asked['message']['body']
    if 'tick' in asked and asked['tick'] % 2:
        answer['messages'] = [{'body': asked['tick']}]
        answer['end'] = asked['tick'] == 3
    print(json.dumps(answer), flush=True)
";

    fn echo(more: &Value) -> Harness {
        let mut config = json!({ "command": ["python3", "-c", ECHO] });
        let more = more.as_object().cloned().unwrap_or_default();
        config.as_object_mut().unwrap().extend(more);
        flowpipe_plugin::harness!(Exec, config).unwrap()
    }

    fn error(harness: &mut Harness, body: &Value) -> String {
        harness.send(0, "x.a/1", body).err().unwrap().to_string()
    }

    #[test]
    fn messages_go_to_the_port_that_they_name() {
        let ports = json!({
            "inputs": { "in": { "schema": "x.a/1" } },
            "outputs": { "b": { "schema": "x.b/1" }, "a": { "schema": "x.a/1" } },
        });
        let mut harness = echo(&ports);
        let body = json!({ "messages": [{ "port": "b", "body": 1 }, { "port": "a", "body": 2 }] });
        let emitted = harness.send(0, "x.a/1", &body).unwrap();
        let emitted: Vec<_> = emitted
            .iter()
            .map(|it| (it.port, it.body.clone()))
            .collect();
        assert_eq!(emitted, [(1, json!(1)), (0, json!(2))]);
        // Of an answer that names an unknown port, nothing is sent.
        let body = json!({ "messages": [{ "port": "a", "body": 1 }, { "port": "c", "body": 2 }] });
        let text = error(&mut harness, &body);
        assert!(
            text.contains("it sent a message to the output \"c\", and has \"a\", \"b\""),
            "{text}"
        );
        let text = error(&mut harness, &json!({ "messages": [{ "body": 1 }] }));
        assert!(
            text.contains("without \"port\", and has the outputs"),
            "{text}"
        );
        let mut sink = echo(&json!({ "outputs": {} }));
        let text = error(&mut sink, &json!({ "messages": [{ "body": 1 }] }));
        assert!(text.contains("declares no outputs"), "{text}");
        assert!(sink.send(0, "x.a/1", &json!({})).unwrap().is_empty());
    }

    #[test]
    fn a_message_needs_a_schema_where_none_is_declared() {
        let mut open = echo(&json!({}));
        let text = error(&mut open, &json!({ "messages": [{ "body": 1 }] }));
        assert!(text.contains("without \"schema\""), "{text}");
        let body = json!({ "messages": [{ "port": "out", "schema": "x.a/1", "body": 1 }] });
        assert_eq!(open.send(0, "x.a/1", &body).unwrap().len(), 1);
        // Nothing of an answer is sent if something of it is wrong.
        let first = body["messages"][0].clone();
        let no_picture = json!({ "schema": "x.a/1", "body": 1, "frame": { "file": "/no/such/file", "format": "grey8", "width": 1, "height": 1 } });
        for wrong in [json!({ "body": 1 }), no_picture] {
            error(&mut open, &json!({ "messages": [first, wrong] }));
            assert!(open.send(0, "x.a/1", &json!({})).unwrap().is_empty());
        }
    }

    #[test]
    fn an_answer_has_a_bounded_number_of_messages() {
        let mut sink = echo(&json!({}));
        let message = json!({ "schema": "x.a/1", "body": 1 });
        let many = vec![message.clone(); MOST_MESSAGES + 1];
        let text = error(&mut sink, &json!({ "messages": many }));
        assert!(text.contains("more than 100000 messages"), "{text}");
        // The command continues.
        let one = sink.send(0, "x.a/1", &json!({ "messages": [message] }));
        assert_eq!(one.unwrap().len(), 1);
    }

    #[test]
    fn the_pictures_of_an_answer_have_a_bounded_size() {
        let mut stage = echo(&json!({}));
        // Nothing of it is on the disk.
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(64 << 20).unwrap();
        let large = json!({ "schema": "x.a/1", "body": 1, "frame":
            { "file": file.path(), "format": "grey8", "width": 8192, "height": 8192 } });
        let text = error(&mut stage, &json!({ "messages": vec![large.clone(); 9] }));
        assert!(
            text.contains("the pictures and buffers of its answer have 603979776 bytes, and those of one answer may have 536870912"),
            "{text}"
        );
        let two = json!({ "messages": vec![large; 2] });
        assert_eq!(stage.send(0, "x.a/1", &two).unwrap().len(), 2);
    }

    #[test]
    fn an_answer_has_a_bounded_number_of_pictures_and_buffers() {
        let mut stage = echo(&json!({}));
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [1_u8]).unwrap();
        let message = json!({ "schema": "x.a/1", "body": 1, "buffer":
            { "file": file.path(), "media_type": "a/b", "element": "u8", "shape": [1] } });
        for count in [MOST_FRAMES + 1, MOST_MESSAGES] {
            let many = vec![message.clone(); count];
            let text = error(&mut stage, &json!({ "messages": many }));
            let expected =
                format!("its answer has {count} pictures and buffers, and an answer may have 256");
            assert!(text.contains(&expected), "{text}");
        }
        // The command continues.
        let most = json!({ "messages": vec![message; MOST_FRAMES] });
        assert_eq!(stage.send(0, "x.a/1", &most).unwrap().len(), MOST_FRAMES);
    }

    #[test]
    fn buffers_cross_by_files() {
        let mut stage = echo(&json!({}));
        let host = stage.host();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [1_u8, 0, 2, 0, 3, 0]).unwrap();
        let answer = |buffer: Value| json!({ "messages": [{ "schema": "x.a/1", "body": 1, "buffer": buffer }] });
        let buffer = |element: &str, shape: &[u64]| json!({ "file": file.path(), "media_type": "audio/pcm", "element": element, "shape": shape });
        let sent = stage
            .send(0, "x.a/1", &answer(buffer("u16", &[3, 1])))
            .unwrap();
        let arrived = sent[0].buffer().unwrap();
        assert_eq!(
            (arrived.media_type(), arrived.shape()),
            ("audio/pcm", &[3, 1][..])
        );
        assert_eq!(arrived.as_slice::<u16>().unwrap(), [1, 2, 3]);
        for (wrong, why) in [
            (buffer("u16", &[4]), "it needs 8 bytes, the file has 6"),
            (buffer("u16", &[u64::MAX, 2]), "no layout of a buffer"),
            (buffer("u16", &[0]), "is 0"),
            (buffer("u16", &[1; 9]), "9 dimensions"),
            (buffer("word", &[3]), "the element types are u8"),
        ] {
            let text = error(&mut stage, &answer(wrong));
            assert!(text.contains(why), "{text}");
        }
        let mut both = answer(buffer("u8", &[1]));
        both["messages"][0]["frame"] =
            json!({ "file": file.path(), "format": "grey8", "width": 1, "height": 1 });
        assert!(error(&mut stage, &both).contains("one of them at most"));
        // The other direction: what the command gets is its answer.
        let mut shown = echo_messages();
        let mut buffer = host
            .new_buffer("text/plain", flowpipe_plugin::Element::U8, &[5])
            .unwrap();
        buffer.bytes_mut().unwrap().copy_from_slice(b"hello");
        let got = shown.send_buffer(0, "x.a/1", &json!({}), &buffer).unwrap();
        let body = &got[0].body;
        assert_eq!(body["buffer"]["media_type"], "text/plain");
        assert_eq!(
            (&body["buffer"]["element"], &body["buffer"]["shape"]),
            (&json!("u8"), &json!([5]))
        );
        assert_eq!(body["read"], "hello");
        assert!(body.get("frame").is_none());
    }

    /// A command that answers with what it got, and what its buffer's file has.
    fn echo_messages() -> Harness {
        let command = "
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    answer = {'id': asked['id']}
    if 'message' in asked:
        body = asked['message']
        with open(body['buffer']['file'], 'rb') as file:
            body['read'] = file.read(body['buffer']['shape'][0]).decode()
        answer['messages'] = [{'schema': 'x.a/1', 'body': body}]
    print(json.dumps(answer), flush=True)
";
        let config = json!({ "command": ["python3", "-c", command] });
        flowpipe_plugin::harness!(Exec, config).unwrap()
    }

    #[test]
    fn what_can_not_be_sent_is_named() {
        let mut stage = echo(&json!({}));
        let text = error(
            &mut stage,
            &json!({ "messages": [{ "schema": "x\0y/1", "body": 1 }] }),
        );
        assert!(
            text.starts_with("`python3")
                && text.contains("the \"schema\" \"x\\0y/1\" of a message contains a NUL"),
            "{text}"
        );
        let frame = json!({ "file": "/dev/null", "format": "grey8", "width": 0, "height": 1 });
        let text = error(
            &mut stage,
            &json!({ "messages": [{ "schema": "x.a/1", "body": 1, "frame": frame }] }),
        );
        assert!(text.contains("0 x 1 pixels"), "{text}");
    }

    #[test]
    fn a_source_is_asked_until_it_ends() {
        let ports = json!({ "inputs": {}, "outputs": { "out": { "schema": "x.a/1" } } });
        let mut harness = echo(&ports);
        let started = Instant::now();
        let mut bodies = Vec::new();
        for _ in 0..4 {
            let emitted = harness.tick().unwrap();
            bodies.extend(emitted.into_iter().map(|it| it.body));
        }
        assert_eq!(bodies, [json!(1), json!(3)]);
        // Two of the answers had no message.
        assert!(started.elapsed() >= Duration::from_millis(20));
    }

    #[test]
    fn a_source_whose_last_answer_is_wrong_ends_all_the_same() {
        let ports = json!({ "inputs": {}, "outputs": { "out": { "schema": "*" } } });
        let mut harness = echo(&ports);
        // Its messages have no schema. The one of number 3 is the last, and it would send one of number 5 if it was asked.
        let failed = (0..6).map(|_| harness.tick().is_err());
        let failed: Vec<_> = failed.collect();
        assert_eq!(failed, [false, true, false, true, false, false]);
    }
}
