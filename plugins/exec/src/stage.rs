//! A command as a stage of no special role: any messages in, any out.

use std::ffi::CString;

use flowpipe_plugin::{Context, Effect, Error, Host, Input, Message, Next, Port, Result, Stage};

use crate::config::Config;
use crate::effects::RUNS_ITS_COMMAND;
use crate::pixels::Shared;
use crate::protocol::{Any, Envelope, Given};
use crate::session::{Asker, Session};

/// The stage.
pub struct Exec {
    session: Session,
    shared: Shared,
}

impl Stage for Exec {
    const NAME: &'static str = "exec";
    const DOC: &'static str = "A command in any language as a stage of no special role: it gets each message as a line \
         of JSON on standard input, and answers with a line on standard output that holds the messages to send on, or \
         none. A frame's pixels lie in a file. See docs/exec.md.";
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
            shared: Shared::default(),
        })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let given: Given = match input {
            Input::Message(message) => self.ask(&message, context)?,
            Input::Finish => self.session.ask(&Any::Finish(true), context)?,
            _ => return Err(Error::new("it has to be fed: `from` is missing")),
        };
        for sent in given.messages {
            let schema = CString::new(sent.schema)?;
            let picture = sent.frame.map(|picture| picture.load(context.host()));
            let frame = picture.transpose()?;
            let now = context.host().now_ns();
            let body = sent.body.get().as_bytes();
            context.emit_document(0, &schema, body, frame.as_ref(), now)?;
        }
        Ok(if given.end { Next::End } else { Next::More })
    }
}

impl Exec {
    fn ask(&mut self, message: &Message<'_>, context: &mut Context<'_>) -> Result<Given> {
        let frame = message.frame();
        let picture = frame.map(|frame| self.shared.show(&frame)).transpose()?;
        let envelope = Envelope {
            schema: message.schema(),
            body: serde_json::from_slice(message.json())?,
            frame: picture.as_ref(),
            sequence: message.sequence(),
            frame_sequence: message.frame_sequence(),
            captured_ns: message.captured_ns(),
        };
        self.session.ask(&Any::Message(envelope), context)
    }
}

impl Asker for Context<'_> {
    fn is_cancelled(&self) -> bool {
        self.cancel().is_cancelled()
    }

    fn mark(&mut self, name: &str) {
        Context::mark(self, name);
    }
}
