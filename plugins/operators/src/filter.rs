//! Passes on the messages that an expression accepts.

use flowpipe_plugin::{
    Carried, Context, Effect, Error, Host, Input, JsonSchema, Next, Port, Result, Stage,
};
use serde::Deserialize;

use crate::pass::pass;
use flowpipe_jq::{Expression, RunError};

/// Config of filter.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilterConfig {
    /// The condition, an expression of jq on the body of the message, such as `.celsius > 30`. A message is passed on if
    /// the first output is neither `false` nor `null`.
    #[schemars(length(min = 1), extend("format" = "jq"))]
    pub jq: String,
}

/// The stage.
pub struct Filter(Expression);

impl Stage for Filter {
    const NAME: &'static str = "filter";
    const DOC: &'static str = "Passes on the messages for which an expression of jq is true, as they are, with their \
         frames, and drops the others. A message on which the expression fails is a failure.";
    const DETERMINISTIC: bool = true;
    const EFFECTS: Option<&'static [Effect]> = Some(&[]);
    type Config = FilterConfig;

    fn inputs() -> Vec<Port> {
        vec![Port::new("in", "*").carrying(Carried::ANYTHING)]
    }

    fn outputs() -> Vec<Port> {
        vec![
            Port::new("out", "*")
                .carrying(Carried::ANYTHING)
                .passing("in"),
        ]
    }

    fn new(config: FilterConfig, _: &Host) -> Result<Self> {
        compiled(&config.jq).map(Self)
    }

    fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
        if let Input::Message(message) = input {
            let cancel = context.cancel();
            let accepted = self.0.accepts(message.json(), &|| cancel.is_cancelled());
            if accepted.map_err(failed)? {
                pass(&message, context)?;
            }
        }
        Ok(Next::More)
    }
}

/// Compiles the expression of a config.
///
/// # Errors
/// When it is none.
pub fn compiled(jq: &str) -> Result<Expression> {
    Expression::compile(jq).map_err(|error| Error::bad_config(format!("jq = {jq:?}: {error}")))
}

/// The error of a message.
pub fn failed(error: RunError) -> Error {
    match error {
        RunError::Cancelled => Error::cancelled(),
        error => Error::new(error.to_string()),
    }
}
