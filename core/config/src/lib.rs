//! Pipelines and manifests: read from files, checked, and shown to editors and people.
//!
//! # Layout
//! - [`reader`]: a pipeline file with its errors, read into a [`pipeline`].
//! - [`schema`]: the file's JSON Schema, for editors. [`graph`]: a pipeline as a drawing.
//! - [`manifest`]: what a plugin declares. [`effects`]: the effects of a pipeline.

pub mod effects;
pub mod graph;
pub mod manifest;
pub mod pipeline;
pub mod reader;
pub mod schema;
