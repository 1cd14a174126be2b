//! The counts of the stages of other machines, while the run goes on.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::{Distribution, EdgeSnapshot, Progress, Snapshot};
use flowpipe_engine::run::RunView;
use flowpipe_machines::Bridge;
use flowpipe_process::memory::resident_bytes;
use flowpipe_sync::lock;
use serde::{Deserialize, Serialize};

use crate::machines::observed::{Observations, Presence};

/// How often a machine sends its counts. The times of calls are summed up for every second time.
const INTERVAL: Duration = Duration::from_millis(500);
const TIMES_INTERVAL: u32 = 2;

/// The counts of a machine: of all stages, as each machine has them, and of its links.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MachineProgress {
    progress: Progress,
    times: Vec<Distribution>,
    links: Vec<LinkProgress>,
    /// Everything that is counted, for scrapers: comes as often as the times are summed up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    snapshot: Option<Snapshot>,
    /// The memory of its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    resident_bytes: Option<u64>,
}

/// What is counted and measured on a machine, for scrapers.
#[derive(Clone, Debug, Default)]
pub struct MachineSnapshot {
    /// Its name. `None`: the run has one machine.
    pub name: Option<String>,
    /// Whether it can be reached, so that what may fall is as it was a moment ago.
    pub is_active: bool,
    /// The stages that it runs. `None`: all.
    pub stages: Option<BTreeSet<usize>>,
    /// Of all stages and edges, as each machine has them. `None`: it has sent none yet.
    pub snapshot: Option<Snapshot>,
    /// Its links.
    pub links: Vec<LinkSnapshot>,
    /// The memory of its program.
    pub resident_bytes: Option<u64>,
}

/// A link of a machine, as that machine counts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkSnapshot {
    /// The other machine.
    pub peer: String,
    /// Whether there is a connection.
    pub is_connected: bool,
    /// Bytes to the other machine.
    pub sent_bytes: u64,
    /// Bytes from it.
    pub received_bytes: u64,
}

/// The most marks that are taken of another machine, and the most bytes of a name.
const MOST_MARKS: usize = 64;
const LONGEST_NAME: usize = 256;
/// The most kinds of problems that are taken of another machine.
const MOST_KINDS: usize = 32;

/// A link of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkProgress {
    /// The other machine.
    machine: usize,
    is_connected: bool,
    sent_bytes: u64,
    received_bytes: u64,
    /// The error of what is known of the other clock.
    clock_error_ns: Option<i64>,
}

/// A machine of the run, for viewers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MachineView {
    /// Its name.
    pub name: String,
    /// `here`, `active`, `silent`, `ended` or `dead`.
    pub state: String,
    /// For how long it has been silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_seconds: Option<f64>,
}

/// A link between two machines, for viewers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkView {
    /// The machines.
    pub machines: [String; 2],
    /// Whether there is a connection.
    pub is_connected: bool,
    /// Bytes from the first one to the second.
    pub sent_bytes: u64,
    /// Bytes from the second one to the first.
    pub received_bytes: u64,
    /// The error of the offset of the clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<i64>,
}

/// Decides when this machine sends its counts.
pub struct ProgressClock {
    sent: Instant,
    count: u32,
    times: Vec<Distribution>,
    /// The links of this machine, for viewers here.
    links: Arc<Mutex<Vec<LinkProgress>>>,
}

impl LinkProgress {
    /// The link to a machine.
    pub fn of(machine: usize, bridge: &Bridge) -> Self {
        let traffic = bridge.traffic();
        Self {
            machine,
            is_connected: bridge.is_connected(),
            sent_bytes: traffic.sent,
            received_bytes: traffic.received,
            clock_error_ns: bridge.peer_clock().map(|it| it.error_ns),
        }
    }
}

impl ProgressClock {
    /// `others`: what viewers here get.
    pub fn new(others: &OtherProgress) -> Self {
        Self {
            sent: Instant::now(),
            count: 0,
            times: Vec::new(),
            links: others.own_links.clone(),
        }
    }

    /// The counts, if it is time to send them.
    pub fn next(
        &mut self,
        view: impl FnOnce() -> RunView,
        links: impl FnOnce() -> Vec<LinkProgress>,
    ) -> Option<Vec<u8>> {
        if self.count > 0 && self.sent.elapsed() < INTERVAL {
            return None;
        }
        self.sent = Instant::now();
        let (view, links) = (view(), links());
        let mut snapshot = None;
        if self.count.is_multiple_of(TIMES_INTERVAL) {
            self.times = view.times();
            snapshot = Some(view.snapshot());
        }
        self.count = self.count.wrapping_add(1).max(1);
        (*lock(&self.links)).clone_from(&links);
        let progress = MachineProgress {
            progress: view.progress(),
            times: self.times.clone(),
            links,
            resident_bytes: snapshot
                .as_ref()
                .and_then(|_| resident_bytes(std::process::id())),
            snapshot,
        };
        // It has no maps, so that it is always JSON.
        serde_json::to_vec(&progress).ok()
    }
}

