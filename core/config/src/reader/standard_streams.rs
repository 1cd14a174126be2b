//! Reports stages that can't have the stream that their config names: a standard stream or a Unix socket in a process of
//! its own, and standard input that something else on the same machine reads.

use serde_json::Value;

use super::Surroundings;
use super::error::Findings;
use super::given_key::GivenKey;
use super::known_contestants::{KnownContestant, known_contestants};
use super::problem::Problem;
use super::written::stage::WrittenStage;
use crate::pipeline::{Isolation, Pipeline};

/// The file that is standard input.
pub const STANDARD_INPUT: &str = "/dev/stdin";

/// A stream that the value of a config key names. The key's JSON Schema has it as its `format`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    StandardInput,
    StandardOutput,
    UnixSocket,
}

impl Stream {
    fn of_format(format: &str) -> Option<Self> {
        match format {
            "standard-input" => Some(Self::StandardInput),
            "standard-output" => Some(Self::StandardOutput),
            "unix-socket" => Some(Self::UnixSocket),
            _ => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::StandardInput => "standard input",
            Self::StandardOutput => "standard output",
            Self::UnixSocket => "Unix sockets",
        }
    }
}

/// A stream of a stage.
struct Used<'a> {
    by: KnownContestant<'a>,
    stream: Stream,
    key: GivenKey<'a>,
}

/// Reports each stage that can't have its stream.
pub(super) fn check(
    written: &[WrittenStage<'_, '_>],
    pipeline: &Pipeline,
    given: Surroundings<'_>,
    findings: &mut Findings,
) {
    let contestants = known_contestants(written, pipeline, given);
    let used: Vec<_> = contestants.flat_map(used_streams).collect();
    for it in used.iter().filter(|it| it.is_isolated()) {
        let problem = Problem::IsolatedStream {
            stage: it.by.stage.name.clone(),
            stream: it.stream.words(),
        };
        it.key.report(problem, findings);
    }
    let inputs = used
        .iter()
        .filter(|it| it.stream == Stream::StandardInput && !it.is_isolated());
    let inputs: Vec<_> = inputs.collect();
    let Some(first) = inputs.first() else {
        return;
    };
    if findings.file().name() == STANDARD_INPUT {
        let stage = first.by.stage.name.clone();
        first
            .key
            .report(Problem::PipelineFromInput { stage }, findings);
    }
    for (at, it) in inputs.iter().enumerate() {
        let shares = |other: &&&Used<'_>| pipeline.machines.share(other.by.number, it.by.number);
        let Some(first) = inputs[..at].iter().find(shares) else {
            continue;
        };
        let problem = Problem::SecondInput {
            stage: it.by.stage.name.clone(),
            other: first.by.stage.name.clone(),
        };
        it.key
            .report_beside(&first.key, "it is read here too", problem, findings);
    }
}

impl Used<'_> {
    fn is_isolated(&self) -> bool {
        self.by.stage.isolation == Isolation::Process
    }
}

