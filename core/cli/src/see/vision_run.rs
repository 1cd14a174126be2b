//! Runs pictures through a vision plugin.
//!
//! It runs a pipeline of two stages, `capture-files` and the vision. Pictures are decoded, and the plugin is loaded,
//! called and checked, as in any other pipeline. The vision is reset before each picture.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crossbeam_channel::Sender;
use flowpipe_config::pipeline::{Pipeline, Stage};
use flowpipe_engine::run::{Completion, Observer, Options, Run, Task, TaskResult};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::frame::Frame;
use flowpipe_host::message::Message;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_puzzle::message::{SIGHTING, Sighting};
use flowpipe_recording::entry::Event;
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
    /// What vision read.
    Sighting(Arc<Sighting>),
    /// Another message.
    Message(Arc<Message>),
    /// A call has ended without a failure.
    Finished {
        /// Its nanoseconds.
        took_ns: u64,
        /// Whether the plugin declares that it emits sightings.
        emits_sightings: bool,
    },
    /// The file is not a picture.
    Unreadable(String),
    /// A call has ended with a failure: vision failed on it, or its message broke the rules.
    Failed(String),
}

/// Runs pictures through a vision plugin and passes each reply, with the index of its file, to `each`, until `each`
/// breaks. The pictures are read round after round. The picture comes first, then what vision emits, then the end of the
/// call.
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
    let stages = pipeline.stages.iter();
    let Some((vision, stage)) = stages.enumerate().find(|(_, stage)| stage.name == VISION) else {
        let reason = format!("the pipeline of `flowpipe see` has no stage \"{VISION}\"");
        return Err(Failure::Run(reason).into());
    };
    let emits_sightings = emits_sightings(stage, catalogue);
    let (sender, events) = crossbeam_channel::unbounded();
    let observer = VisionObserver { sender, vision };
    let options = Options {
        observers: vec![Arc::new(observer)],
        ..Options::default()
    };
    let handle = Run::start(pipeline, catalogue, options)?;
    let mut matcher = FileMatcher {
        files,
        emits_sightings,
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

/// Whether the plugin of a stage declares that it emits what it reads of boards.
fn emits_sightings(stage: &Stage, catalogue: &Catalogue) -> bool {
    stage.contestants.iter().any(|contestant| {
        let found = catalogue.find(&contestant.plugin);
        let manifest = found.map(|found| found.manifest.with_config(&contestant.config));
        manifest.is_some_and(|it| it.outputs.iter().any(|port| port.schema == SIGHTING))
    })
}

/// An event of the run.
enum VisionEvent {
    /// A picture was captured.
    Picture(Arc<Message>),
    /// Vision emitted a message.
    Message(Arc<Message>),
    /// A call has ended without a failure: the number of its frame, and its nanoseconds.
    Finished(u64, u64),
    Problem(Problem),
}

struct VisionObserver {
    sender: Sender<VisionEvent>,
    /// The index of the vision stage.
    vision: usize,
}

impl VisionObserver {
    fn send(&self, event: VisionEvent) {
        // The receiver is gone once a reply broke the loop.
        let _ = self.sender.send(event);
    }
}

impl Observer for VisionObserver {
    fn message(&self, stage: usize, _: usize, message: &Arc<Message>) {
        let message = Arc::clone(message);
        self.send(match stage == self.vision {
            true => VisionEvent::Message(message),
            false => VisionEvent::Picture(message),
        });
    }

    fn problem(&self, problem: &Problem, _: i64) {
        self.send(VisionEvent::Problem(problem.clone()));
    }

    fn wants_tasks(&self) -> bool {
        true
    }

    fn task_finished(&self, task: &Task<'_>, completion: &Completion<'_>) {
        let is_call = task.stage == self.vision && task.event == Event::Message;
        if !is_call || completion.result != TaskResult::Done {
            return;
        }
        if let Some(origin) = task.origin {
            let took = completion.ended_ns - task.began_ns - completion.waited_ns;
            let took = u64::try_from(took).unwrap_or(0);
            self.send(VisionEvent::Finished(origin.sequence, took));
        }
    }
}

/// Finds the file of each event.
struct FileMatcher<'a> {
    files: &'a [&'a str],
    /// Whether the vision plugin declares that it emits sightings.
    emits_sightings: bool,
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
                let index = self.frame(message.lineage().origin?.sequence)?;
                Some((index, VisionReply::Sighting(sighting)))
            }
            VisionEvent::Message(message) => {
                let index = self.frame(message.lineage().origin?.sequence)?;
                Some((index, VisionReply::Message(message)))
            }
            VisionEvent::Finished(frame, took_ns) => {
                let reply = VisionReply::Finished {
                    took_ns,
                    emits_sightings: self.emits_sightings,
                };
                Some((self.frame(frame)?, reply))
            }
            VisionEvent::Picture(message) => {
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
