//! The clock of the machine that observes a run, as each other one knows it.
//!
//! A machine measures the clock of the next one on the way to the observer, and adds what that one sends: the clock of
//! the observer, as it knows it. The errors add up.

use std::time::{Duration, Instant};

use flowpipe_link::clock_offset::Offset;
use flowpipe_link::session::Event;
use flowpipe_sync::lock;

use crate::control::{CHANNEL, Control, LATEST_TIME};
use crate::peer::Peer;
use crate::topology::Topology;

const STEP: Duration = Duration::from_millis(5);

/// Why the clock of the observer is not known.
#[derive(Debug, thiserror::Error)]
pub enum CommonClockError {
    /// It is not reached.
    #[error("machine {0} is not connected to this one")]
    Unreachable(String),
    /// Its clock could not be measured, or was not sent, in time.
    #[error("the clock of machine {0} can't be measured")]
    Unknown(String),
    /// A machine on the way has sent a clock that can't be one.
    #[error("machine {0} sent a malformed clock")]
    Malformed(String),
}

/// The clock of the observer minus the one here, after [`agree`](crate::agree). Sends it to the machines behind this one.
/// `measured`: how long the next clock is measured. `timeout`: how long all may take.
///
/// # Errors
/// When it does not become known.
pub fn observer_clock(
    topology: &Topology,
    peers: &[&Peer],
    observer: usize,
    measured: Duration,
    timeout: Duration,
) -> Result<Offset, CommonClockError> {
    let began = Instant::now();
    let way = topology.ways.get(&observer);
    let way = way.and_then(|way| peers.iter().find(|it| it.machine == *way));
    let name = || topology.name(observer).to_owned();
    match way {
        // It waits as long as the others, so that all start together.
        _ if observer == topology.own => {
            send(topology, peers, None, Offset::NONE);
            std::thread::sleep(measured);
            Ok(Offset::NONE)
        }
        None => Err(CommonClockError::Unreachable(name())),
        Some(peer) => {
            let mut sent = None;
            loop {
                sent = sent.or_else(|| sent_clock(peer));
                let next = peer.link.peer_clock();
                if let (Some(sent), Some(next)) = (sent, next)
                    && began.elapsed() >= measured
                {
                    let malformed = || CommonClockError::Malformed(peer.name.clone());
                    let clock = sum(next, sent).ok_or_else(malformed)?;
                    send(topology, peers, Some(peer.machine), clock);
                    return Ok(clock);
                }
                if began.elapsed() >= timeout {
                    return Err(CommonClockError::Unknown(name()));
                }
                std::thread::sleep(STEP);
            }
        }
    }
}

/// Sends the clock of the observer to all that are behind this machine.
fn send(topology: &Topology, peers: &[&Peer], way: Option<usize>, clock: Offset) {
    let neighbours = topology.neighbours();
    let is_behind = |peer: &&&Peer| neighbours.contains(&peer.machine) && Some(peer.machine) != way;
    for peer in peers.iter().filter(is_behind) {
        // It is one of the first messages: there is room, unless the other machine is dead.
        let _ = peer.send(&Control::Clock {
            ahead_ns: clock.offset_ns,
            error_ns: clock.error_ns,
        });
    }
}

/// The clock that a peer has sent, if it has. Everything else that has arrived is kept for the run.
fn sent_clock(peer: &Peer) -> Option<Offset> {
    let mut early = lock(&peer.early);
    while let Some(event) = peer.link.next_event(Duration::ZERO) {
        match event {
            Event::Connected | Event::Disconnected(_) => {}
            event => early.push(event),
        }
    }
    let is_clock = |event: &Event| match event {
        Event::Message { id, body } if id.channel == CHANNEL => match Control::decode(body)? {
            Control::Clock { ahead_ns, error_ns } => Some((*id, ahead_ns, error_ns)),
            _ => None,
        },
        _ => None,
    };
    let (place, (id, offset_ns, error_ns)) = early
        .iter()
        .enumerate()
        .find_map(|(place, event)| Some((place, is_clock(event)?)))?;
    early.remove(place);
    peer.link.take(CHANNEL);
    peer.link.done(id);
    Some(Offset {
        offset_ns,
        error_ns,
    })
}

/// Adds two offsets. `None`: the second one is none, or the sum can't be one.
fn sum(next: Offset, sent: Offset) -> Option<Offset> {
    let is_time = |time_ns: i64| (-LATEST_TIME..=LATEST_TIME).contains(&time_ns);
    if !is_time(sent.offset_ns) || !(0..=LATEST_TIME).contains(&sent.error_ns) {
        return None;
    }
    let offset_ns = next.offset_ns.checked_add(sent.offset_ns)?;
    is_time(offset_ns).then(|| Offset {
        offset_ns,
        error_ns: next.error_ns.saturating_add(sent.error_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(offset_ns: i64, error_ns: i64) -> Offset {
        Offset {
            offset_ns,
            error_ns,
        }
    }

    #[test]
    fn clocks_add_up_with_their_errors() {
        assert_eq!(sum(offset(5, 2), offset(-8, 3)), Some(offset(-3, 5)));
    }

    #[test]
    fn a_clock_that_can_not_be_one_is_refused() {
        for sent in [
            offset(i64::MAX, 0),
            offset(i64::MIN, 0),
            offset(LATEST_TIME + 1, 0),
            offset(0, -1),
            offset(0, i64::MAX),
        ] {
            assert_eq!(sum(offset(5, 2), sent), None, "{sent:?}");
        }
        assert_eq!(sum(offset(i64::MAX, 0), offset(1, 0)), None);
    }
}
