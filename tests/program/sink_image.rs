//! Frames as picture files.

use std::path::Path;

use flowpipe_tests::{pipeline, project, run};

/// A pipeline that writes the ready pictures into a folder `out`.
fn file(folder: &Path, keys: &str, config: &str) -> String {
    let frames = project().join("pipelines/frames");
    let text = format!(
        "[stages.frames]\nplugin = \"capture-files\"\nconfig = {{ paths = {frames:?} }}\n\
         [stages.big]\nplugin = \"filter\"\nfrom = \"frames\"\nconfig = {{ jq = '.source | test(\"phone-9\")' }}\n\
         [stages.out]\nplugin = \"sink-image\"\n{keys}\nconfig = {{ folder = \"out\"{config} }}\n"
    );
    pipeline(folder, &text)
}

/// The names of the pictures, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join("out")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

fn same_pixels(one: &Path, other: &Path) -> bool {
    let pixels = |path: &Path| image::open(path).unwrap().into_rgb8();
    pixels(one) == pixels(other)
}

#[test]
fn every_frame_is_written_without_loss() {
    let folder = tempfile::tempdir().unwrap();
    run(&["run", &file(folder.path(), "from = \"frames\"", "")]).expect(0);
    let names = names(folder.path());
    assert_eq!(names.len(), 11);
    let first = folder.path().join("out/000001.png");
    let source = project().join("pipelines/frames/desktop-5x5-02.png");
    assert!(same_pixels(&first, &source), "{names:?}");
}

#[test]
fn messages_choose_the_frames_that_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let from = "from = [\"frames\", { stage = \"big\", into = \"chosen\" }]";
    let config = ", name = \"{frame}.png\", choose = true, waiting = 100";
    run(&["run", &file(folder.path(), from, config)]).expect(0);
    let names = names(folder.path());
    let [name] = &names[..] else {
        panic!("{names:?}");
    };
    let source = project().join("pipelines/frames/phone-9x9-06.png");
    assert!(same_pixels(&folder.path().join("out").join(name), &source));
}

#[test]
fn what_vision_has_read_is_drawn_over_its_frame() {
    let folder = tempfile::tempdir().unwrap();
    let frames = project().join("pipelines/frames/phone-9x9-06.png");
    let no_board = project().join("pipelines/no-board.png");
    let text = format!(
        "[stages.frames]\nplugin = \"capture-files\"\nconfig = {{ paths = [{frames:?}, {no_board:?}] }}\n\
         [stages.vision]\nplugin = \"vision-opencv\"\nfrom = \"frames\"\n\
         [stages.out]\nplugin = \"sink-image\"\nfrom = [\"frames\", {{ stage = \"vision\", into = \"chosen\" }}]\n\
         config = {{ folder = \"out\", name = \"{{frame}}.png\", choose = true, draw = true }}\n"
    );
    run(&["run", &pipeline(folder.path(), &text)]).expect(0);
    let names = names(folder.path());
    assert_eq!(names.len(), 2, "{names:?}");
    for (name, source) in names.iter().zip([frames, no_board]) {
        let picture = folder.path().join("out").join(name);
        assert!(!same_pixels(&picture, &source), "{name}");
        let size = |path: &Path| image::image_dimensions(path).unwrap();
        assert_eq!(size(&picture), size(&source));
    }
}

#[test]
fn a_dry_run_writes_no_picture() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), "from = \"frames\"", "");
    run(&["run", &file, "--dry-run"]).expect(0);
    assert!(!folder.path().join("out").exists());
    let ran = run(&["check", &file]).expect(0);
    let effect = "/out, and removes old ones there";
    assert!(ran.stdout.contains(effect), "{ran:#?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_confined_stage_writes_into_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let keys = "from = \"frames\"\nisolation = \"process\"";
    let file = file(folder.path(), keys, ", most = 4, name = \"{number}.jpg\"");
    run(&["run", &file]).expect(0);
    let last = ["000008.jpg", "000009.jpg", "000010.jpg", "000011.jpg"];
    assert_eq!(names(folder.path()), last);
}
