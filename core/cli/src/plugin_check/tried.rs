//! What a check calls the messages that it tries.

use flowpipe_config::manifest::Manifest;
use flowpipe_message::FRAME;
use flowpipe_puzzle::message::{OUTCOME, concerns_boards};

use crate::plugin_check::samples::{self, SampleBoard};

/// The messages of the first input, as text.
pub struct TriedNoun {
    one: String,
    several: String,
}

impl TriedNoun {
    /// What a stage takes: boards, frames, or messages of a schema.
    pub fn new(manifest: &Manifest, takes: &str) -> Self {
        // Vision of boards is shown boards.
        let mut outputs = manifest.outputs.iter();
        let gives_boards = outputs.any(|it| concerns_boards(&it.schema));
        match takes {
            FRAME if gives_boards => Self::of("board", ""),
            FRAME => Self::of("frame", ""),
            "*" => Self::of("board", ""),
            takes if concerns_boards(takes) || takes == OUTCOME => Self::of("board", ""),
            takes => Self::of("message", &format!(" of {takes}")),
        }
    }

    /// `1 frame`, `2 messages of flowpipe.metrics/1`.
    pub fn counted(&self, count: usize) -> String {
        let noun = if count == 1 { &self.one } else { &self.several };
        format!("{count} {noun}")
    }

    /// One, without its number.
    pub fn one(&self) -> &str {
        &self.one
    }

    fn of(noun: &str, rest: &str) -> Self {
        Self {
            one: format!("{noun}{rest}"),
            several: format!("{noun}s{rest}"),
        }
    }
}

/// The inputs without samples, one sentence each.
pub fn without_samples(manifest: &Manifest, boards: &[SampleBoard]) -> Vec<String> {
    let inputs = manifest.inputs.iter();
    let unknown = inputs.filter(|input| samples::messages(boards, input).is_empty());
    let text = |input: &flowpipe_config::manifest::Port| {
        let (name, schema) = (&input.name, &input.schema);
        format!(
            "input `{name}`: there are no samples of {schema}, a schema that flowpipe does not know: test its answers \
             with messages of your own, in a test of the stage or with `flowpipe run` on a recording"
        )
    };
    unknown.map(text).collect()
}

#[cfg(test)]
mod tests {
    use flowpipe_config::manifest::Port;
    use flowpipe_puzzle::message::{SIGHTING, SOLVED};

    use super::*;

    #[test]
    fn messages_are_called_what_they_are() {
        let counted = |takes: &str, gives: &str| {
            let manifest = Manifest {
                outputs: vec![Port {
                    name: "out".into(),
                    schema: gives.into(),
                    ..Port::default()
                }],
                ..Manifest::default()
            };
            let noun = TriedNoun::new(&manifest, takes);
            (noun.counted(1), noun.counted(2))
        };
        for (takes, gives, one, two) in [
            (FRAME, SIGHTING, "1 board", "2 boards"),
            (FRAME, "spots.targets/1", "1 frame", "2 frames"),
            (SIGHTING, SOLVED, "1 board", "2 boards"),
            ("a/1", "b/1", "1 message of a/1", "2 messages of a/1"),
        ] {
            assert_eq!(counted(takes, gives), (one.to_owned(), two.to_owned()));
        }
    }
}
