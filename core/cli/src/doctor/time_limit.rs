//! Questions to display servers, which may not answer.

use std::time::Duration;

use flowpipe_process::time_limit::within;

/// How long a display server may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Asks within a limit of time.
pub fn within_time<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    within(TIMEOUT, "doctor-asks", ask)
        .map_err(|error| error.to_string())?
        .unwrap_or_else(|| Err(format!("no answer within {} s", TIMEOUT.as_secs())))
}
