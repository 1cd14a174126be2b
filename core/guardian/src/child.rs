//! The guardian's process: it waits for the end of the player, which is the process that presses, and releases.
//!
//! Nothing here may allocate, lock or panic: another thread may have been in the middle of that at the fork.

use std::fs::File;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::detach::{self, InheritedState};
use crate::priority;
use crate::record::Record;
use crate::release::Release;
use crate::robust_futex::HolderState;

/// The inherited values that it uses.
pub(crate) struct Inherited<'a, R> {
    /// Ends when the process that presses has closed the other end.
    pub lifeline: BorrowedFd<'a>,
    /// The process that presses.
    pub player: Option<OwnedFd>,
    /// The player's status from the kernel.
    pub status: Option<File>,
    /// The status of the program that started the player, if the player is the process of a stage: it waits for the
    /// program in the middle of a stroke.
    pub host_status: Option<File>,
    pub record: &'a Record,
    pub release: &'a R,
    pub inherited_state: &'a InheritedState,
}

/// The numbers of its files. They replace standard input, output and error, so that it keeps no pipe and no terminal
/// open.
const LIFELINE: i32 = 0;
const CONNECTION: i32 = 1;
const PLAYER: i32 = 2;
const STATUS: i32 = 3;
const HOST_STATUS: i32 = 4;
const SHARED: i32 = 5;
const CLEAN_UP: i32 = 6;

/// How often it checks whether the player is stopped or dumps its core, and what the display server sends.
const POLL_INTERVAL: Timespec = milliseconds(20);
const AT_ONCE: Timespec = milliseconds(0);

/// Between two releases while the player dies: one of its threads may be in the middle of sending a press, and finishes that
/// first.
const RELEASE_INTERVAL: Timespec = milliseconds(5);

/// The delays of repeated releases: requests of the dead process that the display server has not read yet may be
/// executed after the first release. The server notices the end of a connection before it waits for more.
const RELEASE_AGAIN: [Timespec; 3] = [milliseconds(5), milliseconds(20), milliseconds(60)];

/// How long the answer to a message that cleans up may take.
const ANSWER_LIMIT: Timespec = milliseconds(2000);

const fn milliseconds(count: i64) -> Timespec {
    Timespec {
        tv_sec: count / 1000,
        tv_nsec: count % 1000 * 1_000_000,
    }
}

/// Guards until the player is gone. Returns the exit code.
pub(crate) fn run<R: Release>(inherited: &Inherited<'_, R>) -> i32 {
    match guard(inherited) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

fn guard<R: Release>(inherited: &Inherited<'_, R>) -> Result<(), Errno> {
    let files = [
        (LIFELINE, Some(inherited.lifeline.as_raw_fd())),
        (CONNECTION, Some(inherited.release.connection().as_raw_fd())),
        (PLAYER, inherited.player.as_ref().map(|it| it.as_raw_fd())),
        (STATUS, inherited.status.as_ref().map(|it| it.as_raw_fd())),
        (
            HOST_STATUS,
            inherited.host_status.as_ref().map(|it| it.as_raw_fd()),
        ),
        (SHARED, inherited.release.shared().map(|it| it.as_raw_fd())),
        (
            CLEAN_UP,
            inherited.release.clean_up().map(|it| it.socket.as_raw_fd()),
        ),
    ];
    detach::detach(files, inherited.inherited_state)?;
    let guard = Guard {
        record: inherited.record,
        release: inherited.release,
        // SAFETY: `detach` has put them there, and nothing closes them.
        lifeline: unsafe { BorrowedFd::borrow_raw(LIFELINE) },
        // SAFETY: as above.
        connection: unsafe { BorrowedFd::borrow_raw(CONNECTION) },
        shared: inherited.release.shared().map(|_| {
            // SAFETY: as above.
            unsafe { BorrowedFd::borrow_raw(SHARED) }
        }),
        player: inherited.player.as_ref().map(|_| {
            // SAFETY: as above.
            unsafe { BorrowedFd::borrow_raw(PLAYER) }
        }),
        status: inherited.status.as_ref().map(|_| {
            // SAFETY: as above.
            unsafe { BorrowedFd::borrow_raw(STATUS) }
        }),
        host_status: inherited.host_status.as_ref().map(|_| {
            // SAFETY: as above.
            unsafe { BorrowedFd::borrow_raw(HOST_STATUS) }
        }),
    };
    guard.release.check(guard.connection)?;
    priority::raise();
    guard.record.set_ready();
    while guard.poll_player()? {}
    let released = guard.release_for_the_last_time();
    guard.clean_up();
    released
}

struct Guard<'a, R> {
    record: &'a Record,
    release: &'a R,
    lifeline: BorrowedFd<'a>,
    connection: BorrowedFd<'a>,
    shared: Option<BorrowedFd<'a>>,
    player: Option<BorrowedFd<'a>>,
    status: Option<BorrowedFd<'a>>,
    host_status: Option<BorrowedFd<'a>>,
}

