//! Files with JSON Schemas that nobody should have written: each is an error of the pipeline file, within bounds.

use std::path::Path;
use std::time::Duration;

use flowpipe_tests::bounds::bounded;
use flowpipe_tests::flowpipe;
use serde_json::{Value, json};

/// The most memory of a check: that of the program, and little more.
const MEMORY: u64 = 300_000_000;

/// A pipeline whose only stage declares an output with a file.
fn pipeline(folder: &Path) -> String {
    let text = "[stages.a]\nplugin = \"exec\"\n[stages.a.config]\ncommand = [\"true\"]\ninputs = {}\n\
                outputs = { out = { schema = \"a.b/1\", file = \"schema.json\" } }\n";
    flowpipe_tests::pipeline(folder, text)
}

/// The error of a check, which ends in time.
#[track_caller]
fn refused(folder: &Path) -> String {
    let pipeline = pipeline(folder);
    let check = flowpipe(&["check", &pipeline, "--json"]);
    let bounded = bounded(check, MEMORY, Duration::from_secs(60)).orderly();
    assert!(bounded.computed < Duration::from_secs(10), "{bounded:#?}");
    let ran = bounded.ran.expect(78);
    let error: Value = serde_json::from_str(ran.stdout.lines().next().unwrap_or_default()).unwrap();
    assert_eq!(
        (&error["line"], &error["column"]),
        (&json!(6), &json!(46)),
        "{error}"
    );
    assert_eq!(error["file"], pipeline);
    let message = error["message"].as_str().unwrap();
    assert!(message.len() < 2_000, "{message}");
    let start = "the JSON Schema \"schema.json\" of `outputs.out` can't be used: ";
    message.strip_prefix(start).unwrap().to_owned()
}

#[test]
fn content_that_is_no_schema() {
    let folder = tempfile::tempdir().unwrap();
    let of = |bytes: &[u8]| {
        std::fs::write(folder.path().join("schema.json"), bytes).unwrap();
        refused(folder.path())
    };
    for (bytes, why) in [
        (&b""[..], "it is not JSON: EOF"),
        (
            b"{\"a\": \"\xff\"}",
            "the byte 0xff at offset 7 is no part of UTF-8 text",
        ),
        (b"\xff\xfe{\x00}\x00", "the byte 0xff at offset 0"),
        (b"[1]", "is an object, or true or false"),
        (b"{\"type\": \"int\"}", "at /type"),
        (b"{} {}", "trailing characters at line 1 column 4"),
    ] {
        let reason = of(bytes);
        assert!(reason.contains(why), "{reason}");
    }
    let deep = "{\"not\":".repeat(30_000) + "true" + &"}".repeat(30_000);
    assert!(of(deep.as_bytes()).contains("recursion limit exceeded"));
    // A control character of a hostile name does not reach the terminal.
    let reason = of(b"{\"$ref\": \"http://a/\\u001b[2J\"}");
    assert!(
        reason.contains("leads out of it") && !reason.contains('\u{1b}'),
        "{reason}"
    );
}

#[test]
fn schemas_without_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let of = |schema: Value| {
        std::fs::write(folder.path().join("schema.json"), schema.to_string()).unwrap();
        refused(folder.path())
    };
    let doubling = |uses: &dyn Fn(&str) -> Value, levels: usize| {
        let mut definitions = serde_json::Map::new();
        for level in 0..levels {
            definitions.insert(
                format!("d{level}"),
                uses(&format!("#/$defs/d{}", level + 1)),
            );
        }
        definitions.insert(format!("d{levels}"), json!(true));
        json!({ "$ref": "#/$defs/d0", "$defs": definitions })
    };
    let bomb =
        |next: &str| json!({ "oneOf": [{ "$ref": next }, { "$ref": next }, { "$ref": next }] });
    assert!(of(doubling(&bomb, 15)).contains("schemas apply to one value"));
    let chain = |next: &str| json!({ "$ref": next });
    assert!(of(doubling(&chain, 5_000)).contains("schemas in a row"));
    let down = |next: &str| json!({ "items": { "$ref": next } });
    assert!(of(doubling(&down, 5_000)).contains("levels in all"));
    assert!(of(json!({ "$ref": "#" })).contains("leads back to itself"));
    let patterns: serde_json::Map<_, _> = (0..5_000)
        .map(|n| (format!("(a{{1,99}}){{1,{n}}}"), json!(true)))
        .collect();
    assert!(of(json!({ "patternProperties": patterns })).contains("different patterns"));
    assert!(
        of(json!({ "pattern": "((((a{1,99}){1,99}){1,99}){1,99}){1,99}" })).contains("pattern")
    );
    // Nothing is fetched, from nowhere.
    for reference in [
        "http://127.0.0.1:9/a.json",
        "file:///etc/hostname",
        "other.json",
        "//a/b",
    ] {
        let reason = of(json!({ "items": { "$ref": reference } }));
        assert!(reason.contains("leads out of it"), "{reason}");
    }
    let reason = of(json!({ "$schema": "http://127.0.0.1:9/a.json" }));
    assert!(reason.contains("127.0.0.1"), "{reason}");
}

#[test]
fn files_that_are_no_files() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("schema.json");
    let missing = refused(folder.path());
    assert!(missing.contains("No such file"), "{missing}");
    let large = std::fs::File::create(&file).unwrap();
    large.set_len(100 << 20).unwrap();
    assert!(refused(folder.path()).contains("larger than 262144 bytes"));
    // Not sparse: every byte is there.
    std::fs::write(&file, vec![b'['; 100 << 20]).unwrap();
    assert!(refused(folder.path()).contains("larger than 262144 bytes"));
    for (to, why) in [
        ("/dev/zero", "a device or a pipe"),
        ("schema.json", "symbolic links"),
        ("nowhere", "No such file"),
        ("/proc/self/mem", "Input/output error"),
        (".", "this is a folder"),
    ] {
        std::fs::remove_file(&file).unwrap();
        symlink(to, &file).unwrap();
        let reason = refused(folder.path());
        assert!(reason.contains(why), "{to}: {reason}");
    }
    std::fs::remove_file(&file).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &file, pipe, rustix::fs::Mode::RWXU, 0).unwrap();
    assert!(refused(folder.path()).contains("a device or a pipe"));
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, "true").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Administrators read everything.
    if std::fs::read(&file).is_err() {
        assert!(refused(folder.path()).contains("Permission denied"));
    }
}
