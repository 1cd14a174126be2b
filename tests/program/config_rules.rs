//! `flowpipe check` finds the configs that stages refuse, and the inputs that do not take what flows to them.

use flowpipe_tests::{Ran, pipeline, run};
use serde_json::Value;

/// The errors of a file: the line, the column and the message of each.
fn errors(ran: &Ran) -> Vec<(u64, u64, String)> {
    let records = ran.stdout.lines();
    let records = records.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let number = |record: &Value, key: &str| record[key].as_u64().unwrap();
    records
        .map(|it| {
            let message = it["message"].as_str().unwrap().to_owned();
            (number(&it, "line"), number(&it, "column"), message)
        })
        .collect()
}

/// A stage that is fed by a source, unless it is one.
fn stage(plugin: &str, config: &str) -> String {
    let sources = ["source-jsonl", "capture-video"];
    let (from, source) = match sources.contains(&plugin) {
        true => ("\n", ""),
        false if plugin == "sink-image" => (
            "from = 'b'\n",
            "[stages.b]\nplugin = 'capture-files'\nconfig = { paths = 'x.png' }\n",
        ),
        false => (
            "from = 'b'\n",
            "[stages.b]\nplugin = 'source-jsonl'\nconfig = { path = 'x.jsonl' }\n",
        ),
    };
    let from = match plugin {
        "join" => "from = [{ stage = 'b', into = 'left' }, { stage = 'b', into = 'right' }]\n",
        _ => from,
    };
    format!("[stages.a]\nplugin = '{plugin}'\n{from}config = {config}\n{source}")
}

/// What a stage refuses at its creation, `flowpipe check` reports at the place in the file.
#[test]
fn check_finds_keys_that_do_not_fit_together() {
    let folder = tempfile::tempdir().unwrap();
    let needs =
        "the config of `source-jsonl` needs exactly one of `path`, `stdin`, `unix` and `tcp`";
    let both = format!("{needs}: both `path` (line 4) and `tcp` (line 4) are set");
    let none = format!("{needs}: none is set");
    for (plugin, config, place, message) in [
        (
            "source-jsonl",
            "{ tcp = 'localhost' }",
            18,
            "`tcp` can't be \"localhost\"",
        ),
        (
            "source-jsonl",
            "{ tcp = '[::1]:70000' }",
            18,
            "`tcp` can't be \"[::1]:70000\"",
        ),
        (
            "source-jsonl",
            "{ tcp = 'example.org:70' }",
            18,
            "`tcp` can't be \"example.org:70\"",
        ),
        (
            "source-jsonl",
            "{ tcp = '0.0.0.0:70' }",
            18,
            "`tcp` can't be \"0.0.0.0:70\"",
        ),
        (
            "source-jsonl",
            "{ path = 'a', listen = true }",
            24,
            "`listen = true` needs one of `unix` and `tcp`: none is set",
        ),
        (
            "source-jsonl",
            "{ tcp = '127.0.0.1:70', keep_listening = true }",
            34,
            "`keep_listening = true` needs `listen`",
        ),
        (
            "source-jsonl",
            "{ path = 'a', tcp = '127.0.0.1:70' }",
            24,
            &both,
        ),
        ("source-jsonl", "{}", 10, &none),
        (
            "sink-jsonl",
            "{ tcp = 'rack:70', listen = true }",
            18,
            "`tcp` can't be \"rack:70\"",
        ),
        (
            "sink-jsonl",
            "{ stdout = true, listen = true }",
            27,
            "`listen = true` needs one of `unix` and `tcp`: none is set",
        ),
        (
            "window",
            "{ schema = 'a/1', count = 2, step_ms = 5 }",
            39,
            "`step_ms` needs `span_ms`",
        ),
        (
            "window",
            "{ schema = 'a/1', span_ms = 2, step = 5 }",
            41,
            "`step` needs `count`",
        ),
        (
            "window",
            "{ schema = 'a/1', count = 2, span_ms = 5 }",
            39,
            "the config of `window` needs exactly one of `count` and `span_ms`: both `count` (line 4) and `span_ms` (line 4) are set",
        ),
        (
            "join",
            "{ schema = 'a/1', by = 'time' }",
            28,
            "`by = \"time\"` needs `tolerance_ms`",
        ),
        (
            "join",
            "{ schema = 'a/1', by = 'key' }",
            28,
            "`by = \"key\"` needs `key`",
        ),
        (
            "join",
            "{ schema = 'a/1', by = 'frame', key = '.a' }",
            48,
            "`key` and `by = \"frame\"` can't both be set",
        ),
        (
            "sink-image",
            "{ folder = 'a', name = '{time}.png' }",
            33,
            "`name` can't be \"{time}.png\"",
        ),
        (
            "sink-image",
            "{ folder = 'a', name = '{frame}{number}.png' }",
            33,
            "`name` can't be \"{frame}{number}.png\"",
        ),
        (
            "sink-image",
            "{ folder = 'a', name = '.png' }",
            33,
            "`name` can't be \".png\"",
        ),
        (
            "sink-image",
            "{ folder = 'a', draw = true }",
            26,
            "`draw = true` needs `choose`",
        ),
        (
            "capture-video",
            "{ path = 'a.mkv', fps = 10 }",
            28,
            "`fps` needs `camera`",
        ),
        (
            "capture-video",
            "{ camera = '/dev/video0', repeat = true }",
            36,
            "`repeat = true` needs `path`",
        ),
        (
            "http-request",
            "{ servers = ['api.example.org'], url = '.a' }",
            23,
            "`servers.0` can't be \"api.example.org\"",
        ),
        (
            "http-request",
            "{ servers = ['https://a.org/b'], url = '.a' }",
            23,
            "`servers.0` can't be \"https://a.org/b\"",
        ),
        (
            "http-request",
            "{ servers = ['http://a.org'], url = '.a', headers_from_env = { a = 'HOME' } }",
            23,
            "`servers.0` can't be \"http://a.org\"",
        ),
        (
            "http-request",
            "{ servers = ['https://a.org'], url = '.a', body = '.b' }",
            60,
            "`body` can't be set",
        ),
        (
            "http-request",
            "{ servers = ['https://a.org'], url = '.a', method = 'PUT', body_as_text = true }",
            69,
            "`body_as_text = true` needs `body`",
        ),
    ] {
        let file = pipeline(folder.path(), &stage(plugin, config));
        let ran = run(&["check", "--json", &file]).expect(78);
        let found = errors(&ran);
        assert_eq!(found, [(4, place, message.to_owned())], "{plugin} {config}");
        run(&["run", &file]).expect(78);
    }
}