impl<R: Release> Guard<'_, R> {
    /// Waits for one interval; returns whether the player is alive. Releases for a stopped player, which can't release
    /// itself.
    fn poll_player(&self) -> Result<bool, Errno> {
        // The futex reports its death first.
        let wait = match self.record.player().wait(&POLL_INTERVAL) {
            HolderState::Dead => return Ok(false),
            HolderState::Alive => &AT_ONCE,
            // It unlocks the futex before it ends by itself. On a kernel without robust futexes nobody holds it.
            HolderState::Absent => &POLL_INTERVAL,
        };
        if self.player_is_gone(wait)? {
            return Ok(false);
        }
        self.release.drain(self.connection)?;
        if !self.record.pressed().is_empty() && self.is_stopped() {
            self.try_to_release_all(false)?;
        }
        Ok(true)
    }

    /// Waits until nothing is left of the process that presses, but no longer than this.
    fn player_is_gone(&self, limit: &Timespec) -> Result<bool, Errno> {
        let player = self.player.unwrap_or(self.lifeline);
        let awaited = match self.player {
            Some(_) => PollFlags::IN,
            None => PollFlags::empty(),
        };
        let mut files = [
            PollFd::from_borrowed_fd(self.lifeline, PollFlags::empty()),
            PollFd::from_borrowed_fd(player, awaited),
        ];
        match poll(&mut files, Some(limit)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
        Ok(files.iter().any(|file| !file.revents().is_empty()))
    }

    /// Releases what is pressed, until nothing is left of the player.
    fn release_for_the_last_time(&self) -> Result<(), Errno> {
        self.release_all(false)?;
        while !self.player_is_gone(&RELEASE_INTERVAL)? {
            self.release_all(false)?;
        }
        for wait in RELEASE_AGAIN {
            self.release_all(false)?;
            if self.record.pressed().is_empty() {
                return Ok(());
            }
            // There are no files to wait for, only the time.
            let _ = poll(&mut [], Some(&wait));
        }
        self.release_all(true)
    }

    /// Sends the messages that are prepared for the player's death, and waits for each answer. If that fails, nothing
    /// can be done.
    fn clean_up(&self) {
        let Some(clean_up) = self.release.clean_up() else {
            return;
        };
        if self.record.is_dismissed() {
            return;
        }
        // SAFETY: `detach` has put it there, and nothing closes it.
        let connection = unsafe { BorrowedFd::borrow_raw(CLEAN_UP) };
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        for message in &clean_up.messages {
            if send(connection, message, flags).is_err() {
                return;
            }
            let mut answer = [PollFd::from_borrowed_fd(connection, PollFlags::IN)];
            let _ = poll(&mut answer, Some(&ANSWER_LIMIT));
            let mut bytes = [0; 4096];
            let _ = recv(connection, &mut bytes[..], RecvFlags::DONTWAIT);
        }
    }

    /// Releases what is pressed, however long the display server takes.
    fn release_all(&self, is_last: bool) -> Result<(), Errno> {
        while !self.try_to_release_all(is_last)? {}
        Ok(())
    }

    /// Whether the display server has confirmed that nothing is pressed any more. A slow one may do so later.
    fn try_to_release_all(&self, is_last: bool) -> Result<bool, Errno> {
        let pressed = self.record.pressed();
        if pressed.is_empty() {
            return Ok(true);
        }
        let released = self
            .release
            .release(self.connection, self.shared, pressed, is_last);
        match released {
            Ok(()) => Ok(true),
            Err(Errno::TIMEDOUT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether the player is stopped, although its files are open, or the program that it waits for.
    fn is_stopped(&self) -> bool {
        let status = [self.status, self.host_status];
        status.into_iter().flatten().any(reports_stopped)
    }
}

/// Whether a status reports that a signal (Ctrl-Z) or a debugger has stopped the process for an unknown time, or that it has
/// crashed and its memory is being written to a file.
fn reports_stopped(status: BorrowedFd<'_>) -> bool {
    const STOPPED: [&[u8]; 3] = [b"State:\tT ", b"State:\tt ", b"CoreDumping:\t1"];
    let mut text = [0_u8; 4096];
    let count = rustix::io::pread(status, &mut text, 0).unwrap_or(0);
    let text = text.get(..count).unwrap_or_default();
    let contains = |what: &[u8]| text.windows(what.len()).any(|part| part == what);
    STOPPED.into_iter().any(contains)
}
