//! `flowpipe test`: buffers that enter, and buffers that are expected.

use flowpipe_tests::{pipeline, run};
use serde_json::Value;

/// A batch of two blocks of sound, and `tests`.
fn batches(tests: &str) -> String {
    format!(
        r#"
[stages.sound]
plugin = "capture-audio"
config = {{ path = "none.wav" }}

[stages.batches]
plugin = "batch"
from = "sound"
config = {{ schema = "x.batch/1", count = 2 }}
{tests}"#
    )
}

const TESTS: &str = r#"
[[tests]]
name = "two blocks become one"
start = "batches"
inputs = [
    { json = { n = 1 }, buffer = { media_type = "audio/pcm", element = "i16", shape = [2, 1], values = [1, -2] } },
    { json = { n = 2 }, buffer = { media_type = "audio/pcm", element = "i16", shape = [1, 1], file = "three.raw" } },
]
[[tests.outputs]]
from = "batches"
[tests.outputs.expect]
equal = [{ n = 1 }, { n = 2 }]
buffer = { media_type = "audio/*", element = "i16", shape = ["any", 1], values = [1, -2, 3] }

[[tests]]
name = "a file is expected"
start = "batches"
inputs = { json = {}, buffer = { media_type = "audio/pcm", element = "i16", shape = [1, 1], values = [3] } }
outputs = { from = "batches", expect = { buffer = { file = "three.raw" } } }

[[tests]]
name = "what differs"
start = "batches"
inputs = [
    { json = 1, buffer = { media_type = "audio/pcm", element = "i16", shape = [1, 1], file = "three.raw" } },
    { json = 2, buffer = { media_type = "audio/pcm", element = "i16", shape = [1, 1], values = [4] } },
]
outputs = [
    { from = "batches", expect = { buffer = { element = "f32" } } },
    { from = "batches", expect = { buffer = { shape = [2] } } },
    { from = "batches", expect = { buffer = { values = [3, 5] } } },
    { from = "batches", expect = { buffer = { values = [3] } } },
    { from = "batches", expect = { buffer = { values = [1.5, 2] } } },
    { from = "batches", expect = { buffer = { file = "none.raw" } } },
]

[[tests]]
name = "no buffer"
start = "batches"
inputs = { schema = "x.a/1", json = 1, to = "plain" }
outputs = { from = "plain", expect = { buffer = {} } }

[[tests]]
name = "files that are none"
start = "batches"
inputs = [
    { json = 1, buffer = { media_type = "audio/pcm", element = "i16", shape = [2, 1], file = "three.raw" } },
    { json = 2, buffer = { media_type = "audio/pcm", file = "none.raw" } },
    { json = 3, buffer = { media_type = "audio/pcm", file = "/dev/zero" } },
    { json = 4, buffer = { media_type = "audio/pcm", element = "f64", file = "three.raw" } },
]
outputs = { from = "batches", expect = "nothing" }

[stages.lines]
plugin = "source-jsonl"
config = { stdin = true, schema = "x.a/1" }

[stages.plain]
plugin = "filter"
from = "lines"
config = { jq = "true" }
"#;