impl MachineProgress {
    /// Reads the counts of another machine. `None`: they are not those of this pipeline.
    pub fn read(bytes: &[u8], pipeline: &Pipeline) -> Option<Self> {
        let mut read: Self = serde_json::from_slice(bytes).ok()?;
        let names = read.progress.stages.iter().map(|it| &it.name);
        let is_of_pipeline = names.eq(pipeline.stages.iter().map(|it| &it.name));
        let has_times = read.times.len() <= pipeline.stages.len();
        let machines = pipeline.machines.all.len();
        let is_linked = |link: &LinkProgress| {
            link.machine < machines && link.clock_error_ns.is_none_or(|error| error >= 0)
        };
        let has_links = read.links.len() <= machines && read.links.iter().all(is_linked);
        read.snapshot = match read.snapshot {
            Some(snapshot) => Some(checked(snapshot, pipeline)?),
            None => None,
        };
        (is_of_pipeline && has_times && has_links).then_some(read)
    }

    /// Keeps what the machine has sent before and not this time.
    pub fn continue_from(&mut self, before: Self) {
        if self.snapshot.is_none() {
            self.snapshot = before.snapshot;
            self.resident_bytes = before.resident_bytes;
        }
    }

    /// Adds them to the counts here. `stages`: those that the machine runs. What waits between two machines is counted
    /// at both.
    fn add_to(
        &self,
        stages: &BTreeSet<usize>,
        progress: &mut Progress,
        times: &mut [Distribution],
    ) {
        let both = progress.stages.iter_mut().zip(&self.progress.stages);
        for (index, (here, there)) in both.enumerate() {
            here.dropped = here.dropped.saturating_add(there.dropped);
            here.queued = here.queued.saturating_add(there.queued);
            if !stages.contains(&index) {
                continue;
            }
            // It knows which of them are dead.
            here.workers = there.workers;
            here.received = there.received;
            here.emitted = there.emitted;
            here.failed = there.failed;
            here.restarted = there.restarted;
            if let (Some(here), Some(there)) = (times.get_mut(index), self.times.get(index)) {
                *here = *there;
            }
        }
    }
}

/// The counts of the stages of all other machines. None: the run is on one.
#[derive(Clone, Default)]
pub struct OtherProgress {
    /// All machines.
    names: Vec<String>,
    own: usize,
    others: Vec<OtherMachine>,
    own_links: Arc<Mutex<Vec<LinkProgress>>>,
}

#[derive(Clone)]
struct OtherMachine {
    machine: usize,
    stages: BTreeSet<usize>,
    observations: Arc<Observations>,
}

#[cfg_attr(not(unix), allow(dead_code, reason = "only `flowpipe top` uses it"))]
impl OtherProgress {
    /// `names`: of all machines. `others`: each other machine with its stages.
    pub fn new(
        names: Vec<String>,
        own: usize,
        others: impl Iterator<Item = (usize, BTreeSet<usize>, Arc<Observations>)>,
    ) -> Self {
        let others = others.map(|(machine, stages, observations)| OtherMachine {
            machine,
            stages,
            observations,
        });
        Self {
            names,
            own,
            others: others.collect(),
            own_links: Arc::default(),
        }
    }

    /// Adds the last counts of the others to those of the stages here. Returns the machines and their links.
    pub fn add_to(
        &self,
        progress: &mut Progress,
        times: &mut [Distribution],
    ) -> (Vec<MachineView>, Vec<LinkView>) {
        if self.names.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let mut machines = vec![self.view(self.own, "here", None)];
        let mut links: Vec<LinkView> = Vec::new();
        let own_links = lock(&self.own_links).clone();
        self.add_links(self.own, &own_links, &mut links);
        for other in &self.others {
            let (its, presence) = other.observations.progress();
            let (state, silent) = match presence {
                Presence::Active => ("active", None),
                Presence::Silent(silent) => ("silent", Some(silent.as_secs_f64())),
                Presence::Ended => ("ended", None),
                Presence::Dead => ("dead", None),
            };
            machines.push(self.view(other.machine, state, silent));
            if let Some(its) = its {
                its.add_to(&other.stages, progress, times);
                self.add_links(other.machine, &its.links, &mut links);
            }
        }
        (machines, links)
    }

