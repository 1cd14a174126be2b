//! Plugins: found, loaded, made into stages.

pub mod catalogue;
mod copied;
mod elf;
pub(crate) mod host;
pub(crate) mod instance;
pub(crate) mod loader;
pub(crate) mod origin;
pub(crate) mod run_extension;
pub mod stamp;
pub(crate) mod state;
pub(crate) mod tape;
