//! Pictures shown to a vision plugin.
//!
//! It runs pipelines of two stages, `capture-files` and the vision, so that pictures are decoded, and the
//! plugin loaded, called and checked, as in any other. The vision forgets each picture before the next.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crossbeam_channel::Sender;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_config::reader;
use flowpipe_engine::run::{Observer, Options, Run};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::frame::Frame;
use flowpipe_host::message::Message;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_puzzle::message::{SIGHTING, Sighting};
use serde_json::json;

use crate::ask::{self, AskError};
use crate::checks;
use crate::commands::run::start_failure;
use crate::exit::Failure;
use crate::follow::follow_until;

/// The stages.
const FRAMES: &str = "frames";
const VISION: &str = "vision";

/// Who is asked, and how.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// The vision plugin's name.
    pub plugin: &'a str,
    /// Its config as a TOML inline table.
    pub config: Option<&'a str>,
    /// How often each picture is shown.
    pub repeat: u32,
    /// Where the plugin is to save pictures of its steps.
    pub steps: Option<&'a Path>,
}

/// What is said of a file.
pub enum Said {
    /// What it shows, as it is given to the vision.
    Picture(Frame),
    /// What vision made of it, and how long the whole call took, in nanoseconds.
    Sighting(Box<Sighting>, u64),
    /// It is no picture.
    Unreadable(String),
    /// Vision failed on it, or what it said broke the rules.
    Failed(String),
}

/// Shows pictures to a vision plugin and hands what is said of each, by its index, to `each`, in the order
/// in which it is said, until `each` breaks off. Pictures are shown round after round; of each, the picture
/// comes first.
///
/// # Errors
/// See [`AskError`].
pub fn look(
    files: &[&str],
    look: &Look<'_>,
    catalogue: &Catalogue,
    mut each: impl FnMut(usize, Said) -> ControlFlow<Result<(), Failure>>,
) -> Result<(), AskError> {
    if files.is_empty() {
        return Ok(());
    }
    let pipeline = pipeline(files, look, catalogue)?;
    let (sender, told) = crossbeam_channel::unbounded();
    let options = Options {
        validators: checks::validators(),
        observers: vec![Arc::new(Listen(sender))],
        ..Options::default()
    };
    let handle = Run::start(pipeline, catalogue, options).map_err(start_failure)?;
    let mut heard = Heard {
        files,
        shown: 0,
        frames: Vec::new(),
    };
    let mut ended = Ok(());
    let _ = follow_until(
        || handle.is_over(),
        &told,
        |one| match one.and_then(|one| heard.hear(one)) {
            Some((index, said)) => each(index, said).map_break(|result| ended = result),
            None => ControlFlow::Continue(()),
        },
    );
    handle.abort();
    let report = handle.wait();
    if let (Some(failure), Ok(())) = (report.failure, &ended) {
        ended = Err(Failure::Run(failure.to_string()));
    }
    Ok(ended?)
}

/// The pipeline as a file would say it, so that the plugin's name and config get the same checks.
fn pipeline(files: &[&str], look: &Look<'_>, catalogue: &Catalogue) -> Result<Pipeline, AskError> {
    let mut text = format!(
        "[stages.{FRAMES}]\nplugin = \"capture-files\"\nconfig = {{ paths = [] }}\non_error = \"skip\"\n"
    );
    text += &ask::stage(VISION, look.plugin, FRAMES, look.config, None);
    let mut pipeline = reader::read("command line", &text, catalogue).map_err(AskError::Config)?;
    for edge in &mut pipeline.edges {
        // Whole pictures wait there.
        edge.queue.capacity = 1;
    }
    let found = catalogue.find(look.plugin);
    let takes = |key: &str| {
        let schema = found.map(|found| &found.manifest.config);
        schema.is_some_and(|schema| schema.pointer(&format!("/properties/{key}")).is_some())
    };
    if look.steps.is_some() && !takes("steps") {
        let plugin = look.plugin;
        let reason = format!("--steps: {plugin} has no config key `steps`, it can't save them");
        return Err(Failure::Config(reason).into());
    }
    for stage in &mut pipeline.stages {
        let is_vision = stage.name == VISION;
        stage.fresh = is_vision;
        for contestant in &mut stage.contestants {
            if !is_vision {
                contestant.config = json!({ "paths": files, "times": look.repeat });
                continue;
            }
            if takes("timed") && contestant.config["timed"].is_null() {
                contestant.config["timed"] = json!(true);
            }
            if let Some(folder) = look.steps {
                contestant.config["steps"] = json!(folder);
            }
        }
    }
    Ok(pipeline)
}

/// What the run tells.
enum Told {
    Message(Arc<Message>),
    Problem(Problem),
}

struct Listen(Sender<Told>);

impl Observer for Listen {
    fn message(&self, _: usize, _: usize, message: &Arc<Message>) {
        // Nobody listens any more once looking has broken off.
        let _ = self.0.send(Told::Message(Arc::clone(message)));
    }

    fn problem(&self, problem: &Problem, _: i64) {
        let _ = self.0.send(Told::Problem(problem.clone()));
    }
}

/// Makes out which file is spoken of.
struct Heard<'a> {
    files: &'a [&'a str],
    /// Files that were shown or could not be, in all rounds.
    shown: usize,
    /// The file of each frame, by the frame's number less one.
    frames: Vec<usize>,
}

impl Heard<'_> {
    fn hear(&mut self, told: Told) -> Option<(usize, Said)> {
        match told {
            Told::Message(message) if message.schema() == SIGHTING => {
                let sighting = serde_json::from_str(message.json()).ok()?;
                let lineage = message.lineage();
                let hop = lineage.hops.last()?;
                let took = u64::try_from(hop.emitted_ns - hop.taken_ns).unwrap_or(0);
                let index = self.frame(lineage.origin?.sequence)?;
                Some((index, Said::Sighting(Box::new(sighting), took)))
            }
            Told::Message(message) => {
                let index = self.next();
                self.frames.push(index);
                Some((index, Said::Picture(message.frame()?.clone())))
            }
            // A warning: what it warns of may still come.
            Told::Problem(problem) if problem.kind == ProblemKind::Slow => None,
            // The source goes from file to file, whatever becomes of them.
            Told::Problem(problem) if problem.stage == FRAMES => {
                let index = self.next();
                let named = format!("{}: ", self.files[index]);
                let reason = problem.text.strip_prefix(&named).unwrap_or(&problem.text);
                Some((index, Said::Unreadable(reason.to_owned())))
            }
            Told::Problem(problem) => {
                let index = self.frame(problem.message?.frame)?;
                Some((index, Said::Failed(problem.text)))
            }
        }
    }

    fn next(&mut self) -> usize {
        self.shown += 1;
        (self.shown - 1) % self.files.len()
    }

    fn frame(&self, number: u64) -> Option<usize> {
        let place = usize::try_from(number.checked_sub(1)?).ok()?;
        self.frames.get(place).copied()
    }
}