    /// Everything that is counted on each machine. `own`, `own_bytes`: on this one.
    pub fn snapshots(&self, own: Snapshot, own_bytes: Option<u64>) -> Vec<MachineSnapshot> {
        let alone = MachineSnapshot {
            is_active: true,
            snapshot: Some(own),
            resident_bytes: own_bytes,
            ..MachineSnapshot::default()
        };
        let Some(own) = &alone.snapshot.as_ref().filter(|_| !self.names.is_empty()) else {
            return vec![alone];
        };
        let ends = |edge: &EdgeSnapshot| (edge.from.clone(), edge.to.clone());
        let ends: Vec<_> = own.edges.iter().map(ends).collect();
        let elsewhere = |stage: &usize| self.others.iter().any(|it| it.stages.contains(stage));
        let stages = (0..own.stages.len()).filter(|stage| !elsewhere(stage));
        let mut all = vec![MachineSnapshot {
            name: Some(self.name(self.own)),
            stages: Some(stages.collect()),
            links: self.link_snapshots(&lock(&self.own_links)),
            ..alone
        }];
        for other in &self.others {
            let (its, presence) = other.observations.progress();
            let mut machine = MachineSnapshot {
                name: Some(self.name(other.machine)),
                is_active: presence == Presence::Active,
                stages: Some(other.stages.clone()),
                ..MachineSnapshot::default()
            };
            if let Some(mut its) = its {
                machine.links = self.link_snapshots(&its.links);
                // The names are those of this machine, as everywhere here.
                let edges = its.snapshot.iter_mut().flat_map(|it| &mut it.edges);
                for (edge, (from, to)) in edges.zip(&ends) {
                    edge.from.clone_from(from);
                    edge.to.clone_from(to);
                }
                machine.snapshot = its.snapshot;
                machine.resident_bytes = its.resident_bytes;
            }
            all.push(machine);
        }
        all
    }

    fn link_snapshots(&self, links: &[LinkProgress]) -> Vec<LinkSnapshot> {
        let link = |link: &LinkProgress| LinkSnapshot {
            peer: self.name(link.machine),
            is_connected: link.is_connected,
            sent_bytes: link.sent_bytes,
            received_bytes: link.received_bytes,
        };
        links.iter().map(link).collect()
    }

    fn view(&self, machine: usize, state: &str, silent_seconds: Option<f64>) -> MachineView {
        MachineView {
            name: self.name(machine),
            state: state.to_owned(),
            silent_seconds,
        }
    }

    fn name(&self, machine: usize) -> String {
        self.names.get(machine).cloned().unwrap_or_default()
    }

    /// Adds the links of a machine, unless the other end of one has been heard before.
    fn add_links(&self, machine: usize, its: &[LinkProgress], links: &mut Vec<LinkView>) {
        for link in its {
            let machines = [self.name(machine), self.name(link.machine)];
            let is_it = |known: &LinkView| known.machines.iter().all(|it| machines.contains(it));
            if !links.iter().any(is_it) {
                links.push(LinkView {
                    machines,
                    is_connected: link.is_connected,
                    sent_bytes: link.sent_bytes,
                    received_bytes: link.received_bytes,
                    clock_error_ns: link.clock_error_ns,
                });
            }
        }
    }
}

/// The counts of another machine, if they are those of this pipeline.
fn checked(mut snapshot: Snapshot, pipeline: &Pipeline) -> Option<Snapshot> {
    let names = snapshot.stages.iter().map(|it| &it.name);
    let is_of_pipeline = names.eq(pipeline.stages.iter().map(|it| &it.name));
    if !is_of_pipeline || snapshot.edges.len() != pipeline.edges.len() {
        return None;
    }
    let marks = std::mem::take(&mut snapshot.marks).into_iter();
    let marks = marks.filter(|(name, _)| name.len() <= LONGEST_NAME);
    snapshot.marks = marks.take(MOST_MARKS).collect();
    let kinds = std::mem::take(&mut snapshot.problem_counts).into_iter();
    let kinds = kinds.filter(|(name, _)| name.len() <= LONGEST_NAME);
    snapshot.problem_counts = kinds.take(MOST_KINDS).collect();
    Some(snapshot)
}

#[cfg(test)]
mod tests {
    use flowpipe_engine::report::{DurationBuckets, StageProgress, StageSnapshot};
    use flowpipe_machines::{Observation, Observed};

    use super::*;
    use crate::machines::testing::pipeline;

    fn progress(counts: [u64; 2]) -> Progress {
        let stage = |count| StageProgress {
            name: String::new(),
            workers: 1,
            received: count,
            emitted: count,
            dropped: count,
            failed: count,
            restarted: count,
            queued: count,
            capacity: 4,
        };
        Progress {
            seconds: 1.0,
            stages: counts.map(stage).into(),
        }
    }

