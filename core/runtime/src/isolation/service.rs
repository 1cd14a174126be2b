//! What a stage's process may ask at any time, from any of its threads: answered by a thread of its own, so that nobody
//! waits while the stage's own thread waits for a full queue.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::frame::{Frame, Shape};
use crate::isolation::held::{Held, Lent};
use crate::isolation::wire::Wire;
use crate::isolation::words::{Answer, Request};
use crate::plugin::host::{self, Host};
use crate::plugin::run_extension;

/// Answers until the process is gone.
pub(crate) fn serve(mut wire: Wire, held: &Held, host: &Arc<Host>) {
    while let Ok(Some((request, body))) = wire.receive::<Request>() {
        let text = || String::from_utf8_lossy(&body);
        let sent = match request {
            Request::Log(level) => {
                host::write_log(host.name(), level, &text());
                Ok(())
            }
            Request::NewFrame(shape) => {
                let frame = Shape::new(&shape.into())
                    .and_then(|shape| Frame::new(host.pool(), shape, host.owner()));
                answer(&mut wire, frame.and_then(|frame| held.lend(frame)))
            }
            Request::Write { handle, copy } => answer(&mut wire, held.write(handle, copy)),
            Request::Release(handle) => {
                held.take_back(handle);
                Ok(())
            }
            Request::End(how) => {
                run_extension::end_run(host, how, text().into_owned());
                wire.send(&(), b"", &[])
            }
        };
        if sent.is_err() {
            return;
        }
    }
}

fn answer(wire: &mut Wire, lent: Option<Lent>) -> std::io::Result<()> {
    let (frame, block) = match lent {
        Some((frame, block)) => (Some(frame), block),
        None => (None, None),
    };
    let files: Vec<BorrowedFd<'_>> = block.iter().map(|block| block.file()).collect();
    wire.send::<Answer>(&frame, b"", &files)
}