/// A name with them looks like another one, or as if it had another ending.
#[test]
fn names_of_pictures_have_no_hidden_characters() {
    let folder = tempfile::tempdir().unwrap();
    for hidden in ['\u{ad}', '\u{200b}', '\u{2028}', '\u{2029}', '\u{202e}'] {
        for name in [
            format!("{hidden}a.png"),
            format!("a{hidden}.png"),
            format!("a{{number}}{hidden}.png"),
            format!("{{number}}{hidden}.png"),
        ] {
            let config = format!("{{ folder = 'a', name = '{name}' }}");
            let file = pipeline(folder.path(), &stage("sink-image", &config));
            let ran = run(&["check", &file]).expect(78);
            assert!(ran.stderr.contains("`name` can't be"), "{ran:#?}");
        }
    }
}

/// The rules refuse nothing that the stages take.
#[test]
fn check_accepts_what_stages_take() {
    let folder = tempfile::tempdir().unwrap();
    for (plugin, config) in [
        ("source-jsonl", "{ tcp = '127.8.9.1:70' }"),
        (
            "source-jsonl",
            "{ tcp = 'localhost:65535', listen = true, keep_listening = true }",
        ),
        ("source-jsonl", "{ tcp = '[::1]:70' }"),
        ("source-jsonl", "{ tcp = '[::ffff:127.0.0.1]:70' }"),
        (
            "source-jsonl",
            "{ tcp = '[::]:70', allow_remote = true, listen = true }",
        ),
        ("source-jsonl", "{ unix = 'a', listen = true }"),
        (
            "sink-jsonl",
            "{ tcp = 'rack.example:70', allow_remote = true }",
        ),
        ("sink-jsonl", "{ path = 'a', listen = false }"),
        ("window", "{ schema = 'a/1', count = 2, step = 5 }"),
        ("window", "{ schema = 'a/1', span_ms = 2, step_ms = 5 }"),
        (
            "join",
            "{ schema = 'a/1', by = 'key', key = '.a', right_key = '.b' }",
        ),
        ("join", "{ schema = 'a/1', by = 'time', tolerance_ms = 0 }"),
        ("join", "{ schema = 'a/1', by = 'frame' }"),
        (
            "sink-image",
            "{ folder = 'a', name = '_board-{frame} a.2.jpeg' }",
        ),
        ("sink-image", "{ folder = 'a', name = 'ä.png' }"),
        (
            "capture-video",
            "{ path = 'a.mkv', repeat = true, real_time = true }",
        ),
        (
            "capture-video",
            "{ camera = '/dev/v4l/by-id/a.b', fps = 10, size = [8, 8] }",
        ),
        (
            "http-request",
            "{ servers = ['HTTPS://a.org:8443/', 'http://[::1]:80'], url = '.a', headers_from_env = { a = 'HOME' } }",
        ),
        (
            "http-request",
            "{ servers = ['http://a.org'], url = '.a', method = 'POST', body = '.b', body_as_text = true }",
        ),
    ] {
        let file = pipeline(folder.path(), &stage(plugin, config));
        let ran = run(&["check", "--json", &file]);
        assert_eq!(ran.code, Some(0), "{plugin} {config}: {ran:#?}");
    }
}

