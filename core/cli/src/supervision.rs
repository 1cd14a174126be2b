//! `flowpipe run --supervised`: reports to the service manager, systemd, when the run has started, that it goes on, and that
//! it ends.
//!
//! The interface is that of `sd_notify(3)`: messages to the socket that `NOTIFY_SOCKET` names.

use std::time::{Duration, Instant};

use crate::exit::Failure;

/// What the service manager knows of the run.
pub struct Supervision {
    watchdog: Option<Watchdog>,
}

/// It restarts a program that reports nothing for a time.
struct Watchdog {
    /// Half of that time.
    interval: Duration,
    /// When it was reported last that the run goes on.
    reported: Instant,
}

/// What is reported to it.
enum Notification<'a> {
    Started { pipeline: &'a str },
    GoesOn,
    Ends,
}

impl Supervision {
    /// That of the service manager that has started this program.
    ///
    /// # Errors
    /// When none has.
    pub fn of_environment() -> Result<Self, Failure> {
        if std::env::var_os("NOTIFY_SOCKET").is_none_or(|it| it.is_empty()) {
            let why = "--supervised: NOTIFY_SOCKET is not set: it is for a service of systemd with Type=notify, such as \
                       flowpipe@NAME.service";
            return Err(Failure::Usage(why.to_owned()));
        }
        Ok(Self {
            watchdog: interval().map(|interval| Watchdog {
                interval,
                reported: Instant::now(),
            }),
        })
    }

    /// All stages have started.
    pub fn started(&self, pipeline: &str) {
        notify(Notification::Started { pipeline });
    }

    /// The run goes on. Call it often: it reports this as often as it is asked for.
    pub fn goes_on(&mut self) {
        let Some(watchdog) = &mut self.watchdog else {
            return;
        };
        if watchdog.reported.elapsed() >= watchdog.interval {
            watchdog.reported = Instant::now();
            notify(Notification::GoesOn);
        }
    }

    /// The run ends: what is open is written and closed.
    pub fn ends(&self) {
        notify(Notification::Ends);
    }
}

/// How often the service manager is to hear of the run. `None`: it does not ask.
#[cfg(unix)]
fn interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|limit| limit / 2)
}

#[cfg(unix)]
fn notify(state: Notification<'_>) {
    use sd_notify::NotifyState;
    let sent = match state {
        Notification::Started { pipeline } => {
            // A line feed would begin another message.
            let status = format!("runs {}", flowpipe_terminal::escape(pipeline));
            sd_notify::notify(&[NotifyState::Ready, NotifyState::Status(&status)])
        }
        Notification::GoesOn => sd_notify::notify(&[NotifyState::Watchdog]),
        Notification::Ends => sd_notify::notify(&[NotifyState::Stopping]),
    };
    if let Err(error) = sent {
        tracing::warn!("the service manager does not hear of this run: {error}");
    }
}

#[cfg(not(unix))]
fn interval() -> Option<Duration> {
    None
}

#[cfg(not(unix))]
fn notify(state: Notification<'_>) {
    let (Notification::Started { pipeline: _ } | Notification::GoesOn | Notification::Ends) = state;
}
