//! The end of the stream in a cycle.
//!
//! In a cycle every stage waits for another to end first. The cycle has ended when its edges from outside are closed
//! and drained and every message inside has been processed: then no stage can emit another one.
//!
//! A cycle can be divided among two machines. A machine is idle once its edges from outside are closed and drained, every
//! message inside it has been processed, and every message that it has sent is finished: all that its own edges from
//! outside have caused has ended, on both. What the other one causes there later is counted by that one. So the cycle has
//! ended when both have been idle once (Dijkstra and Scholten 1980, "Termination detection for diffusing computations").
//! It does not hold for three: a message counts as finished when what descends from it has arrived at the next machine.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crossbeam_channel::{Receiver, Sender};
use flowpipe_config::pipeline::{Edge, WhenFull};
use flowpipe_sync::lock;

use crate::edge::counters::{Counters, EdgeCounts};

/// Stages that can reach each other.
pub(crate) struct Cycle {
    /// The edges into its stages here, and those from here to its stages elsewhere.
    edges: Vec<Inlet>,
    /// Each says whether there are messages that have arrived here and are in no queue yet.
    arrivals: Mutex<Vec<Box<dyn Fn() -> bool + Send + Sync>>>,
    /// All was at rest here once.
    is_idle: AtomicBool,
    /// The other machines with stages of it, if there are any, have been idle.
    are_others_idle: AtomicBool,
    open: Mutex<Option<Sender<Infallible>>>,
    /// Disconnected when the cycle has ended.
    ended: Receiver<Infallible>,
}

/// An edge into a cycle.
pub(crate) struct Inlet {
    pub counters: Arc<Counters>,
    /// Its sender is a stage of the cycle.
    pub inside: bool,
}

impl Cycle {
    pub(crate) fn new(edges: Vec<Inlet>) -> Arc<Self> {
        Self::divided(edges, false)
    }

    /// `is_divided`: other machines have stages of it.
    pub(crate) fn divided(edges: Vec<Inlet>, is_divided: bool) -> Arc<Self> {
        let (sender, ended) = crossbeam_channel::bounded(0);
        Arc::new(Self {
            edges,
            arrivals: Mutex::default(),
            is_idle: AtomicBool::new(false),
            are_others_idle: AtomicBool::new(!is_divided),
            open: Mutex::new(Some(sender)),
            ended,
        })
    }

    /// Disconnected when the cycle has ended.
    pub(crate) fn ended(&self) -> &Receiver<Infallible> {
        &self.ended
    }

    /// Checks whether the cycle has ended, and notifies its stages if so.
    ///
    /// Each stage of the cycle calls this when it runs out of messages or ends. The last of these calls sees all counts
    /// at rest.
    pub(crate) fn check(&self) -> bool {
        // Counts never decrease. When two snapshots in a row are equal, nothing moved between them, and what was at
        // rest stays at rest.
        let before = self.snapshot();
        let at_rest = self
            .edges
            .iter()
            .zip(&before)
            .all(|(edge, counts)| edge.is_at_rest(counts));
        // A message that arrives between the snapshots is in the second one.
        if at_rest && !self.has_arrivals() && before == self.snapshot() {
            self.is_idle.store(true, Ordering::SeqCst);
        }
        if self.is_idle() && self.are_others_idle.load(Ordering::SeqCst) {
            lock(&self.open).take();
        }
        lock(&self.open).is_none()
    }

    /// Whether all was at rest here once.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_idle.load(Ordering::SeqCst)
    }

    /// The other machines have been idle.
    pub(crate) fn others_are_idle(&self) {
        self.are_others_idle.store(true, Ordering::SeqCst);
        self.check();
    }

    /// Adds messages that have arrived here and are in no queue yet, if `are_there` returns true.
    pub(crate) fn watch_arrivals(&self, are_there: impl Fn() -> bool + Send + Sync + 'static) {
        lock(&self.arrivals).push(Box::new(are_there));
    }

    fn has_arrivals(&self) -> bool {
        lock(&self.arrivals).iter().any(|are_there| are_there())
    }

    fn snapshot(&self) -> Vec<EdgeCounts> {
        self.edges
            .iter()
            .map(|edge| edge.counters.snapshot())
            .collect()
    }
}

impl Inlet {
    fn is_at_rest(&self, counts: &EdgeCounts) -> bool {
        if counts.closed {
            counts.taken <= counts.done
        } else {
            self.inside && counts.offered <= counts.dropped + counts.done
        }
    }
}

/// Groups stages into cycles: for each stage, the number of its cycle, if it is in one.
pub(crate) fn cycles(stages: usize, edges: &[Edge]) -> Vec<Option<usize>> {
    let reach = reachable(stages, edges.iter());
    let mut found = 0;
    let mut of = vec![None; stages];
    for stage in 0..stages {
        if of[stage].is_some() || !reach[stage][stage] {
            continue;
        }
        for (other, group) in of.iter_mut().enumerate() {
            if reach[stage][other] && reach[other][stage] {
                *group = Some(found);
            }
        }
        found += 1;
    }
    of
}

