//! What an input takes: the messages that an output of any schema may send to it.

use std::ffi::{CStr, CString};
use std::sync::{Arc, PoisonError, RwLock};

use flowpipe_config::manifest::Port;

/// An input, as a stage and its senders know it.
#[derive(Clone, Debug)]
pub(crate) struct InputPort {
    pub name: String,
    /// `None`: it takes any.
    schema: Option<Arc<CStr>>,
}

/// An input that an output feeds.
#[derive(Clone, Debug)]
pub(crate) struct FedInput {
    /// The name of its stage.
    pub stage: String,
    pub input: InputPort,
}

/// The inputs that an output feeds and that do not take everything, as the last reload left them. Apart from the edges,
/// which are locked while their owner waits for a full queue.
#[derive(Debug, Default)]
pub(crate) struct FedInputs(RwLock<Arc<[FedInput]>>);

impl InputPort {
    pub(crate) fn new(port: &Port) -> Self {
        Self {
            name: port.name.clone(),
            schema: schema(port),
        }
    }

    /// Whether it takes messages of a schema.
    pub(crate) fn takes(&self, schema: &CStr) -> bool {
        self.schema.as_deref().is_none_or(|own| own == schema)
    }
}

impl FedInput {
    /// Why it does not take messages of a schema. `None`: it does.
    pub(crate) fn refusal(&self, schema: &CStr) -> Option<String> {
        let input = &self.input;
        let own = input.schema.as_deref().filter(|own| *own != schema)?;
        let (own, schema) = (own.to_string_lossy(), schema.to_string_lossy());
        let (stage, input) = (&self.stage, &input.name);
        Some(format!(
            "a message of schema {schema}, but input \"{input}\" of stage \"{stage}\" takes {own}: give each schema an \
             output of its own, and connect each input to the output of its schema"
        ))
    }
}

impl FedInputs {
    pub(crate) fn set(&self, inputs: impl IntoIterator<Item = FedInput>) {
        let inputs = inputs.into_iter();
        let inputs = inputs.filter(|it| it.input.schema.is_some()).collect();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = inputs;
    }

    /// Why one of them does not take messages of a schema. `None`: all take them.
    pub(crate) fn refusal(&self, schema: &CStr) -> Option<String> {
        let inputs = self.0.read().unwrap_or_else(PoisonError::into_inner);
        inputs.iter().find_map(|it| it.refusal(schema))
    }
}

/// The schema id of a port. `None`: any.
pub(crate) fn schema(port: &Port) -> Option<Arc<CStr>> {
    let is_one = port.schema != "*";
    let id = is_one.then(|| CString::new(port.schema.as_str()).ok());
    id.flatten().map(Arc::from)
}
