//! The lock of a session's mouse: one run at a time controls it.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

use flowpipe_terminal::eprintln;

use crate::exit::Failure;
use crate::user_folder;

/// Holds the lock until it is dropped, or the program ends.
#[derive(Debug, Default)]
pub struct MouseLock {
    file: Option<File>,
}

impl MouseLock {
    /// Takes the lock of this session, unless this holds it already. Does nothing outside of a session.
    ///
    /// A machine on which no lock can be created prints that, and plays.
    ///
    /// # Errors
    /// When another run controls the mouse.
    pub fn take(&mut self) -> Result<(), Failure> {
        let Some(session) = session(|name| std::env::var_os(name)) else {
            return Ok(());
        };
        if self.file.is_some() {
            return Ok(());
        }
        let locked = user_folder::open().and_then(|folder| lock(&folder.join(file_name(&session))));
        match locked {
            Ok(Ok(file)) => self.file = Some(file),
            Ok(Err(holder)) => return Err(Failure::Run(held(&session, holder))),
            Err(error) => eprintln!(
                "can't find out whether another run controls the mouse of this session ({error}): start one at a time"
            ),
        }
        Ok(())
    }
}

/// The name of the session that this program runs in. A display that X11 offers under Wayland has the same pointer.
fn session<V: AsRef<OsStr>>(variable: impl Fn(&str) -> Option<V>) -> Option<String> {
    if cfg!(any(not(unix), target_os = "macos")) {
        return Some("desktop".to_owned());
    }
    let named = |name| {
        let value = variable(name)?;
        let value = value.as_ref().to_string_lossy();
        (!value.is_empty()).then(|| value.into_owned())
    };
    named("WAYLAND_DISPLAY").or_else(|| {
        let display = named("DISPLAY")?;
        // `:0.0` is a screen of `:0`, with the same pointer.
        let (host, number) = display.rsplit_once(':')?;
        let number = number.split('.').next().unwrap_or(number);
        Some(format!("{host}:{number}"))
    })
}

/// The lock's file: what a file name can't contain is replaced.
fn file_name(session: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let plain = session.replace(|c| !is_plain(c), "_");
    // A file name has at most 255 bytes on common systems.
    let start = plain.len().saturating_sub(200);
    format!("mouse-{}.lock", &plain[start..])
}

/// Locks a file and writes the process into it, or returns the process that has locked it, if it can be read.
fn lock(path: &Path) -> io::Result<Result<File, Option<u32>>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path)?;
    match file.try_lock() {
        Ok(()) => {
            file.set_len(0)?;
            file.rewind()?;
            write!(file, "{}", std::process::id())?;
            Ok(Ok(file))
        }
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            // On systems where a lock prevents reading, the process is unknown.
            let _ = file.take(16).read_to_string(&mut text);
            Ok(Err(text.parse().ok()))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Why the lock can't be taken.
fn held(session: &str, holder: Option<u32>) -> String {
    let process = match holder {
        Some(pid) => format!(" (process {pid})"),
        None => String::new(),
    };
    format!(
        "another run{process} controls the mouse of this session, {session}: each would press into the other's game. \
         End it first, by Ctrl-C in its terminal"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn a_session_is_named_by_wayland_then_by_x11() {
        let session = |wayland: Option<&'static str>, x11: Option<&'static str>| {
            session(|name| match name {
                "WAYLAND_DISPLAY" => wayland,
                _ => x11,
            })
        };
        assert_eq!(session(Some("wayland-0"), Some(":0")).unwrap(), "wayland-0");
        assert_eq!(session(Some(""), Some(":1")).unwrap(), ":1");
        assert_eq!(session(None, Some("host:1.0")).unwrap(), "host:1");
        assert_eq!(session(None, None), None);
    }

    #[test]
    fn a_file_name_is_made_of_any_session() {
        assert_eq!(file_name(":1"), "mouse-_1.lock");
        assert_eq!(file_name("../a/b"), "mouse-.._a_b.lock");
        assert_eq!(file_name(&"é".repeat(900)).len(), 211);
    }

    #[test]
    fn one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mouse-_1.lock");
        std::fs::write(&path, "what an earlier version wrote").unwrap();
        let first = lock(&path).unwrap().unwrap();
        let holder = lock(&path).unwrap().unwrap_err();
        if cfg!(unix) {
            assert_eq!(holder, Some(std::process::id()));
        }
        drop(first);
        drop(lock(&path).unwrap().unwrap());
    }
}
