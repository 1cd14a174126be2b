//! Whole runs of the engine, with plugins in C that are compiled for them.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests end by panicking"
)]

#[path = "../common/mod.rs"]
mod common;
#[cfg(unix)]
#[path = "../common/isolated.rs"]
mod isolated;
#[path = "../common/manifests.rs"]
mod manifests;

mod bad_plugins;
mod buffers;
mod flow;
mod graphs;
#[cfg(unix)]
mod hostile;
#[cfg(unix)]
mod isolation;
#[cfg(unix)]
mod isolation_frames;
#[cfg(target_os = "linux")]
mod linked;
mod loading;
#[cfg(unix)]
mod marks;
mod oldest;
mod race;
mod reload;
mod reload_mouse;
mod reload_restart;
mod reload_stages;
mod remote;
mod restart;
#[cfg(unix)]
mod scanning;
mod schemas;
#[cfg(unix)]
mod state_transfer;
mod stepped;
mod watchdog;
mod workers;
