//! Changes of a running pipeline: stages pause one after the other, belong to whoever asked, and continue.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use flowpipe_host::problem::Problem;
use flowpipe_host::run::Mode;

use crate::supervisor::watchdog::ABORT_GRACE;
use crate::supervisor::{
    Action, Contestant, Policy, Slot, Stage, State, Supervisor, Threads, Verdict,
};

/// Stages that pause, or are about to.
#[derive(Debug)]
pub(super) struct Pause {
    stages: Vec<usize>,
    /// Those that do not pause yet, the one that is asked first.
    to_come: VecDeque<usize>,
    /// When the one that is asked has not paused in time.
    deadline: i64,
    patience: Duration,
    /// They belong to whoever asked.
    is_answered: bool,
    /// Plugins that were created before their time.
    hurried: BTreeSet<Slot>,
    /// They are not to pause, as soon as that shows: why.
    refused: Option<Refusal>,
    /// When stages of an aborted run are ended without whoever asked.
    abandoned_at: Option<i64>,
}

/// What whoever asked for a pause is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// They pause, and belong to whoever asked: each with its contestants that have an instance. `None`: the stage had
    /// ended.
    Paused {
        stages: Vec<(usize, Option<Vec<usize>>)>,
    },
    /// They continue as they were.
    Refused(Refusal),
}

/// Why stages do not pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// This one does not come back from its message.
    Busy { stage: usize },
    /// The run is ending.
    Ending,
}

/// A stage that starts, or continues after a pause.
#[derive(Debug)]
pub(crate) struct Resumed {
    pub stage: usize,
    /// It starts, or its settings have changed.
    pub settings: Option<Settings>,
    /// Contestants with an instance.
    pub present: Vec<usize>,
    /// Contestants whose instance was lost during the pause, and what became of it.
    pub lost: Vec<(usize, Problem)>,
}

/// What the supervisor knows of a stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub policy: Policy,
    pub is_source: bool,
    pub threads: Threads,
    pub contestants: usize,
    pub is_removed: bool,
}

impl Pause {
    pub(super) fn deadline(&self) -> Option<i64> {
        match self.is_answered {
            true => self.abandoned_at,
            false if self.refused.is_some() => None,
            false => Some(self.deadline),
        }
    }
}

impl Supervisor {
    /// Whether a stage is to pause, and belongs to nobody else yet.
    pub(super) fn is_asked_to_pause(&self, stage: usize) -> bool {
        let pause = self.pause.as_ref();
        pause.is_some_and(|pause| !pause.is_answered && pause.stages.contains(&stage))
    }

    /// Whether a plugin is created before its time. Whoever is to pause may wait for room in the queue of a stage that
    /// has none: that one hurries, once.
    pub(super) fn hurries(&mut self, slot: Slot) -> bool {
        let pause = self.pause.as_mut().filter(|pause| !pause.is_answered);
        pause.is_some_and(|pause| pause.hurried.insert(slot))
    }

    /// One change at a time is made.
    pub(super) fn begin_to_pause(&mut self, stages: Vec<usize>, patience: Duration) {
        self.pause = Some(Pause {
            to_come: stages.iter().copied().collect(),
            stages,
            deadline: self.after(patience),
            patience,
            is_answered: false,
            hurried: BTreeSet::new(),
            refused: None,
            abandoned_at: None,
        });
        self.ask_next();
    }

    fn ask_next(&mut self) {
        let Some(pause) = &mut self.pause else { return };
        let Some(&stage) = pause.to_come.front() else {
            return;
        };
        let patience = pause.patience;
        self.set_gate(stage, true);
        self.actions.push(Action::CloseGate { stage });
        let deadline = self.after(patience);
        if let Some(pause) = &mut self.pause {
            pause.deadline = deadline;
        }
    }

    fn set_gate(&mut self, stage: usize, is_gated: bool) {
        if let Some(stage) = self.stages.get_mut(stage) {
            stage.is_gated = is_gated;
        }
    }

    /// Looks how far the stages are.
    pub(super) fn go_on_pausing(&mut self) {
        while let Some(pause) = &self.pause {
            if pause.is_answered {
                return self.abandon_when_aborted();
            }
            if pause.refused.is_some() {
                return self.refuse_when_quiet();
            }
            if self.mode > Mode::Run {
                return self.begin_to_refuse(Refusal::Ending);
            }
            let Some(&stage) = pause.to_come.front() else {
                return self.answer();
            };
            if self.stages.get(stage).is_some_and(|it| it.is_busy(false)) {
                if pause.deadline <= self.now {
                    self.begin_to_refuse(Refusal::Busy { stage });
                }
                return;
            }
            self.note_paused(stage);
            if let Some(pause) = &mut self.pause {
                pause.to_come.pop_front();
            }
            self.ask_next();
        }
    }

