//! The shell blocks of the book and the README run word for word, one shell for each page, in a folder that has what a
//! checkout has. What pages show of the output is compared with it.

mod page;
mod shown;

use std::path::Path;

use flowpipe_tests::{begun, project};

/// The folders of a checkout that the pages use.
const PRESUPPOSED: [&str; 2] = ["pipelines", "examples"];

/// What a page's shell printed, all blocks together.
fn run(page: &str) -> String {
    let text = std::fs::read_to_string(project().join(page)).unwrap();
    let script = page::script(&text);
    let folder = tempfile::tempdir().unwrap();
    let checkout = folder.path().join("flowpipe");
    for name in PRESUPPOSED {
        copy(&project().join(name), &checkout.join(name));
    }
    let outputs = folder.path().join("outputs");
    std::fs::create_dir(&outputs).unwrap();
    let before = format!("OUTPUTS='{}'\n", outputs.display());
    let ran = begun(&checkout, &(before + &script.text));
    let printed = |line: usize| {
        let printed = std::fs::read(outputs.join(line.to_string())).unwrap_or_default();
        String::from_utf8_lossy(&printed).into_owned()
    };
    let lines = page::blocks(&text)
        .into_iter()
        .filter(|it| it.language == "sh");
    let all: Vec<_> = lines.map(|it| (it.line, printed(it.line))).collect();
    assert_eq!(
        ran.code,
        Some(0),
        "{page}: {ran:#?}, by line of the page: {all:#?}"
    );
    for (line, block) in script.shown {
        let printed = printed(line);
        assert!(
            shown::is_shown(&block.text, &printed),
            "{page}:{}: the commands of line {line} do not print what the page shows, but:\n{printed}",
            block.line
        );
    }
    all.into_iter().map(|(_, printed)| printed).collect()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let place = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &place),
            false => drop(std::fs::copy(&path, &place).unwrap()),
        }
    }
}

/// A test for each page with shell blocks, so that they run in parallel.
macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        $(#[test]
        fn $test() {
            run($page);
        })*

        /// The pages that tests of these names run.
        const RUN: &[&str] = &[$($page),*];
    };
}

pages! {
    readme: "README.md",
    first_run: "docs/first-run.md",
    install: "docs/install.md",
    pipelines: "docs/pipelines.md",
    puzzle_formats: "docs/puzzle-formats.md",
    record_and_replay: "docs/record-and-replay.md",
    sdk: "docs/sdk.md",
    seeing: "docs/seeing.md",
    solving: "docs/solving.md",
    standard_stages: "docs/standard-stages.md",
    stages_in_any_language: "docs/stages-in-any-language.md",
    stage_in_c: "docs/tutorials/stage-in-c.md",
    testing: "docs/testing.md",
    boards_in_a_video: "docs/tutorials/boards-in-a-video.md",
    tones_in_sound: "docs/tutorials/tones-in-sound.md",
    vision_in_python: "docs/tutorials/vision-in-python.md",
    vision_in_rust: "docs/tutorials/vision-in-rust.md",
    pipeline_for_another_game: "docs/tutorials/pipeline-for-another-game.md",
}

/// This page has a test of its own, which looks at what it prints.
const SOLVER_IN_RUST: &str = "docs/tutorials/solver-in-rust.md";

#[test]
fn every_page_with_shell_blocks_runs() {
    let mut pages = vec![project().join("README.md")];
    let mut folders = vec![project().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|it| it == "md") => pages.push(path),
                false => {}
            }
        }
    }
    let mut found: Vec<String> = Vec::new();
    for path in pages {
        let text = std::fs::read_to_string(&path).unwrap();
        let blocks = page::blocks(&text);
        if blocks.iter().any(|block| block.language == "sh") {
            let name = path.strip_prefix(project()).unwrap();
            found.push(name.display().to_string());
        }
        // Every block is of a language that is known.
        page::script(&text);
    }
    found.sort();
    let mut run: Vec<_> = RUN
        .iter()
        .chain([&SOLVER_IN_RUST])
        .map(|it| it.to_string())
        .collect();
    run.sort();
    assert_eq!(found, run, "add the page to the tests of this file");
}

/// How many steps the puzzle of 8 x 8 took, each time that it was solved by the chapter's solver.
fn steps(printed: &str) -> Vec<u64> {
    let lines = printed.lines().filter(|line| line.contains("(8 x 8,"));
    let nodes = |line: &str| {
        let (before, _) = line.split_once(" nodes")?;
        before.rsplit(' ').next()?.parse().ok()
    };
    lines.filter_map(nodes).collect()
}

#[test]
fn solver_in_rust() {
    let printed = run(SOLVER_IN_RUST);
    let has = |text: &str| assert!(printed.contains(text), "{text}: {printed}");
    has("test result: ok. 3 passed");
    has("Tries every path of every flow in turn.");
    has("10 checks, none failed");
    // How soon a call ends after it is cancelled depends on what else the machine does. That it ends is checked above.
    let is_timing = |line: &str| line.contains(" ms after it was cancelled");
    let warnings: Vec<_> = printed
        .lines()
        .filter(|it| it.starts_with("  warn") && !is_timing(it))
        .collect();
    assert_eq!(warnings, [""; 0]);
    has("4 boards read, 4 solved, 4 played, 4 accepted");
    has("4 boards: the same answers");
    let [before, after] = steps(&printed)[..] else {
        panic!("expected two counts: {printed}");
    };
    assert!(
        before > 250_000 && after < 300,
        "{before} and {after} steps"
    );
}
