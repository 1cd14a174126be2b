//! A library file: who may write it, what it exports, and how it is loaded.

#[cfg(unix)]
mod accounts;
mod copied;
pub mod inspect;
pub mod library_file;
pub mod loader;
pub(crate) mod pinned_file;
pub mod stamp;
pub mod write_access;
