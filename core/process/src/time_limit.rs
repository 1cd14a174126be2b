//! Work that may never end, such as a question to a program that stands still.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::patience::Patience;

/// Does something on a thread of its own, and waits for it, at most for this time ([`Patience`]). `None`: it has not ended, or has
/// panicked. If it never ends, it costs a thread until the end of the program. `name`: the thread's.
///
/// # Errors
/// When the system gives no thread.
pub fn within<T: Send + 'static>(
    limit: Duration,
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let (done, result) = channel();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || {
            // The other end may have stopped waiting.
            let _ = done.send(work());
        })?;
    let mut patience = Patience::new(limit);
    while let Some(waited) = patience.wait(|step| result.recv_timeout(step)) {
        match waited {
            Ok(done) => return Ok(Some(done)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_not_awaited() {
        let long = Duration::from_secs(60);
        assert_eq!(within(long, "ends", || 7).unwrap(), Some(7));
        let (_open, wait) = channel::<()>();
        let ended = within(Duration::from_millis(1), "waits", move || wait.recv());
        assert_eq!(ended.unwrap(), None);
        let panicked = within(long, "panics", || -> u8 { panic!("expected by the test") });
        assert_eq!(panicked.unwrap(), None);
    }
}
