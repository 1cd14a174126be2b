//! The check role: judges the messages of other stages.

use crate::context::Message;
use crate::error::Result;
use crate::host::Host;

/// Judges messages before they are sent, so that no stage has to trust another.
///
/// A check is no part of a pipeline. The host calls it for each message of its schemas, whichever stage emits it, inside
/// that stage's call. The output of a stage names the check that its messages need: [`Port::checked_by`](crate::Port::checked_by).
///
/// ```
/// use flowpipe_plugin::{Check, Host, Judgement, Message, Result};
/// use serde_json::json;
///
/// /// Refuses negative numbers.
/// struct Positive;
///
/// impl Check for Positive {
///     const NAME: &'static str = "check-positive";
///     const SCHEMAS: &'static [&'static str] = &["example.number/1"];
///
///     fn new(_: &Host) -> Result<Self> {
///         Ok(Self)
///     }
///
///     fn judge(&self, _parent: Option<&Message<'_>>, message: &Message<'_>) -> Result<Judgement> {
///         let number: f64 = message.parse()?;
///         Ok(match number {
///             0.0.. => Judgement::Accept,
///             _ => Judgement::Refuse(format!("{number} is negative")),
///         })
///     }
/// }
///
/// let harness = flowpipe_plugin::harness!(Positive, json!({}))?;
/// let judge = |number| harness.judge("example.number/1", None, &json!(number));
/// assert_eq!(judge(1.5)?, Judgement::Accept);
/// assert_eq!(judge(-1.0)?, Judgement::Refuse("-1 is negative".to_owned()));
/// # Ok::<(), flowpipe_plugin::Error>(())
/// ```
pub trait Check: Sized + Send + Sync + 'static {
    /// Its name: `check-…`, made of lower-case letters, digits and hyphens.
    const NAME: &'static str;
    /// A paragraph for people.
    const DOC: &'static str = "";
    /// The schema ids of the messages that it judges.
    const SCHEMAS: &'static [&'static str];

    /// Creates the check. Called on the control thread.
    ///
    /// # Errors
    /// When something is missing. The run does not start then.
    fn new(host: &Host) -> Result<Self>;

    /// Judges a message of one of its schemas. `parent` is the message that the emitting stage is processing, if any; it
    /// may have any schema. The text of `message` may be no JSON.
    ///
    /// Called on the threads of all stages, several calls at once. It is part of each emit, so it should be quick.
    ///
    /// # Errors
    /// As a refusal of the message.
    fn judge(&self, parent: Option<&Message<'_>>, message: &Message<'_>) -> Result<Judgement>;
}

/// What a check says of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is valid.
    Accept,
    /// It is valid, but a weak answer ("no solution", "unsupported"): in a race it counts only when no contestant gives a
    /// better one. The reason, as a sentence.
    Weak(String),
    /// It is wrong and is not sent. The reason, as a sentence.
    Refuse(String),
}
