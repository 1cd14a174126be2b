//! The difference between a running pipeline and a new one.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use flowpipe_config::manifest::Manifest;
use flowpipe_config::pipeline::{self, Edge, Pipeline, PortRef};
use flowpipe_host::catalogue::{Catalogue, Found};
use flowpipe_host::frame::pool;

use crate::check::StartedChecks;
use crate::run::error::StartError;
use crate::run::message_schemas::{self, MessageSchemas};
use crate::run::plan;
use crate::run::reload::changes::{Changes, StageChangeKind, StageChanges};
use crate::run::reload::error::ChangeError;
use crate::run::reload::live::{Inlets, LiveEdge, LivePipeline, LiveStage};
use crate::run::shared::Shared;
use crate::run::stage::{Ports, Stage};
use crate::run::summary::EdgeSummary;

/// The difference between a running pipeline and a new one.
pub(crate) struct PipelineDiff {
    /// The pipeline after the change. Changed stages are new objects in it.
    pub next: LivePipeline,
    /// Stages with a changed contestant or setting.
    pub changed: Vec<usize>,
    /// New stages.
    pub added: Vec<usize>,
    /// Removed stages.
    pub removed: Vec<usize>,
    /// New edges.
    pub new_edges: Vec<usize>,
    /// Edges with a changed queue.
    pub requeued: Vec<usize>,
    /// Stages that have to pause during the change, senders before receivers.
    pub pausing: Vec<usize>,
    /// The cycles after the change, and the one that each stage is part of.
    pub cycles: (Vec<Inlets>, Vec<Option<usize>>),
    /// By stage, whether its cycle is unchanged.
    pub knows_cycle: Vec<bool>,
    /// The JSON Schemas of messages after the change.
    pub message_schemas: MessageSchemas,
    /// Checks that do not judge yet.
    pub checks: StartedChecks,
    pub changes: Changes,
}

