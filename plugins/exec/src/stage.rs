//! A command as a stage of no special role: any messages in, any out.

use std::ffi::CString;

use flowpipe_plugin::{Context, Effect, Error, Host, Input, Message, Next, Port, Result, Stage};

use crate::config::Config;
use crate::effects::RUNS_ITS_COMMAND;
use crate::pixels::FrameFile;
use crate::protocol::{IncomingMessage, StageReply, StageRequest};
use crate::session::{Caller, Session};

/// The stage.
pub struct Exec {
    session: Session,
    frames: FrameFile,
}

impl Stage for Exec {
    const NAME: &'static str = "exec";
    const DOC: &'static str = "A command in any language as a stage of no special role: it gets each message as a line \
         of JSON on standard input, and answers with a line on standard output that holds the messages to send on, or \
         none. A frame's pixels lie in a file. \
         See the chapter \"Stages in any language\" of the book.";
    const EFFECTS: Option<&'static [Effect]> = Some(RUNS_ITS_COMMAND);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", "*")]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", "*")]
    }

    fn new(config: Config, host: &Host) -> Result<Self> {
        Ok(Self {
            session: Session::start(config, "stage", *host)?,
            frames: FrameFile::default(),
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let reply: StageReply = match input {
            Input::Message(message) => self.send(&message, context)?,
            Input::Finish => self.session.call(&StageRequest::Finish(true), context)?,
            _ => return Err(Error::new("it has to be fed: `from` is missing")),
        };
        for message in reply.messages {
            let schema = CString::new(message.schema)?;
            let picture = message.frame.map(|picture| picture.load(context.host()));
            let frame = picture.transpose()?;
            let now = context.host().now_ns();
            let body = message.body.get().as_bytes();
            context.emit_document(0, &schema, body, frame.as_ref(), now)?;
        }
        Ok(if reply.end { Next::End } else { Next::More })
    }
}

impl Exec {
    fn send(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<StageReply> {
        let frame = message.frame();
        let picture = frame.map(|frame| self.frames.show(&frame)).transpose()?;
        let incoming = IncomingMessage {
            schema: message.schema(),
            body: serde_json::from_slice(message.json())?,
            frame: picture.as_ref(),
            sequence: message.sequence(),
            frame_sequence: message.frame_sequence(),
            captured_ns: message.captured_ns(),
        };
        self.session.call(&StageRequest::Message(incoming), context)
    }
}

impl Caller for Context<'_> {
    fn is_cancelled(&self) -> bool {
        self.cancel().is_cancelled()
    }

    fn mark(&mut self, name: &str) {
        Context::mark(self, name);
    }
}
