//! A command as vision.

use flowpipe_plugin::puzzle::message::Reading;
use flowpipe_plugin::{Cancel, Captured, Effect, Host, Result, Vision};

use crate::config::Config;
use crate::effects::RUNS_ITS_COMMAND;
use crate::pixels::FrameFile;
use crate::protocol::{VisionReply, VisionRequest};
use crate::session::Session;

/// The stage.
pub struct VisionExec {
    session: Session,
    frames: FrameFile,
}

impl Vision for VisionExec {
    const NAME: &'static str = "vision-exec";
    const DOC: &'static str = "A command in any language as vision: it gets a line of JSON on standard input that names \
         a file with the frame's pixels, and answers with a line on standard output what it read. \
         See the chapter \"Stages in any language\" of the book.";
    const DETERMINISTIC: bool = false;
    const EFFECTS: Option<&'static [Effect]> = Some(RUNS_ITS_COMMAND);
    type Config = Config;

    fn new(config: Config, host: &Host) -> Result<Self> {
        Ok(Self {
            session: Session::start(config, "vision", *host)?,
            frames: FrameFile::default(),
        })
    }

    fn see(&mut self, captured: &Captured, cancel: &Cancel<'_>) -> Result<Reading> {
        let request = VisionRequest {
            frame: &self.frames.show(captured.frame())?,
            note: captured.note(),
        };
        let reply: VisionReply = self.session.call(&request, &mut { *cancel })?;
        Ok(reply.reading)
    }
}
