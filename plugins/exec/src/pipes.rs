//! A command's pipes, which end with its process. A process that it left behind in another session may keep the other
//! ends open: a wait for the end of such a pipe would last as long as that process runs.

#![cfg_attr(not(unix), allow(dead_code, reason = "nothing is waited for there"))]

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;

/// Held as long as the process runs.
pub struct Life {
    _held: PipeWriter,
}

/// Notices the end of a process.
#[derive(Clone)]
pub struct Watch {
    pipe: Arc<PipeReader>,
}

/// A guard for the time that a process runs, and the watch that notices its end.
///
/// # Errors
/// When the system has no pipe left.
pub fn life() -> io::Result<(Life, Watch)> {
    let (read, write) = io::pipe()?;
    let pipe = Arc::new(read);
    Ok((Life { _held: write }, Watch { pipe }))
}

/// What the process writes. Ends after what it has written, however many hold the other end.
pub struct Output<P> {
    pipe: P,
    life: Watch,
    /// How many bytes are left, once the process has ended.
    #[cfg(unix)]
    left: Option<u64>,
}

/// What the process reads. Fails when there is no room and the process has ended.
pub struct Input<P> {
    pipe: P,
    life: Watch,
}

#[cfg(unix)]
mod unix {
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::{Errno, ioctl_fionbio, ioctl_fionread};

    use super::*;

    impl Watch {
        /// Waits until a pipe can be read or written. `false`: the process has ended, whatever the pipe is.
        fn wait(&self, pipe: impl AsFd, flags: PollFlags) -> io::Result<bool> {
            let mut both = [
                PollFd::new(&pipe, flags),
                PollFd::new(&*self.pipe, PollFlags::IN),
            ];
            loop {
                match poll(&mut both, None) {
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                    Ok(_) => return Ok(both[1].revents().is_empty()),
                }
            }
        }
    }

    impl<P: AsFd> Output<P> {
        pub fn new(pipe: P, life: Watch) -> Self {
            Self {
                pipe,
                life,
                left: None,
            }
        }
    }

    impl<P: AsFd + Read> Read for Output<P> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.left.is_none() && !self.life.wait(&self.pipe, PollFlags::IN)? {
                // What comes later is not the process's.
                self.left = Some(ioctl_fionread(&self.pipe)?);
            }
            let most = match self.left {
                Some(left) => buffer
                    .len()
                    .min(usize::try_from(left).unwrap_or(usize::MAX)),
                None => buffer.len(),
            };
            if most == 0 {
                return Ok(0);
            }
            let read = self.pipe.read(&mut buffer[..most])?;
            self.left = self.left.map(|left| left.saturating_sub(read as u64));
            Ok(read)
        }
    }

    impl<P: AsFd> Input<P> {
        /// # Errors
        /// When the system can't write to it without waiting.
        pub fn new(pipe: P, life: Watch) -> io::Result<Self> {
            // The flag is that of this end alone.
            ioctl_fionbio(&pipe, true)?;
            Ok(Self { pipe, life })
        }
    }

    impl<P: AsFd + Write> Write for Input<P> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            loop {
                match self.pipe.write(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    other => return other,
                }
                if !self.life.wait(&self.pipe, PollFlags::OUT)? {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            self.pipe.flush()
        }
    }
}

/// Here a pipe ends when its last other end is closed.
#[cfg(not(unix))]
mod other {
    use super::*;

    impl<P> Output<P> {
        pub fn new(pipe: P, life: Watch) -> Self {
            Self { pipe, life }
        }
    }

    impl<P: Read> Read for Output<P> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.pipe.read(buffer)
        }
    }

    impl<P> Input<P> {
        /// # Errors
        /// Never.
        pub fn new(pipe: P, life: Watch) -> io::Result<Self> {
            Ok(Self { pipe, life })
        }
    }

    impl<P: Write> Write for Input<P> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.pipe.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.pipe.flush()
        }
    }
}