impl PipelineDiff {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        live: &LivePipeline,
        pipeline: &Pipeline,
        catalogue: &Catalogue,
    ) -> Result<Self, ChangeError> {
        let found = plan::find_plugins(pipeline, catalogue, None)?;
        let manifests: Vec<_> = found.iter().map(|it| manifest(it)).collect();
        plan::check_edges(pipeline, &manifests)?;
        let all: Vec<_> = found.iter().flatten().map(|it| &it.manifest).collect();
        let checks = shared.checks.start(&all, catalogue, &shared.services);
        let checks = checks.map_err(StartError::from)?;
        let changes = Changes {
            checks: shared.checks.changes(&checks),
            ..Changes::default()
        };
        let mut this = Self {
            next: live.clone(),
            changed: Vec::new(),
            added: Vec::new(),
            removed: Vec::new(),
            new_edges: Vec::new(),
            requeued: Vec::new(),
            pausing: Vec::new(),
            cycles: Default::default(),
            knows_cycle: Vec::new(),
            message_schemas: message_schemas::declared(pipeline, &found)?,
            checks,
            changes,
        };
        let places = pipeline.stages.iter().zip(&found);
        let places = places
            .map(|(settings, found)| this.place(shared, live, settings, found))
            .collect::<Result<Vec<_>, _>>()?;
        this.remove(live, &places);
        this.join(live, pipeline, &manifests, &places)?;
        this.find_pausing(live);
        if pipeline.name != live.name {
            this.changes.later.push("name");
        }
        if pipeline.record != live.record {
            this.changes.later.push("record");
        }
        Ok(this)
    }

    /// Finds or assigns the index of a stage of the new pipeline.
    fn place(
        &mut self,
        shared: &Arc<Shared>,
        live: &LivePipeline,
        settings: &pipeline::Stage,
        found: &[Found],
    ) -> Result<usize, ChangeError> {
        let is_it = |it: &LiveStage| it.stage.settings.name == settings.name;
        let Some(index) = live.stages.iter().position(is_it) else {
            let index = self.next.stages.len();
            if self.added.len() >= pool::ROOM || index >= shared.services.pool.owners() {
                return Err(ChangeError::TooMany(pool::ROOM));
            }
            let ports = Ports::unconnected(manifest(found));
            let stage = Stage::new(
                shared.clone(),
                index,
                settings.clone(),
                manifest(found),
                ports,
            );
            self.next.stages.push(LiveStage {
                stage: Arc::new(stage),
                found: found.to_vec(),
                is_live: true,
            });
            self.add(index, settings);
            return Ok(index);
        };
        let before = &live.stages[index];
        let (old, new) = (manifest(&before.found), manifest(found));
        if old.inputs != new.inputs || old.outputs != new.outputs {
            return Err(ChangeError::Ports {
                stage: settings.name.clone(),
                plugin: new.name.clone(),
                before: old.name.clone(),
            });
        }
        let over = before.stage.over.load(Ordering::SeqCst);
        if !before.is_live && !over {
            return Err(ChangeError::Leaving {
                stage: settings.name.clone(),
            });
        }
        let what = match before.is_live {
            true => what_changed(before, settings, found),
            false => Vec::new(),
        };
        if before.is_live && what.is_empty() {
            return Ok(index);
        }
        if before.is_live && over {
            return Err(ChangeError::Ended {
                stage: settings.name.clone(),
            });
        }
        let stage = before.stage.successor(settings.clone(), new);
        self.next.stages[index] = LiveStage {
            stage: Arc::new(stage),
            found: found.to_vec(),
            is_live: true,
        };
        if before.is_live {
            self.changed.push(index);
            self.note(index, what);
        } else {
            self.add(index, settings);
        }
        Ok(index)
    }

    fn add(&mut self, index: usize, settings: &pipeline::Stage) {
        self.added.push(index);
        self.note(index, vec![StageChangeKind::Added(plugins(settings))]);
    }

    /// Marks the stages that the new pipeline lacks as removed.
    fn remove(&mut self, live: &LivePipeline, places: &[usize]) {
        for (index, live_stage) in live.stages.iter().enumerate() {
            if live_stage.is_live && !places.contains(&index) {
                self.next.stages[index].is_live = false;
                self.removed.push(index);
                self.note(index, vec![StageChangeKind::Removed]);
            }
        }
    }

    /// Finds or assigns the indices of the new pipeline's edges.
    fn join(
        &mut self,
        live: &LivePipeline,
        pipeline: &Pipeline,
        manifests: &[&Manifest],
        places: &[usize],
    ) -> Result<(), ChangeError> {
        let mut seen: HashMap<(PortRef, PortRef), usize> = HashMap::new();
        let mut kept = BTreeSet::new();
        for edge in &pipeline.edges {
            let place = |port: PortRef| PortRef {
                stage: places[port.stage],
                port: port.port,
            };
            let placed = Edge {
                from: place(edge.from),
                to: place(edge.to),
                queue: edge.queue,
            };
            let nth = seen.entry((placed.from, placed.to)).or_default();
            let known = live.edge_between(placed.from, placed.to, *nth);
            *nth += 1;
            let index = known.unwrap_or(self.next.edges.len());
            let receiver = placed.to.stage;
            kept.insert(index);
            let Some(before) = known.map(|index| &live.edges[index]) else {
                let (from, to) = plan::names(pipeline, manifests, edge);
                self.next.edges.push(LiveEdge {
                    edge: placed,
                    summary: Arc::new(EdgeSummary {
                        from,
                        to,
                        receiver,
                        capacity: AtomicUsize::new(edge.queue.capacity),
                        counters: Arc::default(),
                        most_lost: AtomicU64::new(0),
                    }),
                    is_live: true,
                    cut: false,
                    reopens: false,
                });
                self.connect(live, index, receiver)?;
                continue;
            };
            let next = &mut self.next.edges[index];
            next.edge = placed;
            if !before.is_live {
                next.is_live = true;
                next.cut = false;
                next.reopens = true;
                self.connect(live, index, receiver)?;
            } else if before.edge.queue != placed.queue {
                self.requeued.push(index);
                self.note(receiver, vec![StageChangeKind::Queue]);
            }
        }
        for (index, edge) in live.edges.iter().enumerate() {
            if !edge.is_live || kept.contains(&index) {
                continue;
            }
            let sender = edge.edge.from.stage;
            let sender_ends = !self.next.stages[sender].is_live;
            let is_source = live.stages[sender].stage.is_source();
            let next = &mut self.next.edges[index];
            next.is_live = false;
            // A removed stage may still have messages to send.
            next.cut = !sender_ends || is_source;
            if self.next.stages[edge.edge.to.stage].is_live {
                self.note(edge.edge.to.stage, vec![StageChangeKind::From]);
            }
        }
        Ok(())
    }

    fn is_new(&self, stage: usize) -> bool {
        self.added.contains(&stage)
    }

    fn connect(
        &mut self,
        live: &LivePipeline,
        edge: usize,
        receiver: usize,
    ) -> Result<(), ChangeError> {
        self.new_edges.push(edge);
        if self.is_new(receiver) {
            return Ok(());
        }
        let stage = &live.stages[receiver].stage;
        if stage.over.load(Ordering::SeqCst) {
            let stage = stage.settings.name.clone();
            return Err(ChangeError::Ended { stage });
        }
        self.note(receiver, vec![StageChangeKind::From]);
        Ok(())
    }

    /// Finds the stages that have to pause, in order.
    fn find_pausing(&mut self, live: &LivePipeline) {
        let mut pausing: BTreeSet<usize> = self.changed.iter().copied().collect();
        let is_source = |stage: &usize| live.stages[*stage].stage.is_source();
        pausing.extend(self.removed.iter().copied().filter(is_source));
        for &edge in self.new_edges.iter().chain(&self.requeued) {
            let edge = self.next.edges[edge].edge;
            pausing.extend([edge.from.stage, edge.to.stage]);
        }
        for (before, next) in live.edges.iter().zip(&self.next.edges) {
            if next.cut && !before.cut {
                pausing.insert(next.edge.from.stage);
            }
        }
        self.cycles = self.next.cycles();
        let before = live.inlets();
        for stage in 0..self.next.stages.len() {
            let inlets = self.cycles.1[stage].map(|cycle| &self.cycles.0[cycle]);
            let knows = before.get(stage).and_then(Option::as_ref) == inlets;
            self.knows_cycle.push(knows);
            if !knows {
                pausing.insert(stage);
            }
        }
        // A new plugin may move the pointer as soon as it is created: nothing may be pressed then.
        let mut created = self.changed.iter().chain(&self.added);
        if created.any(|&stage| self.next.stages[stage].drives_mouse()) {
            pausing.extend(live.driving_mouse().map(|it| it.stage.index));
        }
        let is_there = |stage: &usize| {
            let live_stage = live.stages.get(*stage);
            live_stage.is_some_and(|it| !it.stage.over.load(Ordering::SeqCst))
        };
        pausing.retain(is_there);
        let order = crate::edge::cycle::senders_first(live.stages.len(), &live.carrying());
        self.pausing = order;
        self.pausing.retain(|stage| pausing.contains(stage));
    }

    fn note(&mut self, index: usize, what: Vec<StageChangeKind>) {
        let known = self.changes.stages.iter_mut().find(|it| it.index == index);
        let known = match known {
            Some(known) => known,
            None => {
                let stage = self.next.stages[index].stage.settings.name.clone();
                self.changes.stages.push(StageChanges {
                    stage,
                    index,
                    what: Vec::new(),
                });
                // Just pushed.
                let last = self.changes.stages.len() - 1;
                &mut self.changes.stages[last]
            }
        };
        let is_new = matches!(known.what.first(), Some(StageChangeKind::Added(_)));
        for what in what {
            if !is_new && !known.what.contains(&what) {
                known.what.push(what);
            }
        }
    }

    /// Notes that a plugin's state was transferred.
    pub(crate) fn note_state_kept(&mut self, index: usize) {
        self.note(index, vec![StageChangeKind::State]);
    }
}

