//! The pipeline of a run: every stage and edge that it has had, by index. Indices never change.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use flowpipe_config::pipeline::{self, Edge, PortRef};
use flowpipe_host::catalogue::Found;

use crate::edge::cycle::cycles;
use crate::run::plan::Plan;
use crate::run::stage::Stage;
use crate::run::summary::EdgeSummary;

/// The pipeline of a run, with its removed stages and edges.
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
    /// Whether it is part of the pipeline. A removed stage drains its queue, and ends.
    pub is_live: bool,
}

impl LiveStage {
    /// Whether it drives the mouse.
    pub(crate) fn drives_mouse(&self) -> bool {
        self.stage.drives_mouse(&self.found)
    }
}

/// An edge.
#[derive(Clone)]
pub(crate) struct LiveEdge {
    pub edge: Edge,
    pub summary: Arc<EdgeSummary>,
    /// Whether it is part of the pipeline.
    pub is_live: bool,
    /// Its sender is gone: the receiver drains it.
    pub cut: bool,
    /// It is about to be added again, after it was removed before.
    pub reopens: bool,
}

/// The open edges into the cycle that a stage is part of, each with whether its sender is in the cycle too.
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

    /// The stages that drive the mouse, also removed ones that still drain their queues.
    pub(crate) fn driving_mouse(&self) -> impl Iterator<Item = &LiveStage> {
        let is_running = |it: &&LiveStage| it.is_live || !it.stage.over.load(Ordering::SeqCst);
        let stages = self.stages.iter().filter(is_running);
        stages.filter(|it| it.drives_mouse())
    }

    /// The index of the n-th edge from one port to another.
    pub(crate) fn edge_between(&self, from: PortRef, to: PortRef, nth: usize) -> Option<usize> {
        let mut found = self.edges.iter().enumerate();
        let is_it = |it: &&LiveEdge| it.edge.from == from && it.edge.to == to;
        let mut found = found.by_ref().filter(|(_, it)| is_it(it));
        found.nth(nth).map(|(index, _)| index)
    }

    /// Whether messages may still be sent over an edge.
    pub(crate) fn carries(&self, edge: &LiveEdge) -> bool {
        let sender = &self.stages[edge.edge.from.stage];
        edge.is_live || !edge.cut && !sender.is_live && !sender.stage.over.load(Ordering::SeqCst)
    }

    /// The edges over which messages may still be sent.
    pub(crate) fn carrying(&self) -> Vec<Edge> {
        let edges = self.edges.iter().filter(|edge| self.carries(edge));
        edges.map(|edge| edge.edge).collect()
    }

    /// The cycles, and the one that each stage is part of.
    pub(crate) fn cycles(&self) -> (Vec<Inlets>, Vec<Option<usize>>) {
        let of = cycles(self.stages.len(), &self.carrying());
        let count = of.iter().flatten().max().map_or(0, |last| last + 1);
        let inlets = |cycle| {
            let edges = self.edges.iter().enumerate();
            let into = edges.filter(|(_, it)| of[it.edge.to.stage] == Some(cycle));
            let open = into.filter(|(_, it)| it.reopens || !it.summary.counters.snapshot().closed);
            open.map(|(index, it)| {
                let inside = of[it.edge.from.stage] == Some(cycle) && self.carries(it);
                (index, inside)
            })
            .collect()
        };
        ((0..count).map(inlets).collect(), of)
    }

    /// By stage, the edges into the cycle that it is part of.
    pub(crate) fn inlets(&self) -> Vec<Option<Inlets>> {
        let (cycles, of) = self.cycles();
        of.into_iter()
            .map(|cycle| cycle.map(|cycle| cycles[cycle].clone()))
            .collect()
    }
}
