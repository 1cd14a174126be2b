//! The machine of a run that records or traces the whole of it: the observer.
//!
//! The others send it what their stages do. All clocks are set to that of the observer before the run starts, so that
//! the times of the whole run have one axis, and plugins have read the very times that are recorded.

use std::time::Duration;

use flowpipe_config::pipeline::Machines;
use flowpipe_host::clock::Clock;
use flowpipe_link::clock_offset::Offset;
use flowpipe_machines::{Observers, Peer, Topology, observer_clock};
use flowpipe_terminal::{eprintln, escape};

use crate::exit::Failure;
use crate::show::report::duration;

/// How long a clock is measured, by a ping twice a second.
const MEASURED: Duration = Duration::from_millis(1_200);
/// How long it may take until the clock of the observer is known.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Which machine observes the run, after all have agreed. `observers`: those that want to.
///
/// # Errors
/// When several do, or when some machines are not connected to this one, which does.
pub fn find(
    machines: &Machines,
    topology: &Topology,
    observers: &Observers,
) -> Result<Option<usize>, Failure> {
    let name = |machine: usize| &machines.all[machine].name;
    let mut observing = observers.keys().copied();
    let observer = observing.next();
    if let (Some(one), Some(another)) = (observer, observing.next()) {
        return Err(Failure::Usage(format!(
            "machine {} and machine {} are both to record or trace the run: give --record and --trace to one machine",
            name(one),
            name(another)
        )));
    }
    let own = topology.own;
    let is_reached = |machine: &usize| *machine == own || topology.ways.contains_key(machine);
    let members = machines.of_workers.iter().flatten();
    let mut used = machines.of_stages.iter().chain(members);
    match used.find(|machine| observer == Some(own) && !is_reached(machine)) {
        Some(missing) => Err(Failure::Usage(format!(
            "machine {} is not connected to machine {}, which is to record or trace the run, not even over others",
            name(*missing),
            name(own)
        ))),
        None => Ok(observer),
    }
}

/// What is printed when the observer takes nothing more: it is dead, or a machine on the way to it is. That ends the run, and
/// is printed where it is found. `is_recorded`: otherwise the run is only traced.
pub fn gone(observer: &str, is_recorded: bool) -> String {
    let what = if is_recorded { "recording" } else { "trace" };
    let observer = escape(observer);
    format!(
        "the {what} on machine {observer} lacks what the stages of this machine do from here on: a machine on the way is dead"
    )
}

/// The clock of the run here, set to that of the observer, and how far it was set ahead.
///
/// # Errors
/// When it can't be measured.
pub fn set_clock(
    clock: Clock,
    topology: &Topology,
    peers: &[&Peer],
    observer: usize,
) -> Result<(Clock, Offset), Failure> {
    let measured = observer_clock(topology, peers, observer, MEASURED, TIMEOUT);
    let offset = measured.map_err(|error| Failure::Run(error.to_string()))?;
    if observer != topology.own {
        let name = topology.names.get(observer).map_or("?", String::as_str);
        let error = duration(offset.error_ns.unsigned_abs());
        eprintln!(
            "the clock is set to that of machine {} ± {error}",
            escape(name)
        );
    }
    Ok((clock.set_ahead(offset.offset_ns), offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observer_that_is_not_reached_any_more_has_not_failed() {
        for (is_recorded, expected) in [
            (
                true,
                "the recording on machine a\\u001b lacks what the stages of",
            ),
            (
                false,
                "the trace on machine a\\u001b lacks what the stages of",
            ),
        ] {
            let text = gone("a\u{1b}", is_recorded);
            assert!(text.starts_with(expected), "{text}");
            assert!(!text.contains("failed"), "{text}");
        }
    }
}
