//! The driver of a race: passes each message to the contestants that are free, and waits for the result.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender};
use flowpipe_host::problem::ProblemKind;
use flowpipe_host::run::Mode;

use crate::run::journal::Journal;
use crate::run::race::{Entrant, Race};
use crate::run::stage::{LoopControl, Stage};
use crate::run::threads::WorkerExit;
use crate::run::worker::{Done, NextWork, Outcome, Work, Worker};
use crate::supervisor;
use crate::watch::Watch;

/// Runs a stage with several plugins.
pub(crate) struct Driver {
    stage: Arc<Stage>,
    slots: Vec<RaceSlot>,
    events: Receiver<RaceEvent>,
    /// Keeps the channel open while the driver waits for events.
    _sender: Sender<RaceEvent>,
    /// For answers that the driver itself sends. Never busy.
    watch: Watch,
}

/// An event that the driver receives.
pub(crate) enum RaceEvent {
    /// A contestant has finished its call.
    Done { contestant: usize, done: Done },
    /// A contestant has no instance: it hung and was abandoned, or failed to start.
    Missing {
        contestant: usize,
        /// Another instance will replace it.
        returns: bool,
    },
    /// A contestant has an instance: at the start, or because it was restarted.
    Joined {
        contestant: usize,
        jobs: Sender<Arc<Race>>,
        watch: Arc<Watch>,
    },
}

/// The state of one contestant.
#[derive(Default)]
struct RaceSlot {
    /// `None`: it has no instance.
    contestant: Option<(Sender<Arc<Race>>, Arc<Watch>)>,
    busy: bool,
    /// It is being restarted: [`RaceEvent::Joined`] or [`RaceEvent::Missing`] follows.
    away: bool,
}

/// The counts of one contestant.
#[derive(Debug, Default)]
pub(crate) struct ContestantCounts {
    pub won: AtomicU64,
    pub sat_out: AtomicU64,
    pub failed: AtomicU64,
}

/// Processes races until the driver closes the channel, or until the plugin is to be restarted.
pub(crate) fn run_contestant(
    mut worker: Worker,
    jobs: &Receiver<Arc<Race>>,
    driver: &Sender<RaceEvent>,
) -> WorkerExit {
    for race in jobs {
        let contestant = worker.contestant;
        let mut done = worker.process(
            &race.work,
            Some(Entrant {
                race: &race,
                contestant,
            }),
            None,
        );
        if matches!(done.outcome, Outcome::Abandoned) {
            return worker.abandon();
        }
        worker.decide(&mut done);
        let (restart, gone) = (done.restart, done.gone);
        // The driver may have ended without waiting for the losers.
        let _ = driver.send(RaceEvent::Done { contestant, done });
        if let Some(after) = restart {
            return WorkerExit::restart(vec![worker.instance], 0, after);
        }
        if gone {
            break;
        }
    }
    WorkerExit::finished(worker.instance)
}

impl Driver {
    pub(crate) fn new(
        stage: Arc<Stage>,
        (sender, events): (Sender<RaceEvent>, Receiver<RaceEvent>),
    ) -> Self {
        let slots = stage
            .settings
            .contestants
            .iter()
            .map(|_| RaceSlot::default())
            .collect();
        Self {
            stage,
            slots,
            events,
            _sender: sender,
            watch: Watch::default(),
        }
    }

    /// Races until the stream ends or the stage is to pause.
    pub(crate) fn run(mut self) -> WorkerExit {
        let stage = self.stage.clone();
        let mut control = LoopControl::Continue;
        while control == LoopControl::Continue {
            control = match stage.next() {
                NextWork::Work(work) => self.race(work),
                NextWork::EndOfStream => break,
                NextWork::Pause => {
                    self.wait_for_all();
                    return WorkerExit::paused(None);
                }
            };
        }
        if control == LoopControl::Continue && stage.run.mode() < Mode::Abort {
            self.race(stage.finish());
        }
        stage.close();
        WorkerExit::default()
    }

    /// Waits until the losers have finished too, or were abandoned.
    fn wait_for_all(&mut self) {
        while self.slots.iter().any(|slot| slot.busy) {
            let late = self.wait_for_event();
            self.report_late(late);
        }
    }

