//! The end of the stream in a cycle.
//!
//! In a cycle every stage waits for another to end first. The cycle has ended when its edges from outside are closed
//! and drained and every message inside has been processed: then no stage can emit another one.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use crossbeam_channel::{Receiver, Sender};
use flowpipe_config::pipeline::{Edge, WhenFull};
use flowpipe_sync::lock;

use crate::edge::counters::{Counters, EdgeCounts};

/// Stages that can reach each other.
pub(crate) struct Cycle {
    /// The edges into its stages.
    edges: Vec<Inlet>,
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
        let (sender, ended) = crossbeam_channel::bounded(0);
        Arc::new(Self {
            edges,
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
        if at_rest && before == self.snapshot() {
            lock(&self.open).take();
        }
        lock(&self.open).is_none()
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
            counts.taken == counts.done
        } else {
            self.inside && counts.offered == counts.dropped + counts.done
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
        inside.reopen();
        assert!(cycle_of(&inside).check());
        inside.offer();
        assert!(!cycle_of(&inside).check(), "a new message is queued");
    }

    fn cycle_of(inside: &Arc<Counters>) -> Arc<Cycle> {
        Cycle::new(vec![Inlet {
            counters: inside.clone(),
            inside: true,
        }])
    }
}
