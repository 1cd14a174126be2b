//! The driver of a race: passes each message to the contestants that the supervisor names, and waits for the result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender};
use flowpipe_abi as abi;
use flowpipe_host::problem::{Problem, ProblemKind};
use flowpipe_host::run::Mode;

use crate::run::counts::ContestantCounts;
use crate::run::exit::WorkerExit;
use crate::run::journal::Journal;
use crate::run::outcome::{Done, Outcome};
use crate::run::race::{Entrant, Race};
use crate::run::stage::{LoopControl, Stage};
use crate::run::work::Work;
use crate::run::worker::{NextWork, Worker};
use crate::supervisor::{self, Action, Decision, RaceResult, WorkerId};
use crate::watch::Watch;

/// Runs a worker with several plugins.
pub(crate) struct Driver {
    stage: Arc<Stage>,
    race: WorkerId,
    /// The contestants that have an instance.
    members: BTreeMap<usize, (Sender<Arc<Race>>, Arc<Watch>)>,
    /// The contestants whose result is to be received.
    pending: BTreeSet<usize>,
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
    Missing { contestant: usize },
    /// A contestant has an instance: at the start, or because it was restarted.
    Joined {
        contestant: usize,
        jobs: Sender<Arc<Race>>,
        watch: Arc<Watch>,
    },
}