    /// Nothing works in a stage. What was to be created is created when it continues.
    fn note_paused(&mut self, stage: usize) {
        let Some(stage) = self.stages.get_mut(stage) else {
            return;
        };
        for contestant in &mut stage.slots {
            if let State::Backoff { .. } = contestant.state {
                contestant.state = State::Paused { is_there: false };
                // It has no thread that could say that it pauses.
                stage.is_paused |= stage.threads != Threads::Race;
            }
        }
    }

    /// All pause: they belong to whoever asked.
    fn answer(&mut self) {
        let Some(pause) = &mut self.pause else { return };
        pause.is_answered = true;
        let stages = pause.stages.clone();
        let mut answer = Vec::new();
        for stage in stages {
            let is_paused = self.settle(stage);
            answer.push((stage, is_paused.then(|| self.present(stage))));
        }
        let answer = Answer::Paused { stages: answer };
        self.actions.push(Action::Answer(answer));
    }

    /// Whether a stage pauses. If not, it had ended, and its plugins are of no more use.
    fn settle(&mut self, stage: usize) -> bool {
        let Some(stage) = self.stages.get_mut(stage) else {
            return false;
        };
        if !stage.is_paused {
            stage.slots.iter_mut().for_each(finish);
        }
        stage.is_paused
    }

    /// They are not to pause. The one that is asked may pause already: then it is waited for.
    fn begin_to_refuse(&mut self, why: Refusal) {
        let Some(pause) = &mut self.pause else { return };
        pause.refused = Some(why);
        match pause.to_come.front() {
            Some(&stage) => self.actions.push(Action::ReopenGate { stage }),
            None => self.refuse(),
        }
    }

    pub(super) fn reopened(&mut self, stage: usize, is_open: bool) {
        let Some(pause) = &self.pause else { return };
        if pause.refused.is_none() || pause.to_come.front() != Some(&stage) {
            return;
        }
        if is_open {
            self.set_gate(stage, false);
            self.refuse();
        }
        // Else its thread ends just now, after which nothing works in it.
    }

    fn refuse_when_quiet(&mut self) {
        let Some(pause) = &self.pause else { return };
        let Some(&stage) = pause.to_come.front() else {
            return self.refuse();
        };
        let stage = self.stages.get(stage);
        if stage.is_none_or(|it| it.is_gated && !it.is_busy(false)) {
            self.refuse();
        }
    }

    /// They continue as they were.
    fn refuse(&mut self) {
        let Some(pause) = self.pause.take() else {
            return;
        };
        for &stage in &pause.stages {
            self.set_gate(stage, false);
            self.actions.push(Action::OpenGate { stage });
        }
        for &stage in &pause.stages {
            if self.settle(stage) {
                let present = self.present(stage);
                self.start_again(stage, &present, Vec::new());
            }
        }
        if let Some(why) = pause.refused {
            self.actions.push(Action::Answer(Answer::Refused(why)));
        }
    }

    fn present(&self, stage: usize) -> Vec<usize> {
        let slots = self.stages.get(stage).map_or(&[][..], |it| &it.slots);
        let slots = slots.iter().enumerate();
        let there = slots.filter(|(_, it)| it.state == State::Paused { is_there: true });
        there.map(|(contestant, _)| contestant).collect()
    }

    /// Whoever asked does not come back with what belongs to it.
    pub(super) fn asker_gone(&mut self, problem: Option<Problem>) {
        if let Some(pause) = self.pause.take() {
            self.actions.extend(problem.map(Action::Fail));
            self.end_paused(pause.is_answered);
        }
    }

    /// What pauses ends: nobody lets it continue. `is_lent`: it belongs to whoever asked.
    fn end_paused(&mut self, is_lent: bool) {
        for stage in 0..self.stages.len() {
            if self.stages[stage].is_gated {
                self.stages[stage]
                    .slots
                    .iter_mut()
                    .for_each(|it| end(it, is_lent));
                self.stages[stage].is_paused = false;
                self.set_gate(stage, false);
                self.actions.push(Action::Close { stage });
                self.actions.push(Action::OpenGate { stage });
            }
        }
    }

    /// A plugin that is to give its state away, or to take one, may hang.
    fn abandon_when_aborted(&mut self) {
        if self.mode < Mode::Abort {
            return;
        }
        let at = self.after(ABORT_GRACE);
        let Some(pause) = &mut self.pause else { return };
        if *pause.abandoned_at.get_or_insert(at) <= self.now {
            self.pause = None;
            self.end_paused(true);
        }
    }

