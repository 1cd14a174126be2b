//! Questions to display servers, which may not answer.

use std::sync::mpsc;
use std::time::Duration;

/// How long a display server may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Asks within a limit of time. A server that does not answer costs a thread until the end of the program.
pub fn within_time<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (to, from) = mpsc::channel();
    let asking = std::thread::Builder::new().spawn(move || {
        // The receiver may have stopped waiting.
        let _ = to.send(ask());
    });
    asking.map_err(|error| error.to_string())?;
    match from.recv_timeout(TIMEOUT) {
        Ok(answer) => answer,
        Err(_) => Err(format!("no answer within {} s", TIMEOUT.as_secs())),
    }
}
