//! Rewires the edges between stages while the affected stages are paused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use flowpipe_host::message::Descent;
use flowpipe_sync::lock;

use crate::edge::cycle::{Cycle, Inlet};
use crate::edge::edge_with;
use crate::edge::fed_input::FedInput;
use crate::edge::inputs::{InEdge, Inputs};
use crate::edge::outputs::{OutEdge, OutPort, Outputs};
use crate::run::reload::diff::PipelineDiff;
use crate::run::stage::Stage;

/// The ends of edges that are detached from their stages.
#[derive(Default)]
struct DetachedEnds {
    heads: BTreeMap<usize, InEdge>,
    tails: BTreeMap<usize, OutEdge>,
    cycles: BTreeMap<usize, Option<Arc<Cycle>>>,
    descents: BTreeMap<usize, Descent>,
}

/// Moves the ends of edges, with the queued messages, to the stages of the new pipeline. `paused`: the paused stages of
/// the old one.
pub(crate) fn rewire(diff: &mut PipelineDiff, paused: &[Arc<Stage>]) {
    let mut detached = DetachedEnds::default();
    for stage in paused {
        detached.detach(stage);
    }
    for index in diff.new_edges.iter().chain(&diff.requeued) {
        detached.connect(diff, *index);
    }
    for edge in &mut diff.next.edges {
        edge.reopens = false;
    }
    let mut cycles = BTreeMap::new();
    let paused = paused.iter().map(|stage| stage.index);
    for index in paused.chain(diff.added.iter().copied()) {
        let next = &diff.next.stages[index];
        if next.is_live || !next.stage.is_source() {
            detached.attach(diff, index, &mut cycles);
        } else {
            // Its stream ends here: it is not called any more.
            next.stage.close();
        }
    }
    // The remaining ends are senders of removed edges. Their receivers drain them.
}

impl DetachedEnds {
    fn detach(&mut self, stage: &Stage) {
        let inputs = std::mem::take(&mut *lock(&stage.in_edges));
        let outputs = std::mem::take(&mut *lock(&stage.out_edges));
        let (heads, cycle, descent) = inputs.into_parts();
        self.heads
            .extend(heads.into_iter().map(|edge| (edge.index, edge)));
        let tails = outputs.into_parts().into_iter();
        self.tails.extend(tails.map(|edge| (edge.index, edge)));
        self.cycles.insert(stage.index, cycle);
        self.descents.insert(stage.index, descent);
    }

    /// Creates an edge that is new or has a new queue. It keeps the queued messages.
    fn connect(&mut self, diff: &PipelineDiff, index: usize) {
        let live = &diff.next.edges[index];
        let (edge, summary) = (&live.edge, &live.summary);
        let is_over = |stage: usize| {
            let stage = &diff.next.stages[stage].stage;
            stage.over.load(Ordering::SeqCst)
        };
        if is_over(edge.to.stage) {
            // There is no receiver any more.
            return;
        }
        let before = self.heads.remove(&index);
        let items = before.map(|edge| edge.head.dissolve()).unwrap_or_default();
        self.tails.remove(&index);
        if live.reopens {
            // A removed edge that comes back may not be drained yet.
            summary.counters.reopen(items.len() as u64);
        }
        let capacity = edge.queue.capacity;
        summary.capacity.store(capacity, Ordering::Relaxed);
        let (tail, head) = edge_with(edge.queue, summary.counters.clone(), items);
        self.heads.insert(
            index,
            InEdge {
                index,
                port: edge.to.port,
                head,
            },
        );
        if !is_over(edge.from.stage) {
            let name = format!("{} -> {}", summary.from, summary.to);
            let stage = &diff.next.stages[edge.to.stage].stage;
            let fed = FedInput {
                stage: stage.settings.name.clone(),
                input: stage.inputs[edge.to.port].clone(),
            };
            let out_edge = OutEdge::new(index, name, fed, tail);
            self.tails.insert(index, out_edge);
        }
    }

    /// Attaches its ports to a stage.
    fn attach(
        &mut self,
        diff: &PipelineDiff,
        index: usize,
        cycles: &mut BTreeMap<usize, Arc<Cycle>>,
    ) {
        let next = &diff.next;
        let stage = &next.stages[index].stage;
        let is_into = |edge: &usize| next.edges[*edge].edge.to.stage == index;
        let heads: Vec<_> = self.heads.keys().copied().filter(is_into).collect();
        let heads = heads.iter().filter_map(|edge| self.heads.remove(edge));
        let heads = heads.collect();
        let known = self.cycles.remove(&index).flatten();
        let cycle = match diff.knows_cycle[index] {
            true => known,
            false => diff.cycles.1[index].map(|cycle| {
                let made = cycles.entry(cycle);
                made.or_insert_with(|| make_cycle(diff, cycle)).clone()
            }),
        };
        let ports = stage.sent.iter().enumerate().map(|(port, sent)| {
            let is_out = |edge: &usize| {
                let from = next.edges[*edge].edge.from;
                from.stage == index && from.port == port && !next.edges[*edge].cut
            };
            let tails: Vec<_> = self.tails.keys().copied().filter(is_out).collect();
            let tails = tails.iter().filter_map(|edge| self.tails.remove(edge));
            OutPort::new(sent.clone(), tails.collect())
        });
        let outputs = Outputs::new(ports.collect());
        let mut inputs = Inputs::new(heads, cycle);
        inputs.descent = self.descents.remove(&index).unwrap_or_default();
        *lock(&stage.in_edges) = inputs;
        stage.note_outputs(&outputs);
        *lock(&stage.out_edges) = outputs;
    }
}

fn make_cycle(diff: &PipelineDiff, cycle: usize) -> Arc<Cycle> {
    let inlets = diff.cycles.0[cycle].iter();
    let inlets = inlets.map(|(edge, inside)| Inlet {
        counters: diff.next.edges[*edge].summary.counters.clone(),
        inside: *inside,
    });
    // Without edges that ended a moment ago.
    Cycle::new(inlets.filter(|it| !it.counters.snapshot().closed).collect())
}
