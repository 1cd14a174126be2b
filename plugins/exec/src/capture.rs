//! A command as a source of frames.

use flowpipe_plugin::puzzle::message::FrameNote;
use flowpipe_plugin::{Cancel, Capture, Effect, FrameSink, Host, Next, Result};

use crate::config::Config;
use crate::effects::RUNS_ITS_COMMAND;
use crate::protocol::{CaptureReply, CaptureRequest};
use crate::session::Session;

/// The delay of the next request when there was no new frame, in nanoseconds: less than a display's frame.
const PAUSE_NS: i64 = 10_000_000;

/// The stage.
pub struct CaptureExec {
    session: Session,
    /// How many frames it has sent.
    sent: u64,
    /// Whether the command has said that it ends.
    ended: bool,
}

impl Capture for CaptureExec {
    const NAME: &'static str = "capture-exec";
    const DOC: &'static str = "A command in any language as a source of frames: it is asked for each with a line of JSON \
         on standard input, and answers with a line on standard output that names a file with the pixels. \
         See the chapter \"Stages in any language\" of the book.";
    const EFFECTS: Option<&'static [Effect]> = Some(RUNS_ITS_COMMAND);
    type Config = Config;

    fn new(config: Config, host: &Host) -> Result<Self> {
        Ok(Self {
            session: Session::start(config, "capture", *host)?,
            sent: 0,
            ended: false,
        })
    }

    fn capture(&mut self, sink: &mut FrameSink<'_, '_>, cancel: &Cancel<'_>) -> Result<Next> {
        if self.ended {
            // Its last frame failed after it had ended.
            return Ok(Next::End);
        }
        let request = CaptureRequest { tick: self.sent };
        let reply: CaptureReply = self.session.call(&request, &mut { *cancel })?;
        self.ended = reply.end;
        if let Some(picture) = reply.frame {
            let captured_ns = sink.host().now_ns();
            let frame = picture.load(sink.host())?;
            let source = || FrameNote::of(picture.file.display().to_string());
            let note = reply.note.unwrap_or_else(source);
            self.sent += 1;
            sink.emit(&frame, &note, captured_ns)?;
        } else if !reply.end {
            let now_ns = sink.host().now_ns();
            sink.wait_until(now_ns.saturating_add(PAUSE_NS))?;
        }
        Ok(if self.ended { Next::End } else { Next::More })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    #[test]
    fn without_a_new_frame_the_next_request_waits() {
        let script = "id=0; while read -r line; do echo \"{\\\"id\\\":$id}\"; id=$((id + 1)); done";
        let config = json!({ "command": ["sh", "-c", script] });
        let mut harness = flowpipe_plugin::harness!(CaptureExec, config).unwrap();
        let started = Instant::now();
        for _ in 0..100 {
            assert!(harness.tick().unwrap().is_empty());
        }
        assert!(started.elapsed() >= Duration::from_secs(1));
        harness.cancel_when(|| true);
        let cancelled = harness.tick().err().unwrap();
        assert_eq!(cancelled.status(), flowpipe_plugin::abi::CANCELLED);
    }
}
