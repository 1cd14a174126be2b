//! The workers of a file of machines, as the command sees them that distributes.

use std::collections::BTreeMap;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use flowpipe_config::reader::batch_machines::BatchMachines;
use flowpipe_link::link::LinkFailure;
use flowpipe_machines::Difference;
use flowpipe_machines::batch::coordinator::Reason;
use flowpipe_machines::batch::{AbsentWorker, BatchError, BatchEvent, Job, Notice, Workers};
use flowpipe_terminal::{counted, escape};

use crate::args::Global;
use crate::batch::machines_file;
use crate::connection_advice::advice;
use crate::exit::Failure;
use crate::line_budget::{LimitedNotices, shortened};
use crate::transports;

/// How long a job waits when no worker is there.
const ABSENCE_TIMEOUT: Duration = Duration::from_secs(20);
/// The most differences that are printed.
const MOST_DIFFERENCES: usize = 20;

/// The workers.
pub struct WorkerPool {
    workers: Workers,
    /// The name of this machine.
    own: String,
    /// The names of the workers.
    names: Vec<String>,
    /// The workers of which it was printed how many chunks they work on, and that number.
    joined: BTreeMap<String, usize>,
}

/// What happens during a job.
pub enum PoolEvent<R> {
    /// The next results, and the index of the first one.
    Results(u64, Vec<R>),
    /// Something to print, which is escaped.
    Notice(String),
    /// There are no results at the moment.
    Idle,
}

impl WorkerPool {
    /// Starts links to the workers of a file.
    ///
    /// # Errors
    /// When the file is wrong, or certificates are missing.
    pub fn open(file: &Path, global: &Global) -> Result<Self, Failure> {
        let Some(read) = machines_file::read_or_show(file, global)? else {
            let file = file.display();
            return Err(Failure::Config(format!("{file} can't be used")));
        };
        let BatchMachines {
            machines,
            coordinator,
        } = read;
        let others = (0..machines.all.len()).filter(|index| *index != coordinator);
        let others: Vec<usize> = others.collect();
        // What is missing is reported before a thread hides it.
        for &other in &others {
            transports::open(&machines, coordinator, other)?;
        }
        let name = |index: usize| machines.all[index].name.clone();
        let (own, names) = (name(coordinator), others.iter().map(|index| name(*index)));
        let names: Vec<String> = names.collect();
        let connect = move |place: usize| {
            let other = others.get(place).copied().unwrap_or(coordinator);
            transports::open(&machines, coordinator, other)
                .map_err(|failure| io::Error::other(failure.to_string()))
        };
        let workers = Workers::start(&own, &names, Box::new(connect))?;
        Ok(Self {
            workers,
            own,
            names,
            joined: BTreeMap::new(),
        })
    }

