//! A child process with all that it starts itself: waited for and killed together.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The processes of one command.
pub struct Group {
    /// Whether the process is gone, so that its number may be another's.
    gone: Mutex<bool>,
    #[cfg(unix)]
    leader: rustix::process::Pid,
    #[cfg(not(unix))]
    child: Mutex<Option<Child>>,
}

impl Group {
    fn gone(&self) -> MutexGuard<'_, bool> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(unix)]
impl Group {
    /// To be called before the command is started: puts it into a group of its own, which also keeps Ctrl-C from it.
    pub fn prepare(command: &mut Command) {
        use std::os::unix::process::CommandExt as _;
        command.process_group(0);
        #[cfg(target_os = "linux")]
        // SAFETY: between fork and exec it makes one system call, and takes no memory.
        unsafe {
            // When flowpipe is killed, so is the command. It happens when the thread that started it ends.
            command.pre_exec(|| {
                let signal = rustix::process::Signal::KILL;
                Ok(rustix::process::set_parent_process_death_signal(Some(
                    signal,
                ))?)
            });
        }
    }

    /// The group of a process that was just started.
    pub fn of(child: &Child) -> Self {
        Self {
            gone: Mutex::new(false),
            leader: rustix::process::Pid::from_child(child),
        }
    }

    /// Kills all that is left.
    pub fn kill(&self) {
        let gone = self.gone();
        if !*gone {
            self.kill_now();
        }
    }

    fn kill_now(&self) {
        // It fails only where the group is empty.
        let _ = rustix::process::kill_process_group(self.leader, rustix::process::Signal::KILL);
    }

    /// Waits until the process ends, and kills what it leaves behind.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn wait(&self, mut child: Child) -> io::Result<ExitStatus> {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        // `NOWAIT` keeps the zombie, and so its number, until the wait below.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(self.leader), options) {}
        let mut gone = self.gone();
        self.kill_now();
        let status = child.wait();
        *gone = true;
        status
    }
}

#[cfg(not(unix))]
impl Group {
    /// Nothing to prepare: only the process itself is killed.
    pub fn prepare(_: &mut Command) {}

    /// The group of a process that was just started.
    pub fn of(_: &Child) -> Self {
        Self {
            gone: Mutex::new(false),
            child: Mutex::new(None),
        }
    }

    /// Kills the process.
    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        if let (false, Some(child)) = (*self.gone(), child.as_mut()) {
            let _ = child.kill();
        }
    }

    /// Waits until the process ends.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn wait(&self, child: Child) -> io::Result<ExitStatus> {
        let lock = || self.child.lock().unwrap_or_else(PoisonError::into_inner);
        *lock() = Some(child);
        loop {
            if let Some(child) = lock().as_mut()
                && let Some(status) = child.try_wait()?
            {
                *self.gone() = true;
                return Ok(status);
            }
            // There is no call here that waits and still lets others kill.
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}
