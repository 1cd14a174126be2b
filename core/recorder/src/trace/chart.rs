//! The tracks and queues of a trace, built from the pipeline.

use flowpipe_config::pipeline::{Pipeline, PortRef};

/// The tracks and queues of a pipeline.
pub(super) struct Chart {
    /// The pipeline's name.
    pub name: String,
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
    pub(super) fn new(pipeline: &Pipeline) -> Self {
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
