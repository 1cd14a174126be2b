//! The machine of a run that records the whole of it: the observer.
//!
//! The others send it what their stages do. All clocks are set to that of the observer before the run starts, so that
//! the times of the whole run have one axis, and plugins have read the very times that are recorded.

use std::time::{Duration, Instant};

use flowpipe_config::pipeline::Machines;
use flowpipe_host::clock::Clock;
use flowpipe_machines::{Peer, Wanted};
use flowpipe_terminal::{eprintln, escape};

use crate::exit::Failure;
use crate::show::report::duration;

/// How long the observer's clock is measured, by a ping twice a second. The observer waits as long, so that all start
/// together.
pub const MEASURED: Duration = Duration::from_millis(1_200);
/// How long the first measurement may take.
const TIMEOUT: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(10);

/// Which machine observes the run, after all have agreed. `wanted`: what this one wants.
///
/// # Errors
/// When several would, or when the observer is not connected to all others.
pub fn find(
    machines: &Machines,
    own: usize,
    wanted: Wanted,
    peers: &[(usize, Peer)],
) -> Result<Option<usize>, Failure> {
    let name = |machine: usize| &machines.all[machine].name;
    let observing = peers.iter().filter(|(_, it)| it.its_wanted().recording);
    let observing: Vec<_> = observing.map(|(machine, _)| *machine).collect();
    let others: Vec<_> = match wanted.recording {
        true => [own].into_iter().chain(observing).collect(),
        false => observing,
    };
    if let [one, another, ..] = others[..] {
        return Err(Failure::Usage(format!(
            "machine {} and machine {} are both to record or trace the run: give --record and --trace to one machine",
            name(one.min(another)),
            name(one.max(another))
        )));
    }
    let is_linked = |machine: &usize| *machine == own || peers.iter().any(|(it, _)| it == machine);
    let mut used = machines.of_stages.iter();
    match used.find(|machine| wanted.recording && !is_linked(machine)) {
        Some(missing) => Err(Failure::Usage(format!(
            "machine {} is not connected to machine {}, which is to record or trace the run",
            name(*missing),
            name(own)
        ))),
        None => Ok(others.first().copied()),
    }
}

/// The clock of the run here, set to that of the observer.
///
/// # Errors
/// When it can't be measured.
pub fn set_clock(clock: Clock, observer: &Peer, name: &str) -> Result<Clock, Failure> {
    let began = Instant::now();
    loop {
        let measured = observer.clock();
        match measured.filter(|_| began.elapsed() >= MEASURED) {
            Some(offset) => {
                eprintln!(
                    "the clock is set to that of machine {} ± {}",
                    escape(name),
                    duration(offset.error_ns.unsigned_abs())
                );
                return Ok(clock.set_ahead(offset.offset_ns));
            }
            None if began.elapsed() < TIMEOUT => std::thread::sleep(STEP),
            None => {
                let why = format!("the clock of machine {name} can't be measured");
                return Err(Failure::Run(why));
            }
        }
    }
}
