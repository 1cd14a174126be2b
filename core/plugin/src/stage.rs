//! The general stage, on which the five roles are built.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::carried::Carried;
use crate::context::{Context, Message};
use crate::effects::Effect;
use crate::error::Result;
use crate::host::Host;

/// A stage of any kind, for stages without one of the five roles.
///
/// ```
/// use flowpipe_plugin::{Context, Host, Input, JsonSchema, Next, Port, Result, Stage};
/// use serde::Deserialize;
/// use serde_json::json;
///
/// /// Forwards numbers that are large enough.
/// #[derive(Default, Deserialize, JsonSchema)]
/// #[serde(deny_unknown_fields, default)]
/// struct Config {
///     /// The least number.
///     least: u64,
/// }
///
/// struct Filter(Config);
///
/// impl Stage for Filter {
///     const NAME: &'static str = "filter";
///     type Config = Config;
///
///     fn inputs() -> Vec<Port> {
///         vec![Port::new("in", "example.number/1")]
///     }
///
///     fn outputs() -> Vec<Port> {
///         vec![Port::new("out", "example.number/1")]
///     }
///
///     fn new(config: Config, _: &Host) -> Result<Self> {
///         Ok(Self(config))
///     }
///
///     fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
///         if let Input::Message(message) = input {
///             let number: u64 = message.parse()?;
///             if number >= self.0.least {
///                 context.emit(0, &number)?;
///             }
///         }
///         Ok(Next::More)
///     }
/// }
///
/// let mut harness = flowpipe_plugin::harness!(Filter, json!({ "least": 3 }))?;
/// assert_eq!(harness.send(0, "example.number/1", &5)?[0].body, json!(5));
/// assert!(harness.send(0, "example.number/1", &2)?.is_empty());
/// # Ok::<(), flowpipe_plugin::Error>(())
/// ```
pub trait Stage: Sized + Send + 'static {
    /// The name that pipelines use: lower case letters, digits and hyphens.
    const NAME: &'static str;
    /// A paragraph for people. Empty: the config's doc comment is used.
    const DOC: &'static str = "";
    /// Its role.
    const ROLE: &'static str = "stage";
    /// Whether the same messages in always give the same messages out.
    const DETERMINISTIC: bool = false;
    /// What it does to the world outside of the program; `Some(&[])`: nothing. `None`, not declared, counts as
    /// anything: a replay does not run such a stage, and shows its recorded messages.
    const EFFECTS: Option<&'static [Effect]> = None;
    /// Its config declares its ports, its determinism and more effects, by the keys `inputs`, `outputs`, `deterministic`
    /// and `effects` (see `flowpipe.h`). [`Stage::inputs`] and [`Stage::outputs`] are those without such keys.
    const DECLARED_BY_CONFIG: bool = false;
    /// The format of [`Stage::save`], with a version: `referee-repair/1`. Empty: it does not support state transfer.
    const STATE: &'static str = "";
    /// Its config: a struct with `#[serde(deny_unknown_fields, default)]`. Doc comments become the
    /// docs that users see.
    type Config: DeserializeOwned + JsonSchema;

    /// Its inputs, by index the ports of [`Message::port`]. None: the stage is a source.
    fn inputs() -> Vec<Port>;
    /// Its outputs, by index the ports of [`Context::emit`]. None: the stage is a sink.
    fn outputs() -> Vec<Port>;

    /// Its features, a few words each, if its role leaves a choice. For people to read.
    fn supports() -> Vec<String> {
        Vec::new()
    }

    /// Creates the stage. Called on the control thread, and on the stage's thread after a panic.
    ///
    /// # Errors
    /// [`crate::Error::bad_config`] when the config can't be used; any other when something is missing.
    fn new(config: Self::Config, host: &Host) -> Result<Self>;

    /// Prepares to process: opens devices, allocates. Called on the control thread, and on the stage's thread after a
    /// panic.
    ///
    /// # Errors
    /// When something is missing. The run does not start then.
    fn activate(&mut self) -> Result<()> {
        Ok(())
    }

    /// Does the work for one tick or message. Long work polls [`Context::cancel`] at least every 10 ms, and returns soon
    /// after it is cancelled. Called on the stage's thread.
    ///
    /// # Errors
    /// When it fails on this message; `on_error` in the pipeline decides whether the run goes on.
    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next>;

    /// The functions of a check.
    #[doc(hidden)]
    #[must_use]
    fn check_table() -> Option<&'static flowpipe_abi::Check> {
        None
    }

    /// Drops the state that earlier messages left. Called on the stage's thread.
    ///
    /// # Errors
    /// When it fails.
    fn reset(&mut self) -> Result<()> {
        Ok(())
    }

    /// The opposite of [`Stage::activate`]. Called on the control thread.
    fn deactivate(&mut self) {}

    /// Saves its state, for the stage that replaces it in a running pipeline: one with another config, a new build of
    /// the plugin, or another plugin. Changes nothing. Called on the control thread, only if [`Stage::STATE`] names a
    /// format.
    ///
    /// # Errors
    /// When the state can't be serialized. This stage stays active then.
    fn save(&mut self) -> Result<Value> {
        Ok(Value::Null)
    }

    /// Loads the state of another instance, before its own first message. `Ok(false)`: it does not know the format.
    /// After that, a stage that replaces another plugin starts with no state; one that replaces an earlier build of
    /// itself is refused, and the old one stays active. Called on the control thread.
    ///
    /// ```
    /// # use flowpipe_plugin::{Context, Host, Input, Next, NoConfig, Port, Result, Stage};
    /// # use serde_json::{Value, json};
    /// /// Counts messages.
    /// struct Count(u64);
    ///
    /// impl Stage for Count {
    ///     const NAME: &'static str = "count";
    ///     const STATE: &'static str = "count/1";
    ///     # type Config = NoConfig;
    ///     # fn inputs() -> Vec<Port> { vec![Port::new("in", "*")] }
    ///     # fn outputs() -> Vec<Port> { Vec::new() }
    ///     # fn new(_: NoConfig, _: &Host) -> Result<Self> { Ok(Self(0)) }
    ///     // …
    ///     fn process(&mut self, input: Input<'_>, _: &mut Context<'_>) -> Result<Next> {
    ///         self.0 += u64::from(matches!(input, Input::Message(_)));
    ///         Ok(Next::More)
    ///     }
    ///
    ///     fn save(&mut self) -> Result<Value> {
    ///         Ok(json!(self.0))
    ///     }
    ///
    ///     fn load(&mut self, format: &str, state: Value) -> Result<bool> {
    ///         if format != Self::STATE {
    ///             return Ok(false);
    ///         }
    ///         self.0 = serde_json::from_value(state)?;
    ///         Ok(true)
    ///     }
    /// }
    ///
    /// let mut old = flowpipe_plugin::harness!(Count, json!({}))?;
    /// old.send(0, "any/1", &json!(1))?;
    /// let mut new = flowpipe_plugin::harness!(Count, json!({}))?;
    /// assert!(new.load(&old.save()?)?);
    /// assert_eq!(new.save()?.1, json!(1));
    /// # Ok::<(), flowpipe_plugin::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the state can't be used. The old stage stays active then.
    fn load(&mut self, format: &str, state: Value) -> Result<bool> {
        let _ = (format, state);
        Ok(false)
    }
}

