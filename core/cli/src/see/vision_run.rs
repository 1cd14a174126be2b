//! Runs pictures through a vision plugin.
//!
//! It runs a pipeline of two stages, `capture-files` and the vision. Pictures are decoded, and the plugin is loaded,
//! called and checked, as in any other pipeline. The vision is reset before each picture.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crossbeam_channel::Sender;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::run::{Observer, Options, Run};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::frame::Frame;
use flowpipe_host::message::Message;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_puzzle::message::{SIGHTING, Sighting};
use serde_json::json;

use crate::exit::Failure;
use crate::follow::follow_until;
use crate::one_off::{FlagValue, OneOffError, PipelineText};
use crate::{accepted, one_off, outputs};

/// The stages.
const FRAMES: &str = "frames";
const VISION: &str = "vision";

/// Which plugin runs, and how.
#[derive(Clone, Copy, Debug)]
pub struct VisionOptions<'a> {
    /// The vision plugin's name.
    pub plugin: &'a str,
    /// Its config as a TOML inline table.
    pub config: Option<&'a str>,
    /// How many times each picture is read.
    pub repeat: u32,
    /// Where the plugin saves pictures of its steps.
    pub steps: Option<&'a Path>,
}

/// A reply about a file.
pub enum VisionReply {
    /// The picture, as vision gets it.
    Picture(Frame),
    /// What vision read, and the time of the whole call, in nanoseconds.
    Sighting(Arc<Sighting>, u64),
    /// The file is not a picture.
    Unreadable(String),
    /// Vision failed on it, or its message broke the rules.
    Failed(String),
}

/// Runs pictures through a vision plugin and passes each reply, with the index of its file, to `each`, until `each`
/// breaks. The pictures are read round after round; the reply with the picture precedes the one with the sighting.
///
/// # Errors
/// See [`OneOffError`].
pub fn run(
    files: &[&str],
    options: &VisionOptions<'_>,
    catalogue: &Catalogue,
    mut each: impl FnMut(usize, VisionReply) -> ControlFlow<Result<(), Failure>>,
) -> Result<(), OneOffError> {
    if files.is_empty() {
        return Ok(());
    }
    let pipeline = pipeline(files, options, catalogue)?;
    let (sender, events) = crossbeam_channel::unbounded();
    let options = Options {
        observers: vec![Arc::new(VisionObserver(sender))],
        ..Options::default()
    };
    let handle = Run::start(pipeline, catalogue, options)?;
    let mut matcher = FileMatcher {
        files,
        captured: 0,
        frames: Vec::new(),
    };
    let mut ended = Ok(());
    let _ = follow_until(
        || handle.is_over(),
        &events,
        |event| match event.and_then(|event| matcher.reply(event)) {
            Some((index, reply)) => each(index, reply).map_break(|result| ended = result),
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

/// The pipeline.
fn pipeline(
    files: &[&str],
    options: &VisionOptions<'_>,
    catalogue: &Catalogue,
) -> Result<Pipeline, OneOffError> {
    // A config must name something; the files replace it below, since not every name can be a TOML string.
    let mut text = PipelineText::new(&format!(
        "[stages.{FRAMES}]\nplugin = \"capture-files\"\nconfig = {{ paths = \".\" }}\non_error = \"skip\"\n"
    ));
    let plugin = FlagValue::new("--plugin", options.plugin);
    one_off::check_role(&plugin, "vision", catalogue)?;
    let config = options.config.map(|it| FlagValue::new("--config", it));
    text.add_stage(VISION, &plugin, FRAMES, config.as_ref(), None);
    let mut pipeline = text.read(catalogue).map_err(OneOffError::Config)?;
    outputs::note_inputs_of(&pipeline, catalogue);
    for edge in &mut pipeline.edges {
        // Each queued message holds a whole picture.
        edge.queue.capacity = 1;
    }
    let found = catalogue.find(options.plugin);
    let has_key = |key: &str| {
        let schema = found.map(|found| &found.manifest.config);
        schema.is_some_and(|schema| schema.pointer(&format!("/properties/{key}")).is_some())
    };
    if options.steps.is_some() && !has_key("steps") {
        let plugin = options.plugin;
        let reason = format!("--steps: {plugin} has no config key `steps`, it can't save them");
        return Err(Failure::Config(reason).into());
    }
    for stage in &mut pipeline.stages {
        let is_vision = stage.name == VISION;
        stage.fresh = is_vision;
        for contestant in &mut stage.contestants {
            if !is_vision {
                contestant.config = json!({ "paths": files, "times": options.repeat });
                continue;
            }
            if has_key("timed") && contestant.config["timed"].is_null() {
                contestant.config["timed"] = json!(true);
            }
            if let Some(folder) = options.steps {
                contestant.config["steps"] = json!(folder);
            }
        }
    }
    Ok(pipeline)
}

/// An event of the run.
enum VisionEvent {
    Message(Arc<Message>),
    Problem(Problem),
}

struct VisionObserver(Sender<VisionEvent>);

impl Observer for VisionObserver {
    fn message(&self, _: usize, _: usize, message: &Arc<Message>) {
        // The receiver is gone once a reply broke the loop.
        let _ = self.0.send(VisionEvent::Message(Arc::clone(message)));
    }

    fn problem(&self, problem: &Problem, _: i64) {
        let _ = self.0.send(VisionEvent::Problem(problem.clone()));
    }
}

/// Finds the file of each event.
struct FileMatcher<'a> {
    files: &'a [&'a str],
    /// How many files were captured or failed, in all rounds.
    captured: usize,
    /// The file of each frame, by the frame's number less one.
    frames: Vec<usize>,
}

impl FileMatcher<'_> {
    fn reply(&mut self, event: VisionEvent) -> Option<(usize, VisionReply)> {
        match event {
            VisionEvent::Message(message) if message.schema() == SIGHTING => {
                let sighting: Arc<Sighting> = accepted::read(&message)?;
                let lineage = message.lineage();
                let hop = lineage.hops.last()?;
                let took = u64::try_from(hop.emitted_ns - hop.taken_ns).unwrap_or(0);
                let index = self.frame(lineage.origin?.sequence)?;
                Some((index, VisionReply::Sighting(sighting, took)))
            }
            VisionEvent::Message(message) => {
                let index = self.next();
                self.frames.push(index);
                Some((index, VisionReply::Picture(message.frame()?.clone())))
            }
            // A warning: the sighting may still follow.
            VisionEvent::Problem(problem) if problem.kind == ProblemKind::Slow => None,
            // The source continues with the next file after a failure.
            VisionEvent::Problem(problem) if problem.stage == FRAMES => {
                let index = self.next();
                let named = format!("{}: ", self.files[index]);
                let reason = problem.text.strip_prefix(&named).unwrap_or(&problem.text);
                Some((index, VisionReply::Unreadable(reason.to_owned())))
            }
            VisionEvent::Problem(problem) => {
                let index = self.frame(problem.message?.frame)?;
                Some((index, VisionReply::Failed(problem.text)))
            }
        }
    }

    fn next(&mut self) -> usize {
        self.captured += 1;
        (self.captured - 1) % self.files.len()
    }

    fn frame(&self, number: u64) -> Option<usize> {
        let place = usize::try_from(number.checked_sub(1)?).ok()?;
        self.frames.get(place).copied()
    }
}
