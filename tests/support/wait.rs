//! Waits for what other programs do.

use std::time::{Duration, Instant};

/// Asks until there is an answer.
///
/// # Panics
/// When there is none for a minute.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
