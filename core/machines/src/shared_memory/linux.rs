//! Memory files, which other processes of the same user open by their descriptors.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use flowpipe_host::frame::Frame;
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create};

use super::{Place, SharedBlock, Token};

/// What is in front of a token: a frame does not begin so.
const MARK: Token = [
    u64::from_le_bytes(*b"flowpipe"),
    u64::from_le_bytes(*b"'s token"),
];

/// A token that nobody can guess.
pub(super) fn random_token() -> io::Result<Token> {
    let mut halves = [[0; 8]; 2];
    File::open("/dev/urandom")?.read_exact(halves.as_flattened_mut())?;
    Ok(halves.map(u64::from_le_bytes))
}

/// A new memory file that contains a token, and where it is.
pub(super) fn memory_with(token: Token) -> io::Result<(File, Place)> {
    let file = File::from(memfd_create("flowpipe", MemfdFlags::CLOEXEC)?);
    let halves = MARK.iter().chain(&token);
    let bytes: Vec<u8> = halves.flat_map(|half| half.to_le_bytes()).collect();
    file.write_all_at(&bytes, 0)?;
    let place = Place {
        process: std::process::id(),
        descriptor: file.as_raw_fd(),
    };
    Ok((file, place))
}

/// The token in a memory file that contains nothing else.
pub(super) fn token_at(place: Place) -> Option<Token> {
    let mut bytes = [[0; 8]; 4];
    let file = open(place).ok()?;
    if file.metadata().ok()?.len() != size_of_val(&bytes) as u64 {
        return None;
    }
    read(&file, bytes.as_flattened_mut()).ok()?;
    let [mark, more, token, rest] = bytes.map(u64::from_le_bytes);
    ([mark, more] == MARK).then_some([token, rest])
}

/// Opens a memory file of flowpipe, and nothing else: to open a pipe or a device may have effects.
pub(super) fn open(place: Place) -> io::Result<File> {
    let Place {
        process,
        descriptor,
    } = place;
    let path = format!("/proc/{process}/fd/{descriptor}");
    // Without reading rights at first: another descriptor may be there by now.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let found = rustix::fs::open(&path, flags, Mode::empty())?;
    let own = format!("/proc/self/fd/{}", found.as_raw_fd());
    match std::fs::read_link(&own)? {
        target if target == Path::new("/memfd:flowpipe (deleted)") => File::open(own),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Reads from the beginning of a file. What is mapped could be shortened meanwhile, and end this process.
pub(super) fn read(file: &File, to: &mut [u8]) -> io::Result<()> {
    file.read_exact_at(to, 0)
}

/// Where a frame is.
pub(super) fn block_of(frame: &Frame) -> Option<SharedBlock> {
    let block = frame.block()?;
    Some(SharedBlock {
        descriptor: block.file().as_raw_fd(),
        id: block.id,
    })
}
