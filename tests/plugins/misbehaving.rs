//! A stage that misbehaves on purpose, as its config selects.

use flowpipe_plugin::{
    Context, Effect, EffectKind, Error, Host, Input, JsonSchema, Next, Port, Result, Stage,
};
use serde::Deserialize;

/// Does wrong on purpose.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// What to do wrong.
    how: How,
    /// At every message of this number and its multiples.
    #[serde(default = "always")]
    every: u64,
    /// A command that it does not run: a stage that declares one may start processes.
    #[serde(default)]
    #[expect(dead_code, reason = "the key alone counts")]
    command: Option<String>,
}

fn always() -> u64 {
    1
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum How {
    /// Panic while it is made.
    PanicInCreate,
    /// Panic at a message.
    PanicInProcess,
    /// Panic when it is dropped.
    PanicInDrop,
    /// Panic at a message in a thread of its own, and emit.
    PanicInThread,
    /// Fail at a message.
    Fail,
    /// Emit something that is no sighting.
    Malformed,
    /// Emit a thousand sightings for one.
    Flood,
    /// Emit nothing.
    Silence,
    /// Never come back, whatever is cancelled.
    Hang,
    /// Read memory that is not there.
    Segfault,
    /// Abort its process.
    Abort,
    /// Fork, and abort its process: the copy stays, with the connections.
    ForkAndAbort,
    /// Fork, and never come back.
    ForkAndHang,
    /// Fork, and emit.
    Fork,
    /// Take memory until there is none.
    OutOfMemory,
    /// Print to standard output, and emit.
    Print,
    /// Print what acts on a terminal, and emit.
    PrintEscapes,
    /// Print, and abort its process.
    PrintAndAbort,
    /// Print without end, in a thread of its own.
    PrintWithoutEnd,
}

struct Misbehaving {
    config: Config,
}

impl Stage for Misbehaving {
    const NAME: &'static str = "misbehaving";
    /// The same wrong each time.
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> =
        Some(&[Effect::new(EffectKind::RunsCommands, "runs {command}").with_key("command")]);
    type Config = Config;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", "flowpipe.sighting/1")]
    }

    fn outputs() -> Vec<Port> {
        vec![Port::new("out", "flowpipe.sighting/1")]
    }

    fn new(config: Config, _: &Host) -> Result<Self> {
        assert!(
            !matches!(config.how, How::PanicInCreate),
            "made to panic in create"
        );
        Ok(Self { config })
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        let Input::Message(message) = input else {
            return Ok(Next::More);
        };
        let sighting: serde_json::Value = message.parse()?;
        if !message.sequence().is_multiple_of(self.config.every) {
            context.emit(0, &sighting)?;
            return Ok(Next::More);
        }
        match self.config.how {
            How::PanicInCreate | How::PanicInDrop => context.emit(0, &sighting)?,
            How::PanicInProcess => panic!("made to panic in process"),
            How::PanicInThread => {
                let panics = std::thread::spawn(|| panic!("made to panic in a thread"));
                let _ = panics.join();
                context.emit(0, &sighting)?;
            }
            How::Fail => return Err(Error::new("made to fail")),
            How::Malformed => context.emit(0, &"malformed")?,
            How::Flood => {
                for _ in 0..1000 {
                    context.emit(0, &sighting)?;
                }
            }
            How::Silence => {}
            How::Hang => loop {
                std::thread::sleep(std::time::Duration::from_millis(10));
            },
            How::Segfault => {
                let nowhere = std::ptr::without_provenance::<u8>(16);
                // SAFETY: there is none: this is to crash.
                let byte = unsafe { nowhere.read_volatile() };
                context.emit(0, &byte)?;
            }
            How::Abort => std::process::abort(),
            #[cfg(unix)]
            How::ForkAndAbort => {
                fork();
                std::process::abort();
            }
            #[cfg(unix)]
            How::ForkAndHang => {
                fork();
                loop {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
            }
            #[cfg(unix)]
            How::Fork => {
                fork();
                context.emit(0, &sighting)?;
            }
            #[cfg(not(unix))]
            How::ForkAndAbort | How::ForkAndHang | How::Fork => {
                return Err(Error::new("there is no fork"));
            }
            How::OutOfMemory => {
                let mut taken = Vec::new();
                loop {
                    taken.push(vec![1_u8; 64 << 20]);
                }
            }
            How::Print => {
                println!("printed by a plugin");
                context.emit(0, &sighting)?;
            }
            How::PrintEscapes => {
                println!("\x1b]0;owned\x07\x1b[2J\rto standard output");
                eprintln!("\u{9b}31m\u{202e}to standard error");
                context.emit(0, &sighting)?;
            }
            How::PrintAndAbort => {
                println!("the last words");
                eprint!("without an end of the line");
                std::process::abort();
            }
            How::PrintWithoutEnd => {
                let print = || {
                    loop {
                        println!("printed without end");
                    }
                };
                std::thread::spawn(print);
                context.emit(0, &sighting)?;
            }
        }
        Ok(Next::More)
    }
}

/// Leaves a copy of this process, which never ends by itself.
#[cfg(unix)]
fn fork() {
    // SAFETY: the copy only sleeps.
    let copy = unsafe { libc::fork() };
    assert!(copy >= 0, "no fork");
    if copy == 0 {
        loop {
            // SAFETY: it sleeps.
            unsafe { libc::sleep(1000) };
        }
    }
}

impl Drop for Misbehaving {
    fn drop(&mut self) {
        assert!(
            !matches!(self.config.how, How::PanicInDrop),
            "made to panic in drop"
        );
    }
}

flowpipe_plugin::export!(Misbehaving);