/// The streams that a plugin uses with its config.
fn used_streams(by: KnownContestant<'_>) -> impl Iterator<Item = Used<'_>> {
    let keys = by.manifest.config.get("properties");
    let keys = keys.and_then(Value::as_object).into_iter().flatten();
    keys.filter_map(move |(key, schema)| {
        let format = schema.get("format").and_then(Value::as_str)?;
        let stream = Stream::of_format(format)?;
        by.manifest.value(&by.contestant.config, key)?;
        Some(Used {
            by,
            stream,
            key: by.key(key),
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{FakePlugins, plugins};
    use super::super::{ConfigError, read_with};
    use super::*;
    use crate::manifest::Manifest;

    /// The plugins, with one that has a key for each stream.
    fn known() -> FakePlugins {
        let manifest = json!({
            "name": "lines", "role": "stage", "doc": "", "effects": [], "inputs": [],
            "outputs": [{ "name": "out", "schema": "*" }],
            "config": {
                "type": "object",
                "properties": {
                    "stdin": { "const": true, "format": "standard-input" },
                    "stdout": { "const": true, "format": "standard-output" },
                    "unix": { "type": "string", "format": "unix-socket" },
                    "path": { "type": "string" },
                },
            },
        });
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        plugins().with(manifest)
    }

    fn errors(name: &str, stages: &[&str]) -> Vec<String> {
        let stages = stages.iter().enumerate();
        let text = stages.map(|(at, keys)| format!("[stages.s{at}]\nplugin = \"lines\"\n{keys}\n"));
        let read = read_with(name, &text.collect::<String>(), &known(), &[]);
        let errors = read.err().unwrap_or_default();
        let line = |it: &ConfigError| format!("{it}; {}", it.help().unwrap_or_default());
        errors.iter().map(line).collect()
    }

    #[test]
    fn a_process_of_a_stage_has_no_standard_streams_and_no_unix_sockets() {
        for (key, column, words) in [
            ("stdin = true", 20, "standard input"),
            ("stdout = true", 21, "standard output"),
            ("unix = \"a.sock\"", 19, "Unix sockets"),
        ] {
            let thread = format!("config = {{ {key} }}");
            assert_eq!(errors("x.toml", &[&thread]), [""; 0], "{key}");
            let process = format!("config = {{ {key} }}\nisolation = \"process\"");
            let expected = format!(
                "x.toml:3:{column}: `s0` runs in a process of its own, and can't use {words} there; leave `isolation` out, or \
                 use a file or a TCP address"
            );
            assert_eq!(errors("x.toml", &[&process]), [expected]);
        }
        let file = "config = { path = \"a\" }\nisolation = \"process\"";
        assert_eq!(errors("x.toml", &[file]), [""; 0]);
    }

    #[test]
    fn standard_input_has_one_reader() {
        let reads = "config = { stdin = true }";
        let writes = "config = { stdout = true }";
        assert_eq!(errors("x.toml", &[reads, writes, writes]), [""; 0]);
        assert_eq!(
            errors("x.toml", &[reads, reads]),
            [
                "x.toml:6:20: `s1` reads standard input, and so does `s0`: each would get a part of it; leave one of them \
                 out: an output can feed several stages"
            ]
        );
        assert_eq!(
            errors(STANDARD_INPUT, &[reads]),
            [
                "/dev/stdin:3:20: `s0` reads standard input, which the pipeline was read from; save the pipeline as a file, \
                 and name that"
            ]
        );
    }

    #[test]
    fn each_machine_has_a_standard_input() {
        let errors = |machines: [&str; 3]| {
            let stage = |(at, machine): (usize, &str)| {
                format!(
                    "[stages.s{at}]\nplugin = \"lines\"\nmachine = \"{machine}\"\nconfig = {{ stdin = true }}\n"
                )
            };
            let stages: String = machines.into_iter().enumerate().map(stage).collect();
            let text = format!(
                "[machines.a]\nlisten = \"tcp/127.0.0.1:7447\"\n[machines.b]\n[machines.c]\n{stages}\
                 [stages.all]\nplugin = \"echo\"\nfrom = [\"s0\", \"s1\", \"s2\"]\nmachine = \"a\"\n"
            );
            let read = read_with("x.toml", &text, &known(), &[]);
            let errors = read.err().unwrap_or_default();
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(errors(["a", "b", "c"]), [""; 0]);
        let second = errors(["a", "b", "b"]);
        let words = "`s2` reads standard input, and so does `s1`";
        assert!(second.iter().any(|it| it.contains(words)), "{second:?}");
        let of_a = "so does `s0`";
        assert!(!second.iter().any(|it| it.contains(of_a)), "{second:?}");
        let unknown = errors(["a", "b", "x"]);
        let words = "standard input";
        assert!(!unknown.iter().any(|it| it.contains(words)), "{unknown:?}");
    }
}