    /// Runs one race to its end.
    fn race(&mut self, work: Work) -> LoopControl {
        if !self.wait_for_a_free_slot() {
            if self.stage.must_end() {
                return LoopControl::End;
            }
            // The control thread has reported why each of them was abandoned.
            let text = "none of its plugins is available any more".to_owned();
            let problem =
                self.stage
                    .problem(ProblemKind::Hang, 0, work.message_id(&self.stage), text);
            self.stage.run.fail(problem);
            return LoopControl::End;
        }
        let mut running = BTreeSet::new();
        let mut entrants = Vec::new();
        for (contestant, slot) in self.slots.iter().enumerate() {
            match &slot.contestant {
                Some((_, watch)) if !slot.busy => {
                    running.insert(contestant);
                    entrants.push((contestant, watch.clone()));
                }
                Some(_) => count(&self.stage, contestant, |contest| &contest.sat_out),
                None => {}
            }
        }
        let race = Arc::new(Race::new(work, entrants));
        for &contestant in &running {
            self.start(contestant, &race);
        }
        let mut outcomes = Vec::new();
        while race
            .winner()
            .map_or(!running.is_empty(), |winner| running.contains(&winner))
        {
            match self.wait_for_event() {
                Some((contestant, done)) if running.remove(&contestant) => {
                    outcomes.push((contestant, done));
                }
                other => self.report_late(other),
            }
        }
        self.conclude(&race, outcomes)
    }

    /// Reports the call of a contestant that finished after its race was over.
    fn report_late(&self, late: Option<(usize, Option<Done>)>) {
        let Some((contestant, Some(done))) = late else {
            return;
        };
        self.stage.report_call(done.written);
        // Its answer does not count any more; a crash does.
        if let Outcome::Failed(kind @ (ProblemKind::Crashed | ProblemKind::Hang), text) =
            done.outcome
        {
            count(&self.stage, contestant, |contest| &contest.failed);
            let problem = self.stage.problem(kind, contestant, done.message, text);
            self.stage.run.report(problem);
        }
    }

    fn start(&mut self, contestant: usize, race: &Arc<Race>) {
        if let Some(slot) = self.slots.get_mut(contestant)
            && let Some((jobs, _)) = &slot.contestant
        {
            // It is gone only after it was abandoned, and that event is received next.
            let _ = jobs.send(race.clone());
            slot.busy = true;
        }
    }

    /// Waits for an event. `Some` when a contestant's call is over, with its result unless it was abandoned.
    fn wait_for_event(&mut self) -> Option<(usize, Option<Done>)> {
        let event = self.events.recv().ok()?;
        self.note(event)
    }

    fn note(&mut self, event: RaceEvent) -> Option<(usize, Option<Done>)> {
        match event {
            RaceEvent::Done { contestant, done } => {
                let slot = self.slots.get_mut(contestant)?;
                slot.busy = false;
                slot.away = done.restart.is_some();
                let for_good = done.gone || matches!(done.outcome, Outcome::End);
                if slot.away || for_good {
                    slot.contestant = None;
                }
                if for_good && !slot.away {
                    let left = supervisor::Event::LeftRace(self.stage.slot(contestant));
                    self.stage.run.supervise(left);
                }
                Some((contestant, Some(done)))
            }
            RaceEvent::Missing {
                contestant,
                returns,
            } => {
                let slot = self.slots.get_mut(contestant)?;
                let hung = !slot.away;
                *slot = RaceSlot {
                    away: returns,
                    ..RaceSlot::default()
                };
                hung.then_some((contestant, None))
            }
            RaceEvent::Joined {
                contestant,
                jobs,
                watch,
            } => {
                let slot = self.slots.get_mut(contestant)?;
                // No event came for the previous one: it hung, and was replaced at once.
                let hung = slot.busy;
                *slot = RaceSlot {
                    contestant: Some((jobs, watch)),
                    ..RaceSlot::default()
                };
                hung.then_some((contestant, None))
            }
        }
    }

