//! The tests of a pipeline, as its file has them: `[[tests]]`.
//!
//! A run knows nothing of them: they are no part of a [`Pipeline`](crate::pipeline::Pipeline).

use std::collections::BTreeSet;
use std::time::Duration;

use flowpipe_abi::{BufferInfo, Element};
use serde_json::{Number, Value};

pub use super::source::Position;
use crate::manifest::Carried;
use crate::pipeline::{Pipeline, PortRef};

/// A test of a pipeline.
#[derive(Clone, Debug)]
pub struct PipelineTest {
    /// Its name.
    pub name: String,
    /// Where it is in the file.
    pub at: Position,
    /// The stages that run, by their indices in the pipeline.
    pub stages: BTreeSet<usize>,
    /// Config keys that differ from those of the pipeline.
    pub config: Vec<TestConfig>,
    /// The messages that enter, in their order.
    pub inputs: Vec<TestInput>,
    /// What is expected.
    pub outputs: Vec<TestOutput>,
    /// How long it may take.
    pub timeout: Duration,
}

/// Config keys of one plugin.
#[derive(Clone, Debug)]
pub struct TestConfig {
    /// The index of the stage.
    pub stage: usize,
    /// The index of the plugin among those of the stage.
    pub contestant: usize,
    /// A JSON object. Its keys replace those of the pipeline.
    pub keys: Value,
}

/// Messages that enter a test.
#[derive(Clone, Debug)]
pub struct TestInput {
    /// Where it is in the file.
    pub at: Position,
    /// The input that takes them.
    pub to: PortRef,
    /// The output that they seem to come from. `None`: nothing feeds that input.
    pub from: Option<PortRef>,
    /// The time since the start of the test at which they enter. `None`: right after what is before them.
    pub after: Option<Duration>,
    /// Where they come from.
    pub source: InputSource,
}

/// Where the messages of a test come from.
#[derive(Clone, Debug, PartialEq)]
pub enum InputSource {
    /// One message.
    Json {
        /// The id of its schema.
        schema: String,
        /// Its body.
        body: Value,
        /// Its buffer, if it has one.
        buffer: Option<TestBuffer>,
    },
    /// A file of JSON Lines.
    Lines {
        /// The file.
        file: String,
        /// The schema id of all lines, which are bodies. `None`: each line is an envelope.
        schema: Option<String>,
    },
    /// Picture files.
    Pictures {
        /// Files, folders and patterns.
        paths: Vec<String>,
    },
    /// What a stage emitted in a recorded run.
    Recording {
        /// The recording.
        file: String,
        /// The stage and the output.
        output: String,
    },
}

/// The buffer of a message that enters a test.
#[derive(Clone, Debug, PartialEq)]
pub struct TestBuffer {
    /// Its media type.
    pub media_type: String,
    /// The type of its elements.
    pub element: Element,
    /// The elements of each dimension. `None`: one dimension with all elements.
    pub shape: Option<Vec<u64>>,
    /// Its elements.
    pub elements: BufferElements,
}

/// Where the elements of a buffer are.
#[derive(Clone, Debug, PartialEq)]
pub enum BufferElements {
    /// In a file: little-endian, the last dimension varies fastest.
    File(String),
    /// In the pipeline file, as numbers.
    Values(Vec<Number>),
}

/// A buffer that is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedBuffer {
    /// What it is.
    pub layout: Carried,
    /// Its elements. `None`: any.
    pub elements: Option<BufferElements>,
}

/// A value, and where it is in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it is.
    pub at: Position,
}

/// What a test expects of one output, or of one stage.
#[derive(Clone, Debug)]
pub struct TestOutput {
    /// Where it is in the file.
    pub at: Position,
    /// The stage.
    pub stage: usize,
    /// The output of the stage, if messages are expected of it.
    pub port: Option<usize>,
    /// What the messages are, one after the other. `None`: any.
    pub expect: Option<Vec<Expectation>>,
    /// How many messages there are. `None`: as many as `expect` has.
    pub count: Option<Placed<u64>>,
    /// The stage fails, with this in its error.
    pub error: Option<Placed<String>>,
}

/// What one message is expected to be. All that is given has to hold.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Where it is in the file.
    pub at: Position,
    /// The id of its schema.
    pub schema: Option<Placed<String>>,
    /// The whole body.
    pub equal: Option<Placed<Value>>,
    /// A part of the body.
    pub contains: Option<Placed<Value>>,
    /// An expression of jq whose first output is neither false nor null.
    pub jq: Option<Placed<String>>,
    /// The message carries this buffer.
    pub buffer: Option<Placed<ExpectedBuffer>>,
}

impl TestBuffer {
    /// The layout of a buffer of that size in bytes.
    ///
    /// # Errors
    /// When it is none, or has another size, as a sentence for users.
    pub fn info(&self, size: usize) -> Result<BufferInfo, String> {
        let element = self.element.size();
        let all = [(size / element) as u64];
        let shape = self.shape.as_deref().unwrap_or(&all);
        let info = BufferInfo::new(&self.media_type, self.element, shape);
        let info = info.map_err(|error| error.to_string())?;
        match info.size == size as u64 {
            true => Ok(info),
            false => Err(format!(
                "{size} bytes are no buffer {info}, which has {}",
                info.size
            )),
        }
    }
}

impl PipelineTest {
    /// The default of [`Self::timeout`].
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);
    /// The longest [`Self::timeout`].
    pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(600);

    /// A pipeline with the config of this test.
    #[must_use]
    pub fn pipeline(&self, pipeline: &Pipeline) -> Pipeline {
        let mut pipeline = pipeline.clone();
        for config in &self.config {
            let stage = pipeline.stages.get_mut(config.stage);
            let contestant = stage.and_then(|it| it.contestants.get_mut(config.contestant));
            if let Some(contestant) = contestant {
                contestant.config = config.over(&contestant.config);
            }
        }
        pipeline
    }
}

impl TestConfig {
    /// A config, with these keys instead of its own.
    #[must_use]
    pub fn over(&self, config: &Value) -> Value {
        let mut config = config.clone();
        if let (Value::Object(config), Value::Object(keys)) = (&mut config, &self.keys) {
            config.extend(keys.clone());
        }
        config
    }
}
