//! `flowpipe machine work`: this machine works for the one that distributes.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use flowpipe_config::manifest::effects::Effects;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_machines::Facts;
use flowpipe_machines::batch::{AcceptedJob, RefusedJob, Runner, Work, WorkerEvent};
use flowpipe_terminal::{eprintln, escape};
use serde::Deserialize as _;
use serde_json::Value;

use crate::batch::generating;
use crate::batch::memory_limit::{LimitedWork, MemoryLimit};
use crate::batch::solving::{self, Outcome};
use crate::batch::task::{PluginTask, SolverTask, Task};
use crate::batch::worker_pool::differences;
use crate::exit::Failure;
use crate::line_budget::{LimitedNotices, shortened};
use crate::one_off::OneOffError;
use crate::solver_run::{PuzzleContent, PuzzleList, RunReply};
use crate::{installed_facts, pipeline_file, plugins, solver_run};

/// The longest texts of a task, in bytes.
const LONGEST_TEXT: usize = 64 << 10;

/// The worker's side of all tasks.
pub struct Serving {
    catalogue: &'static Catalogue,
    lanes: usize,
    memory: Arc<MemoryLimit>,
    /// The hashes of plugins when they were used first: later changes of their files are not loaded.
    facts: Mutex<BTreeMap<String, String>>,
}

struct SolvingRunner {
    catalogue: &'static Catalogue,
    pipeline: Pipeline,
    memory: Arc<MemoryLimit>,
    /// Held while a puzzle's time is measured.
    alone: Option<Mutex<()>>,
}

impl Serving {
    /// A worker with these plugins, which can work on this number of chunks at the same time, within this memory.
    pub fn new(catalogue: Catalogue, lanes: usize, memory: MemoryLimit) -> Self {
        Self {
            // It is used until the program ends.
            catalogue: Box::leak(Box::new(catalogue)),
            lanes,
            memory: Arc::new(memory),
            facts: Mutex::default(),
        }
    }

    /// What this machine runs for a task.
    fn facts(&self, task: Option<&Task>) -> Result<Facts, Failure> {
        let plugins: Vec<&str> = match task {
            Some(Task::Solve(task)) => {
                let planner = task.planner.as_ref().map(|it| &*it.name);
                let names = [solver_run::SOURCE, &task.solver.name];
                names.into_iter().chain(planner).collect()
            }
            Some(Task::Generate(_)) | None => Vec::new(),
        };
        let Facts(mut found) = installed_facts::facts(self.catalogue, plugins)?;
        let mut known = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        for (what, hash) in &mut found {
            *hash = known
                .entry(what.clone())
                .or_insert_with(|| hash.clone())
                .clone();
        }
        Ok(Facts(found))
    }

    fn prepare(&self, task: &Task) -> Result<Box<dyn Runner>, String> {
        let task = match task {
            Task::Solve(task) => task,
            Task::Generate(task) => return generating::runner(task, self.memory.clone()),
        };
        let task = &checked(task, self.catalogue)?;
        let prepared = solver_run::prepare(&task.options(), self.catalogue);
        let pipeline = prepared.map_err(why)?;
        // What was given is one stage each, whatever it contains.
        if pipeline.stages.len() != 2 + usize::from(task.planner.is_some()) {
            return Err("a config adds stages".to_owned());
        }
        Ok(Box::new(SolvingRunner {
            catalogue: self.catalogue,
            pipeline,
            memory: self.memory.clone(),
            alone: task.is_measured.then(Mutex::default),
        }))
    }
}

/// The task, if this machine may do it for another one: its plugins have the right roles and no effects, and its configs
/// are tables.
fn checked(task: &SolverTask, catalogue: &Catalogue) -> Result<SolverTask, String> {
    let timeout = task.timeout.clone();
    if timeout.as_ref().is_some_and(|it| it.len() > LONGEST_TEXT) {
        return Err("the timeout is too long".to_owned());
    }
    let planner = task.planner.as_ref();
    let planner = planner.map(|it| checked_plugin(it, "planner", catalogue));
    Ok(SolverTask {
        solver: checked_plugin(&task.solver, "solver", catalogue)?,
        planner: planner.transpose()?,
        timeout,
        is_measured: task.is_measured,
    })
}

fn checked_plugin(
    plugin: &PluginTask,
    role: &str,
    catalogue: &Catalogue,
) -> Result<PluginTask, String> {
    let name = &plugin.name;
    let Some(found) = catalogue.find(name) else {
        return Err(plugins::unknown(catalogue, name));
    };
    let manifest = &found.manifest;
    if manifest.role != role {
        return Err(format!("the plugin {name} is no {role}"));
    }
    // What a config declares comes from the other machine.
    let has_none = matches!(&manifest.effects, Effects::Declared(effects) if effects.is_empty());
    if !has_none || manifest.declared_by_config {
        return Err(format!(
            "the plugin {name} does not declare that it has no effects: it is not run for another machine"
        ));
    }
    let config = plugin.config.as_deref().map(table).transpose()?;
    let name = name.clone();
    Ok(PluginTask { name, config })
}

/// A config as a TOML inline table, and as nothing else.
fn table(config: &str) -> Result<String, String> {
    let wrong = || "a config is no TOML inline table".to_owned();
    let parsed = Some(config).filter(|config| config.len() <= LONGEST_TEXT);
    let parsed = parsed.and_then(|config| toml::from_str(&format!("config = {config}")).ok());
    let mut parsed: toml::Table = parsed.ok_or_else(wrong)?;
    let config = parsed.remove("config").filter(toml::Value::is_table);
    let config = config.filter(|_| parsed.is_empty()).ok_or_else(wrong)?;
    Ok(config.to_string())
}

