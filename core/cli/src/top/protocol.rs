//! The messages from a run to its viewers: JSON Lines.
//!
//! First comes [`Hello`], then the counts several times a second, the board when it has changed, and at the end how the
//! run ended. A viewer ignores lines of an unknown kind. If the meaning of a kind changes, so does [`VERSION`].

use flowpipe_config::pipeline;
use flowpipe_engine::report::{Distribution, Progress};
use flowpipe_puzzle::Flow;
use flowpipe_puzzle::message::{Outcome, SeenBoard, Strokes};
use serde::{Deserialize, Serialize};

use crate::machines::progress::{LinkView, MachineView};
use crate::metrics::{MetricRow, Note};
use crate::tally::Tally;

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line {
    /// The greeting.
    Hello(Hello),
    /// The counts.
    Counts(Box<Counts>),
    /// The board.
    Board(Box<BoardView>),
    /// The run is over.
    Over(RunEnd),
    /// A kind of a later version.
    #[serde(other)]
    Unknown,
}

/// The greeting. Every version has `version` and `flowpipe`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`].
    pub version: u32,
    /// The program's version.
    pub flowpipe: String,
    /// The process.
    pub pid: u32,
    /// The pipeline's name.
    pub pipeline: String,
    /// The machine of the process, if the run has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// When the run started, Unix time in nanoseconds.
    pub started_unix_ns: u64,
    /// Whether it is a replay.
    pub replay: bool,
    /// Whether it is a dry run.
    pub dry: bool,
    /// In the order of the pipeline.
    pub stages: Vec<StageHello>,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageHello {
    /// Its name in the pipeline.
    pub name: String,
    /// One plugin, or those that race.
    pub plugins: Vec<String>,
    /// The machine that runs it, if the run has several; of a distributed one, the machine that distributes its messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// The machines of its workers, if it is distributed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worker_machines: Vec<String>,
}

impl StageHello {
    /// A stage of a pipeline.
    pub fn of(stage: &pipeline::Stage) -> Self {
        let contestants = stage.contestants.iter();
        Self {
            name: stage.name.clone(),
            plugins: contestants.map(|it| it.plugin.clone()).collect(),
            machine: None,
            worker_machines: Vec::new(),
        }
    }

    /// All stages of a pipeline, with their machines.
    pub fn all(pipeline: &pipeline::Pipeline) -> Vec<Self> {
        let machines = &pipeline.machines;
        let stages = pipeline.stages.iter().enumerate();
        let with_machine = stages.map(|(index, stage)| {
            let machine = machines.of_stages.get(index);
            let machine = machine.and_then(|machine| machines.all.get(*machine));
            let workers = machines.workers(index).unwrap_or_default().iter();
            let mut workers: Vec<_> = workers
                .filter_map(|machine| Some(machines.all.get(*machine)?.name.clone()))
                .collect();
            // The workers of a machine follow each other.
            workers.dedup();
            Self {
                machine: machine.map(|it| it.name.clone()),
                worker_machines: workers,
                ..Self::of(stage)
            }
        });
        with_machine.collect()
    }

    /// The machines on which its plugins run, as text.
    pub fn machines(&self) -> Option<String> {
        match self.worker_machines.as_slice() {
            [] => self.machine.clone(),
            workers => Some(workers.join(", ")),
        }
    }

    /// Whether its plugins run on this machine. `None`: the run has one machine, which runs all.
    pub fn is_on(&self, machine: Option<&str>) -> bool {
        match machine {
            Some(machine) if !self.worker_machines.is_empty() => {
                self.worker_machines.iter().any(|it| it == machine)
            }
            _ => self.machine.as_deref() == machine,
        }
    }
}

/// The counts of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Counts {
    /// The counts of the stages.
    pub progress: Progress,
    /// The times of the stages' calls since the run started, in the order of the pipeline.
    pub times: Vec<Distribution>,
    /// The counts of the boards.
    pub boards: Tally,
    /// Whether no solutions come to the process: those of several machines may be elsewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_solver: bool,
    /// What the stages publish of their work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricRow>,
    /// The last of their notes, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The machines of the run, if it has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineView>,
    /// The links between them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkView>,
    /// How the pipeline changed last, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
}

/// The last board of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoardView {
    /// The source of the last frame.
    pub source: String,
    /// The last board that was read.
    pub seen: Option<SeenBoard>,
    /// Why no board was read after it: the step and the reason.
    pub refused: Option<(String, String)>,
    /// The solver that answered for that board.
    pub solver: Option<String>,
    /// The solution of that board.
    pub flows: Vec<Flow>,
    /// Why there is no solution.
    pub unsolved: Option<String>,
    /// The last strokes that were planned.
    pub strokes: Option<Strokes>,
    /// Their outcome. `None`: they are being played.
    pub outcome: Option<Outcome>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// As text, such as `done`.
    pub how: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distributed_stage_is_on_the_machines_of_its_workers() {
        let mut stage = StageHello {
            name: "solver".to_owned(),
            plugins: Vec::new(),
            machine: Some("desk".to_owned()),
            worker_machines: Vec::new(),
        };
        assert!(stage.is_on(Some("desk")) && !stage.is_on(Some("rack1")));
        assert_eq!(stage.machines().as_deref(), Some("desk"));
        stage.worker_machines = vec!["rack1".to_owned(), "rack2".to_owned()];
        assert!(stage.is_on(Some("rack1")) && !stage.is_on(Some("desk")));
        assert_eq!(stage.machines().as_deref(), Some("rack1, rack2"));
        // Of a run on one machine.
        (stage.machine, stage.worker_machines) = (None, Vec::new());
        assert!(stage.is_on(None));
    }
}