/// Processes races until the driver closes the channel, or until the plugin is to be restarted.
pub(crate) fn run_contestant(
    mut worker: Worker,
    jobs: &Receiver<Arc<Race>>,
    driver: &Sender<RaceEvent>,
) -> WorkerExit {
    for race in jobs {
        let contestant = worker.slot.contestant;
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
        match worker
            .stage
            .remote_workers
            .is_lost(worker.slot.worker, &done.outcome)
        {
            true => {
                done.gone = true;
                // Another plugin has answered its message: that is not lost.
                let entrant = Entrant {
                    race: &race,
                    contestant,
                };
                if entrant.has_lost() {
                    done.outcome = Outcome::Lost;
                }
            }
            false => {
                worker.decide(&mut done);
            }
        }
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
        race: WorkerId,
        (sender, events): (Sender<RaceEvent>, Receiver<RaceEvent>),
    ) -> Self {
        Self {
            stage,
            race,
            members: BTreeMap::new(),
            pending: BTreeSet::new(),
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
            control = match stage.next(self.race.worker, None) {
                NextWork::Work(work) => self.race_in_turn(work),
                NextWork::EndOfStream => break,
                NextWork::Pause => {
                    self.wait_for_all();
                    return WorkerExit::paused(None);
                }
                NextWork::MachineDead => self.lose_worker(),
            };
        }
        if control == LoopControl::Continue
            && stage.run.mode() < Mode::Abort
            && let Some(work) = stage.finish(self.race.worker)
        {
            self.race_in_turn(work);
        }
        stage.close_alone();
        WorkerExit::default()
    }

    /// Runs one race, after which later messages may leave the stage.
    fn race_in_turn(&mut self, work: Work) -> LoopControl {
        let ticket = work.ticket;
        let control = self.race(work);
        self.stage.finish_ticket(ticket);
        control
    }

    /// Waits until the losers have finished too, or were abandoned.
    fn wait_for_all(&mut self) {
        while !self.pending.is_empty() {
            let late = self.wait_for_event();
            self.report_late(late);
        }
    }

    /// Runs one race to its end.
    fn race(&mut self, work: Work) -> LoopControl {
        let Some(entrants) = self.wait_for_entrants(&work) else {
            return LoopControl::End;
        };
        let watch = |contestant: &usize| {
            let (_, watch) = self.members.get(contestant)?;
            Some((*contestant, watch.clone()))
        };
        let race = Arc::new(Race::new(work, entrants.iter().filter_map(watch).collect()));
        for &contestant in &entrants {
            self.start(contestant, &race);
        }
        let mut running = entrants;
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
        let control = self.conclude(&race, outcomes);
        // A contestant that hangs keeps the race, and emits nothing more for it.
        race.work.receipt.release();
        control
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
        if let Some((jobs, _)) = self.members.get(&contestant) {
            // It is gone only after it was abandoned, and that event is received next.
            let _ = jobs.send(race.clone());
            self.pending.insert(contestant);
        }
    }

    /// Waits for an event. `Some` when a contestant's call is over, with its result unless it was abandoned.
    fn wait_for_event(&mut self) -> Option<(usize, Option<Done>)> {
        let event = self.events.recv().ok()?;
        self.note(event)
    }

    fn note(&mut self, event: RaceEvent) -> Option<(usize, Option<Done>)> {
        let contestant = match event {
            RaceEvent::Done { contestant, done } => {
                self.pending.remove(&contestant);
                let is_over = done.gone || matches!(done.outcome, Outcome::End);
                if is_over || done.restart.is_some() {
                    self.members.remove(&contestant);
                }
                let slot = self.race.slot(contestant);
                let finished = supervisor::Event::CallFinished { slot, is_over };
                self.stage.run.supervise(finished);
                return Some((contestant, Some(done)));
            }
            RaceEvent::Missing { contestant } => {
                self.members.remove(&contestant);
                contestant
            }
            RaceEvent::Joined {
                contestant,
                jobs,
                watch,
            } => {
                self.members.insert(contestant, (jobs, watch));
                let joined = supervisor::Event::Joined(self.race.slot(contestant));
                self.stage.run.supervise(joined);
                contestant
            }
        };
        // No result came from the previous instance: it hung.
        let hung = self.pending.remove(&contestant);
        hung.then_some((contestant, None))
    }

    /// Waits until contestants are free. `None`: none is left to wait for.
    fn wait_for_entrants(&mut self, work: &Work) -> Option<BTreeSet<usize>> {
        while let Ok(event) = self.events.try_recv() {
            let late = self.note(event);
            self.report_late(late);
        }
        loop {
            let message = supervisor::Event::RaceMessage(self.race);
            match self.stage.run.supervise(message).pop() {
                Some(Action::Race { entrants, sit_out }) => {
                    for contestant in sit_out {
                        count(&self.stage, contestant, |contest| &contest.sat_out);
                    }
                    return Some(entrants.into_iter().collect());
                }
                Some(Action::AwaitContestant) => {
                    let late = self.wait_for_event();
                    self.report_late(late);
                }
                Some(Action::EndRace { is_failure: true }) if self.is_machine_dead() => {
                    let text = "its machine is dead".to_owned();
                    let message = work.message_id(&self.stage);
                    let problem = self.stage.problem(ProblemKind::Crashed, 0, message, text);
                    self.stage.conclude(problem, Decision::Continue);
                    self.lose_worker();
                    return None;
                }
                Some(Action::EndRace { is_failure: true }) => {
                    // The control thread has reported why each of them was abandoned.
                    let text = "none of its plugins is available any more".to_owned();
                    let message = work.message_id(&self.stage);
                    let problem = self.stage.problem(ProblemKind::Hang, 0, message, text);
                    self.stage.run.fail(problem);
                    return None;
                }
                _ => return None,
            }
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
        // The call at the end of the stream is not the latency of any message.
        if race.work.event != abi::EVENT_FINISH {
            stage.note_latency(worked_ns);
        }
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
            let is_aborted = || stage.run.mode() == Mode::Abort;
            let turn = stage.turn(&race.work);
            if turn.is_none_or(|turn| turn.wait(is_aborted)) {
                for (port, message) in weak.answers {
                    stage.send(
                        &self.watch,
                        port,
                        message,
                        &race.work.receipt,
                        None,
                        &journal,
                    );
                }
            }
            if let Some(call) = written.iter_mut().find(|it| it.plugin == weak.contestant) {
                call.emitted = journal.take_emitted();
            }
        }
        for call in written {
            stage.report_call(Some(call));
        }
        // The winner may have emitted its answer, and not returned.
        let is_lost = winner_failed || winner.is_none() && !failures.is_empty();
        if is_lost && self.is_machine_dead() {
            stage.conclude(self.problem(race, &failures), Decision::Continue);
            return self.lose_worker();
        }
        let fails =
            winner_failed || winner.is_none() && !abstained && !ended && !failures.is_empty();
        let decision = self.decide(match (fails, ended) {
            (true, _) => RaceResult::Failed { restarts },
            (false, true) => RaceResult::Ended,
            (false, false) => RaceResult::Answered,
        });
        if fails {
            stage.conclude(self.problem(race, &failures), decision);
        }
        match decision {
            Decision::End => LoopControl::End,
            Decision::Continue | Decision::Restart(_) => LoopControl::Continue,
        }
    }

    /// Whether the machine of the worker is dead.
    fn is_machine_dead(&self) -> bool {
        self.stage.remote_workers.is_dead(self.race.worker)
    }

    /// Ends because the machine of the worker is dead.
    fn lose_worker(&self) -> LoopControl {
        self.stage.lose_worker(self.race.worker);
        LoopControl::End
    }

    /// The supervisor's decision after a race.
    fn decide(&self, result: RaceResult) -> Decision {
        let race = self.race;
        let concluded = supervisor::Event::RaceConcluded { race, result };
        match self.stage.run.supervise(concluded).pop() {
            Some(Action::Decide(decision)) => decision,
            _ => Decision::End,
        }
    }

    /// The problem that all contestants that ran failed.
    fn problem(&self, race: &Race, failures: &[(usize, ProblemKind, String)]) -> Problem {
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
        stage.problem(kind, first, race.work.message_id(stage), text)
    }
}

fn count(stage: &Stage, contestant: usize, which: impl Fn(&ContestantCounts) -> &AtomicU64) {
    if let Some(contest) = stage.contests.get(contestant) {
        which(contest).fetch_add(1, Ordering::Relaxed);
    }
}
