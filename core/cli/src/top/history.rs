//! The state of a run from its messages, with the rates of the last seconds.

use std::collections::VecDeque;

use flowpipe_engine::report::Distribution;

use super::protocol::{BoardView, Counts, Hello, Line, RunEnd, StageHello};
use crate::machines::progress::{LinkView, MachineView};

/// The window of rates, in seconds.
const WINDOW: f64 = 2.0;
/// How many samples of the queues are kept.
const FILLS: usize = 60;

/// A run, from the messages so far.
pub struct RunHistory {
    pub hello: Hello,
    /// How the pipeline changed last.
    pub changed: Option<String>,
    pub board: Option<BoardView>,
    pub over: Option<RunEnd>,
    /// The counts of the window, oldest first.
    counts: VecDeque<Counts>,
    /// By stage: how full its queues were, from 0 to 1, oldest first.
    fills: Vec<VecDeque<f64>>,
}

/// The state of a link between two machines.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkState {
    pub machines: [String; 2],
    pub is_connected: bool,
    /// Bytes a second, in both directions.
    pub rate: f64,
    /// The error of the offset of the clocks.
    pub clock_error_ns: Option<i64>,
}

/// The state of one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageState {
    pub name: String,
    /// The machine that runs it, or the machines of its workers, if the run has several.
    pub machine: Option<String>,
    /// The machine that counts it can't be reached: these are its last counts.
    pub is_stale: bool,
    /// Messages a second: received, or emitted by a source.
    pub rate: f64,
    /// The share of the time in which it works, from 0 to 1; in a race, of the whole worker; the mean of its workers.
    pub busy: f64,
    /// How many messages it processes at once.
    pub workers: u64,
    /// Since the run started.
    pub time: Distribution,
    pub queued: u64,
    /// 0 if it has no queue.
    pub capacity: u64,
    /// How full its queues were, from 0 to 1, oldest first.
    pub fills: Vec<f64>,
    pub dropped: u64,
    pub failed: u64,
    /// How often it was restarted.
    pub restarted: u64,
}

impl RunHistory {
    /// No messages yet.
    pub fn new(hello: Hello) -> Self {
        Self {
            fills: vec![VecDeque::new(); hello.stages.len()],
            hello,
            board: None,
            changed: None,
            over: None,
            counts: VecDeque::new(),
        }
    }

    /// Adds a message.
    pub fn add(&mut self, line: Line) {
        match line {
            Line::Counts(counts) => self.count(*counts),
            Line::Board(board) => self.board = Some(*board),
            Line::Over(over) => self.over = Some(over),
            Line::Hello(_) | Line::Unknown => {}
        }
    }

    /// The run sends nothing more. If it has not said how it ended, it was killed.
    pub fn end_without_notice(&mut self) {
        self.over.get_or_insert_with(|| RunEnd {
            how: "it ended without a notice, as when it is killed".to_owned(),
        });
    }

    fn count(&mut self, counts: Counts) {
        // Stages may have been added.
        let stages = counts.progress.stages.len();
        if self.fills.len() < stages {
            self.fills.resize_with(stages, VecDeque::new);
        }
        for (stage, fills) in counts.progress.stages.iter().zip(&mut self.fills) {
            let fill = match stage.capacity {
                0 => 0.0,
                capacity => (stage.queued as f64 / capacity as f64).min(1.0),
            };
            fills.push_back(fill);
            if fills.len() > FILLS {
                fills.pop_front();
            }
        }
        let now = counts.progress.seconds;
        self.changed.clone_from(&counts.changed);
        self.counts.push_back(counts);
        // The oldest that is kept is at least as old as the window.
        while self
            .counts
            .get(1)
            .is_some_and(|it| it.progress.seconds <= now - WINDOW)
        {
            self.counts.pop_front();
        }
    }

    /// The last counts.
    pub fn counts(&self) -> Option<&Counts> {
        self.counts.back()
    }

    /// The number of stages, with removed ones.
    pub fn stage_count(&self) -> usize {
        self.fills.len()
    }

    /// Seconds since the run started.
    pub fn seconds(&self) -> f64 {
        self.counts().map_or(0.0, |counts| counts.progress.seconds)
    }

    /// Frames a second: what the sources emit.
    pub fn frame_rate(&self) -> f64 {
        let sources = self.stages().into_iter().filter(|it| it.capacity == 0);
        sources.map(|stage| stage.rate).sum()
    }

    /// The machines of the run, if it has several.
    pub fn machines(&self) -> &[MachineView] {
        self.counts().map_or(&[], |counts| &counts.machines)
    }

    /// The links between them.
    pub fn links(&self) -> Vec<LinkState> {
        let (Some(first), Some(last)) = (self.counts.front(), self.counts.back()) else {
            return Vec::new();
        };
        let seconds = last.progress.seconds - first.progress.seconds;
        let bytes = |link: &LinkView| link.sent_bytes.saturating_add(link.received_bytes);
        let state = |link: &LinkView| {
            // Its other end may count a bit differently.
            let before = first.links.iter().find(|it| it.machines == link.machines);
            let before = before.filter(|_| seconds > 0.0);
            LinkState {
                machines: link.machines.clone(),
                is_connected: link.is_connected,
                rate: before.map_or(0.0, |before| {
                    bytes(link).saturating_sub(bytes(before)) as f64 / seconds
                }),
                clock_error_ns: link.clock_error_ns,
            }
        };
        last.links.iter().map(state).collect()
    }

