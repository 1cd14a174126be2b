//! A resolved pipeline: all names looked up, all defaults filled in.
//!
//! [`crate::reader`] creates it from a file.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use strum::{EnumMessage, IntoStaticStr, VariantArray};

/// A whole pipeline.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// The file's `name`, or the file's stem.
    pub name: String,
    /// In the order of the file. A stage's index here is its number everywhere else.
    pub stages: Vec<Stage>,
    /// In the order of the file, by receiving stage.
    pub edges: Vec<Edge>,
    /// What happens to queued messages when the run is stopped.
    pub on_stop: OnStop,
    /// Where the run is recorded. `None`: it is not.
    pub record: Option<Record>,
    /// The machines that run it.
    pub machines: Machines,
}

impl Pipeline {
    /// The stages from which messages reach a stage, the nearest first.
    #[must_use]
    pub fn upstream(&self, stage: usize) -> Vec<usize> {
        let mut found = vec![stage];
        let mut next = 0;
        while let Some(&to) = found.get(next) {
            next += 1;
            for edge in self.edges.iter().filter(|edge| edge.to.stage == to) {
                if !found.contains(&edge.from.stage) {
                    found.push(edge.from.stage);
                }
            }
        }
        found.split_off(1)
    }
}

/// The machines of a pipeline, and which of them runs which stage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machines {
    /// In the order of the file. None: one machine without a name runs all stages.
    pub all: Vec<Machine>,
    /// By stage: the index of its machine; of a stage that is distributed, the machine that distributes its messages. Empty
    /// if there are no machines.
    pub of_stages: Vec<usize>,
    /// By stage: the machine of each worker, if the stage is distributed among machines. No workers: it is not. Empty if
    /// no stage is distributed.
    pub of_workers: Vec<Vec<usize>>,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Where it listens for other machines. `None`: it does not.
    pub listen: Option<Address>,
    /// Where the others reach it, if it listens.
    pub connect: Option<Address>,
    /// The folder with its certificate, for encrypted connections.
    pub certificates: String,
    /// For how long a broken connection with it is waited for, before it counts as dead:
    /// [`Machines::reconnect_timeout`].
    pub reconnect_timeout: Duration,
}

/// An address of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Plain TCP on the machine itself.
    Loopback(SocketAddr),
    /// TLS with certificates of both machines.
    Encrypted {
        /// A name, or a numeric address, without the brackets of version 6.
        host: String,
        /// The port.
        port: u16,
    },
}

/// How a run is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The file. `{name}` in it is replaced by the pipeline's name, `{time}` by the time of the start.
    pub file: String,
    /// Stages wait when the recorder can't keep up, so that nothing is dropped.
    pub lossless: bool,
}

/// One stage: one plugin, or several that race.
#[derive(Clone, Debug)]
pub struct Stage {
    /// Its name in the file.
    pub name: String,
    /// One: it runs on the thread of a worker. Several: each gets every message of its worker on its own thread, and
    /// the first answer that passes the checks wins.
    pub contestants: Vec<Contestant>,
    /// How long the work on one message may take, without waits for full queues. After it the work is cancelled.
    pub timeout: Option<Duration>,
    /// What happens when the stage fails on a message.
    pub on_error: OnError,
    /// How long the stage may take for one message before the watchdog reports it. After a `timeout`: how long it may
    /// take to react to the cancellation before it is abandoned.
    pub watchdog: Duration,
    /// Where it runs.
    pub isolation: Isolation,
    /// The restart policy after a failure. `None`: the file has none.
    pub restart: Option<Restart>,
    /// The stage is reset before each message. Files can't set this.
    pub fresh: bool,
    /// How many messages it processes at once: each worker has instances of all plugins, on threads of their own. From
    /// 1 to [`Self::MAX_WORKERS`].
    pub workers: usize,
    /// Whether what descends from an earlier message leaves the stage before what descends from a later one. Without
    /// other workers that is always so.
    pub ordered: bool,
}

/// When a failed stage is restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// The most restarts in a row without a processed message in between. After that `on_error` decides.
    pub max: u32,
    /// The delay before the first restart; it doubles with each further restart in a row.
    pub backoff: Duration,
}

/// One plugin in a stage.
#[derive(Clone, Debug)]
pub struct Contestant {
    /// The plugin's name.
    pub plugin: String,
    /// A JSON object that fits the plugin's schema.
    pub config: Value,
    /// A number that is another one when a file that the config names, such as a script, has changed: then a reload
    /// replaces the plugin. 0: none is known.
    pub revision: u64,
}

/// A queue from one stage's output to another's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where messages come from.
    pub from: PortRef,
    /// Where they go.
    pub to: PortRef,
    /// Its capacity and its rule when full.
    pub queue: Queue,
}

/// A port of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortRef {
    /// Index in [`Pipeline::stages`].
    pub stage: usize,
    /// Index among the manifest's inputs or outputs.
    pub port: usize,
}

/// The rules of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Messages, at least 1.
    pub capacity: usize,
    /// What happens to a message when it is full.
    pub when_full: WhenFull,
}

/// What happens to a message when its queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumMessage, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum WhenFull {
    /// The sender waits.
    #[default]
    Block,
    /// The oldest queued message is dropped.
    DropOldest,
    /// The new message is dropped.
    DropNewest,
    /// Everything queued is dropped: only the newest message counts.
    Latest,
}

