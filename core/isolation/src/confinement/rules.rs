//! What a process may do, as rules of the system.

use std::io;
use std::path::PathBuf;

use flowpipe_confinement::{Access, Rules};

use crate::confinement::{Confinement, Files, Permissions, Unreadable, display, libraries};

/// What libraries of the system read besides.
const READ_BY_LIBRARIES: [&str; 9] = [
    "/etc/timezone",
    "/etc/locale.alias",
    "/etc/fonts",
    "/var/cache/fontconfig",
    "/proc/self",
    "/proc/stat",
    "/proc/version",
    "/proc/filesystems",
    "/proc/sys/kernel",
];

/// Returns what stays out of reach too, although a library is linked with it.
pub(super) fn of(
    confinement: &Confinement,
    loaded: &[PathBuf],
) -> io::Result<(Rules, Vec<Unreadable>)> {
    match confinement {
        Confinement::Loose => Ok((Rules::loose()?, Vec::new())),
        Confinement::To(permissions) => {
            let needed = libraries::needed_by(loaded);
            let mut access = access(permissions);
            access.reads.extend(needed.files);
            Ok((Rules::only(&access)?, needed.unreadable))
        }
    }
}

fn access(permissions: &Permissions) -> Access {
    let mut access = Access {
        reads: paths(&permissions.reads),
        writes: paths(&permissions.writes),
        uses_display: permissions.uses_display,
        uses_network: permissions.uses_network,
        makes_socket_pairs: true,
        ..Access::default()
    };
    access.reads.extend(READ_BY_LIBRARIES.map(PathBuf::from));
    if permissions.uses_display {
        access.reads.extend(display::files());
        access.display_port = display::port();
    }
    access
}

fn paths(files: &Files) -> Vec<PathBuf> {
    match files {
        Files::All => vec!["/".into()],
        Files::These(paths) => paths.clone(),
    }
}
