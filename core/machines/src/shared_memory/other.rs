//! Other systems do not let a process open the memory files of another one.

use std::fs::File;
use std::io;

use flowpipe_host::frame::Frame;

use super::{Place, SharedBlock, Token};

pub(super) fn random_token() -> io::Result<Token> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn memory_with(_: Token) -> io::Result<(File, Place)> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn token_at(_: Place) -> Option<Token> {
    None
}

pub(super) fn open(_: Place) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn read(_: &File, _: &mut [u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

pub(super) fn block_of(_: &Frame) -> Option<SharedBlock> {
    None
}