    /// Paused stages continue, others start.
    pub(super) fn resume(&mut self, stages: Vec<Resumed>) {
        for stage in self.pause.take().map_or(Vec::new(), |pause| pause.stages) {
            self.set_gate(stage, false);
            self.actions.push(Action::OpenGate { stage });
            // It has ended, or was taken out and has nothing to do.
            if !stages.iter().any(|it| it.stage == stage)
                && let Some(stage) = self.stages.get_mut(stage)
            {
                stage.slots.iter_mut().for_each(forget);
            }
        }
        for resumed in stages {
            let index = resumed.stage;
            if let Some(settings) = resumed.settings {
                let mut stage = Stage::new(&settings);
                match self.stages.get_mut(index) {
                    Some(place) => {
                        stage.hung = place.hung;
                        *place = stage;
                    }
                    None => self.stages.push(stage),
                }
            }
            self.start_again(index, &resumed.present, resumed.lost);
        }
    }

    /// Its plugins continue. Those that are missing had failed, and are created.
    fn start_again(&mut self, index: usize, present: &[usize], lost: Vec<(usize, Problem)>) {
        let Some(stage) = self.stages.get_mut(index) else {
            return;
        };
        stage.is_paused = false;
        let threads = stage.threads;
        let running = stage.running();
        for (contestant, slot) in stage.slots.iter_mut().enumerate() {
            slot.state = match slot.state {
                _ if present.contains(&contestant) => running,
                State::Paused { .. } => State::Backoff { until: self.now },
                state => state,
            };
        }
        for (contestant, problem) in lost {
            self.lose(
                Slot {
                    stage: index,
                    contestant,
                },
                problem,
            );
        }
        let stage = &mut self.stages[index];
        match threads {
            Threads::One => {
                let start = |&contestant: &usize| Action::Start {
                    slot: Slot {
                        stage: index,
                        contestant,
                    },
                    is_restart: false,
                };
                self.actions.extend(present.iter().map(start));
            }
            Threads::Replay => {
                self.actions.push(Action::StartReplay {
                    stage: index,
                    restarted: None,
                });
            }
            Threads::Race => {
                let waits = |it: &Contestant| matches!(it.state, State::Backoff { .. });
                let missing = stage.slots.iter().enumerate();
                let missing = missing.filter(|(_, it)| waits(it)).map(|(it, _)| it);
                stage.races = true;
                self.actions.push(Action::StartRace {
                    stage: index,
                    present: present.to_vec(),
                    missing: missing.collect(),
                });
            }
        }
    }

    /// A plugin's process has ended during the pause.
    fn lose(&mut self, slot: Slot, problem: Problem) {
        let verdict = self.after_failure(slot, false);
        let is_alone = self.stages[slot.stage].threads != Threads::Race;
        if let Verdict::Restart(after) = verdict {
            let until = self.after(after);
            self.set(slot, State::Backoff { until });
            return self.actions.push(Action::Report(problem));
        }
        self.set(slot, State::Gone);
        if is_alone {
            let stage = slot.stage;
            self.actions.push(Action::Close { stage });
            return self.actions.push(Action::Fail(problem));
        }
        self.actions.push(Action::Report(problem));
    }
}

/// A plugin is of no more use.
fn finish(contestant: &mut Contestant) {
    contestant.state = match contestant.state {
        State::Paused { is_there: true } => State::Finished,
        State::Paused { is_there: false } => State::Gone,
        state => state,
    };
}

/// A plugin is whoever asked's.
fn forget(contestant: &mut Contestant) {
    if let State::Paused { .. } = contestant.state {
        contestant.state = State::Gone;
    }
}

/// Nothing takes the place of a plugin.
fn end(contestant: &mut Contestant, is_lent: bool) {
    contestant.state = match contestant.state {
        State::Paused { is_there: true } if !is_lent => State::Finished,
        State::Paused { .. } | State::Backoff { .. } => State::Gone,
        State::Destroying { .. } => State::Destroying { restart: None },
        state => state,
    };
}

impl Stage {
    pub(super) fn new(settings: &Settings) -> Self {
        let contestant = Contestant {
            state: State::Paused { is_there: false },
            failures: 0,
            is_restart: false,
            has_left: false,
        };
        Self {
            policy: settings.policy,
            is_source: settings.is_source,
            threads: settings.threads,
            slots: vec![contestant; settings.contestants],
            races: false,
            is_gated: false,
            is_paused: false,
            is_removed: settings.is_removed,
            hung: 0,
        }
    }
}