#[test]
fn buffers_enter_and_are_expected() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("three.raw"), 3_i16.to_le_bytes()).unwrap();
    let file = pipeline(folder.path(), &batches(TESTS));
    run(&["check", &file]).expect(0);
    let ran = run(&["test", "--json", &file]).expect(1);
    let results: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let passed: Vec<_> = results.iter().map(|it| &it["passed"]).collect();
    assert_eq!(passed, [true, true, false, false, false], "{ran:#?}");
    let messages = |index: usize| -> Vec<String> {
        let failures = results[index]["failures"].as_array().unwrap().iter();
        let text = failures.map(|it| it["message"].as_str().unwrap().to_owned());
        text.collect()
    };
    let differing = messages(2);
    let expected = [
        "message 1 of batches: the layout of its buffer differs",
        "message 1 of batches: the layout of its buffer differs",
        "message 1 of batches: element 1 of its buffer differs",
        "message 1 of batches: the number of elements in its buffer differs",
        "message 1 of batches: 1.5 is no i16",
    ];
    assert_eq!(differing[..5], expected, "{differing:#?}");
    assert!(differing[5].contains("none.raw"), "{differing:#?}");
    let third = &results[2]["failures"][2];
    assert_eq!(
        (&third["expected"], &third["found"]),
        (&5.into(), &4.into())
    );
    assert!(messages(3)[0].ends_with("it carries nothing, and a buffer was expected"));
    let files = messages(4);
    for (found, part) in files.iter().zip([
        "2 bytes are no buffer audio/pcm i16 [2, 1], which has 4",
        "none.raw",
        "/dev/zero: this is no regular file",
        "dimension 0 of its shape is 0",
    ]) {
        assert!(found.contains(part), "{files:#?}");
    }
    assert_eq!(files.len(), 4, "{files:#?}");
}

#[test]
fn what_is_no_buffer_is_an_error_of_check() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = |buffer: &str| {
        let file = pipeline(
            folder.path(),
            &batches(&format!(
                "[[tests]]\nname = \"a\"\nstart = \"batches\"\ninputs = {{ json = 1, buffer = {buffer} }}\n\
                 outputs = {{ from = \"batches\", count = 1 }}\n"
            )),
        );
        run(&["check", &file]).expect(78).stderr
    };
    for (buffer, part) in [
        ("{ values = [1] }", "this buffer has no media type"),
        ("{ media_type = \"a/b\" }", "this buffer has no elements"),
        (
            "{ media_type = \"A\", values = [1] }",
            "its media type is not one like",
        ),
        ("{ media_type = \"a/b\", values = [256] }", "256 is no u8"),
        (
            "{ media_type = \"a/b\", values = [1], file = \"a\" }",
            "leave out one of them",
        ),
        (
            "{ media_type = \"a/b\", element = \"u9\", values = [1] }",
            "is no type of elements",
        ),
        (
            "{ media_type = \"a/b\", shape = [3], values = [1] }",
            "1 bytes are no buffer a/b u8 [3]",
        ),
        (
            "{ media_type = \"a/b\", shape = [\"any\"], values = [1] }",
            "a shape is a list of integers",
        ),
        (
            "{ media_type = \"a/b\", values = [\"a\"] }",
            "a list of numbers",
        ),
    ] {
        let printed = wrong(buffer);
        assert!(printed.contains(part), "{buffer}: {printed}");
    }
}

/// Both stages take messages of any schema, and the source in front of them names one.
#[test]
fn a_message_has_the_schema_of_what_feeds_a_stage_that_takes_any() {
    let folder = tempfile::tempdir().unwrap();
    let text = |source: &str| {
        format!(
            r#"
[stages.readings]
plugin = "source-jsonl"
config = {{ stdin = true{source} }}

[stages.hot]
plugin = "filter"
from = "readings"
config = {{ jq = ".celsius > 30" }}

[stages.windows]
plugin = "window"
from = "hot"
config = {{ schema = "x.window/1", count = 1 }}

[[tests]]
name = "what is hot has the schema of the source"
start = "hot"
inputs = {{ json = {{ celsius = 31 }} }}
outputs = {{ from = "hot", expect = {{ schema = "x.a/1" }} }}

[[tests]]
name = "a window of one"
start = "windows"
inputs = {{ json = {{ celsius = 32 }} }}
outputs = {{ from = "windows", count = 1 }}
"#
        )
    };
    let known = pipeline(folder.path(), &text(", schema = \"x.a/1\""));
    run(&["test", &known]).expect(0);
    let unknown = pipeline(folder.path(), &text(""));
    let ran = run(&["test", &unknown]).expect(78);
    assert!(
        ran.stderr
            .contains("nothing says which schema this message has"),
        "{ran:?}"
    );
}
