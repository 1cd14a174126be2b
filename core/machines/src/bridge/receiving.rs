//! What the other machine sends.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;
use flowpipe_config::pipeline::WhenFull;
use flowpipe_engine::run::remote::{Delivery, IncomingEdge};
use flowpipe_link::link::LinkFailure;
use flowpipe_link::session::{Event, MessageId};

use super::{Arrivals, BridgeEvent, STEP, Shared};
use crate::control::{CHANNEL, Control};
use crate::frame_coding::{FrameDecoder, shared_block_in};
use crate::observations::UNEXPECTED;
use crate::shared_memory::Sharing;
use crate::unfinished::UnfinishedMessage;
use crate::wire;

/// How long there is no connection before it is reported why, at most.
const FAILURE_AFTER: Duration = Duration::from_secs(2);
/// The most failures of an outage that are compared with the next ones.
const MOST_FAILURES: usize = 20;

/// Why a machine is given up that introduces itself in the run.
const INTRODUCED_AGAIN: &str =
    "it has introduced itself again: it was restarted, or breaks the protocol";

/// Passes the messages of an edge on to its stage.
pub(super) fn receive_edge(
    shared: &Shared,
    edge: &mut IncomingEdge,
    arrivals: &Receiver<(MessageId, Vec<u8>)>,
    accepted: &AtomicU64,
) {
    let number = edge.index();
    let progress = shared.incoming.get(&number);
    let unfinished = progress.map_or_else(Arc::default, |it| it.unfinished().clone());
    let mut frames = FrameDecoder::default();
    let nothing = Sharing::default();
    let sharing = shared.sharing.as_deref().unwrap_or(&nothing);
    for (id, body) in arrivals {
        let Some(clock) = shared.clock_of(id) else {
            // The messages here are lost: no time of theirs is known.
            shared.refuse(
                Some(number),
                "the other machine died before its clock was measured",
            );
            return;
        };
        let mut is_unread = false;
        let delivery = match wire::decode(&body, clock, &mut frames, sharing) {
            Some(arrived) => {
                let (link, count) = (shared.link.clone(), unfinished.clone());
                let receipt = UnfinishedMessage::new(link, id, count);
                edge.accept(arrived, Some(Arc::new(receipt)))
            }
            None => {
                shared.link.done(id);
                // Perhaps the system has not let this machine read a frame in the memory of the other one.
                is_unread = sharing.receives() && shared_block_in(&body).is_some();
                Err("a message is malformed".to_owned())
            }
        };
        accepted.fetch_add(1, Ordering::SeqCst);
        // The next message waits at the sender of a queue that drops, where a newer one replaces it.
        if edge.edge().queue.when_full != WhenFull::Block {
            while !shared.is_closing() && !edge.wait_until_taken(STEP) {}
        }
        shared.link.take(id.channel);
        match delivery {
            Ok(Delivery::Queued) => {}
            Ok(Delivery::Gone) => {
                // The other machine learns that. It needs no credit, which a machine whose run is over does not grant.
                shared.link.end(id.channel);
                break;
            }
            Ok(Delivery::NoMemory) => {
                shared.refuse(Some(number), "memory is short here for its frame");
            }
            Err(reason) => {
                shared.refuse(Some(number), &reason);
                if !is_unread {
                    // Both run the same: a machine that keeps to the protocol does not send that. What has arrived already
                    // is checked and passed on.
                    shared.link.give_up();
                }
            }
        }
    }
    // What still arrives goes nowhere.
    for (id, _) in arrivals {
        shared.link.take(id.channel);
        shared.link.done(id);
        accepted.fetch_add(1, Ordering::SeqCst);
    }
    if let Some(progress) = progress {
        progress.complete();
    }
}

