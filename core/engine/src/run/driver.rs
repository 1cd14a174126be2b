//! The driver of a race: hands each message to the contestants that are free, and waits for the
//! race to be decided.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_channel::{Receiver, Sender};
use flowpipe_host::problem::ProblemKind;
use flowpipe_host::run::Mode;

use crate::run::journal::Journal;
use crate::run::race::{Entrant, Race};
use crate::run::stage::{Stage, Then};
use crate::run::threads::WorkerExit;
use crate::run::worker::{Coming, Done, Outcome, Work, Worker};
use crate::supervisor;
use crate::watch::Watch;

/// Runs a stage with several plugins.
pub(crate) struct Driver {
    stage: Arc<Stage>,
    slots: Vec<RaceSlot>,
    news: Receiver<News>,
    /// Kept so that the news never end while the driver waits for some.
    _sender: Sender<News>,
    /// For answers that the driver itself sends; never busy.
    watch: Watch,
}

/// What the driver hears.
pub(crate) enum News {
    /// A contestant came back from its work.
    Done { contestant: usize, done: Done },
    /// A contestant is not there: it hangs and was abandoned, or could not be created.
    Missing {
        contestant: usize,
        /// Another instance takes its place.
        returns: bool,
    },
    /// A contestant is there, at the start or instead of one that was given up or hangs.
    Joined {
        contestant: usize,
        jobs: Sender<Arc<Race>>,
        watch: Arc<Watch>,
    },
}

/// Where one contestant stands.
#[derive(Default)]
struct RaceSlot {
    /// `None`: nobody sits here.
    contestant: Option<(Sender<Arc<Race>>, Arc<Watch>)>,
    busy: bool,
    /// Whoever sat here is restarted, and joins again or is missing for good.
    away: bool,
}

/// What one contestant did.
#[derive(Debug, Default)]
pub(crate) struct Contest {
    pub won: AtomicU64,
    pub sat_out: AtomicU64,
    pub failed: AtomicU64,
}

