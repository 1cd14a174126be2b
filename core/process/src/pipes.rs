//! A process's pipes, which end with it. What a process has started may hold the other ends longer, and whoever waited
//! for the end of such a pipe would wait as long as that runs.

#![cfg_attr(not(unix), allow(dead_code, reason = "nothing is waited for there"))]

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;

/// Held by whoever waits for the process, and dropped when that has ended.
#[derive(Debug)]
pub struct Alive {
    _held: PipeWriter,
}

/// Notices that an [`Alive`] was dropped.
#[derive(Clone, Debug)]
pub struct EndWatch {
    pipe: Arc<PipeReader>,
}

/// A process that is alive, and what notices its end.
///
/// # Errors
/// When the system has no pipe left.
pub fn alive() -> io::Result<(Alive, EndWatch)> {
    let (read, write) = io::pipe()?;
    let pipe = Arc::new(read);
    Ok((Alive { _held: write }, EndWatch { pipe }))
}

/// What the process writes. It ends after what the process has written, even where another process holds its other end.
#[derive(Debug)]
pub struct OutputPipe<P> {
    pipe: P,
    end: EndWatch,
    /// How many bytes are left, once the process has ended.
    #[cfg(unix)]
    left: Option<u64>,
}

/// What the process reads. Writing fails when there is no room and the process has ended.
#[derive(Debug)]
pub struct InputPipe<P> {
    pipe: P,
    end: EndWatch,
}

#[cfg(unix)]
mod unix {
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::{Errno, ioctl_fionbio, ioctl_fionread};

    use super::*;

    impl EndWatch {
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

    impl<P: AsFd> OutputPipe<P> {
        /// # Errors
        /// When the system can't read it without waiting.
        pub fn new(pipe: P, end: EndWatch) -> io::Result<Self> {
            // The process can open its pipe for reading, and take what could be read a moment ago. The flag is that of
            // this end alone.
            ioctl_fionbio(&pipe, true)?;
            Ok(Self {
                pipe,
                end,
                left: None,
            })
        }
    }

    impl<P: AsFd + Read> Read for OutputPipe<P> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            loop {
                if self.left.is_none() && !self.end.wait(&self.pipe, PollFlags::IN)? {
                    // What comes later was not written by the process.
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
                match self.pipe.read(&mut buffer[..most]) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        // Another process has read what was left.
                        if self.left.is_some() {
                            return Ok(0);
                        }
                    }
                    Err(error) => return Err(error),
                    Ok(read) => {
                        self.left = self.left.map(|left| left.saturating_sub(read as u64));
                        return Ok(read);
                    }
                }
            }
        }
    }

    impl<P: AsFd> InputPipe<P> {
        /// # Errors
        /// When the system can't write to it without waiting.
        pub fn new(pipe: P, end: EndWatch) -> io::Result<Self> {
            ioctl_fionbio(&pipe, true)?;
            Ok(Self { pipe, end })
        }
    }

    impl<P: AsFd + Write> Write for InputPipe<P> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            loop {
                match self.pipe.write(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    other => return other,
                }
                if !self.end.wait(&self.pipe, PollFlags::OUT)? {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            self.pipe.flush()
        }
    }
}

/// Here a pipe ends when nobody holds its other end any more.
#[cfg(not(unix))]
mod other {
    use super::*;

    impl<P> OutputPipe<P> {
        /// # Errors
        /// Never.
        pub fn new(pipe: P, end: EndWatch) -> io::Result<Self> {
            Ok(Self { pipe, end })
        }
    }

    impl<P: Read> Read for OutputPipe<P> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.pipe.read(buffer)
        }
    }

    impl<P> InputPipe<P> {
        /// # Errors
        /// Never.
        pub fn new(pipe: P, end: EndWatch) -> io::Result<Self> {
            Ok(Self { pipe, end })
        }
    }

    impl<P: Write> Write for InputPipe<P> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.pipe.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.pipe.flush()
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn an_output_ends_with_its_process_though_another_holds_it() {
        let (alive, end) = alive().unwrap();
        let (read, mut write) = io::pipe().unwrap();
        let mut output = OutputPipe::new(read, end).unwrap();
        write.write_all(b"the rest").unwrap();
        drop(alive);
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        assert_eq!(text, "the rest");
        drop(write);
    }

    #[test]
    fn an_input_without_a_reader_fails_when_its_process_has_ended() {
        let (alive, end) = alive().unwrap();
        let (read, write) = io::pipe().unwrap();
        let mut input = InputPipe::new(write, end).unwrap();
        drop(alive);
        let error = input.write_all(&[0; 1 << 20]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        drop(read);
    }
}