    fn link(machine: usize, sent_bytes: u64) -> LinkProgress {
        LinkProgress {
            machine,
            is_connected: true,
            sent_bytes,
            received_bytes: 0,
            clock_error_ns: Some(5),
        }
    }

    #[test]
    fn a_stage_has_the_counts_of_its_machine() {
        let mut its = MachineProgress {
            progress: progress([u64::MAX, 7]),
            times: vec![
                Distribution {
                    count: 3,
                    ..Distribution::default()
                };
                2
            ],
            links: Vec::new(),
            snapshot: None,
            resident_bytes: None,
        };
        its.progress.stages[1].workers = 3;
        let mut here = progress([1, 2]);
        let mut times = [Distribution::default(); 2];
        its.add_to(&[1].into(), &mut here, &mut times);
        let counts = |it: &StageProgress| (it.received, it.failed, it.dropped);
        // A queue from here to there drops here.
        assert_eq!(counts(&here.stages[1]), (7, 7, 9));
        assert_eq!(counts(&here.stages[0]), (1, 1, u64::MAX));
        assert_eq!(
            here.stages.iter().map(|it| it.workers).collect::<Vec<_>>(),
            [1, 3]
        );
        assert_eq!(times.map(|it| it.count), [0, 3]);
    }

    #[test]
    fn a_link_is_shown_once() {
        let names = ["a", "b", "c"].map(str::to_owned).into();
        let others = OtherProgress::new(names, 0, std::iter::empty());
        *lock(&others.own_links) = vec![link(1, 10)];
        let mut links = Vec::new();
        others.add_links(0, &[link(1, 10)], &mut links);
        others.add_links(1, &[link(0, 20), link(2, 30)], &mut links);
        others.add_links(2, &[link(1, 40)], &mut links);
        let found: Vec<_> = links
            .iter()
            .map(|it| (it.machines.concat(), it.sent_bytes))
            .collect();
        assert_eq!(found, [("ab".to_owned(), 10), ("bc".to_owned(), 30)]);
        let (machines, links) = others.add_to(&mut progress([1, 2]), &mut []);
        assert_eq!((machines.len(), links.len()), (1, 1));
        assert_eq!(machines[0].state, "here");
    }
    /// What a machine sends of a pipeline without stages.
    fn sent(snapshot: Option<Snapshot>) -> Vec<u8> {
        let progress = MachineProgress {
            progress: Progress {
                seconds: 1.0,
                stages: Vec::new(),
            },
            times: Vec::new(),
            links: Vec::new(),
            resident_bytes: snapshot.as_ref().map(|_| 5),
            snapshot,
        };
        serde_json::to_vec(&progress).unwrap()
    }

    #[test]
    fn what_another_machine_counts_is_limited_and_kept_until_it_sends_more() {
        let observations = Arc::new(Observations::new());
        let take = |bytes: &[u8]| {
            let observed = Observed::Sent(Observation::Counts, bytes);
            observations.take(observed, &pipeline())
        };
        let mut hostile = Snapshot::default();
        for number in 0..1000 {
            let name = format!("{number} {}", "x".repeat(number));
            hostile
                .marks
                .insert(name.clone(), DurationBuckets::default());
            hostile.problem_counts.insert(name, 1);
        }
        take(&sent(Some(hostile.clone()))).unwrap();
        hostile.edges.push(EdgeSnapshot::default());
        assert!(
            take(&sent(Some(hostile))).is_err(),
            "the pipeline has no edge"
        );
        take(&sent(None)).unwrap();
        let names = ["here", "there"].map(str::to_owned).into();
        let others = [(1, [1].into(), observations.clone())];
        let others = OtherProgress::new(names, 0, others.into_iter());
        let own = Snapshot {
            stages: vec![StageSnapshot::default(); 3],
            ..Snapshot::default()
        };
        let machines = others.snapshots(own, None);
        let stages: Vec<_> = machines
            .iter()
            .map(|it| it.stages.clone().unwrap())
            .collect();
        assert_eq!(stages, [[0, 2].into(), BTreeSet::from([1])]);
        let there = machines[1].snapshot.as_ref().unwrap();
        assert_eq!(there.marks.len(), MOST_MARKS);
        assert_eq!(there.problem_counts.len(), MOST_KINDS);
        assert!(there.marks.keys().all(|name| name.len() <= LONGEST_NAME));
        assert_eq!(machines[1].resident_bytes, Some(5));
        assert!(machines[1].is_active);
        observations.take(Observed::Lost, &pipeline()).unwrap();
        let machines = others.snapshots(Snapshot::default(), None);
        assert!(!machines[1].is_active && machines[1].snapshot.is_some());
    }
}