/// Receives all that the other machine sends. `early`: what it has sent before this one has started.
pub(super) fn receive(shared: &Shared, early: Vec<Event>, mut arrivals: HashMap<u32, Arrivals>) {
    let mut early = early.into_iter();
    let mut gone_since = (!shared.link.is_connected()).then(Instant::now);
    let mut has_finished = false;
    let mut is_given_up = false;
    // The failures that are known in this outage. Several can alternate.
    let mut reported: Vec<_> = shared.link.failure().into_iter().collect();
    let failure_after = FAILURE_AFTER.min(shared.reconnect_timeout / 2);
    while !shared.is_closing() {
        if !has_finished && gone_since.is_some_and(|since| since.elapsed() >= failure_after) {
            let failure = shared.link.failure();
            if let Some(failure) = failure.filter(|it| !reported.contains(it)) {
                if reported.len() < MOST_FAILURES {
                    reported.push(failure.clone());
                }
                (shared.report)(BridgeEvent::NotReconnected(failure));
            }
        }
        // Also one whose run is over: it stays until it has everything, unless its run did not start. One that may have ended
        // is waited for by the end of the bridge.
        if gone_since.is_some_and(|since| since.elapsed() >= shared.reconnect_timeout)
            && !shared.link.is_connected()
            && !shared.link.may_have_ended()
        {
            gone_since = None;
            is_given_up = true;
            shared.link.give_up();
        }
        match early.next().or_else(|| shared.link.next_event(STEP)) {
            // Those come after the peer is lost.
            None | Some(Event::Lost { .. } | Event::Unsent { .. }) => {}
            Some(Event::Arrived(id)) => shared.note_arrived(id),
            Some(Event::Connected) => {
                gone_since = None;
                (shared.report)(BridgeEvent::Connected);
            }
            Some(Event::Disconnected(violation)) => {
                gone_since = Some(Instant::now());
                let failure = of_loss(shared.link.failure());
                reported = failure.iter().cloned().collect();
                if !has_finished {
                    let reason = violation.map(|it| format!("the other machine {it}"));
                    let reason = reason.or_else(|| Some(failure?.text));
                    (shared.report)(BridgeEvent::Disconnected { reason });
                }
            }
            Some(Event::Message { id, body }) if id.channel == CHANNEL => {
                shared.link.take(CHANNEL);
                shared.link.done(id);
                match Control::decode(&body) {
                    Some(Control::Stop { machine, reason }) => {
                        (shared.report)(BridgeEvent::Stopped { machine, reason });
                    }
                    // Its program is about to end.
                    Some(Control::NotStarted { reason }) => {
                        (shared.report)(BridgeEvent::NotStarted { reason });
                        is_given_up = true;
                        shared.link.give_up();
                    }
                    // It may learn later that all have started.
                    Some(Control::Missing { .. }) => {}
                    // A program that was restarted while this machine started, or one that breaks the protocol.
                    Some(Control::Introduction { .. }) => {
                        if !is_given_up {
                            shared.refuse(None, INTRODUCED_AGAIN);
                        }
                        is_given_up = true;
                        shared.link.give_up();
                    }
                    Some(Control::Idle { cycle }) => {
                        (shared.report)(BridgeEvent::Idle { cycle });
                    }
                    Some(Control::WorkersDied { machine }) => {
                        (shared.report)(BridgeEvent::WorkersDied { machine });
                    }
                    Some(Control::Share(step)) if shared.sharing.is_some() => {
                        let next = shared.sharing.as_ref().and_then(|it| it.receive(step));
                        // Otherwise frames are sent.
                        if let Some(next) = next {
                            let _ = shared.send_control(&Control::Share(next));
                        }
                    }
                    _ => shared.refuse(None, UNEXPECTED),
                }
            }
            Some(Event::Occupied) => (shared.report)(BridgeEvent::SecondProgram),
            // What it has had is lost, which follows.
            Some(Event::GivenUp) => (shared.report)(BridgeEvent::GivenUp),
            Some(Event::Message { id, body }) => {
                // One thread receives all messages: what only frames need is not done for the others.
                if let Some(sharing) = &shared.sharing
                    && id.channel != shared.observations
                    && wire::has_frame(&body)
                    && sharing.receives()
                    && let Some(block) = shared_block_in(&body)
                {
                    sharing.keep(block);
                }
                // Gone: the stage has ended, which the other machine is about to learn.
                let rejected = match arrivals.get(&id.channel) {
                    Some(arrivals) => arrivals.send((id, body)).is_err(),
                    None => true,
                };
                if rejected {
                    shared.link.take(id.channel);
                    shared.link.done(id);
                }
            }
            Some(Event::Done { first, last }) => {
                shared.note_done(first, last);
                shared.workers.note_done(first.channel, last);
            }
            Some(Event::Ended { channel }) => {
                if channel == shared.observations {
                    shared
                        .have_observations_ended
                        .store(true, Ordering::Relaxed);
                }
                // Of an edge to it: the stage there has ended.
                shared.note_early_end(channel);
                drop(arrivals.remove(&channel));
            }
            Some(Event::Finished) => {
                // Its run is over: it takes nothing more.
                has_finished = true;
                match is_given_up {
                    // All that it had is lost with it, which is reported next.
                    true => shared.gone.keys().for_each(|edge| shared.set_gone(*edge)),
                    false => shared.note_finish(),
                }
                shared.has_peer_finished.store(true, Ordering::SeqCst);
                // Nothing comes after it: streams to the stages here end, also those whose ends it has not sent.
                arrivals.clear();
            }
            Some(Event::PeerLost) => {
                let later = report_death(shared, early);
                // Streams to the stages here end.
                arrivals.clear();
                return refuse_successors(shared, later);
            }
        }
    }
}

