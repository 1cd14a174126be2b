//! The outputs that a recording names, and their numbers.

use std::collections::HashMap;

use flowpipe_config::pipeline::PortRef;
use flowpipe_recording::Topic;

use crate::run::replay::ReplayedStage;

/// The number of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct OutputId(u32);

/// All outputs: those of the stages, and others that only calls name.
#[derive(Debug, Default)]
pub(crate) struct ReplayOutputs {
    numbers: HashMap<Topic, OutputId>,
    all: Vec<Output>,
    /// By stage and output.
    ports: Vec<Vec<OutputId>>,
    /// By name.
    stages: HashMap<String, usize>,
}

#[derive(Debug)]
struct Output {
    topic: Topic,
    /// The stage of that name.
    stage: Option<usize>,
    /// Its output of that name.
    port: Option<PortRef>,
}

impl ReplayOutputs {
    /// The outputs of the stages.
    pub(super) fn of(parts: &[ReplayedStage]) -> Self {
        let mut outputs = Self::default();
        for (stage, part) in parts.iter().enumerate() {
            // Only edited recordings have several stages with one name. The first one counts.
            outputs
                .stages
                .entry(part.about.name.clone())
                .or_insert(stage);
            let ports = part.about.outputs.iter().enumerate();
            let numbers = ports.map(|(port, (name, _))| {
                let topic = Topic::new(&part.about.name, name);
                outputs.add(&topic, Some(PortRef { stage, port }))
            });
            let numbers = numbers.collect();
            outputs.ports.push(numbers);
        }
        outputs
    }

    /// The number of an output. Adds the output if it is new.
    pub(super) fn number(&mut self, topic: &Topic) -> OutputId {
        self.add(topic, None)
    }

    fn add(&mut self, topic: &Topic, port: Option<PortRef>) -> OutputId {
        if let Some(known) = self.numbers.get(topic) {
            return *known;
        }
        // Each comes from an entry of the recording, whose memory is limited: there are far fewer than 2^32.
        let number = OutputId(self.all.len() as u32);
        self.all.push(Output {
            topic: topic.clone(),
            stage: self.stages.get(topic.stage.as_str()).copied(),
            port,
        });
        self.numbers.insert(topic.clone(), number);
        number
    }

    /// The number of outputs.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn index(number: OutputId) -> usize {
        number.0 as usize
    }

    /// The number of an output. `None`: neither a stage has it, nor a call names it.
    pub(crate) fn find(&self, topic: &Topic) -> Option<OutputId> {
        self.numbers.get(topic).copied()
    }

    pub(crate) fn of_port(&self, port: PortRef) -> Option<OutputId> {
        self.ports.get(port.stage)?.get(port.port).copied()
    }

    pub(crate) fn topic(&self, number: OutputId) -> Option<&Topic> {
        Some(&self.all.get(number.0 as usize)?.topic)
    }

    pub(crate) fn stage(&self, number: OutputId) -> Option<usize> {
        self.all.get(number.0 as usize)?.stage
    }

    pub(crate) fn port(&self, number: OutputId) -> Option<PortRef> {
        self.all.get(number.0 as usize)?.port
    }

    /// The stage with this name.
    pub(crate) fn stage_named(&self, name: &str) -> Option<usize> {
        self.stages.get(name).copied()
    }
}
