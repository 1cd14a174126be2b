//! `flowpipe convert`: every format into every other.

use flowpipe_tests::{run, shared, with_input};

const PUZZLES: &str = "// Plain\n3,2,1,3;0,1,2;3,4,5;6,7,8\n3,0,1,3,,,0|3:4|7;0,1,2;3,4,5;6,7,8\n\
    A.\nA?\n\n// Two pairs\nrules: empty, touch\n7 . 7\n7 10 7\n. . 10\nX_3,0,1,3,,8;0,3,6;1,4,7;2,5\n\
    https://puzz.link/p?numlin/5/5/1j2h3m1h2j3\n{\"board\":3}\n";

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn every_format_takes_what_it_can_express() {
    for format in ["grid", "level", "puzzlink", "json"] {
        let ran = with_input(&["convert", "-", "--to", format], PUZZLES).expect(65);
        snapshot(format, &format!("{}---\n{}", ran.stdout, ran.stderr));
    }
}

#[test]
fn files_are_written_and_wrong_usage_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.txt");
    let path = file.display().to_string();
    let args = ["convert", "-", "--to", "grid", "--output", &path];
    let ran = with_input(&args, "numlin/3/1/1g1").expect(0);
    assert!(ran.stdout.is_empty());
    let written = "rules: empty, touch\n1.1\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
    // It may not be the file that is read, and what can't be written leaves the other one as it is.
    let ran = run(&["convert", &path, "--to", "json", "-o", &path]).expect(2);
    assert!(ran.stderr.contains("reads the same file"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
    let other = folder.path().join("other.txt");
    std::fs::write(&other, "before").unwrap();
    let to = other.display().to_string();
    run(&["convert", &path, "--to", "level", "-o", &to]).expect(65);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "before");
    run(&["convert", &path, "--to", "json", "-o", &to]).expect(0);
    assert!(
        std::fs::read_to_string(&other)
            .unwrap()
            .starts_with("{\"board\"")
    );
    with_input(&["convert", "-", "--to", "grid"], "\n").expect(2);
    with_input(&["convert", "-", "--to", "picture"], "AA").expect(2);
    run(&["convert", "no/such/file", "--to", "json"]).expect(2);
}

/// Each is written as soon as it is read.
#[cfg(target_os = "linux")]
#[test]
fn many_puzzles_take_little_memory() {
    use flowpipe_tests::bounds::bounded;

    let folder = tempfile::tempdir().unwrap();
    let many = folder.path().join("many.txt");
    std::fs::write(&many, "AA\n\n".repeat(300_000)).unwrap();
    let many = many.display().to_string();
    let command = flowpipe_tests::flowpipe(&["convert", &many, "--to", "grid", "-o", "/dev/null"]);
    let ran = bounded(command, 60_000_000, std::time::Duration::from_secs(60)).orderly();
    assert_eq!(ran.ran.code, Some(0), "{ran:?}");
}

#[test]
fn known_levels_come_back_from_json_as_they_went() {
    let Some(levels) = shared().map(|it| it.join("puzzles/flowfree-levels.txt")) else {
        flowpipe_testing::note!("skipped: there are no known levels");
        return;
    };
    let levels = levels.display().to_string();
    let convert = |file: &str, to: &str, input: &str| {
        with_input(&["convert", file, "--to", to], input)
            .expect(0)
            .stdout
    };
    let plain = convert(&levels, "level", "");
    let json = convert(&levels, "json", "");
    let count = std::fs::read_to_string(&levels).unwrap().lines().count();
    assert_eq!(
        (plain.lines().count(), json.lines().count()),
        (count, count)
    );
    assert_eq!(convert("-", "level", &json), plain);
    assert_eq!(convert("-", "json", &plain), json);
    println!("{count} levels went through JSON and back");
}