#[test]
fn check_finds_inputs_that_do_not_take_what_flows_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
[stages.in]
plugin = "source-jsonl"
config = { path = "x.jsonl", schema = "sensor.reading/1" }
[stages.hot]
plugin = "filter"
from = "in"
config = { jq = ".celsius > 30" }
[stages.few]
plugin = "throttle"
from = "hot"
config = { messages = 2 }
[stages.vision]
plugin = "vision-opencv"
from = "few"
[stages.windows]
plugin = "window"
from = "few"
config = { schema = "sensor.window/1", count = 2 }
[stages.solver]
plugin = "solver-search"
from = "windows"
"#;
    let ran = run(&["check", "--json", &pipeline(folder.path(), text)]).expect(78);
    assert_eq!(
        errors(&ran),
        [
            (
                15,
                8,
                "`few` gives sensor.reading/1, but `vision` takes flowpipe.frame/1".to_owned()
            ),
            (
                22,
                8,
                "`windows` gives sensor.window/1, but `solver` takes flowpipe.sighting/1"
                    .to_owned()
            ),
        ]
    );
}

/// Lines and responses carry no picture, whatever their schema is, also where another stage passes them on.
#[test]
fn check_finds_messages_without_pictures_where_pictures_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"
[stages.in]
plugin = "source-jsonl"
config = { path = "x.jsonl", schema = "flowpipe.frame/1" }
[stages.hot]
plugin = "filter"
from = "in"
config = { jq = ".celsius > 30" }
[stages.web]
plugin = "http-request"
from = "in"
config = { servers = ["http://a.org"], url = '"http://a.org/"' }
[stages.lines]
plugin = "sink-image"
from = "in"
config = { folder = "a" }
[stages.responses]
plugin = "sink-image"
from = "web"
config = { folder = "b" }
[stages.passed]
plugin = "sink-image"
from = "hot"
config = { folder = "c" }
"#;
    let check = |text: &str| run(&["check", "--json", &pipeline(folder.path(), text)]);
    let error = |line: u64, from: &str, to: &str| {
        let message = format!("`{from}.out` carries nothing, but `{to}.in` carries a picture");
        (line, 8, message)
    };
    let found = errors(&check(text).expect(78));
    assert_eq!(
        found,
        [error(15, "in", "lines"), error(19, "web", "responses")]
    );
    // What is passed on is known where all edges are.
    let (before, after) = text.split_once("[stages.lines]").unwrap();
    let (_, passed) = after.split_once("[stages.passed]").unwrap();
    let found = errors(&check(&format!("{before}[stages.passed]{passed}")).expect(78));
    assert_eq!(found, [error(15, "hot", "passed")]);
}

