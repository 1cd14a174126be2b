use std::collections::BTreeSet;
use std::time::Duration;

use miette::{GraphicalReportHandler, GraphicalTheme};
use serde_json::json;

use crate::pipeline::PortRef;
use crate::reader::ConfigError;
use crate::reader::pipeline_test::{BufferElements, InputSource, PipelineTest};
use crate::reader::testing::{read_file, snapshot};

/// A loop with a mouse, as in live play, and an echo of what is read.
const LOOP: &str = r#"
[stages.screen]
plugin = "capture-screen"

[stages.vision]
plugin = "vision-opencv"
from = "screen"

[stages.referee]
plugin = "referee"
from = [
    { stage = "vision", into = "sighting", queue = { when_full = "latest" } },
    { stage = "mouse", into = "outcome", queue = { when_full = "latest" } },
]

[stages.solver]
plugin = "solver-search"
from = "referee.again"

[stages.planner]
plugin = "planner-grid"
from = "solver"

[stages.mouse]
plugin = "actuator-mouse"
from = "planner"

[stages.echo]
plugin = "echo"
from = "vision"
"#;

fn tests(tests: &str) -> Vec<PipelineTest> {
    let file = format!("{LOOP}{tests}");
    match read_file(&file) {
        Ok((_, tests)) => tests,
        Err(errors) => panic!("{tests}: {errors:?}"),
    }
}

