//! Capture stage: puzzles from text, as sightings, so that solvers and planners run without pictures.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read as _;
use std::iter::Enumerate;
use std::vec::IntoIter;

use flowpipe_plugin::puzzle::message::{CHECK, SIGHTING, Sighting};
use flowpipe_plugin::puzzle::text;
use flowpipe_plugin::{
    Context, Effect, EffectKind, Error, Host, Input, JsonSchema, Next, Port, Result, Stage,
};
use serde::Deserialize;

/// Reads puzzles from text files (grids, Flow Free level lines, puzz.link URLs, JSON) and gives each as a sighting,
/// as if vision had read it from a picture.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Config {
    /// Files to read, in this order; relative paths start at the pipeline file's folder.
    files: Vec<String>,
    /// Puzzles given here, after those of the files.
    text: Option<String>,
    /// Further puzzles, each as a text of its own. They are read while the pipeline runs, so there may be any number.
    puzzles: Vec<String>,
    /// Leave out puzzles that can't be read, with a warning, instead of not starting or, for those of `puzzles`, failing.
    skip_bad: bool,
}

struct Puzzles {
    /// Those that have been read.
    sightings: VecDeque<Sighting>,
    /// The texts that have not been read, by their place from 0.
    texts: Enumerate<IntoIter<String>>,
    skip_bad: bool,
}

impl Stage for Puzzles {
    const NAME: &'static str = "capture-puzzles";
    const ROLE: &'static str = "capture";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> =
        Some(&[
            Effect::new(EffectKind::ReadsFiles, "reads puzzles from {files}").with_key("files"),
        ]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        Vec::new()
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", SIGHTING).checked_by(CHECK)]
    }

    fn new(config: Config, _: &Host) -> Result<Self> {
        let mut sightings = VecDeque::new();
        for file in &config.files {
            let text = text_of(file)
                .map_err(|error| Error::bad_config(format!("can't read {file}: {error}")))?;
            read(&text, file, config.skip_bad, &mut sightings)?;
        }
        if let Some(text) = &config.text {
            read(text, "text", config.skip_bad, &mut sightings)?;
        }
        Ok(Self {
            sightings,
            texts: config.puzzles.into_iter().enumerate(),
            skip_bad: config.skip_bad,
        })
    }

    fn process(&mut self, _: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        while self.sightings.is_empty()
            && let Some((index, text)) = self.texts.next()
        {
            let name = format!("puzzles:{}", index + 1);
            read(&text, &name, self.skip_bad, &mut self.sightings)?;
        }
        let Some(sighting) = self.sightings.pop_front() else {
            return Ok(Next::End);
        };
        context.emit(0, &sighting)?;
        Ok(Next::More)
    }
}

/// The largest file that is read, in bytes.
const MOST: u64 = 256 << 20;

fn text_of(file: &str) -> std::io::Result<String> {
    let mut text = String::new();
    let length = File::open(file)?.take(MOST + 1).read_to_string(&mut text)?;
    if length as u64 > MOST {
        return Err(std::io::Error::from(std::io::ErrorKind::FileTooLarge));
    }
    Ok(text)
}

fn read(text: &str, name: &str, skip_bad: bool, sightings: &mut VecDeque<Sighting>) -> Result<()> {
    for entry in text::read(text) {
        match entry.puzzle {
            Ok((puzzle, _)) => {
                let source = format!("{name}:{}", entry.line);
                sightings.push_back(Sighting::of_text(puzzle, source));
            }
            Err(error) if skip_bad => flowpipe_plugin::tracing::warn!("{name}: {error}"),
            Err(error) => return Err(Error::bad_config(format!("{name}: {error}"))),
        }
    }
    Ok(())
}

flowpipe_plugin::export!(Puzzles);

#[cfg(test)]
mod tests {
    use flowpipe_plugin::harness::Harness;
    use serde_json::{Value, json};

    use super::*;

    fn puzzles(config: Value) -> Result<Harness> {
        flowpipe_plugin::harness!(Puzzles, config)
    }

    #[test]
    fn each_puzzle_is_a_sighting() {
        let mut harness = puzzles(json!({ "text": "A.\nA.\n\nAB\nAB\n" })).unwrap();
        for line in [1, 4] {
            let emitted = harness.tick().unwrap();
            let sighting: Sighting = serde_json::from_value(emitted[0].body.clone()).unwrap();
            assert_eq!(sighting.frame.source, format!("text:{line}"));
            assert_eq!(sighting.board().unwrap().puzzle.board().rows(), 2);
        }
        assert!(harness.tick().unwrap().is_empty());
    }

    #[test]
    fn puzzles_are_read_one_by_one() {
        let puzzles_given = json!(["1:2,0,0,1;0,1", "AB", "AA\n\nBB"]);
        let mut harness = puzzles(json!({ "text": "A.A", "puzzles": puzzles_given })).unwrap();
        let source = |harness: &mut Harness| {
            let emitted = harness.tick()?;
            Ok::<_, Error>(emitted[0].body["frame"]["source"].clone())
        };
        assert_eq!(source(&mut harness).unwrap(), "text:1");
        assert_eq!(source(&mut harness).unwrap(), "puzzles:1:1");
        let error = source(&mut harness).unwrap_err().to_string();
        assert!(error.starts_with("puzzles:2: line 1"), "{error}");
        assert_eq!(source(&mut harness).unwrap(), "puzzles:3:1");
        assert_eq!(source(&mut harness).unwrap(), "puzzles:3:3");
        assert!(harness.tick().unwrap().is_empty());
        let mut harness = puzzles(json!({ "puzzles": ["AB", "AA"], "skip_bad": true })).unwrap();
        assert_eq!(source(&mut harness).unwrap(), "puzzles:2:1");
    }

    #[test]
    fn a_bad_puzzle_is_named_or_left_out() {
        let error = puzzles(json!({ "text": "AB\nA.\n" }))
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.starts_with("text: line 1, column 2 (cell at row 1, column 2)"),
            "{error}"
        );
        let mut harness = puzzles(json!({ "text": "AB\nA.\n", "skip_bad": true })).unwrap();
        assert!(harness.tick().unwrap().is_empty());
        let error = puzzles(json!({ "files": ["no/such/file"] }))
            .err()
            .unwrap()
            .to_string();
        assert!(error.starts_with("can't read no/such/file"), "{error}");
    }
}