/// Orders the stages so that each comes before those that it may have to wait for: over blocking edges, senders before
/// receivers.
pub(crate) fn senders_first(stages: usize, edges: &[Edge]) -> Vec<usize> {
    let blocking = edges
        .iter()
        .filter(|edge| edge.queue.when_full == WhenFull::Block);
    let reach = reachable(stages, blocking);
    let mut order: Vec<_> = (0..stages).collect();
    // More reachable stages come first: without cycles of blocking edges, a receiver reaches fewer stages than its
    // sender.
    order.sort_by_key(|&stage| {
        let reached = reach[stage].iter().filter(|it| **it).count();
        std::cmp::Reverse(reached)
    });
    order
}

/// Which stages can be reached from which, over at least one edge.
fn reachable<'a>(stages: usize, edges: impl Iterator<Item = &'a Edge>) -> Vec<Vec<bool>> {
    let mut reach = vec![vec![false; stages]; stages];
    for edge in edges {
        reach[edge.from.stage][edge.to.stage] = true;
    }
    for via in 0..stages {
        let onward = reach[via].clone();
        for from in reach.iter_mut().filter(|from| from[via]) {
            for (to, step) in from.iter_mut().zip(&onward) {
                *to |= step;
            }
        }
    }
    reach
}

#[cfg(test)]
mod tests {
    use flowpipe_config::pipeline::{PortRef, Queue};

    use super::*;

    fn edge(from: usize, to: usize, when_full: WhenFull) -> Edge {
        let port = |stage| PortRef { stage, port: 0 };
        Edge {
            from: port(from),
            to: port(to),
            queue: Queue {
                capacity: 1,
                when_full,
            },
        }
    }

    #[test]
    fn finds_cycles() {
        use WhenFull::{Block, Latest};
        let edges = [
            edge(0, 1, Block),
            edge(1, 2, Block),
            edge(2, 1, Latest),
            edge(2, 3, Block),
            edge(3, 3, Latest),
        ];
        assert_eq!(cycles(5, &edges), [None, Some(0), Some(0), Some(1), None]);
    }

    #[test]
    fn ends_when_all_messages_are_processed() {
        let outside = Arc::new(Counters::default());
        let inside = Arc::new(Counters::default());
        let cycle = Cycle::new(vec![
            Inlet {
                counters: outside.clone(),
                inside: false,
            },
            Inlet {
                counters: inside.clone(),
                inside: true,
            },
        ]);
        assert!(!cycle.check(), "more may come from outside");
        outside.offer();
        outside.take();
        outside.close();
        inside.offer();
        assert!(!cycle.check(), "a message is queued inside");
        outside.finish_taken();
        inside.take();
        assert!(!cycle.check(), "it is being processed");
        inside.finish_taken();
        assert!(cycle.check());
    }

    #[test]
    fn messages_of_a_closed_receiver_do_not_block_the_next_one() {
        let inside = Arc::new(Counters::default());
        inside.offer();
        inside.offer();
        inside.take();
        inside.close();
        inside.reopen(0);
        assert_eq!(inside.snapshot().dropped, 1);
        assert!(cycle_of(&inside).check());
        inside.offer();
        assert!(!cycle_of(&inside).check(), "a new message is queued");
    }

    #[test]
    fn messages_that_the_next_receiver_gets_are_not_dropped() {
        let inside = Arc::new(Counters::default());
        (0..4).for_each(|_| inside.offer());
        inside.take();
        inside.reopen(2);
        assert_eq!(inside.snapshot().dropped, 1);
        assert!(!cycle_of(&inside).check(), "two are queued");
        (0..2).for_each(|_| inside.take());
        inside.finish_taken();
        assert!(cycle_of(&inside).check());
    }

    #[test]
    fn a_divided_cycle_ends_when_each_machine_has_been_idle() {
        let (inside, sent) = (Arc::new(Counters::default()), Arc::new(Counters::default()));
        let inlet = |counters: &Arc<Counters>| Inlet {
            counters: counters.clone(),
            inside: true,
        };
        let cycle = Cycle::divided(vec![inlet(&inside), inlet(&sent)], true);
        sent.offer();
        sent.take();
        assert!(
            !cycle.check() && !cycle.is_idle(),
            "it is not finished there"
        );
        let arrived = Arc::new(AtomicBool::new(true));
        let own = arrived.clone();
        cycle.watch_arrivals(move || own.load(Ordering::SeqCst));
        sent.finish(1);
        assert!(!cycle.check() && !cycle.is_idle(), "an answer has arrived");
        inside.offer();
        arrived.store(false, Ordering::SeqCst);
        assert!(!cycle.check() && !cycle.is_idle(), "it is queued");
        inside.take();
        inside.finish_taken();
        assert!(!cycle.check() && cycle.is_idle());
        // What another machine has caused does not matter any more.
        inside.offer();
        assert!(!cycle.check() && cycle.is_idle());
        cycle.others_are_idle();
        assert!(cycle.check());
    }

    fn cycle_of(inside: &Arc<Counters>) -> Arc<Cycle> {
        Cycle::new(vec![Inlet {
            counters: inside.clone(),
            inside: true,
        }])
    }
}
