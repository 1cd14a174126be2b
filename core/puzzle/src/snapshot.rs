//! Where snapshots of tests are kept.

/// Snapshots of all crates lie together in the workspace's `snapshots` folder.
pub(crate) fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(true);
    settings
}
