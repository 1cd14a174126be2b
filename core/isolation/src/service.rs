//! Requests that a stage's process sends at any time, from any of its threads. They have their own thread, because the
//! stage's thread may be blocked on a full queue.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

use flowpipe_host::table::run_extension;
use flowpipe_host::table::{self, Host};

use crate::frame_table::{FrameTable, SharedFrame};
use crate::log_limit::{LogLimit, LogLine};
use crate::process::ChildProcess;
use crate::protocol::{NewFrameReply, Request};
use crate::wire::Wire;

/// Handles requests until the process is gone.
pub(crate) fn serve(mut wire: Wire, frames: &FrameTable, host: &Arc<Host>, child: &ChildProcess) {
    if let Err(error) = answer_all(&mut wire, frames, host) {
        match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::TimedOut => {
                child.reject(&error.to_string());
            }
            // The process is gone.
            _ => {}
        }
    }
}

fn answer_all(wire: &mut Wire, frames: &FrameTable, host: &Arc<Host>) -> io::Result<()> {
    let mut limit = LogLimit::new(Instant::now());
    while let Some((request, mut body)) = wire.receive::<Request>()? {
        body.truncate(table::LONGEST_TEXT);
        let text = || String::from_utf8_lossy(&body);
        match request {
            Request::Log(level) => {
                let LogLine::Logged { dropped } = limit.line(Instant::now()) else {
                    continue;
                };
                if dropped > 0 {
                    let stage = host.name();
                    tracing::warn!(stage, "it logs too much: {dropped} lines were dropped");
                }
                table::write_log(host.name(), level, &text());
            }
            Request::NewFrame(layout) => answer(wire, frames, frames.create(layout))?,
            Request::Release(handle) => frames.release(handle),
            Request::End(how) => {
                run_extension::end_run(host, how, text().into_owned());
                wire.send(&(), b"", &[])?;
            }
        }
    }
    Ok(())
}

fn answer(wire: &mut Wire, frames: &FrameTable, shared: Option<SharedFrame>) -> io::Result<()> {
    let (frame, block) = match shared {
        Some((frame, block)) => (Some(frame), block),
        None => (None, None),
    };
    let files: Vec<BorrowedFd<'_>> = block.iter().map(|block| block.file()).collect();
    let answer = NewFrameReply {
        frame,
        forget: frames.take_freed(),
    };
    wire.send(&answer, b"", &files)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    use std::sync::OnceLock;

    use flowpipe_host::clock::Clock;
    use flowpipe_host::frame::pool::Pool;
    use flowpipe_host::stage_clock::StageClock;
    use flowpipe_host::table::Services;
    use serde_json::json;

    use super::*;
    use crate::{Program, process};

    /// How a process ends that sends these bytes.
    fn death(bytes: &[u8]) -> String {
        let program = Program {
            path: "/bin/sh".into(),
            arguments: vec!["-c".into(), "exec sleep 60".into()],
        };
        let (child, ends) = process::start(&program, "a-stage").unwrap();
        let services = Arc::new(Services {
            clock: Clock::start(),
            pool: Pool::shared(1),
            run: OnceLock::new(),
        });
        let host = Host::new("a-stage", 0, services, StageClock::Run);
        let mut theirs = UnixStream::from(ends.their_side);
        theirs.write_all(bytes).unwrap();
        serve(ends.side, &FrameTable::new(), &host, &child);
        child.reap().text
    }

    #[test]
    fn malformed_input_ends_the_process() {
        let death = death(&[255; 16]);
        assert!(
            death.contains("for an invalid packet: too long"),
            "{death:?}"
        );
    }

    /// The functions of the process check a layout before they send it.
    #[test]
    fn a_layout_that_is_none_ends_the_process() {
        let buffer = |media_type: &str, element: u32, shape: &[u64]| json!({ "buffer": { "media_type": media_type, "element": element, "shape": shape } });
        for layout in [
            buffer("audio/pcm", 99, &[1]),
            buffer("audio/pcm", 1, &[0]),
            buffer("audio/pcm", 1, &[1; 9]),
            buffer("audio/pcm", 8, &[u64::MAX, u64::MAX]),
            buffer("audio/pcm", 1, &[(1 << 30) + 1]),
            buffer("Audio", 1, &[1]),
            json!({ "picture": { "format": 0, "width": 8, "height": 8, "stride": 8 } }),
            json!({ "picture": { "format": 5, "width": 8, "height": 8, "stride": 7 } }),
        ] {
            let head = json!({ "NewFrame": layout }).to_string();
            let lengths = [head.len() as u32, 0].map(u32::to_le_bytes).concat();
            let death = death(&[&lengths[..], head.as_bytes()].concat());
            assert!(
                death.contains("for an invalid packet: the layout is none of"),
                "{head}: {death}"
            );
        }
    }
}
