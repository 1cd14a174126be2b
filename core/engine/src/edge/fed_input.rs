//! What an input takes: the messages that an output of any schema may send to it.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use flowpipe_config::manifest::{Carried, Content, Port};

/// An input, as a stage and its senders know it.
#[derive(Clone, Debug)]
pub(crate) struct InputPort {
    pub name: String,
    /// `None`: it takes any.
    schema: Option<Arc<CStr>>,
    carries: Carried,
}

/// An input that an output feeds.
#[derive(Clone, Debug)]
pub(crate) struct FedInput {
    /// The name of its stage.
    pub stage: String,
    pub input: InputPort,
}

/// The inputs that an output feeds, as the last reload left them. Apart from the edges, which are locked while their owner
/// waits for a full queue.
#[derive(Debug, Default)]
pub(crate) struct FedInputs {
    inputs: RwLock<Arc<[FedInput]>>,
    /// Whether one of them declares what it carries.
    is_declared: AtomicBool,
}

impl InputPort {
    pub(crate) fn new(port: &Port) -> Self {
        Self {
            name: port.name.clone(),
            schema: schema(port),
            carries: port.carries.clone(),
        }
    }

    /// Whether it takes messages of a schema with this content.
    pub(crate) fn takes(&self, schema: &CStr, content: Content<'_>) -> bool {
        self.schema.as_deref().is_none_or(|own| own == schema) && self.carries.allows(content)
    }
}

impl FedInput {
    /// Why it does not take messages of a schema with this content. `None`: it does.
    pub(crate) fn refusal(&self, schema: &CStr, content: Content<'_>) -> Option<String> {
        let (stage, input) = (&self.stage, &self.input.name);
        let carries = &self.input.carries;
        let Some(own) = self.input.schema.as_deref().filter(|own| *own != schema) else {
            return (!carries.allows(content)).then(|| {
                format!(
                    "a message with {content}, but input \"{input}\" of stage \"{stage}\" carries {carries}: \
                     change the config of the stage that emits it, or `carries` of the input if a command takes it, or \
                     put a stage that converts between them"
                )
            });
        };
        let (own, schema) = (own.to_string_lossy(), schema.to_string_lossy());
        Some(format!(
            "a message of schema {schema}, but input \"{input}\" of stage \"{stage}\" takes {own}: give each schema an \
             output of its own, and connect each input to the output of its schema"
        ))
    }
}

impl FedInputs {
    pub(crate) fn set(&self, inputs: impl IntoIterator<Item = FedInput>) {
        let inputs: Arc<[_]> = inputs.into_iter().collect();
        let is_declared = inputs.iter().any(|it| !it.input.carries.is_default());
        let mut current = self.inputs.write().unwrap_or_else(PoisonError::into_inner);
        self.is_declared.store(is_declared, Ordering::Relaxed);
        *current = inputs;
    }

    /// Whether one of them may not take a message with this content, of an output that may send it.
    pub(crate) fn may_refuse(&self, content: Content<'_>) -> bool {
        matches!(content, Content::Buffer(_)) || self.is_declared.load(Ordering::Relaxed)
    }

    /// Why one of them does not take messages of a schema with this content. `None`: all take them.
    pub(crate) fn refusal(&self, schema: &CStr, content: Content<'_>) -> Option<String> {
        let inputs = self.inputs.read().unwrap_or_else(PoisonError::into_inner);
        inputs.iter().find_map(|it| it.refusal(schema, content))
    }
}

/// The schema id of a port. `None`: any.
pub(crate) fn schema(port: &Port) -> Option<Arc<CStr>> {
    let is_one = port.schema != "*";
    let id = is_one.then(|| CString::new(port.schema.as_str()).ok());
    id.flatten().map(Arc::from)
}
