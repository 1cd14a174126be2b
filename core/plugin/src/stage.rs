//! The general stage, which the five roles are made of.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::context::{Context, Message};
use crate::error::Result;
use crate::host::Host;

/// A stage of any kind: for what is none of the five roles.
pub trait Stage: Sized + Send + 'static {
    /// The name that pipelines use: lower case letters, digits and hyphens.
    const NAME: &'static str;
    /// A paragraph for people. Empty: the doc comment of the config stands in.
    const DOC: &'static str = "";
    /// Which role it plays.
    const ROLE: &'static str = "stage";
    /// Whether the same messages in always give the same messages out.
    const DETERMINISTIC: bool = false;
    /// Its config: a struct with `#[serde(deny_unknown_fields, default)]`. Doc comments become the
    /// docs that users see.
    type Config: DeserializeOwned + JsonSchema;

    /// None: the stage is a source.
    fn inputs() -> Vec<Port>;
    /// None: the stage is a sink.
    fn outputs() -> Vec<Port>;

    /// What it takes, in a few words each, where its role leaves a choice. For people to read.
    fn supports() -> Vec<String> {
        Vec::new()
    }

    /// Makes the stage.
    ///
    /// # Errors
    /// When the config can't be used ([`crate::Error::bad_config`]) or something is missing.
    fn new(config: Self::Config, host: &Host) -> Result<Self>;

    /// Gets ready to process: opens devices, allocates.
    ///
    /// # Errors
    /// When something is missing. The run does not start then.
    fn activate(&mut self) -> Result<()> {
        Ok(())
    }

    /// Does the work for one tick or message.
    ///
    /// # Errors
    /// When it fails on this message; `on_error` in the pipeline says whether the run goes on.
    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next>;

    /// Forgets what earlier messages left behind.
    ///
    /// # Errors
    /// When it can't.
    fn reset(&mut self) -> Result<()> {
        Ok(())
    }

    /// The opposite of [`Stage::activate`].
    fn deactivate(&mut self) {}
}

/// The config of a stage that has nothing to set.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}

/// Why `process` is called.
pub enum Input<'a> {
    /// A stage without inputs should produce something, then return.
    Tick,
    /// A message came.
    Message(Message<'a>),
    /// All inputs have ended: emit what is still held.
    Finish,
}

/// Whether a stage wants to be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Yes.
    More,
    /// No: it has nothing more to give.
    End,
}

/// An input or output of a stage.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// The schema id of its messages; `*` meets any.
    pub schema: String,
}

impl Port {
    /// A port by name and schema id.
    #[must_use]
    pub fn new(name: &str, schema: &str) -> Self {
        Self {
            name: name.to_owned(),
            schema: schema.to_owned(),
        }
    }
}