#[test]
fn check_finds_stages_that_would_replace_each_other_s_pictures() {
    let folder = tempfile::tempdir().unwrap();
    let check = |first: &str, second: &str| {
        let stage = |name: &str, config: &str| {
            format!("[stages.{name}]\nplugin = \"sink-image\"\nfrom = \"in\"\nconfig = {config}\n")
        };
        let source = "[stages.in]\nplugin = \"capture-files\"\nconfig = { paths = \"x.png\" }\n";
        let text = format!(
            "{source}{}{}",
            stage("first", first),
            stage("second", second)
        );
        run(&["check", "--json", &pipeline(folder.path(), &text)])
    };
    let error = |to: &str| {
        let message = format!(
            "`second` writes \"{{frame}}.png\" into the folder {to:?}, and so does `first`: each would replace the \
             files of the other"
        );
        [(11, 21, message)]
    };
    let frames = |folder: &str| format!("{{ folder = \"{folder}\", name = \"{{frame}}.png\" }}");
    // Before the first run, and by another name of a folder that is there.
    let new = frames("new/pictures");
    assert_eq!(errors(&check(&new, &new).expect(78)), error("new/pictures"));
    std::fs::create_dir(folder.path().join("old")).unwrap();
    let ran = check(&frames("old"), &frames("./old/../old")).expect(78);
    assert_eq!(errors(&ran), error("./old/../old"));
    check(&frames("old"), &frames("new")).expect(0);
    let numbered = "{ folder = \"old\" }";
    check(numbered, numbered).expect(0);
    check(&frames("old"), numbered).expect(0);
}

/// Text where an expression is expected is explained, and a request without header fields of the environment is not said to
/// have any.
#[test]
fn check_explains_the_config_of_a_request() {
    let folder = tempfile::tempdir().unwrap();
    let request = |url: &str| {
        stage(
            "http-request",
            &format!("{{ servers = ['https://a.org'], url = {url} }}"),
        )
    };
    let check = |url: &str| run(&["check", &pipeline(folder.path(), &request(url))]);
    let ran = check("'https://a.org/b'").expect(78);
    let help = "this is an expression of jq: a fixed text is in quotes: '\"https://a.org/b\"'";
    let words = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.replace("│ ", "").contains(help), "{}", ran.stderr);
    let ran = check("'\"https://a.org/b\"'").expect(0);
    assert!(
        ran.stdout.contains("sends requests to https://a.org"),
        "{}",
        ran.stdout
    );
    assert!(
        !ran.stdout.contains("environment variables"),
        "{}",
        ran.stdout
    );
}

/// Both inputs of a join take any message, so that each entry names one.
#[test]
fn check_explains_the_inputs_of_a_join() {
    let folder = tempfile::tempdir().unwrap();
    let join = stage("join", "{ schema = 'a/1', by = 'frame' }");
    let help = |from: &str| {
        let (before, rest) = join.split_once("from = ").unwrap();
        let (_, after) = rest.split_once('\n').unwrap();
        let file = pipeline(folder.path(), &format!("{before}from = {from}\n{after}"));
        let ran = run(&["check", "--json", &file]).expect(78);
        let first = ran.stdout.lines().next().unwrap().to_owned();
        let record: Value = serde_json::from_str(&first).unwrap();
        record["help"].as_str().unwrap().to_owned()
    };
    let pair = "from = [{ stage = \"b\", into = \"left\" }, { stage = \"b\", into = \"right\" }]";
    assert_eq!(
        help("['b', { stage = 'b', into = 'right' }]"),
        format!("name one: {pair}")
    );
    assert_eq!(
        help("{ stage = 'b', into = 'left' }"),
        "any stage can feed it: from = [{ stage = \"b\", into = \"left\" }, { stage = \"STAGE\", into = \"right\" }]"
    );
}

/// A mark of the order of bytes, as some editors write it, is no part of a file.
#[test]
fn files_may_start_with_a_byte_order_mark() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in.jsonl"), "\u{feff}{\"a\": 1}\n").unwrap();
    let text = "\u{feff}[stages.in]\nplugin = 'source-jsonl'\nconfig = { path = 'in.jsonl', schema = 'x.a/1' }\n\
                [stages.out]\nplugin = 'sink-jsonl'\nfrom = 'in'\nconfig = { stdout = true }\n";
    let ran = run(&["run", "--quiet", &pipeline(folder.path(), text)]).expect(0);
    assert_eq!(ran.stdout, "{\"a\": 1}\n");
}
