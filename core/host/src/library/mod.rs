//! A library file: who may write it, what it exports, and how it is loaded.

#[cfg(unix)]
mod accounts;
mod copied;
pub(crate) mod inspect;
pub mod library_file;
pub mod loader;
pub(crate) mod origin;
pub mod stamp;
pub(crate) mod write_access;
