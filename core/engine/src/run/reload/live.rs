//! What stands in a run: every stage and edge that it has had, by the numbers that they keep.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use flowpipe_config::pipeline::{self, Edge, PortRef};
use flowpipe_host::catalogue::Found;

use crate::edge::cycle::cycles;
use crate::run::plan::Plan;
use crate::run::stage::Stage;
use crate::run::summary::EdgeSummary;

/// All of it.
#[derive(Clone)]
pub(crate) struct LivePipeline {
    pub name: String,
    pub record: Option<pipeline::Record>,
    pub stages: Vec<LiveStage>,
    pub edges: Vec<LiveEdge>,
}

/// A stage.
#[derive(Clone)]
pub(crate) struct LiveStage {
    pub stage: Arc<Stage>,
    pub found: Vec<Found>,
    /// It is part of the pipeline. One that is not works off what it was given, and ends.
    pub is_live: bool,
}

/// An edge.
#[derive(Clone)]
pub(crate) struct LiveEdge {
    pub edge: Edge,
    pub summary: Arc<EdgeSummary>,
    /// It is part of the pipeline.
    pub is_live: bool,
    /// Its sender is gone: what lies in it is worked off.
    pub cut: bool,
    /// It is about to be laid again after it had ended, or while it does.
    pub reopens: bool,
}

/// The edges into the cycle that a stage lies on, each with whether it comes from inside. Those that have ended are left out.
pub(crate) type Inlets = Vec<(usize, bool)>;

impl LivePipeline {
    pub(crate) fn new(plan: &Plan) -> Self {
        let stages = plan.stages.iter().zip(&plan.found);
        let edges = plan.pipeline.edges.iter().zip(&plan.edges);
        Self {
            name: plan.name.clone(),
            record: plan.pipeline.record.clone(),
            stages: stages
                .map(|(stage, found)| LiveStage {
                    stage: stage.clone(),
                    found: found.clone(),
                    is_live: true,
                })
                .collect(),
            edges: edges
                .map(|(edge, summary)| LiveEdge {
                    edge: *edge,
                    summary: summary.clone(),
                    is_live: true,
                    cut: false,
                    reopens: false,
                })
                .collect(),
        }
    }

    /// The number of the edge from one port to another; the n-th such, where there are several.
    pub(crate) fn edge_between(&self, from: PortRef, to: PortRef, nth: usize) -> Option<usize> {
        let mut found = self.edges.iter().enumerate();
        let is_it = |it: &&LiveEdge| it.edge.from == from && it.edge.to == to;
        let mut found = found.by_ref().filter(|(_, it)| is_it(it));
        found.nth(nth).map(|(index, _)| index)
    }

    /// Whether something may still be sent over an edge.
    pub(crate) fn carries(&self, edge: &LiveEdge) -> bool {
        let sender = &self.stages[edge.edge.from.stage];
        edge.is_live || !edge.cut && !sender.is_live && !sender.stage.over.load(Ordering::SeqCst)
    }

    /// The edges over which something may still be sent.
    pub(crate) fn carrying(&self) -> Vec<Edge> {
        let edges = self.edges.iter().filter(|edge| self.carries(edge));
        edges.map(|edge| edge.edge).collect()
    }

    /// The cycles, and which one each stage lies on.
    pub(crate) fn cycles(&self) -> (Vec<Inlets>, Vec<Option<usize>>) {
        let of = cycles(self.stages.len(), &self.carrying());
        let count = of.iter().flatten().max().map_or(0, |last| last + 1);
        let inlets = |cycle| {
            let edges = self.edges.iter().enumerate();
            let into = edges.filter(|(_, it)| of[it.edge.to.stage] == Some(cycle));
            let open = into.filter(|(_, it)| it.reopens || !it.summary.counters.look().closed);
            open.map(|(index, it)| {
                let inside = of[it.edge.from.stage] == Some(cycle) && self.carries(it);
                (index, inside)
            })
            .collect()
        };
        ((0..count).map(inlets).collect(), of)
    }

    /// By stage, the edges into the cycle that it lies on.
    pub(crate) fn inlets(&self) -> Vec<Option<Inlets>> {
        let (cycles, of) = self.cycles();
        of.into_iter()
            .map(|cycle| cycle.map(|cycle| cycles[cycle].clone()))
            .collect()
    }
}