    /// Returns false if no contestant is left to wait for.
    fn wait_for_a_free_slot(&mut self) -> bool {
        while let Ok(event) = self.events.try_recv() {
            let late = self.note(event);
            self.report_late(late);
        }
        loop {
            if self
                .slots
                .iter()
                .any(|slot| slot.contestant.is_some() && !slot.busy)
            {
                return true;
            }
            let gone = |slot: &RaceSlot| slot.contestant.is_none() && !slot.away;
            if self.slots.iter().all(gone) {
                return false;
            }
            let late = self.wait_for_event();
            self.report_late(late);
        }
    }

    /// Counts and reports the result of a race.
    fn conclude(&mut self, race: &Race, outcomes: Vec<(usize, Option<Done>)>) -> LoopControl {
        let stage = self.stage.clone();
        let weak = race.close();
        let winner = race.winner().or(weak.as_ref().map(|weak| weak.contestant));
        let mut failures = Vec::new();
        let mut worked_ns = 0;
        let (mut abstained, mut ended) = (false, false);
        let mut winner_failed = false;
        let mut written = Vec::new();
        let mut restarts = false;
        for (contestant, done) in outcomes {
            let Some(done) = done else {
                failures.push((contestant, ProblemKind::Hang, "hung".to_owned()));
                continue;
            };
            if winner.is_none_or(|winner| winner == contestant) {
                worked_ns = worked_ns.max(done.worked_ns);
            }
            written.extend(done.written);
            restarts |= done.restart.is_some();
            match done.outcome {
                Outcome::Failed(kind, text) => {
                    count(&stage, contestant, |contest| &contest.failed);
                    let message = race.work.message_id(&stage);
                    stage
                        .run
                        .report(stage.problem(kind, contestant, message, text.clone()));
                    winner_failed |= winner == Some(contestant);
                    failures.push((contestant, kind, text));
                }
                Outcome::Fine => abstained = true,
                Outcome::End => ended = true,
                Outcome::Stopped | Outcome::Lost | Outcome::Abandoned => {}
            }
        }
        stage.note_time(worked_ns);
        if let Some(winner) = winner {
            count(&stage, winner, |contest| &contest.won);
        }
        if let Some(weak) = weak {
            tracing::debug!(
                stage = stage.settings.name,
                reason = weak.reason,
                "weak answer"
            );
            let journal = Journal::default();
            for (port, message) in weak.answers {
                stage.send(&self.watch, port, message, None, &journal);
            }
            if let Some(call) = written.iter_mut().find(|it| it.plugin == weak.contestant) {
                call.emitted = journal.take_emitted();
            }
        }
        for call in written {
            stage.report_call(Some(call));
        }
        if winner_failed || winner.is_none() && !abstained && !ended && !failures.is_empty() {
            return self.fail(race, &failures, restarts);
        }
        let gone = |slot: &RaceSlot| slot.contestant.is_none() && !slot.away;
        let empty = self.slots.iter().all(gone);
        if ended && empty {
            LoopControl::End
        } else {
            LoopControl::Continue
        }
    }

    /// All contestants that ran failed. `restarts`: one of them is restarted, so only the message is lost.
    fn fail(
        &self,
        race: &Race,
        failures: &[(usize, ProblemKind, String)],
        restarts: bool,
    ) -> LoopControl {
        let stage = &self.stage;
        let timed_out = failures
            .iter()
            .all(|(_, kind, _)| *kind == ProblemKind::TimedOut);
        let kind = if timed_out {
            ProblemKind::TimedOut
        } else {
            ProblemKind::Failed
        };
        let reasons: Vec<_> = failures
            .iter()
            .map(|(contestant, _, text)| format!("{}: {text}", stage.plugin(*contestant)))
            .collect();
        let first = failures.first().map_or(0, |(contestant, ..)| *contestant);
        let text = format!("no contestant answered ({})", reasons.join("; "));
        let problem = stage.problem(kind, first, race.work.message_id(stage), text);
        if restarts {
            stage.skip(problem);
            return LoopControl::Continue;
        }
        stage.fail(problem)
    }
}

fn count(stage: &Stage, contestant: usize, which: impl Fn(&ContestantCounts) -> &AtomicU64) {
    if let Some(contest) = stage.contests.get(contestant) {
        which(contest).fetch_add(1, Ordering::Relaxed);
    }
}