#[test]
fn only_the_stages_on_the_way_run() {
    for (output, without, expected) in [
        ("vision", "[]", vec![1]),
        ("referee.report", r#"["mouse"]"#, vec![1, 2]),
        ("planner", "[]", vec![1, 2, 3, 4]),
        ("echo", "[]", vec![1, 6]),
    ] {
        let all = tests(&format!(
            "[[tests]]\nname = 'a'\nstart = 'vision'\nwithout = {without}\n\
             inputs = {{ pictures = 'a.png' }}\noutputs = {{ from = '{output}', count = 1 }}\n"
        ));
        assert_eq!(all[0].stages, BTreeSet::from_iter(expected), "{output}");
    }
}

#[test]
fn a_test_is_what_is_written() {
    let all = tests(
        r#"
[[tests]]
name = "all of it"
start = "solver"
config = { solver = { limit = 3 } }
timeout = "250ms"
inputs = [
    { json = { a = 1, b = [true, 2.5] }, after = "1s" },
    { file = "a.jsonl", schema = "sighting/1" },
    { recording = "a.mcap" },
    { recording = "a.mcap", output = "eye.out" },
    { pictures = ["a.png", "b/*.png"], to = "vision" },
    { json = {}, to = "referee.outcome" },
]

[[tests.outputs]]
from = "planner"
count = 2
expect = { equal = { x = 1 }, contains = [], jq = ".a", schema = "strokes/1" }

[[tests.outputs]]
from = "solver"
error = "no"
"#,
    );
    let test = &all[0];
    assert_eq!((test.name.as_str(), test.at.line), ("all of it", 32));
    assert_eq!(test.timeout, Duration::from_millis(250));
    assert_eq!(
        test.config[0].over(&json!({ "order": "rows", "limit": 1 })),
        json!({ "order": "rows", "limit": 3 })
    );
    let to = |stage, port| PortRef { stage, port };
    let sources: Vec<_> = test
        .inputs
        .iter()
        .map(|it| (it.to, it.from, it.source.clone()))
        .collect();
    let (file, schema) = ("a.jsonl".to_owned(), Some("sighting/1".to_owned()));
    let json = |schema: &str, body| InputSource::Json {
        schema: schema.to_owned(),
        body,
        buffer: None,
    };
    let recording = |output: &str| InputSource::Recording {
        file: "a.mcap".to_owned(),
        output: output.to_owned(),
    };
    let solver = (to(3, 0), Some(to(2, 0)));
    let expected = [
        (
            solver.0,
            solver.1,
            json("sighting/1", json!({ "a": 1, "b": [true, 2.5] })),
        ),
        (solver.0, solver.1, InputSource::Lines { file, schema }),
        (solver.0, solver.1, recording("referee.again")),
        (solver.0, solver.1, recording("eye.out")),
        (
            to(1, 0),
            Some(to(0, 0)),
            InputSource::Pictures {
                paths: vec!["a.png".to_owned(), "b/*.png".to_owned()],
            },
        ),
        (to(2, 1), Some(to(5, 0)), json("outcome/1", json!({}))),
    ];
    assert_eq!(sources, expected);
    assert_eq!(test.inputs[0].after, Some(Duration::from_secs(1)));
    let [first, second] = test.outputs.as_slice() else {
        panic!("{test:?}");
    };
    assert_eq!((first.stage, first.port, second.port), (4, Some(0), None));
    assert_eq!(first.count.as_ref().unwrap().value, 2);
    assert_eq!(second.error.as_ref().unwrap().value, "no");
    let expectation = &first.expect.as_ref().unwrap()[0];
    let equal = expectation.equal.as_ref().unwrap();
    assert_eq!((equal.at.line, equal.at.column), (49, 20));
    assert_eq!(equal.value, json!({ "x": 1 }));
}

#[test]
fn nothing_is_an_empty_list() {
    let all = tests(
        "[[tests]]\nname = 'a'\nstart = 'solver'\ninputs = { json = {} }\noutputs = { from = 'solver', expect = 'nothing' }\n",
    );
    assert_eq!(all[0].outputs[0].expect.as_ref().map(Vec::len), Some(0));
}

#[test]
fn buffers_are_what_is_written() {
    let all = tests(
        r#"
[[tests]]
name = "a"
start = "solver"
inputs = [
    { json = 1, buffer = { media_type = "a/b", values = [1, 2] } },
    { json = 2, buffer = { media_type = "a/b", element = "f32", shape = [1, 2], file = "c" } },
]
outputs = { from = "planner", expect = { buffer = { media_type = "a/*", shape = ["any"], values = [3] } } }
"#,
    );
    let buffer = |index: usize| match &all[0].inputs[index].source {
        InputSource::Json { buffer, .. } => buffer.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(buffer(0).info(2).unwrap().to_string(), "a/b u8 [2]");
    assert_eq!(buffer(1).info(8).unwrap().to_string(), "a/b f32 [1, 2]");
    assert!(buffer(1).info(4).unwrap_err().contains("4 bytes"));
    assert_eq!(buffer(1).elements, BufferElements::File("c".to_owned()));
    let expected = &all[0].outputs[0].expect.as_ref().unwrap()[0];
    let expected = &expected.buffer.as_ref().unwrap().value;
    let layout = json!({ "media_type": "a/*", "shape": ["any"] });
    assert_eq!(serde_json::to_value(&expected.layout).unwrap(), layout);
    assert_eq!(
        expected.elements,
        Some(BufferElements::Values(vec![3.into()]))
    );
}

/// Files of tests with errors. A line that starts with `#::` opens each.
const WRONG: &str = r#"
#:: what is missing
[[tests]]
#:: names that are not there
[[tests]]
name = "a"
start = "visoin"
without = ["mous"]
config = { refere = {} }
inputs = { pictures = "a.png" }
outputs = [{ from = "planer", count = 1 }, { from = "referee.agian", count = 1 }, { from = "referee", count = 1 }]
#:: values of the wrong type
[[tests]]
name = 1
start = 2
timeout = 5
allow = ["drives-mouse"]
without = "mouse"
inputs = 3
outputs = [4, { from = "vision", expect = "none", count = -1 }, { from = "vision", expect = [] }, { from = "vision" }]
#:: sources of messages
[[tests]]
name = "a"
start = "solver"
inputs = [{}, { json = {}, file = "a" }, { json = {}, to = "screen" }, { json = {}, schema = "frame/1" }, { file = 1 }]
outputs = { from = "solver", count = 1 }
#:: several inputs fit, and nothing says where it enters
[[tests]]
name = "a"
inputs = [{ json = {}, to = "referee" }, { json = {} }]
outputs = { from = "solver", count = 1 }
#:: what would act outside of the program
[[tests]]
name = "a"
start = "vision"
inputs = { pictures = "a.png" }
outputs = { from = "referee.report", count = 1 }
#:: outputs that nothing reaches, wrong expressions and schemas
[[tests]]
name = "a"
start = "solver"
inputs = { json = {} }
outputs = [{ from = "vision", count = 1 }]
[[tests]]
name = "a"
start = "solver"
inputs = { json = {} }
outputs = { from = "planner", count = 1, expect = [{ jq = "bad" }, { schema = "frame/1" }] }
#:: configs
[[tests]]
name = "a"
start = "solver"
config = { solver = { limit = -1 }, planner = { colour = 1 }, vision = 2 }
inputs = { json = {} }
outputs = { from = "planner", count = 1 }
#:: buffers
[[tests]]
name = "a"
start = "solver"
inputs = [{ buffer = {} }, { json = {}, buffer = 1 }, { json = {}, buffer = { media_type = "a/b", values = [300] } }]
outputs = { from = "planner", expect = [{ buffer = { shape = [0] } }, { buffer = { element = "u8", values = [-1] } }] }
#:: inputs that enter before others that are listed before them
[[tests]]
name = "a"
start = "solver"
inputs = [{ json = 1, after = "1s" }, { json = 2 }, { json = 3, after = "999ms" }, { json = 4, after = "1s" }]
outputs = { from = "planner", count = 1 }
#:: too long
[[tests]]
name = "a"
start = "solver"
timeout = "11m"
inputs = { json = {} }
outputs = { from = "planner", count = 1 }
"#;

#[test]
fn all_errors_of_tests_are_found() {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(100)
        .with_links(false);
    let mut rendered = String::new();
    for file in WRONG.split("\n#:: ").skip(1) {
        let (title, text) = file.split_once('\n').unwrap();
        rendered += &format!("# {}\n", title.trim());
        let errors = read_file(&format!("{LOOP}{text}"))
            .err()
            .unwrap_or_default();
        assert!(!errors.is_empty(), "{title}");
        for error in &errors {
            handler.render_report(&mut rendered, error).unwrap();
        }
    }
    snapshot!("tests", rendered);
}

#[test]
fn a_test_that_shows_nothing_is_refused() {
    const TEST: &str = "[[tests]]\nname = 'a'\nstart = 'echo'\ninputs = { json = 1, schema = 'sighting/1' }\n\
                        outputs = { from = 'echo', count = 1, expect = { schema = 'a.b/1' } }\n";
    tests(TEST);
    for (before, now, message) in [
        (
            "inputs = { json = 1, schema = 'sighting/1' }",
            "inputs = []",
            "this test has no `inputs`",
        ),
        (
            "outputs = { from = 'echo', count = 1, expect = { schema = 'a.b/1' } }",
            "outputs = []",
            "this test has no `outputs`",
        ),
        (
            "count = 1, expect = { schema = 'a.b/1' }",
            "count = 2, expect = 'nothing'",
            "`expect` is \"nothing\", and `count` is 2",
        ),
        (
            "expect = { schema = 'a.b/1' }",
            "expect = { schema = 'shop wim' }",
            "\"shop wim\" is no schema id",
        ),
    ] {
        let errors = read_file(&format!("{LOOP}{}", TEST.replace(before, now))).unwrap_err();
        let messages: Vec<_> = errors.iter().map(ConfigError::message).collect();
        assert_eq!(messages, [message], "{now}");
    }
    // Here the stage in front of the input emits any messages.
    let more = "[stages.more]\nplugin = \"echo\"\nfrom = \"echo\"\n";
    let test = TEST.replace("'echo'", "'more'");
    let test = test.replace("sighting/1", "b/x");
    let errors = read_file(&format!("{LOOP}{more}{test}")).unwrap_err();
    assert_eq!(errors[0].message(), "\"b/x\" is no schema id");
}

#[test]
fn a_file_has_a_number_of_tests() {
    let test = "[[tests]]\nname = 'a'\n".repeat(1_001);
    let errors = read_file(&format!("{LOOP}{test}")).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(
        errors[0].message(),
        "the pipeline has 1001 tests, and may have 1000"
    );
}
