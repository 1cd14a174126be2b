//! A stage whose recorded calls are rerun.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_host::instance::Instance;
use flowpipe_host::problem::ProblemKind;
use flowpipe_host::run::Mode;
use flowpipe_recording::entry::{Call, Event};

use crate::edge::fed_input::InputPort;
use crate::edge::held_receipt::HeldReceipt;
use crate::run::exit::WorkerExit;
use crate::run::outcome::{Done, Outcome};
use crate::run::replay::{CallGuard, Fetched, Replay};
use crate::run::stage::Stage;
use crate::run::work::Work;
use crate::run::worker::Worker;
use crate::supervisor::Decision;

/// Reruns the recorded calls of a stage, in the order in which they began, until the last one or until a plugin is to be
/// restarted. `workers`: by slot. `new`: the same, whether its instance was just created.
pub(crate) fn run(
    stage: &Arc<Stage>,
    mut workers: Vec<Worker>,
    mut new: Vec<bool>,
    replay: &Arc<Replay>,
) -> WorkerExit {
    // However this ends, other stages must not wait for its messages.
    let ended = EndGuard(replay, stage.index);
    let is_stopping = || stage.run.mode() >= Mode::Drop;
    while let Some((number, call)) = replay.next_call(stage.index, is_stopping()) {
        let slot = stage.worker_id(call.worker).slot(call.plugin);
        let Some(place) = workers.iter().position(|it| it.slot == slot) else {
            continue;
        };
        if stage.is_source() != (call.event == Event::Tick) {
            // No run calls it so: the recording was edited.
            tracing::warn!(
                stage = stage.settings.name,
                "a call has an event that the stage never gets: the call is skipped"
            );
            replay.skip(stage, number, call, false);
            continue;
        }
        let worker = &mut workers[place];
        if replay.follows_a_gap(call) && has_state(stage, worker) {
            // The recording lacks messages that its state depends on.
            replay.skip(stage, number, call, true);
            continue;
        }
        replay.pace(call, is_stopping);
        if is_stopping() {
            break;
        }
        let port = call.took.as_ref().map_or(0, |taken| {
            let input = |input: &InputPort| input.name == *taken.port;
            stage.inputs.iter().position(input).unwrap_or(0)
        });
        let message = match &call.took {
            None => None,
            Some(_) => match replay.fetch(stage, number, call) {
                // No run delivers it: the recording was edited, or is of an earlier release.
                Fetched::Message(message) if !stage.takes(port, &message) => {
                    tracing::warn!(
                        stage = stage.settings.name,
                        input = stage.input_name(port),
                        "it took a message of schema {} with {}, which the input does not take: the call is skipped",
                        message.schema(),
                        message.content()
                    );
                    replay.skip(stage, number, call, false);
                    continue;
                }
                Fetched::Message(message) => Some(message),
                Fetched::Stopped => break,
                Fetched::Skip { is_explained } => {
                    replay.skip(stage, number, call, is_explained);
                    continue;
                }
            },
        };
        let received = u64::from(message.is_some());
        stage.counts.received.fetch_add(received, Ordering::Relaxed);
        let event = match call.event {
            Event::Message => abi::EVENT_MESSAGE,
            Event::Finish => abi::EVENT_FINISH,
            Event::Tick => abi::EVENT_TICK,
        };
        let descent = message.as_ref().map(|it| it.lineage.descent());
        let descent = descent
            .filter(|descent| descent.origin.is_some())
            .unwrap_or_else(|| replay.last_descent(call));
        let work = Work {
            event,
            message: message.map(|message| (port, message)),
            receipt: HeldReceipt::default(),
            descent,
            taken_ns: call.taken_ns,
            ticket: None,
        };
        // A new instance already has the recorded times of its creation and of its next call.
        if !std::mem::take(new.get_mut(place).unwrap_or(&mut false)) {
            let stage_clock = worker.instance.host().stage_clock();
            stage_clock.load(&call.clock, call.taken_ns);
        }
        let guard = match replay.begin_call(stage, worker, call) {
            Ok(guard) => guard,
            Err(excess) => {
                replay.substitute_recorded(stage, number, call, excess);
                continue;
            }
        };
        let began = stage.run.now();
        let mut done = worker.process(&work, None, Some(call));
        let worked_ns = stage.run.now() - began;
        let excess = guard.and_then(CallGuard::end);
        if matches!(done.outcome, Outcome::Abandoned) {
            // Its slot has another instance already.
            std::mem::forget(ended);
            std::mem::forget(workers);
            return WorkerExit::default();
        }
        if let Some(excess) = excess {
            replay.substitute_recorded(stage, number, call, excess);
            // The excess is reported, and is no failure of the stage.
            if matches!(done.outcome, Outcome::Failed(ProblemKind::TimedOut, _)) {
                done.outcome = Outcome::Stopped;
            }
        }
        done.worked_ns = worked_ns;
        stage.note_time(&work, &done);
        count_race(stage, call, &done);
        stage.report_call(done.written);
        // The stage continues, as it did in the recording. Comparing the messages shows whether it failed then too.
        let decision = match done.outcome {
            Outcome::Failed(..) => worker.failed(),
            _ if worker.instance.death().is_some() => worker.failed(),
            Outcome::Fine => {
                worker.succeeded();
                Decision::Continue
            }
            _ => Decision::Continue,
        };
        worker.conclude(done.outcome, decision, &work);
        let restart = match decision {
            Decision::Restart(after) => Some(after),
            // The recording says so.
            _ if call.restarted => Some(Duration::ZERO),
            Decision::Continue | Decision::End => None,
        };
        if let Some(after) = restart {
            std::mem::forget(ended);
            return WorkerExit::restart(instances(workers), place, after);
        }
    }
    WorkerExit {
        instances: instances(workers),
        ..WorkerExit::default()
    }
}

/// Counts a call of a contestant. Only the recorded winner of a race emitted, and it answers again.
fn count_race(stage: &Stage, call: &Call, done: &Done) {
    if !stage.races() {
        return;
    }
    let Some(contest) = stage.contests.get(call.plugin) else {
        return;
    };
    if !call.emitted.is_empty() && done.emitted > 0 {
        contest.won.fetch_add(1, Ordering::Relaxed);
    }
    if matches!(done.outcome, Outcome::Failed(..)) {
        contest.failed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether a plugin has state that depends on earlier messages. True if it can't be queried.
fn has_state(stage: &Stage, worker: &mut Worker) -> bool {
    let Some(_calls) = stage.run.control_calls() else {
        return true;
    };
    worker.instance.has_state(&stage.limits()).unwrap_or(true)
}

fn instances(workers: Vec<Worker>) -> Vec<Instance> {
    workers.into_iter().map(|worker| worker.instance).collect()
}

struct EndGuard<'a>(&'a Replay, usize);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}
