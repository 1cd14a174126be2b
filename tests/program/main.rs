//! Tests of the whole program: the real binary on real pipelines.
#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

#[path = "../support/boards.rs"]
mod boards;
#[path = "../support/browser.rs"]
mod browser;
#[cfg(target_os = "linux")]
#[path = "../support/desktop_trials.rs"]
mod desktop_trials;
#[path = "../support/edited.rs"]
mod edited;
#[path = "../fuzz/edits.rs"]
mod edits;
#[path = "../fuzz/entries.rs"]
mod entries;
#[cfg(target_os = "linux")]
#[path = "../support/gnome_portal.rs"]
mod gnome_portal;
#[cfg(unix)]
#[path = "../support/going.rs"]
mod going;
#[path = "../support/live_play.rs"]
mod live_play;
#[cfg(target_os = "linux")]
#[path = "../support/made_up_compositor.rs"]
mod made_up_compositor;
#[cfg(target_os = "linux")]
#[path = "../../core/desktop/tests/made_up_portal/portal.rs"]
mod made_up_portal;
#[cfg(target_os = "linux")]
#[path = "../support/mutter.rs"]
mod mutter;
#[cfg(target_os = "linux")]
#[path = "../../core/desktop/tests/made_up_portal/mutter_pictures.rs"]
mod mutter_pictures;
#[cfg(target_os = "linux")]
#[path = "../support/network.rs"]
mod network;
#[cfg(target_os = "linux")]
#[path = "../support/portal.rs"]
mod portal;
#[path = "../../core/link/tests/processes/proxy.rs"]
mod proxy;
#[path = "../support/pty.rs"]
mod pty;
#[path = "../support/screen.rs"]
mod screen;
#[cfg(target_os = "linux")]
#[path = "../support/sway.rs"]
mod sway;
#[cfg(target_os = "linux")]
#[path = "../support/wayland_boards.rs"]
mod wayland_boards;
#[cfg(target_os = "linux")]
#[path = "../support/wayland_screens.rs"]
mod wayland_screens;
#[cfg(target_os = "linux")]
#[path = "../support/wayland_window.rs"]
mod wayland_window;

mod any_schema;
#[cfg(unix)]
mod batches;
#[cfg(unix)]
mod batches_generated;
#[cfg(unix)]
mod batches_hostile;
#[cfg(target_os = "linux")]
mod batches_hostile_chunks;
mod batches_million;
mod book;
mod buffers;
mod c;
mod capture_screen;
mod capture_video;
mod checks;
mod cli;
mod compare;
mod compare_messages;
mod config_rules;
mod convert;
mod descent;
#[cfg(target_os = "linux")]
mod desktop_speed;
#[cfg(target_os = "linux")]
mod doctor;
mod documented_pipelines;
mod exec;
#[cfg(unix)]
mod files;
mod flight;
mod foxglove;
#[cfg(target_os = "linux")]
mod fuzz_commands;
mod generate;
#[cfg(target_os = "linux")]
mod gnome_live;
#[cfg(target_os = "linux")]
mod gnome_portal_live;
#[cfg(target_os = "linux")]
mod guardian;
mod hints;
#[cfg(target_os = "linux")]
mod hostile_bounds;
mod hostile_recordings;
#[cfg(unix)]
mod hostile_text;
#[cfg(target_os = "linux")]
mod hostile_work;
mod http_request;
#[cfg(target_os = "linux")]
mod interrupt;
#[cfg(unix)]
mod invented_domain;
#[cfg(unix)]
mod isolation;
mod jsonl;
mod kinds;
mod kinds_live;
#[cfg(unix)]
mod levels;
mod live;
#[cfg(unix)]
mod loading;
mod log_format;
mod machines;
mod machines_chain;
mod machines_death;
#[cfg(unix)]
mod machines_failures;
#[cfg(unix)]
mod machines_judged;
mod machines_live;
#[cfg(target_os = "linux")]
mod machines_network;
mod machines_observed;
#[cfg(unix)]
mod machines_silence;
mod machines_three;
mod machines_tls;
mod machines_unreported;
mod machines_versions;
#[cfg(unix)]
mod machines_workers;
#[cfg(target_os = "linux")]
mod messages;
#[cfg(unix)]
mod metrics;
mod mines_live;
#[cfg(target_os = "linux")]
mod mouse_lock;
mod named;
mod new;
mod new_pipeline;
#[cfg(unix)]
mod no_reader;
mod old_recordings;
mod operators;
mod outlive;
mod pipeline_test_buffers;
mod pipeline_tests;
mod places;
mod plan;
mod play;
mod plugin_check;
mod plugin_dir;
#[cfg(target_os = "linux")]
mod plugin_install;
#[cfg(target_os = "linux")]
mod portal_live;
#[cfg(target_os = "linux")]
mod portal_shared;
#[cfg(unix)]
mod ports;
#[cfg(unix)]
mod profiles;
mod record;
#[cfg(unix)]
mod recorder;
mod reference;
#[cfg(unix)]
mod reload;
mod reload_checks;
mod replay;
mod report;
mod report_metrics;
#[cfg(unix)]
mod rules_live;
mod run;
#[cfg(target_os = "linux")]
mod schema_files;
#[cfg(unix)]
mod scripts;
mod see;
mod see_messages;
mod settings;
#[cfg(unix)]
mod silence;
mod sink_image;
mod solve;
#[cfg(target_os = "linux")]
mod solve_stream;
mod solvers;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod startup;
#[cfg(target_os = "linux")]
mod supervised;
mod terminal;
#[cfg(unix)]
mod top;
mod trace;
#[cfg(target_os = "linux")]
mod wayland_kills;
#[cfg(target_os = "linux")]
mod wayland_live;
#[cfg(target_os = "linux")]
mod web_live;
mod workers;

#[cfg(target_os = "linux")]
#[test]
#[ignore = "it is the process of a window: other tests start it"]
fn window_process() {
    wayland_window::run_window();
}
