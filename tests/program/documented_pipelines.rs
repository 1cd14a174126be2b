//! The first pipeline of the README, and of the chapter about pipeline files, plays every board.

use flowpipe_tests::{project, run};

/// The first block of TOML in a document.
fn first_pipeline(document: &str) -> String {
    let text = std::fs::read_to_string(project().join(document)).unwrap();
    let (_, block) = text.split_once("```toml\n").unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

#[track_caller]
fn plays_all(document: &str) {
    let folder = tempfile::tempdir().unwrap();
    let frames = folder.path().join("frames");
    std::fs::create_dir(&frames).unwrap();
    for entry in std::fs::read_dir(project().join("pipelines/frames")).unwrap() {
        let file = entry.unwrap().path();
        std::fs::copy(&file, frames.join(file.file_name().unwrap())).unwrap();
    }
    let file = folder.path().join("mine.toml");
    std::fs::write(&file, first_pipeline(document)).unwrap();
    let path = file.display().to_string();
    let report = run(&["run", &path, "--json"]).expect(0).json();
    assert_eq!(report["boards"]["accepted"], 11, "{report:#}");
}

#[test]
fn the_readmes_pipeline_plays_all_boards() {
    plays_all("README.md");
}

#[test]
fn the_chapters_pipeline_plays_all_boards() {
    plays_all("docs/pipelines.md");
}