    /// Whether a machine can't be reached.
    fn is_stale(&self, machine: Option<&str>) -> bool {
        let mut machines = self.machines().iter();
        let found = machines.find(|it| Some(it.name.as_str()) == machine);
        found.is_some_and(|it| matches!(it.state.as_str(), "silent" | "dead"))
    }

    /// The states of the stages.
    pub fn stages(&self) -> Vec<StageState> {
        let (Some(first), Some(last)) = (self.counts.front(), self.counts.back()) else {
            return Vec::new();
        };
        let seconds = last.progress.seconds - first.progress.seconds;
        let rate = |before: u64, after: u64| match seconds {
            0.0 => 0.0,
            seconds => after.saturating_sub(before) as f64 / seconds,
        };
        let stages = last.progress.stages.iter().enumerate();
        stages
            .map(|(index, stage)| {
                let before = first.progress.stages.get(index);
                let time = last.times.get(index).copied().unwrap_or_default();
                let time_before = first.times.get(index).copied().unwrap_or_default();
                let is_source = stage.capacity == 0;
                let hello = self.hello.stages.get(index);
                let counting = hello.and_then(|stage| stage.machine.as_deref());
                StageState {
                    name: stage.name.clone(),
                    is_stale: self.is_stale(counting),
                    machine: hello.and_then(StageHello::machines),
                    rate: before.map_or(0.0, |before| match is_source {
                        true => rate(before.emitted, stage.emitted),
                        false => rate(before.received, stage.received),
                    }),
                    busy: (rate(time_before.total_ns, time.total_ns)
                        / 1e9
                        / stage.workers.max(1) as f64)
                        .min(1.0),
                    workers: stage.workers,
                    time,
                    queued: stage.queued,
                    capacity: stage.capacity,
                    fills: self
                        .fills
                        .get(index)
                        .map(|fills| fills.iter().copied().collect())
                        .unwrap_or_default(),
                    dropped: stage.dropped,
                    failed: stage.failed,
                    restarted: stage.restarted,
                }
            })
            .collect()
    }
}

#[cfg(test)]
pub mod tests {
    use flowpipe_engine::report::{Progress, StageProgress};

    use super::*;
    use crate::tally::Tally;
    use crate::top::protocol::VERSION;

    /// A run of these stages.
    pub fn hello(stages: &[&str]) -> Hello {
        let stage = |name: &&str| StageHello {
            name: (*name).to_owned(),
            plugins: vec![format!("{name}-plugin")],
            machine: None,
            worker_machines: Vec::new(),
        };
        Hello {
            version: VERSION,
            flowpipe: "0.1.0".to_owned(),
            pid: 4321,
            pipeline: "live".to_owned(),
            machine: None,
            started_unix_ns: 0,
            replay: false,
            dry: false,
            stages: stages.iter().map(stage).collect(),
        }
    }

    /// A source with ten messages a second, and a stage that receives half of them and drops the others.
    pub fn counts(seconds: f64) -> Counts {
        let number = (seconds * 10.0).round() as u64;
        let stage = |name: &str, received, emitted, dropped, queued, capacity| StageProgress {
            name: name.to_owned(),
            workers: 1,
            received,
            emitted,
            dropped,
            failed: 0,
            restarted: 0,
            queued,
            capacity,
        };
        let time = |each: u64, count: u64| Distribution {
            count,
            p50_ns: each,
            p95_ns: each * 2,
            max_ns: each * 3,
            total_ns: each * count,
        };
        Counts {
            progress: Progress {
                seconds,
                stages: vec![
                    stage("screen", 0, number, 0, 0, 0),
                    stage("vision", number / 2, number / 2, number / 2, number % 5, 4),
                ],
            },
            times: vec![time(1_000_000, number), time(50_000_000, number / 2)],
            boards: Tally::default(),
            without_solver: false,
            metrics: Vec::new(),
            notes: Vec::new(),
            machines: Vec::new(),
            links: Vec::new(),
            changed: None,
        }
    }

    #[test]
    fn rates_are_those_of_the_last_seconds() {
        let mut history = RunHistory::new(hello(&["screen", "vision"]));
        assert!(history.stages().is_empty());
        history.add(Line::Counts(Box::new(counts(0.0))));
        assert_eq!(history.frame_rate(), 0.0, "one sample has no rate");
        for tick in 1..=100 {
            history.add(Line::Counts(Box::new(counts(f64::from(tick) / 10.0))));
        }
        let stages = history.stages();
        assert!((stages[0].rate - 10.0).abs() < 0.1, "{stages:#?}");
        assert!((stages[1].rate - 5.0).abs() < 0.1, "{stages:#?}");
        assert!((stages[1].busy - 0.25).abs() < 0.01, "{stages:#?}");
        for counts in &mut history.counts {
            counts.progress.stages[1].workers = 2;
        }
        let [_, vision] = &history.stages()[..] else {
            panic!("two stages")
        };
        assert!((vision.busy - 0.125).abs() < 0.01, "{vision:#?}");
        assert_eq!(stages[1].dropped, 50);
        assert_eq!(stages[1].fills.len(), FILLS);
        assert!((history.frame_rate() - 10.0).abs() < 0.1);
        // Without messages the rate is 0 after the window.
        let mut idle = counts(10.0);
        for tick in 1..=30 {
            idle.progress.seconds = 10.0 + f64::from(tick) / 10.0;
            history.add(Line::Counts(Box::new(idle.clone())));
        }
        assert_eq!(history.frame_rate(), 0.0);
    }
}