/// The error of a pipeline as a text for the other machine.
fn why(error: OneOffError) -> String {
    match error {
        OneOffError::Config(errors) => pipeline_file::rendered(errors, false),
        OneOffError::Start(failure) | OneOffError::Failure(failure) => failure.to_string(),
    }
}

impl Work for Serving {
    fn accept(&self, task: &Value) -> Result<AcceptedJob, RefusedJob> {
        let read = Task::deserialize(task);
        let (facts, prepared) = match (self.facts(read.as_ref().ok()), &read) {
            (Ok(facts), Ok(task)) => (facts, self.prepare(task)),
            (Err(error), _) => (Facts::default(), Err(error.to_string())),
            (Ok(facts), Err(error)) => {
                let why = format!("this machine does not know the task: {error}");
                (facts, Err(why))
            }
        };
        match prepared {
            Ok(runner) => Ok(AcceptedJob {
                facts,
                lanes: match &read {
                    Ok(Task::Solve(task)) if task.is_measured => 1,
                    _ => self.lanes,
                },
                runner,
            }),
            Err(reason) => Err(RefusedJob { facts, reason }),
        }
    }
}

/// The outcomes of puzzles.
struct Attempt {
    outcomes: Vec<Outcome>,
    /// They ended early, since they took too much memory.
    took_too_much: bool,
}

impl Runner for SolvingRunner {
    fn run(&self, items: &[u8], is_cancelled: &dyn Fn() -> bool) -> Result<Vec<u8>, String> {
        let alone = self.alone.as_ref();
        let _alone = alone.map(|it| it.lock().unwrap_or_else(PoisonError::into_inner));
        let work = self.memory.begin();
        let mut lines = solving::lines(items)?;
        let Attempt {
            mut outcomes,
            took_too_much,
        } = self.solve(&lines, &work, is_cancelled)?;
        drop(work);
        if took_too_much {
            let is_planned = self.pipeline.stages.len() > 2;
            let done = outcomes.iter().take_while(|it| it.is_whole(is_planned));
            outcomes.truncate(done.count());
        }
        if outcomes.is_empty() {
            // The rest of the chunk is given to a worker again.
            lines.truncate(1);
            let work = self.memory.begin_alone();
            let one = self.solve(&lines, &work, is_cancelled)?;
            outcomes = match one.took_too_much {
                true => vec![Outcome::failed(self.memory.reason())],
                false => one.outcomes,
            };
        }
        Ok(solving::write(outcomes))
    }
}

impl SolvingRunner {
    /// Solves puzzles, until they take too much memory.
    fn solve(
        &self,
        lines: &[&str],
        work: &LimitedWork<'_>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Attempt, String> {
        // The first time is that of a cold start.
        let repeated = usize::from(self.alone.is_some());
        let first = lines.iter().take(repeated);
        let texts = first.chain(lines).map(|it| (*it).to_owned());
        let puzzles = PuzzleList::new(texts.map(PuzzleContent::Text));
        let mut outcomes: Vec<Outcome> = Vec::new();
        outcomes.resize_with(repeated + lines.len(), Outcome::default);
        let mut took_too_much = false;
        let (pipeline, catalogue) = (&self.pipeline, self.catalogue);
        let ran = solver_run::run_prepared(&puzzles, pipeline, 1, catalogue, |reply| {
            if let RunReply::Reply(place, reply) = reply
                && let Some(outcome) = outcomes.get_mut(place)
            {
                outcome.add(reply);
            }
            took_too_much = work.is_too_much();
            match took_too_much || is_cancelled() {
                true => ControlFlow::Break(Ok(())),
                false => ControlFlow::Continue(()),
            }
        });
        ran.map_err(why)?;
        Ok(Attempt {
            outcomes: outcomes.split_off(repeated),
            took_too_much,
        })
    }
}

/// Prints what happens. The other machine can cause it as often as it likes.
pub fn print(coordinator: &str) -> impl Fn(WorkerEvent) {
    let notices = LimitedNotices::new(coordinator);
    let machine = coordinator.to_owned();
    move |event| {
        if let Some(text) = notices.text(&text(&machine, &event)) {
            eprintln!("{text}");
        }
    }
}

/// An event as a line.
fn text(coordinator: &str, event: &WorkerEvent) -> String {
    let machine = escape(coordinator);
    match event {
        WorkerEvent::Started => format!("works for machine {machine}"),
        WorkerEvent::Differs(found) => {
            let found = differences(found);
            format!("does not work for machine {machine}: {}", escape(&found))
        }
        WorkerEvent::Refused(why) => {
            let why = shortened(why);
            format!("does not work for machine {machine}: {}", escape(&why))
        }
        WorkerEvent::Ended => format!("machine {machine} has ended its work"),
        WorkerEvent::Dead => format!("machine {machine} is dead"),
        WorkerEvent::Malformed => {
            format!("machine {machine} sent what is no task: it is disconnected")
        }
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_machines::Difference;

    use super::*;

    #[test]
    fn what_a_coordinator_sends_is_shortened() {
        let long = "x".repeat(100_000);
        let difference = Difference::Missing {
            machine: "desk".to_owned(),
            what: long.clone(),
        };
        for event in [
            WorkerEvent::Differs(vec![difference; 30]),
            WorkerEvent::Refused(long),
        ] {
            let text = text("desk", &event);
            assert!(text.len() < 5_000, "{}", text.len());
            assert!(text.starts_with("does not work for machine desk: "));
        }
    }
}
