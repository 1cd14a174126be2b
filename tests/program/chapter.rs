//! The book's tutorial "A solver in Rust": its commands are run word for word, and its file is written as it stands
//! there.

use flowpipe_tests::{begun, project};

/// The chapter as a script: its commands, and its files where they come.
fn script() -> String {
    let chapter = project().join("docs/tutorials/solver-in-rust.md");
    let chapter = std::fs::read_to_string(chapter).unwrap();
    let mut script = String::from("set -e\n");
    let mut before = "";
    let mut parts = chapter.split("```");
    while let (Some(text), Some(block)) = (parts.next(), parts.next()) {
        before = text
            .lines()
            .rfind(|line| !line.is_empty())
            .unwrap_or(before);
        let (language, block) = block.split_once('\n').unwrap();
        match language {
            "sh" => script += block,
            // The line before it ends with the file's name.
            "rust" => {
                let file = before.trim_end_matches("`:").rsplit('`').next().unwrap();
                script += &format!("cat > {file} <<'END OF FILE'\n{block}END OF FILE\n");
            }
            // What commands print, and what is not run.
            "text" | "toml" | "console" => {}
            other => panic!("nothing is known of blocks of {other}"),
        }
    }
    script
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
fn the_chapter_holds_word_for_word() {
    let folder = tempfile::tempdir().unwrap();
    let script = script();
    assert!(script.contains("cat > src/hope.rs <<"), "{script}");
    assert_eq!(script.matches("flowpipe ").count(), 7, "{script}");
    let ran = begun(folder.path(), &script);
    assert_eq!(ran.code, Some(0), "{script}\n{ran:#?}");
    assert!(ran.stdout.contains("test result: ok. 3 passed"), "{ran:#?}");
    assert!(
        ran.stdout
            .contains("Tries every path of every flow in turn.")
    );
    let [before, after] = steps(&ran.stdout)[..] else {
        panic!("expected two counts: {ran:#?}");
    };
    assert!(
        before > 250_000 && after < 300,
        "{before} and {after} steps"
    );
    assert!(ran.stdout.contains("10 checks, none failed"), "{ran:#?}");
    assert!(
        ran.stdout
            .contains("4 boards read, 4 solved, 4 played, 4 accepted")
    );
    assert!(
        ran.stdout.contains("4 boards: the same answers"),
        "{ran:#?}"
    );
}