/// The config of a stage that has nothing to set.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}

/// Why `process` is called.
#[non_exhaustive]
pub enum Input<'a> {
    /// A stage without inputs should emit something, then return.
    Tick,
    /// A message has arrived.
    Message(Message<'a>),
    /// All inputs have ended: emit the rest.
    Finish,
}

/// Whether a stage wants to be called again.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Yes.
    More,
    /// No: it has no more output.
    End,
}

/// An input or output of a stage.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// The schema id of its messages; `*` matches any.
    pub schema: String,
    /// Whether a pipeline may leave this input unconnected. At least one input of a stage is connected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// The check that its messages need: the name of a [`Check`](crate::Check). A run does not start without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// What its messages carry: one of these. Empty: a picture or nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub carries: Vec<Carried>,
    /// Of an output of any schema: the config key that names the schema id of its messages, where it is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_key: Option<String>,
    /// Of an output: the input whose messages it passes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<String>,
    /// Of an output: the input whose messages it joins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joins: Option<String>,
    /// Of an output: the config key that names the type of the elements of its buffers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub element_key: Option<String>,
}

impl Port {
    /// A port by name and schema id.
    #[must_use]
    pub fn new(name: &str, schema: &str) -> Self {
        Self {
            name: name.to_owned(),
            schema: schema.to_owned(),
            optional: false,
            check: None,
            carries: Vec::new(),
            schema_key: None,
            passes: None,
            joins: None,
            element_key: None,
        }
    }

    /// The same output of any schema, the schema id of whose messages a config key names, where it is set. So
    /// `flowpipe check` finds an input that does not take them.
    #[must_use]
    pub fn with_schema_key(mut self, key: &str) -> Self {
        self.schema_key = Some(key.to_owned());
        self
    }

    /// The same output, which passes on messages of an input: they carry what came in, and have the schema of what came
    /// in, unless a config key names another one.
    #[must_use]
    pub fn passing(mut self, input: &str) -> Self {
        self.passes = Some(input.to_owned());
        self
    }

    /// The same output, which makes one message of several of an input: their buffers, joined along the first dimension, or
    /// nothing. So `flowpipe check` finds an input that does not take them.
    #[must_use]
    pub fn joining(mut self, input: &str) -> Self {
        self.joins = Some(input.to_owned());
        self
    }

    /// The same output, the elements of whose buffers have the type that a config key names, such as `f32`. What
    /// [`carrying`](Self::carrying) declares names none then.
    #[must_use]
    pub fn with_element_key(mut self, key: &str) -> Self {
        self.element_key = Some(key.to_owned());
        self
    }

    /// The same output, whose messages a check judges before they are sent: its name.
    #[must_use]
    pub fn checked_by(mut self, check: &str) -> Self {
        self.check = Some(check.to_owned());
        self
    }

    /// The same port, whose messages carry one of these. A run starts if the two ends of each edge can agree, and a
    /// message that carries something else is refused.
    ///
    /// ```
    /// # use flowpipe_plugin::{BufferPattern, Carried, Element, Port};
    /// let stereo = BufferPattern::of("audio/pcm").element(Element::F32).shape(&[None, Some(2)]);
    /// Port::new("out", "example.sound/1").carrying([stereo.clone()]);
    /// Port::new("in", "example.sound/1").carrying([Carried::Nothing, stereo.into()]);
    /// ```
    #[must_use]
    pub fn carrying<C: Into<Carried>>(mut self, carried: impl IntoIterator<Item = C>) -> Self {
        self.carries = carried.into_iter().map(Into::into).collect();
        self
    }

    /// The same input, which a pipeline may leave unconnected.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}