    /// Does a job, as [`Workers::run`] does.
    ///
    /// # Errors
    /// When no worker can do it.
    pub fn run<R: Send, B>(
        &mut self,
        job: &Job<'_, R>,
        mut each: impl FnMut(PoolEvent<R>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Failure> {
        // Each job causes some.
        let notices = self.names.iter();
        let notices = notices.map(|name| (name.as_str(), LimitedNotices::new(name)));
        let notices: BTreeMap<&str, LimitedNotices> = notices.collect();
        let joined = &mut self.joined;
        let ended = self.workers.run(job, ABSENCE_TIMEOUT, |event| {
            each(match event {
                BatchEvent::Results { first, results } => PoolEvent::Results(first, results),
                BatchEvent::Notice(notice) if is_repeated(&notice, joined) => PoolEvent::Idle,
                BatchEvent::Notice(notice) => {
                    let text = text(&notice);
                    let limited = cause(&notice).and_then(|machine| notices.get(machine));
                    match limited.map_or(Some(text.clone()), |it| it.text(&text)) {
                        Some(text) => PoolEvent::Notice(text),
                        None => PoolEvent::Idle,
                    }
                }
                BatchEvent::Idle => PoolEvent::Idle,
            })
        });
        ended.map_err(|error| {
            let text = error.to_string();
            match error {
                BatchError::Refused => Failure::Config(text),
                BatchError::Absent { workers, .. } => {
                    let each = workers.iter().map(|worker| absent(worker, &self.own));
                    let each = each.collect::<Vec<_>>().join("; ");
                    Failure::Run(format!("{text} ({each})"))
                }
                BatchError::NoneLeft | BatchError::Thread(_) => Failure::Run(text),
            }
        })
    }
}

/// Why a worker is not there, and what to do. `own`: this machine.
fn absent(worker: &AbsentWorker, own: &str) -> String {
    let AbsentWorker {
        machine,
        is_refused,
        failure,
    } = worker;
    match failure {
        _ if *is_refused => format!("{machine}: it does not take part"),
        Some(LinkFailure { reason, text }) => {
            format!("{machine}: {text}: {}", advice(*reason, own))
        }
        None => format!("{machine} did not answer: {}", advice(None, own)),
    }
}

/// What differs, as far as it is printed.
pub fn differences(found: &[Difference]) -> String {
    // Of what is not printed, nothing is formatted.
    let found = found.iter().take(MOST_DIFFERENCES).map(ToString::to_string);
    shortened(&found.collect::<Vec<_>>().join("; "))
}

/// The worker that a notice is about, if it may cause any number of them.
fn cause(notice: &Notice) -> Option<&str> {
    match notice {
        Notice::Joined { machine, .. } | Notice::Disconnected { machine, .. } => Some(machine),
        // A worker that does not take part causes no more. This machine counts the time.
        Notice::Refused { .. }
        | Notice::Dropped { .. }
        | Notice::Awaited { .. }
        | Notice::Stalled { .. } => None,
    }
}

/// Whether a notice repeats what was printed for an earlier job: a worker takes part in each. `joined`: the workers of which
/// it was printed.
fn is_repeated(notice: &Notice, joined: &mut BTreeMap<String, usize>) -> bool {
    match notice {
        Notice::Joined { machine, lanes } => joined.insert(machine.clone(), *lanes) == Some(*lanes),
        Notice::Disconnected { machine, .. }
        | Notice::Refused { machine, .. }
        | Notice::Dropped { machine, .. } => {
            joined.remove(machine);
            false
        }
        Notice::Awaited { .. } | Notice::Stalled { .. } => false,
    }
}

/// A notice as a line.
fn text(notice: &Notice) -> String {
    match notice {
        Notice::Joined { machine, lanes } => {
            let at_once = counted(*lanes, "chunk");
            format!("machine {} works on {at_once} at a time", escape(machine))
        }
        Notice::Disconnected { machine, reason } => {
            let reason = reason.as_ref().map(|it| format!(": {}", escape(it)));
            let reason = reason.unwrap_or_default();
            let machine = escape(machine);
            format!("machine {machine} is disconnected, and others do what it had{reason}")
        }
        Notice::Refused { machine, reason } => {
            let machine = escape(machine);
            match reason {
                Reason::Differs(found) => {
                    let found = differences(found);
                    format!("machine {machine} does not take part: {}", escape(&found))
                }
                Reason::Failed(why) => {
                    format!("machine {machine} does not take part: {}", escape(why))
                }
            }
        }
        Notice::Awaited { machines } => {
            let names = machines.iter().map(|it| escape(it).into_owned());
            let names = names.collect::<Vec<_>>().join(", ");
            format!("waiting for a worker: none is there of {names}")
        }
        Notice::Stalled { seconds, machines } => {
            let names = machines.iter().map(|it| escape(it).into_owned());
            let names = names.collect::<Vec<_>>().join(", ");
            match machines.len() {
                0 => format!("no results for {seconds} s: no worker takes what is next"),
                1 => format!("no results for {seconds} s: machine {names} works on what is next"),
                _ => {
                    format!("no results for {seconds} s: the machines {names} work on what is next")
                }
            }
        }
        Notice::Dropped { machine, reason } => format!(
            "machine {} is not used any more, since it {}",
            escape(machine),
            escape(reason)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workers_that_are_awaited_are_named() {
        let machines = vec!["rack1".to_owned(), "rack2\u{1b}".to_owned()];
        let text = text(&Notice::Awaited { machines });
        assert_eq!(
            text,
            "waiting for a worker: none is there of rack1, rack2\\u001b"
        );
    }

    #[test]
    fn a_worker_is_announced_once_and_again_after_it_was_lost() {
        let join = |lanes| Notice::Joined {
            machine: "rack".to_owned(),
            lanes,
        };
        let lost = Notice::Disconnected {
            machine: "rack".to_owned(),
            reason: None,
        };
        let mut joined = BTreeMap::new();
        let mut is_repeated = |notice: &Notice| is_repeated(notice, &mut joined);
        assert!(!is_repeated(&join(2)) && is_repeated(&join(2)));
        assert!(!is_repeated(&join(1)) && is_repeated(&join(1)));
        assert!(!is_repeated(&lost) && !is_repeated(&join(1)));
    }
}