/// Works on races until the driver lets go, or until the plugin is to be restarted.
pub(crate) fn contest(
    mut worker: Worker,
    jobs: &Receiver<Arc<Race>>,
    news: &Sender<News>,
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
        if matches!(done.outcome, Outcome::GivenUp) {
            return worker.leave_behind();
        }
        worker.decide(&mut done);
        let (restart, gone) = (done.restart, done.gone);
        // The driver may have ended without waiting for those who lost.
        let _ = news.send(News::Done { contestant, done });
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
    pub(crate) fn new(stage: Arc<Stage>, (sender, news): (Sender<News>, Receiver<News>)) -> Self {
        let slots = stage
            .settings
            .contestants
            .iter()
            .map(|_| RaceSlot::default())
            .collect();
        Self {
            stage,
            slots,
            news,
            _sender: sender,
            watch: Watch::default(),
        }
    }

    /// Races until the stream ends or the stage is to pause.
    pub(crate) fn run(mut self) -> WorkerExit {
        let stage = self.stage.clone();
        let mut then = Then::GoOn;
        while then == Then::GoOn {
            then = match stage.next() {
                Coming::Work(work) => self.race(work),
                Coming::Nothing => break,
                Coming::Pause => {
                    self.wait_for_all();
                    return WorkerExit::paused(None);
                }
            };
        }
        if then == Then::GoOn && stage.run.mode() < Mode::Abort {
            self.race(stage.finish());
        }
        stage.close();
        WorkerExit::default()
    }

    /// Waits until those who lost have come back too, or were given up.
    fn wait_for_all(&mut self) {
        while self.slots.iter().any(|slot| slot.busy) {
            let late = self.hear();
            self.tell_late(late);
        }
    }

    /// Runs one race to its end.
    fn race(&mut self, work: Work) -> Then {
        if !self.wait_for_a_free_slot() {
            if self.stage.must_end() {
                return Then::End;
            }
            // The control thread has told why each of them was given up.
            let text = "none of its plugins is left".to_owned();
            let problem =
                self.stage
                    .problem(ProblemKind::Hang, 0, work.message_id(&self.stage), text);
            self.stage.run.fail(problem);
            return Then::End;
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
            match self.hear() {
                Some((contestant, done)) if running.remove(&contestant) => {
                    outcomes.push((contestant, done));
                }
                other => self.tell_late(other),
            }
        }
        self.conclude(&race, outcomes)
    }

    /// Tells of the call of a contestant that came back after its race was over.
    fn tell_late(&self, late: Option<(usize, Option<Done>)>) {
        let Some((contestant, Some(done))) = late else {
            return;
        };
        self.stage.tell_call(done.written);
        // What it said to a race that was over counts nothing; that it crashed does.
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
            // It is gone only after it was given up, which is heard of next.
            let _ = jobs.send(race.clone());
            slot.busy = true;
        }
    }

    /// Waits for news; `Some` when a contestant's work is over, with what came of it unless it was
    /// given up.
    fn hear(&mut self) -> Option<(usize, Option<Done>)> {
        let news = self.news.recv().ok()?;
        self.note(news)
    }

    fn note(&mut self, news: News) -> Option<(usize, Option<Done>)> {
        match news {
            News::Done { contestant, done } => {
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
            News::Missing {
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
            News::Joined {
                contestant,
                jobs,
                watch,
            } => {
                let slot = self.slots.get_mut(contestant)?;
                // Nobody has told of the one before: it hangs, and was replaced at once.
                let hung = slot.busy;
                *slot = RaceSlot {
                    contestant: Some((jobs, watch)),
                    ..RaceSlot::default()
                };
                hung.then_some((contestant, None))
            }
        }
    }

    /// False: there is nobody left to wait for.
    fn wait_for_a_free_slot(&mut self) -> bool {
        while let Ok(news) = self.news.try_recv() {
            let late = self.note(news);
            self.tell_late(late);
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
            let late = self.hear();
            self.tell_late(late);
        }
    }

    /// Counts and reports what came of a race.
    fn conclude(&mut self, race: &Race, outcomes: Vec<(usize, Option<Done>)>) -> Then {
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
                Outcome::Stopped | Outcome::Lost | Outcome::GivenUp => {}
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
            stage.tell_call(Some(call));
        }
        if winner_failed || winner.is_none() && !abstained && !ended && !failures.is_empty() {
            return self.fail(race, &failures, restarts);
        }
        let gone = |slot: &RaceSlot| slot.contestant.is_none() && !slot.away;
        let empty = self.slots.iter().all(gone);
        if ended && empty {
            Then::End
        } else {
            Then::GoOn
        }
    }

    /// All that ran failed. `restarts`: one of them is restarted, so that this costs the message alone.
    fn fail(&self, race: &Race, failures: &[(usize, ProblemKind, String)], restarts: bool) -> Then {
        let stage = &self.stage;
        let timed_out = failures
            .iter()
            .all(|(_, kind, _)| *kind == ProblemKind::TimedOut);
        let kind = if timed_out {
            ProblemKind::TimedOut
        } else {
            ProblemKind::Failed
        };
        let told: Vec<_> = failures
            .iter()
            .map(|(contestant, _, text)| format!("{}: {text}", stage.plugin(*contestant)))
            .collect();
        let first = failures.first().map_or(0, |(contestant, ..)| *contestant);
        let text = format!("no contestant answered ({})", told.join("; "));
        let problem = stage.problem(kind, first, race.work.message_id(stage), text);
        if restarts {
            stage.skip(problem);
            return Then::GoOn;
        }
        stage.fail(problem)
    }
}

fn count(stage: &Stage, contestant: usize, which: impl Fn(&Contest) -> &AtomicU64) {
    if let Some(contest) = stage.contests.get(contestant) {
        which(contest).fetch_add(1, Ordering::Relaxed);
    }
}