/// The manifest of a stage's first plugin. All plugins of a stage have the same ports.
pub(crate) fn manifest(found: &[Found]) -> &Manifest {
    static NONE: std::sync::LazyLock<Manifest> = std::sync::LazyLock::new(Manifest::default);
    found.first().map_or(&NONE, |found| &found.manifest)
}

fn plugins(settings: &pipeline::Stage) -> Vec<String> {
    let contestants = settings.contestants.iter();
    contestants.map(|it| it.plugin.clone()).collect()
}

fn what_changed(
    before: &LiveStage,
    settings: &pipeline::Stage,
    found: &[Found],
) -> Vec<StageChangeKind> {
    let old = &before.stage.settings;
    let mut what = Vec::new();
    let (was, is) = (plugins(old), plugins(settings));
    if was == is {
        let mut pairs = before.found.iter().zip(found);
        if pairs.any(|(old, new)| !old.is_same_code(new)) {
            what.push(StageChangeKind::File);
        }
        let mut pairs = old.contestants.iter().zip(&settings.contestants);
        if pairs.any(|(old, new)| old.config != new.config) {
            what.push(StageChangeKind::Config);
        }
        let mut pairs = old.contestants.iter().zip(&settings.contestants);
        if pairs.any(|(old, new)| old.revision != new.revision) {
            what.push(StageChangeKind::Script);
        }
    } else {
        what.push(StageChangeKind::Plugins {
            before: was,
            after: is,
        });
    }
    let settings = [
        ("timeout", old.timeout != settings.timeout),
        ("on_error", old.on_error != settings.on_error),
        ("watchdog", old.watchdog != settings.watchdog),
        ("fresh", old.fresh != settings.fresh),
        ("isolation", old.isolation != settings.isolation),
        ("restart", old.restart != settings.restart),
        ("workers", old.workers != settings.workers),
        ("ordered", old.ordered != settings.ordered),
    ];
    let settings = settings.iter().filter(|(_, differs)| *differs);
    what.extend(settings.map(|(key, _)| StageChangeKind::Setting(key)));
    what
}
