//! What a stage's process may ask at any time, from any of its threads: answered by a thread of its own, so that nobody
//! waits while the stage's own thread waits for a full queue.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::frame::Shape;
use crate::isolation::held::{Held, Lent};
use crate::isolation::process::Lifeline;
use crate::isolation::wire::Wire;
use crate::isolation::words::{Answer, Request};
use crate::plugin::host::{self, Host};
use crate::plugin::run_extension;

/// Answers until the process is gone.
pub(crate) fn serve(mut wire: Wire, held: &Held, host: &Arc<Host>, lifeline: &Lifeline) {
    if let Err(error) = answer_all(&mut wire, held, host) {
        match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::TimedOut => {
                lifeline.condemn(&error.to_string());
            }
            // It is gone.
            _ => {}
        }
    }
}

fn answer_all(wire: &mut Wire, held: &Held, host: &Arc<Host>) -> io::Result<()> {
    while let Some((request, mut body)) = wire.receive::<Request>()? {
        body.truncate(host::LONGEST_TEXT);
        let text = || String::from_utf8_lossy(&body);
        match request {
            Request::Log(level) => host::write_log(host.name(), level, &text()),
            Request::NewFrame(shape) => {
                let shape = Shape::new(&shape.into());
                answer(wire, held, shape.and_then(|shape| held.create(shape)))?;
            }
            Request::Release(handle) => held.take_back(handle),
            Request::End(how) => {
                run_extension::end_run(host, how, text().into_owned());
                wire.send(&(), b"", &[])?;
            }
        }
    }
    Ok(())
}

fn answer(wire: &mut Wire, held: &Held, lent: Option<Lent>) -> io::Result<()> {
    let (frame, block) = match lent {
        Some((frame, block)) => (Some(frame), block),
        None => (None, None),
    };
    let files: Vec<BorrowedFd<'_>> = block.iter().map(|block| block.file()).collect();
    let answer = Answer {
        frame,
        forget: held.forget(),
    };
    wire.send(&answer, b"", &files)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    use std::sync::OnceLock;

    use super::*;
    use crate::clock::Clock;
    use crate::isolation::{Program, process};
    use crate::plugin::host::Services;
    use crate::plugin::tape::Tape;
    use crate::pool::Pool;

    #[test]
    fn rubbish_ends_the_process() {
        let program = Program {
            path: "/bin/sh".into(),
            arguments: vec!["-c".into(), "exec sleep 60".into()],
        };
        let (lifeline, ends) = process::start(&program, "a-stage").unwrap();
        let services = Arc::new(Services {
            clock: Clock::start(),
            pool: Pool::shared(1),
            run: OnceLock::new(),
        });
        let host = Host::new("a-stage", 0, services, Tape::Off);
        let mut theirs = UnixStream::from(ends.their_side);
        theirs.write_all(&[255; 16]).unwrap();
        serve(ends.side, &Held::new(), &host, &lifeline);
        let death = lifeline.bury();
        assert!(
            death.text.contains("for what it said: no packet"),
            "{death:?}"
        );
    }
}
