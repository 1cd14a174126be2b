//! Opening regular files, and nothing else.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a regular file to read it. Anything else is refused at once: pipes and devices may never give what a file gives,
/// or end.
///
/// # Errors
/// When there is none, or it can't be opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open(path, File::options().read(true), false)
}

/// Opens a regular file to write to it, perhaps emptied. A symbolic link is refused too: it may lead anywhere.
///
/// # Errors
/// When there is none, or it can't be opened.
pub(crate) fn open_to_write(path: &Path, truncate: bool) -> io::Result<File> {
    open(path, File::options().write(true).truncate(truncate), true)
}

fn open(path: &Path, options: &mut OpenOptions, refuses_links: bool) -> io::Result<File> {
    #[cfg(not(unix))]
    let _ = refuses_links;
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;

        // Opening a pipe without a writer would block, and a terminal might become this process's own.
        let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        flags.set(OFlags::NOFOLLOW, refuses_links);
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    // The open file is checked: another one may have its path by now.
    refuse_others(&file.metadata()?)?;
    Ok(file)
}

/// # Errors
/// When this is no regular file: what it is.
pub(crate) fn refuse_others(there: &Metadata) -> io::Result<()> {
    let kind = there.file_type();
    let text = match () {
        () if kind.is_file() => return Ok(()),
        () if kind.is_dir() => "this is a folder",
        () if kind.is_symlink() => "this is a symbolic link",
        () => "this is a device or a pipe, and no regular file",
    };
    Err(io::Error::other(text))
}
