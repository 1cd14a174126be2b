//! Numbered messages: a source, a stage that passes them on, and one that writes their numbers into a file.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::time::Duration;

use flowpipe_plugin::{
    Context, Effect, EffectKind, Error, Host, Input, JsonSchema, Next, NoConfig, Port, Result,
    Stage,
};
use serde::{Deserialize, Serialize};

const NUMBER: &str = "test.number/1";

#[derive(Serialize, Deserialize)]
struct Number {
    n: u64,
}

/// Emits 1, 2, 3 and so on.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct SourceConfig {
    /// How many.
    count: u64,
}

struct Source {
    count: u64,
    last: u64,
}

impl Stage for Source {
    const NAME: &'static str = "numbers";
    const ROLE: &'static str = "capture";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = SourceConfig;

    fn inputs() -> Vec<Port> {
        Vec::new()
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", NUMBER)]
    }

    fn new(config: SourceConfig, _: &Host) -> Result<Self> {
        Ok(Self {
            count: config.count,
            last: 0,
        })
    }

    fn process(&mut self, _: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if self.last == self.count {
            return Ok(Next::End);
        }
        self.last += 1;
        context.emit(0, &Number { n: self.last })?;
        Ok(Next::More)
    }
}

struct Pass;

impl Stage for Pass {
    const NAME: &'static str = "numbers-pass";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = NoConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", NUMBER)]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", NUMBER)]
    }

    fn new(_: NoConfig, _: &Host) -> Result<Self> {
        Ok(Self)
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::End);
        };
        let number: Number = message.parse()?;
        context.emit(0, &number)?;
        Ok(Next::More)
    }
}

/// Writes each number into a line of a file.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct LogConfig {
    /// The file, which is replaced.
    file: String,
    /// How long it takes for each, in microseconds.
    pause_us: u64,
}

struct Log {
    file: BufWriter<File>,
    pause: Duration,
}

impl Stage for Log {
    const NAME: &'static str = "numbers-log";
    const EFFECTS: Option<&'static [Effect]> =
        Some(&[
            Effect::new(EffectKind::WritesFiles, "writes numbers into {file}").with_key("file"),
        ]);
    type Config = LogConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", NUMBER)]
    }

    fn outputs() -> Vec<Port> {
        Vec::new()
    }

    fn new(config: LogConfig, _: &Host) -> Result<Self> {
        let file = File::create(&config.file)
            .map_err(|error| Error::bad_config(format!("can't write {}: {error}", config.file)))?;
        Ok(Self {
            file: BufWriter::new(file),
            pause: Duration::from_micros(config.pause_us),
        })
    }

    fn process(&mut self, input: Input<'_>, _: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            self.file.flush()?;
            return Ok(Next::End);
        };
        let Number { n } = message.parse()?;
        writeln!(self.file, "{n}")?;
        if !self.pause.is_zero() {
            // It may be killed at any time.
            self.file.flush()?;
            std::thread::sleep(self.pause);
        }
        Ok(Next::More)
    }
}

flowpipe_plugin::export!(Source, Pass, Log);
