//! Pipelines and manifests: read from files, checked, and shown to editors and people.
//!
//! # Layout
//! - [`reader`]: a pipeline file with its errors, read into a [`pipeline`].
//! - [`schema`]: the file's JSON Schema, for editors. [`graph`]: a pipeline as a drawing.
//! - [`manifest`]: what a plugin declares. [`effects`]: the effects of a pipeline.
//! - [`message_schema`]: the JSON Schema of a message, which a stage's config can give.

pub mod effects;
pub mod graph;
pub mod manifest;
pub mod message_schema;
pub mod pipeline;
pub mod reader;
pub mod schema;
