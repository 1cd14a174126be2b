//! The compositors of this user, by their sockets in the runtime folder: for shells outside of their sessions.

use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, geteuid};

use crate::socket;

/// The most files of the folder that are looked at.
const MOST_FILES: usize = 1 << 12;
/// The most sockets that are tried.
const MOST_SOCKETS: usize = 16;

/// A compositor that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compositor {
    /// The name of its socket, such as `wayland-1`.
    pub name: String,
    /// The path of sway's own socket, if it is sway.
    pub sway: Option<PathBuf>,
}

/// The compositors that answer in the runtime folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compositors {
    /// `None`: there is none.
    folder: Option<PathBuf>,
    /// Whether XDG_RUNTIME_DIR names the folder.
    is_named: bool,
    /// By their numbers.
    found: Vec<Compositor>,
}

impl Compositors {
    /// Those in the folder of XDG_RUNTIME_DIR. Where that is not set, in the folder that systemd creates for this user.
    #[must_use]
    pub fn running() -> Self {
        let usual = || PathBuf::from(format!("/run/user/{}", geteuid().as_raw()));
        match socket::runtime_folder() {
            Some(folder) => Self::in_folder(Some(&folder), true),
            None => Self::in_folder(Some(usual()).filter(|it| it.is_dir()).as_deref(), false),
        }
    }

    /// Those in a folder. `is_named`: whether XDG_RUNTIME_DIR names it.
    #[must_use]
    pub fn in_folder(folder: Option<&Path>, is_named: bool) -> Self {
        let names = folder.map(names).unwrap_or_default();
        let mut numbered: Vec<(u64, &str)> = names
            .iter()
            .filter_map(|name| {
                let number = name.strip_prefix("wayland-")?;
                // The name is pasted into a shell.
                let is_plain = number.bytes().all(|it| it.is_ascii_digit());
                Some((number.parse().ok().filter(|_| is_plain)?, name.as_str()))
            })
            .collect();
        numbered.sort_unstable();
        let compositor = |name: &str| {
            let folder = folder?;
            let socket = socket::open(&folder.join(name)).ok()?;
            Some(Compositor {
                name: name.to_owned(),
                sway: socket::peer(socket.as_fd()).and_then(|it| sway_of(folder, &names, it)),
            })
        };
        let tried = numbered.into_iter().take(MOST_SOCKETS);
        Self {
            folder: folder.map(Path::to_owned),
            is_named,
            found: tried.filter_map(|(_, name)| compositor(name)).collect(),
        }
    }

    /// What a shell takes to be in the session of each, such as `` `export WAYLAND_DISPLAY=wayland-1` ``. `None`: none was
    /// found.
    #[must_use]
    pub fn exports(&self) -> Option<String> {
        let export = |compositor: &Compositor| {
            let folder = self.folder.as_deref().filter(|_| !self.is_named);
            let folder = folder.map(|it| variable("XDG_RUNTIME_DIR", it));
            let sway = compositor.sway.as_deref();
            let sway = sway.map(|it| variable("SWAYSOCK", it));
            let display = format!("WAYLAND_DISPLAY={}", compositor.name);
            let variables: Vec<String> = [folder, Some(display), sway]
                .into_iter()
                .flatten()
                .collect();
            format!("`export {}`", variables.join(" "))
        };
        let exports: Vec<String> = self.found.iter().map(export).collect();
        (!exports.is_empty()).then(|| exports.join(", or "))
    }

    /// Reports that none was found, and where.
    #[must_use]
    pub fn absence(&self) -> String {
        match &self.folder {
            Some(folder) if !folder.is_dir() => {
                format!("the folder {} is missing", folder.display())
            }
            Some(folder) => format!("no Wayland compositor answers in {}", folder.display()),
            None => "/run/user has no folder of this user".to_owned(),
        }
    }
}

/// The path of sway's own socket in a folder, where the compositor of this process is sway.
#[must_use]
pub fn sway_socket(folder: &Path, process: Pid) -> Option<PathBuf> {
    sway_of(folder, &names(folder), process)
}

/// What sets a variable to a path, as a shell takes it.
#[must_use]
pub fn variable(name: &str, path: &Path) -> String {
    let path = path.to_string_lossy();
    format!("{name}={}", shell_words::quote(&path))
}

/// The names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten();
    let files = files.take(MOST_FILES).flatten();
    files
        .filter_map(|file| file.file_name().into_string().ok())
        .collect()
}

/// Sway calls it `sway-ipc.UID.PID.sock`. The process at the other end is asked for, since the name may be an old one.
fn sway_of(folder: &Path, names: &[String], process: Pid) -> Option<PathBuf> {
    let is_sway = |name: &&String| name.starts_with("sway-ipc.") && name.ends_with(".sock");
    let paths = names.iter().filter(is_sway).map(|name| folder.join(name));
    paths.take(MOST_SOCKETS).find(|path| {
        let socket = socket::open(path).ok();
        socket.and_then(|it| socket::peer(it.as_fd())) == Some(process)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn only_sockets_that_answer_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let found = |is_named| Compositors::in_folder(Some(path), is_named).exports();
        assert_eq!(found(true), None);
        // An old one, and what is none.
        drop(UnixListener::bind(path.join("wayland-0")).unwrap());
        for name in ["wayland-1.lock", "wayland-$(ls)", "wayland-2", "bus"] {
            std::fs::write(path.join(name), "").unwrap();
        }
        assert_eq!(found(true), None);
        let listen = |name: &str| UnixListener::bind(path.join(name)).unwrap();
        let _ten = listen("wayland-10");
        let ten = "`export WAYLAND_DISPLAY=wayland-10`";
        assert_eq!(found(true).as_deref(), Some(ten));
        let _nine = listen("wayland-9");
        let both = format!("`export WAYLAND_DISPLAY=wayland-9`, or {ten}");
        assert_eq!(found(true), Some(both));
        let unset = found(false).unwrap();
        let words = format!("`export XDG_RUNTIME_DIR={} WAYLAND_", path.display());
        assert!(unset.starts_with(&words), "{unset}");
    }

    #[test]
    fn sway_s_own_socket_is_that_of_the_same_process() {
        let folder = tempfile::Builder::new().prefix("a b").tempdir().unwrap();
        let path = folder.path();
        let _compositor = UnixListener::bind(path.join("wayland-1")).unwrap();
        drop(UnixListener::bind(path.join("sway-ipc.1000.1.sock")).unwrap());
        let exports = || Compositors::in_folder(Some(path), true).exports().unwrap();
        assert!(!exports().contains("SWAYSOCK"), "{}", exports());
        let own = path.join("sway-ipc.1000.2.sock");
        let _own = UnixListener::bind(&own).unwrap();
        let quoted = format!("SWAYSOCK='{}'`", own.display());
        assert!(exports().ends_with(&quoted), "{}", exports());
        let this = rustix::process::getpid();
        assert_eq!(sway_socket(path, this), Some(own));
        let other = rustix::process::getppid().unwrap();
        assert_eq!(sway_socket(path, other), None);
    }

    #[test]
    fn where_none_is_found_the_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let absence = Compositors::in_folder(Some(folder.path()), true).absence();
        assert!(absence.ends_with(folder.path().to_str().unwrap()));
        let absence = Compositors::in_folder(None, false).absence();
        assert_eq!(absence, "/run/user has no folder of this user");
        let missing = folder.path().join("missing");
        let absence = Compositors::in_folder(Some(&missing), true).absence();
        assert_eq!(
            absence,
            format!("the folder {} is missing", missing.display())
        );
    }
}
