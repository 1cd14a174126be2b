//! `flowpipe run --supervised`: reports to the service manager, systemd, when the run has started, that it goes on, and that
//! it ends.
//!
//! The interface is that of `sd_notify(3)`: messages to the socket that `NOTIFY_SOCKET` names.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};

use crate::exit::Failure;
use crate::signals;

/// The most notifications that wait. More say nothing new.
const MOST_WAITING: usize = 4;
/// How long the end of the run waits for the service manager to take what waits, and to take the last notification.
const LAST_TIMEOUT: Duration = Duration::from_millis(500);

/// What the service manager knows of the run.
pub struct Supervision {
    watchdog: Option<Watchdog>,
    /// It knows that the run is to end.
    is_stopping: bool,
    /// To the thread that notifies it: sending waits while the service manager does not read.
    notifications: Sender<Notification>,
    /// Disconnected when that thread has ended.
    ended: Receiver<()>,
}

/// It restarts a program that reports nothing for a time.
struct Watchdog {
    /// Half of that time.
    interval: Duration,
    /// When it was notified last.
    reported: Instant,
}

/// What is reported to it.
enum Notification {
    Started {
        pipeline: String,
    },
    Watchdog,
    Stopping,
    /// There is no more to report.
    End,
}

impl Supervision {
    /// That of the service manager that has started this program.
    ///
    /// # Errors
    /// When none has, or the system has no thread left.
    pub fn of_environment() -> Result<Self, Failure> {
        if std::env::var_os("NOTIFY_SOCKET").is_none_or(|it| it.is_empty()) {
            let why = "--supervised: NOTIFY_SOCKET is not set: it is for a service of systemd with Type=notify, such as \
                       flowpipe@NAME.service";
            return Err(Failure::Usage(why.to_owned()));
        }
        let (notifications, waiting) = crossbeam_channel::bounded(MOST_WAITING);
        let (at_end, ended) = crossbeam_channel::bounded(0);
        let thread = std::thread::Builder::new().name("supervision".to_owned());
        let started = thread.spawn(move || {
            // Dropped at the end of the thread.
            let _at_end: Sender<()> = at_end;
            let is_last = |it: &Notification| matches!(it, Notification::End);
            waiting
                .iter()
                .take_while(|it| !is_last(it))
                .for_each(notify);
        });
        if let Err(error) = started {
            let why = format!("--supervised: the system has no thread for it: {error}");
            return Err(Failure::Run(why));
        }
        Ok(Self {
            notifications,
            ended,
            is_stopping: false,
            watchdog: interval().map(|interval| Watchdog {
                interval,
                reported: Instant::now(),
            }),
        })
    }

    /// All stages have started.
    pub fn started(&self, pipeline: &str) {
        let pipeline = pipeline.to_owned();
        self.try_send(Notification::Started { pipeline });
    }

    /// Notifies the watchdog that the run is active, and the service manager that it was asked to end. Call it often: it
    /// notifies only as often as the watchdog requires.
    pub fn update(&mut self) {
        if !self.is_stopping && signals::was_asked() {
            self.is_stopping = self.try_send(Notification::Stopping);
        }
        let Some(watchdog) = &mut self.watchdog else {
            return;
        };
        if watchdog.reported.elapsed() >= watchdog.interval {
            watchdog.reported = Instant::now();
            self.try_send(Notification::Watchdog);
        }
    }

    /// The run ends: what is open is written and closed. Waits for a short time until the service manager knows.
    pub fn ends(&self) {
        let send = |it| self.notifications.send_timeout(it, LAST_TIMEOUT);
        let sent = match self.is_stopping {
            true => Ok(()),
            false => send(Notification::Stopping),
        };
        let is_taken = sent.and_then(|()| send(Notification::End)).is_ok()
            && self.ended.recv_timeout(LAST_TIMEOUT)
                == Err(crossbeam_channel::RecvTimeoutError::Disconnected);
        if !is_taken {
            tracing::warn!("the service manager does not read what it is sent of this run");
        }
    }

    /// What the service manager has no room for is dropped: `false`.
    fn try_send(&self, notification: Notification) -> bool {
        self.notifications.try_send(notification).is_ok()
    }
}

/// How often the watchdog is to be notified. `None`: there is none, or its time is zero, which is invalid.
#[cfg(unix)]
fn interval() -> Option<Duration> {
    /// Notifying it more often takes time, and no service has such a watchdog.
    const SHORTEST: Duration = Duration::from_millis(10);
    let limit = sd_notify::watchdog_enabled().filter(|limit| !limit.is_zero());
    limit.map(|limit| (limit / 2).max(SHORTEST))
}

#[cfg(unix)]
fn notify(state: Notification) {
    use sd_notify::NotifyState;
    let sent = match state {
        Notification::Started { pipeline } => {
            // A line feed would begin another message.
            let status = format!("runs {}", flowpipe_terminal::escape(&pipeline));
            send(&[NotifyState::Ready, NotifyState::Status(&status)])
        }
        Notification::Watchdog => send(&[NotifyState::Watchdog]),
        Notification::Stopping => send(&[NotifyState::Stopping]),
        Notification::End => Ok(()),
    };
    if let Err(error) = sent {
        tracing::warn!("the service manager can't be notified: {error}");
    }
}

/// Sends to an abstract socket of Linux, whose name starts with `@`, or else to a file's. The crate knows only files.
#[cfg(target_os = "linux")]
fn send(states: &[sd_notify::NotifyState<'_>]) -> std::io::Result<()> {
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    let socket = std::env::var_os("NOTIFY_SOCKET").unwrap_or_default();
    let Some(name) = socket.as_bytes().strip_prefix(b"@") else {
        return sd_notify::notify(states);
    };
    let address = SocketAddr::from_abstract_name(name)?;
    let text: String = states.iter().map(|state| format!("{state}\n")).collect();
    // A datagram is sent as a whole or not at all.
    UnixDatagram::unbound()?.send_to_addr(text.as_bytes(), &address)?;
    Ok(())
}

#[cfg(all(unix, not(target_os = "linux")))]
fn send(states: &[sd_notify::NotifyState<'_>]) -> std::io::Result<()> {
    sd_notify::notify(states)
}

#[cfg(not(unix))]
fn interval() -> Option<Duration> {
    None
}

#[cfg(not(unix))]
fn notify(state: Notification) {
    let (Notification::Started { pipeline: _ }
    | Notification::Watchdog
    | Notification::Stopping
    | Notification::End) = state;
}
