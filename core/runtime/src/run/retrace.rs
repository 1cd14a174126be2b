//! A stage whose recorded calls are run again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use flowpipe_abi as abi;
use flowpipe_recording::entry::Event;

use crate::plugin::instance::Instance;
use crate::problem::ProblemKind;
use crate::replay::{Fetched, Replay, Turn};
use crate::run::shared::Mode;
use crate::run::stage::Stage;
use crate::run::threads::WorkerExit;
use crate::run::worker::{Outcome, Work, Worker};

/// Runs the recorded calls of a stage again, in their order, until the last or until a plugin is to be restarted.
/// By contestant: whether it was created just now.
pub(crate) fn retrace(
    stage: &Arc<Stage>,
    mut workers: Vec<Worker>,
    mut new: Vec<bool>,
    replay: &Arc<Replay>,
) -> WorkerExit {
    // However this ends, others do not wait for its messages.
    let ended = Ended(replay, stage.index);
    while let Some((number, call)) = replay.next_call(stage.index) {
        if stage.run.mode() >= Mode::Drop {
            break;
        }
        let Some(worker) = workers.get_mut(call.plugin) else {
            continue;
        };
        if replay.follows_a_gap(call) && remembers(stage, worker) {
            // What it would have to remember is not in the recording.
            replay.skip(stage, number, call, true);
            continue;
        }
        replay.pace(call, || stage.run.mode() >= Mode::Drop);
        let message = match &call.took {
            None => None,
            Some(_) => match replay.fetch(stage, number, call) {
                Fetched::Message(message) => Some(message),
                Fetched::Skip { is_explained } => {
                    replay.skip(stage, number, call, is_explained);
                    continue;
                }
            },
        };
        let port = call.took.as_ref().map_or(0, |taken| {
            let name = |port: &String| *port == taken.port;
            stage.inputs.iter().position(name).unwrap_or(0)
        });
        stage.counts.received.fetch_add(1, Ordering::Relaxed);
        let event = match call.event {
            Event::Message => abi::EVENT_MESSAGE,
            Event::Finish => abi::EVENT_FINISH,
            Event::Tick => abi::EVENT_TICK,
        };
        let origin = message
            .as_ref()
            .and_then(|message| message.lineage.origin)
            .or_else(|| replay.last_origin(call));
        let work = Work {
            event,
            message: message.map(|message| (port, message)),
            origin,
            taken_ns: call.taken_ns,
        };
        // What was told while the stage was made is told already, together with its next call's.
        if !std::mem::take(new.get_mut(call.plugin).unwrap_or(&mut false)) {
            let tape = worker.instance.host().tape();
            tape.load(&call.clock, call.taken_ns);
        }
        let turn = match replay.begin_call(stage, worker, call) {
            Ok(turn) => turn,
            Err(excess) => {
                replay.speak_for(stage, call, excess);
                continue;
            }
        };
        let began = stage.run.now();
        let mut done = worker.process(&work, None, Some(call));
        let excess = turn.and_then(Turn::end);
        if matches!(done.outcome, Outcome::GivenUp) {
            // Its place is taken already.
            std::mem::forget(ended);
            std::mem::forget(workers);
            return WorkerExit::default();
        }
        if let Some(excess) = excess {
            replay.speak_for(stage, call, excess);
            // That is told, and is no failure of the stage.
            if matches!(done.outcome, Outcome::Failed(ProblemKind::TimedOut, _)) {
                done.outcome = Outcome::Stopped;
            }
        }
        stage.tell_call(done.written);
        stage.note_time(stage.run.now() - began);
        if let Outcome::Failed(kind, text) = done.outcome {
            let contestant = call.plugin;
            // As it was in the recording, the stage goes on; that it failed then too, whoever compares
            // the messages finds.
            stage.fail(stage.problem(kind, contestant, work.message_id(stage), text));
        }
        let lives = |worker: &Worker| worker.instance.death().is_none();
        if call.anew || !workers.get(call.plugin).is_none_or(lives) {
            std::mem::forget(ended);
            let instances = instances(workers);
            return WorkerExit::restart(instances, call.plugin, Duration::ZERO);
        }
    }
    WorkerExit {
        instances: instances(workers),
        ..WorkerExit::default()
    }
}

/// Whether a plugin remembers what it was given before: it offers to hand that over. One that can't be asked may.
fn remembers(stage: &Stage, worker: &mut Worker) -> bool {
    let Some(_calls) = stage.run.control_calls() else {
        return true;
    };
    worker.instance.has_state(stage).unwrap_or(true)
}

fn instances(workers: Vec<Worker>) -> Vec<Instance> {
    workers.into_iter().map(|worker| worker.instance).collect()
}

struct Ended<'a>(&'a Replay, usize);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.end(self.1);
    }
}