/// Why the connection was lost, from the last failure of the link. That may already be one to make the next connection: only
/// such failures have a reason of their own. One that lasts is reported later.
fn of_loss(failure: Option<LinkFailure>) -> Option<LinkFailure> {
    failure.filter(|it| it.reason.is_none())
}

/// The other machine is dead: reports what it loses. `early`: what has come since, before this one has started. Returns the
/// part of that which is of its successors.
fn report_death(
    shared: &Shared,
    mut early: impl Iterator<Item = Event>,
) -> impl Iterator<Item = Event> {
    shared.note_death();
    // What it loses follows at once.
    let mut lost: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    let mut later = None;
    let mut next = || {
        early
            .next()
            .or_else(|| shared.link.next_event(Duration::ZERO))
    };
    while let Some(event) = next() {
        let of_edge = match event {
            Event::Lost { first, last } => shared.note_lost(first, last),
            Event::Unsent { id, .. } => {
                shared.uncount_frame(id);
                shared.note_lost(id, id.number)
            }
            event => {
                later = Some(event);
                break;
            }
        };
        if let Some((edge, sequences)) = of_edge {
            lost.entry(edge).or_default().extend(sequences);
        }
    }
    shared.report_lost(lost);
    shared.workers.close();
    later.into_iter().chain(early)
}

/// Takes what programs send that were started in place of the dead one, and lets them know that they are late. `known`: what
/// has come of them already.
fn refuse_successors(shared: &Shared, mut known: impl Iterator<Item = Event>) {
    let started: Arc<[u8]> = Control::Started.encode().into();
    let mut answered = None;
    while !shared.is_closing() {
        let next = known.next().or_else(|| shared.link.next_event(STEP));
        if let Some(Event::Message { id, body }) = next {
            shared.link.take(id.channel);
            shared.link.done(id);
            let is_introduction = id.channel == CHANNEL
                && matches!(Control::decode(&body), Some(Control::Introduction { .. }));
            // Once: a program may introduce itself again and again, and take no answer.
            if is_introduction && answered.replace(id.epoch) != Some(id.epoch) {
                // One that takes nothing learns nothing.
                let _ = shared.link.send(CHANNEL, &started, STEP);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_link::transport::FailureReason;

    use super::*;

    #[test]
    fn why_the_next_connection_fails_is_not_why_the_last_one_was_lost() {
        let failure = |reason| {
            let text = "it is refused or reset".to_owned();
            Some(LinkFailure { reason, text })
        };
        assert_eq!(of_loss(failure(Some(FailureReason::Unreachable))), None);
        assert_eq!(of_loss(failure(None)), failure(None));
        assert_eq!(of_loss(None), None);
    }
}
