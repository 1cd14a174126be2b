//! The JSON Schemas of messages that the configs of a run's stages declare. In a pipeline, a schema id has one.

use std::collections::HashMap;
use std::sync::Arc;

use flowpipe_config::manifest::Direction;
use flowpipe_config::message_schema::{MessageSchema, difference};
use flowpipe_config::pipeline::Pipeline;
use flowpipe_host::catalogue::Found;
use flowpipe_host::message::Message;

use crate::run::error::StartError;

/// The JSON Schemas by schema id.
pub(crate) type MessageSchemas = HashMap<String, Arc<DeclaredSchema>>;

/// A JSON Schema that a config declares.
pub(crate) struct DeclaredSchema {
    schema: MessageSchema,
    /// The file that it comes from.
    file: Option<String>,
}

/// The JSON Schemas that the stages declare whose plugins were found. The config may be that of a recording: nothing of
/// it is known to be valid.
pub(crate) fn declared(
    pipeline: &Pipeline,
    found: &[Vec<Found>],
) -> Result<MessageSchemas, StartError> {
    let mut schemas = MessageSchemas::new();
    for (stage, found) in pipeline.stages.iter().zip(found) {
        let misfit = |reason: String| StartError::Misfit {
            stage: stage.name.clone(),
            reason,
        };
        for (contestant, found) in stage.contestants.iter().zip(found) {
            let declaration = found.manifest.declaration(&contestant.config);
            for direction in Direction::ALL {
                declaration.check_ports(direction).map_err(misfit)?;
            }
            for port in declaration.described_ports() {
                let Some(value) = port.json_schema else {
                    continue;
                };
                if let Some(known) = schemas.get(port.schema) {
                    if difference(known.schema.value(), value).is_some() {
                        let reason = format!("two JSON Schemas describe {}", port.schema);
                        return Err(misfit(reason));
                    }
                    continue;
                }
                let schema = MessageSchema::new(value.clone()).map_err(|reason| {
                    misfit(format!(
                        "the JSON Schema of {} can't be used: {reason}",
                        port.schema
                    ))
                })?;
                let file = port.file.map(str::to_owned);
                let declared = DeclaredSchema { schema, file };
                schemas.insert(port.schema.to_owned(), Arc::new(declared));
            }
        }
    }
    Ok(schemas)
}

impl DeclaredSchema {
    /// Checks a message of its schema id.
    ///
    /// # Errors
    /// Where it does not conform, and why.
    pub(crate) fn check(&self, message: &Message) -> Result<(), String> {
        let body = &message.body;
        let value = body.value();
        let id = message.schema();
        let whose = match &self.file {
            Some(file) => format!("{file}, the JSON Schema of {id}"),
            None => format!("the JSON Schema of {id}"),
        };
        if value.is_null() && body.json().trim_ascii() != "null" {
            return Err(format!(
                "it can't be checked by {whose}: it is nested too deep, or has a number that is too large"
            ));
        }
        let checked = self.schema.check(value, body.json_len());
        checked.map_err(|mismatch| format!("{mismatch} ({whose})"))
    }
}