/// What happens when a stage fails on a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumMessage, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum OnError {
    /// The run ends.
    #[default]
    Stop,
    /// The message is dropped and counted, and the stage continues.
    Skip,
}

/// Where a stage runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumMessage, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Isolation {
    /// On a thread of the program.
    #[default]
    Thread,
    /// In its own process: a crash or a hang loses the current message, and the stage is restarted.
    Process,
}

/// What happens to queued messages when the run is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumMessage, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum OnStop {
    /// The queues are drained: only the sources end.
    #[default]
    Drain,
    /// Queued messages are dropped and counted.
    Drop,
}

impl Machine {
    /// The default of [`Self::certificates`].
    pub const DEFAULT_CERTIFICATES: &str = "certificates";
    /// The default of [`Self::reconnect_timeout`].
    pub const DEFAULT_RECONNECT_TIMEOUT: Duration = Duration::from_secs(10);
    /// The shortest [`Self::reconnect_timeout`].
    pub const SHORTEST_RECONNECT_TIMEOUT: Duration = Duration::from_secs(1);
}

impl fmt::Display for Address {
    /// As it is written in a file.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback(address) => write!(formatter, "tcp/{address}"),
            Self::Encrypted { host, port } if host.contains(':') => {
                write!(formatter, "tls/[{host}]:{port}")
            }
            Self::Encrypted { host, port } => write!(formatter, "tls/{host}:{port}"),
        }
    }
}

impl Machines {
    /// The index of a machine.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|machine| machine.name == name)
    }

    /// For how long two machines wait for a broken connection between them, before each counts as dead for the other one:
    /// the longer time of both.
    #[must_use]
    pub fn reconnect_timeout(&self, one: usize, other: usize) -> Duration {
        let both = [one, other].into_iter();
        let times = both.filter_map(|it| Some(self.all.get(it)?.reconnect_timeout));
        times.max().unwrap_or(Machine::DEFAULT_RECONNECT_TIMEOUT)
    }

    /// Whether the first of two machines opens their connections; the other one listens. `None`: neither listens.
    #[must_use]
    pub fn opens(&self, own: usize, peer: usize) -> Option<bool> {
        let listens = |machine: usize| self.all.get(machine).is_some_and(|it| it.listen.is_some());
        match (listens(own), listens(peer)) {
            (false, false) => None,
            (true, true) => Some(own > peer),
            (own, _) => Some(!own),
        }
    }
}

impl Machines {
    /// The machine of each worker of a stage. `None`: the stage is not distributed among machines.
    #[must_use]
    pub fn workers(&self, stage: usize) -> Option<&[usize]> {
        let workers = self.of_workers.get(stage)?;
        (!workers.is_empty()).then_some(workers)
    }

    /// Whether two stages, or workers of theirs, are on the same machine. If a file has no machines, all are.
    #[must_use]
    pub fn share(&self, one: usize, other: usize) -> bool {
        let of = |stage: usize| {
            let one = self.of_stages.get(stage).map(std::slice::from_ref);
            self.workers(stage).or(one).unwrap_or_default()
        };
        self.all.is_empty() || of(one).iter().any(|it| of(other).contains(it))
    }

    /// The names of the machines of a stage. `None`: it is on none.
    #[must_use]
    pub fn names(&self, stage: usize) -> Option<String> {
        let one = self.of_stages.get(stage).map(std::slice::from_ref);
        let machines = self.workers(stage).or(one)?.iter();
        let mut names: Vec<_> = machines
            .filter_map(|machine| Some(self.all.get(*machine)?.name.as_str()))
            .collect();
        // The workers of a machine follow each other.
        names.dedup();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// Whether a machine runs stages, or distributes them. One that does not has at most workers of distributed stages.
    #[must_use]
    pub fn runs_stages(&self, machine: usize) -> bool {
        self.of_stages.contains(&machine)
    }

    /// Whether a machine has workers of distributed stages, and nothing else.
    #[must_use]
    pub fn has_workers_alone(&self, machine: usize) -> bool {
        let mut members = self.of_workers.iter().flatten();
        !self.runs_stages(machine) && members.any(|it| *it == machine)
    }

    /// The pairs of machines that exchange messages over these edges, or to distribute them. The lower index is first.
    #[must_use]
    pub fn links(&self, edges: impl Iterator<Item = Edge>) -> BTreeSet<(usize, usize)> {
        let of = |stage: usize| self.of_stages.get(stage).copied().unwrap_or_default();
        let ends = edges.map(|edge| (of(edge.from.stage), of(edge.to.stage)));
        let stages = self.of_workers.iter().enumerate();
        let members = stages.flat_map(|(stage, workers)| {
            let distributor = of(stage);
            workers.iter().map(move |machine| (distributor, *machine))
        });
        ends.chain(members)
            .filter(|(one, other)| one != other)
            .map(|(one, other)| (one.min(other), one.max(other)))
            .collect()
    }
}

impl Stage {
    /// The default of [`Self::watchdog`].
    pub const DEFAULT_WATCHDOG: Duration = Duration::from_secs(10);
    /// The most workers of a stage. Each is at least one thread.
    pub const MAX_WORKERS: usize = 64;
}

impl Default for Restart {
    fn default() -> Self {
        Self {
            max: 8,
            backoff: Duration::from_millis(100),
        }
    }
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            capacity: 16,
            when_full: WhenFull::Block,
        }
    }
}
