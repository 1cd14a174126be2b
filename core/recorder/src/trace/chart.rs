//! The tracks and queues of a trace, built from the pipeline.

use flowpipe_config::pipeline::{Pipeline, PortRef};

/// The tracks and queues of a pipeline.
pub(super) struct Chart {
    /// The pipeline's name.
    pub name: String,
    /// The machines of the run, and which one writes the trace. Empty: it is on one.
    pub machines: Vec<String>,
    own: usize,
    /// By stage.
    machine_of: Vec<usize>,
    pub tracks: Vec<Track>,
    /// By stage: the first of its tracks, and the number of its plugins. Those of a worker follow one another.
    first: Vec<(usize, usize)>,
    pub queues: Vec<QueueTrack>,
}

/// The track of one plugin of one worker of one stage.
pub(super) struct Track {
    pub stage: usize,
    pub stage_name: String,
    pub plugin: String,
    /// Its name: the stage's name, with the number of the worker from 1 if there are several, in a race with the plugin's.
    pub name: String,
}

/// A queue.
pub(super) struct QueueTrack {
    pub name: String,
    pub capacity: u64,
    pub from: PortRef,
    pub to: PortRef,
}

impl Chart {
    /// `own`: the machine that writes the trace, of a run on several.
    pub(super) fn new(pipeline: &Pipeline, own: Option<usize>) -> Self {
        let (mut tracks, mut first) = (Vec::new(), Vec::new());
        for (index, stage) in pipeline.stages.iter().enumerate() {
            let plugins = stage.contestants.len();
            first.push((tracks.len(), plugins));
            for worker in 1..=stage.workers {
                let name = match stage.workers {
                    1 => stage.name.clone(),
                    _ => format!("{}#{worker}", stage.name),
                };
                tracks.extend(stage.contestants.iter().map(|contestant| Track {
                    stage: index,
                    stage_name: stage.name.clone(),
                    plugin: contestant.plugin.clone(),
                    name: match plugins > 1 {
                        true => format!("{name}/{}", contestant.plugin),
                        false => name.clone(),
                    },
                }));
            }
        }
        let mut chart = Self {
            name: pipeline.name.clone(),
            machines: match own {
                Some(_) => pipeline
                    .machines
                    .all
                    .iter()
                    .map(|it| it.name.clone())
                    .collect(),
                None => Vec::new(),
            },
            own: own.unwrap_or_default(),
            machine_of: pipeline.machines.of_stages.clone(),
            tracks,
            first,
            queues: Vec::new(),
        };
        for edge in &pipeline.edges {
            let name = chart.between(edge.from, edge.to);
            let alike = chart.queues.iter().filter(|it| it.name == name).count();
            let name = match alike {
                0 => name,
                more => format!("{name} ({})", more + 1),
            };
            chart.queues.push(QueueTrack {
                name,
                capacity: edge.queue.capacity as u64,
                from: edge.from,
                to: edge.to,
            });
        }
        chart
    }

    /// The track of a plugin of a worker of a stage.
    pub(super) fn track(&self, stage: usize, worker: usize, plugin: usize) -> usize {
        let Some((first, plugins)) = self.first.get(stage) else {
            return 0;
        };
        // A worker or plugin that was added later shares the last track of its stage.
        let count = self.tracks.iter().filter(|it| it.stage == stage).count();
        let place = worker * plugins + plugin;
        first + place.min(count.saturating_sub(1))
    }

    /// The process of a track, or of none. Of a run on several machines, each is a process: 1 is the first one.
    pub(super) fn process(&self, track: Option<usize>) -> u32 {
        let stage = track.and_then(|track| self.stage_of(track));
        self.process_of_stage(stage)
    }

    /// The process of a stage, or of none.
    pub(super) fn process_of_stage(&self, stage: Option<usize>) -> u32 {
        if self.machines.is_empty() {
            return std::process::id();
        }
        let machine = stage.and_then(|stage| self.machine_of.get(stage));
        Self::process_of_machine(*machine.unwrap_or(&self.own))
    }

    /// The process of a machine.
    pub(super) fn process_of_machine(machine: usize) -> u32 {
        // A pipeline has fewer machines.
        u32::try_from(machine).map_or(u32::MAX, |machine| machine.saturating_add(1))
    }

    /// The name of each process.
    pub(super) fn processes(&self) -> Vec<(u32, String)> {
        let name = format!("flowpipe {}", self.name);
        if self.machines.is_empty() {
            return vec![(std::process::id(), name)];
        }
        let machines = self.machines.iter().enumerate();
        machines
            .map(|(machine, of)| (Self::process_of_machine(machine), format!("{name} on {of}")))
            .collect()
    }

    /// Whether a stage existed when the trace started. Stages that were added later are not traced.
    pub(super) fn has(&self, stage: usize) -> bool {
        stage < self.first.len()
    }

    pub(super) fn stage_of(&self, track: usize) -> Option<usize> {
        self.tracks.get(track).map(|track| track.stage)
    }

    /// The track of a stage and a plugin by name.
    pub(super) fn named(&self, stage: &str, plugin: &str) -> usize {
        let of_stage = |track: &&(usize, &Track)| track.1.stage_name == stage;
        let all: Vec<_> = self.tracks.iter().enumerate().collect();
        let mut tracks = all.iter().filter(of_stage);
        let first = tracks.clone().next().map_or(0, |track| track.0);
        tracks
            .find(|track| track.1.plugin == plugin)
            .map_or(first, |track| track.0)
    }

    /// The queue from an output to an input. A replay has none.
    pub(super) fn queue(&self, from: PortRef, to: PortRef) -> Option<usize> {
        let joins = |queue: &QueueTrack| (queue.from, queue.to) == (from, to);
        self.queues.iter().position(joins)
    }

    /// The name of the edge from an output to an input.
    pub(super) fn edge_name(&self, from: PortRef, to: PortRef) -> String {
        let queue = self.queue(from, to).and_then(|it| self.queues.get(it));
        queue.map_or_else(|| self.between(from, to), |queue| queue.name.clone())
    }

    fn between(&self, from: PortRef, to: PortRef) -> String {
        let name = |port: PortRef| {
            let track = self.tracks.get(self.track(port.stage, 0, 0));
            track.map_or("?", |track| &track.stage_name)
        };
        format!("{} -> {}", name(from), name(to))
    }
}
