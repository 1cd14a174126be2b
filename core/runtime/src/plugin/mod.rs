//! Plugins: found, loaded, made into stages.

#[cfg(unix)]
mod accounts;
pub mod catalogue;
mod copied;
pub(crate) mod frame_functions;
pub(crate) mod host;
pub(crate) mod inspect;
pub(crate) mod instance;
pub(crate) mod library_file;
pub(crate) mod loader;
pub(crate) mod origin;
pub(crate) mod run_extension;
pub mod scanner;
pub mod stamp;
pub(crate) mod state;
pub(crate) mod tape;
pub(crate) mod write_access;
