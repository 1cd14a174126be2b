//! Opening files that can be mapped.

use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a regular file. Anything else is refused at once: pipes and devices may never give what a file gives, or end.
///
/// # Errors
/// When there is none, or it can't be opened.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;

        // A pipe without a writer would be waited for, and a terminal might become this process's own.
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    // The open file is looked at: another one may have its path by now.
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(file);
    }
    let text = match kind.is_dir() {
        true => "this is a folder",
        false => "this is a device or a pipe, and no regular file",
    };
    Err(io::Error::other(text))
}
