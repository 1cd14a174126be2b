//! Requests that a stage's process sends at any time, from any of its threads. They have their own thread, because the
//! stage's thread may be blocked on a full queue.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

use flowpipe_host::frame::Shape;
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
            Request::NewFrame(shape) => {
                let shape = Shape::new(&shape.into());
                answer(wire, frames, shape.and_then(|shape| frames.create(shape)))?;
            }
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

    use super::*;
    use crate::{Program, process};

    #[test]
    fn malformed_input_ends_the_process() {
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
        theirs.write_all(&[255; 16]).unwrap();
        serve(ends.side, &FrameTable::new(), &host, &child);
        let death = child.reap();
        assert!(
            death.text.contains("for an invalid packet: too long"),
            "{death:?}"
        );
    }
}
