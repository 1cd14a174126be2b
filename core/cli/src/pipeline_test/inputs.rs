//! The messages that enter a test. Files are read by the plugins that read them in pipelines.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowpipe_config::reader::pipeline_test::{InputSource, TestInput};
use flowpipe_config::reader::tested::PICTURES;
use flowpipe_engine::check;
use flowpipe_engine::run::Options;
use flowpipe_engine::stepped::EnteringMessage;
use flowpipe_engine::trial::{CallEnd, Trial};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::message::Message;
use serde_json::{Value, json};

use super::buffer;

/// The plugins that read JSON Lines and recordings.
const LINES: &str = "source-jsonl";
const RECORDINGS: &str = "capture-recording";

/// The folder at which relative paths start. `None`: the working directory.
#[derive(Clone, Debug)]
pub struct Folder(pub Option<PathBuf>);

impl Folder {
    /// A path, as seen from the working directory.
    pub(super) fn path(&self, path: &str) -> String {
        match &self.0 {
            Some(folder) if !Path::new(path).has_root() => {
                let relative = path.strip_prefix("./").unwrap_or(path);
                folder.join(relative).to_string_lossy().into_owned()
            }
            _ => path.to_owned(),
        }
    }

    /// The same for a pattern: the folder's own name is none.
    fn pattern(&self, path: &str) -> String {
        let folder = self.0.as_ref().filter(|_| path.contains(['*', '?', '[']));
        let folder = folder.map(|it| PathBuf::from(glob::Pattern::escape(&it.to_string_lossy())));
        match folder {
            Some(folder) => Self(Some(folder)).path(path),
            None => self.path(path),
        }
    }
}

/// Passes the messages of an input to `each`, until it returns false.
///
/// # Errors
/// Why they can't be read.
pub fn read(
    input: &TestInput,
    folder: &Folder,
    catalogue: &Catalogue,
    mut each: impl FnMut(EnteringMessage) -> bool,
) -> Result<(), String> {
    let (plugin, config) = match &input.source {
        InputSource::Json {
            schema,
            body,
            buffer,
        } => {
            let frame = buffer.as_ref().map(|it| buffer::frame(it, folder));
            each(EnteringMessage {
                schema: schema.clone(),
                json: body.to_string().into_bytes(),
                frame: frame.transpose()?,
            });
            return Ok(());
        }
        InputSource::Lines { file, schema } => {
            let path = regular(folder.path(file))?;
            let mut config = json!({ "path": path });
            if let Some(schema) = schema {
                config["schema"] = json!(schema);
            }
            (LINES, config)
        }
        InputSource::Pictures { paths } => {
            let paths: Vec<_> = paths.iter().map(|path| folder.pattern(path)).collect();
            (PICTURES, json!({ "paths": paths }))
        }
        InputSource::Recording { file, output } => {
            let path = regular(folder.path(file))?;
            (RECORDINGS, json!({ "file": path, "stage": output }))
        }
    };
    play(plugin, config, catalogue, each)
}

/// A path, if it is that of a regular file: others may have no end.
pub(super) fn regular(path: String) -> Result<String, String> {
    let metadata = std::fs::metadata(&path).map_err(|error| format!("{path}: {error}"))?;
    match metadata.is_file() {
        true => Ok(path),
        false => Err(format!("{path}: this is no regular file")),
    }
}

/// Passes on what a source emits.
fn play(
    plugin: &str,
    config: Value,
    catalogue: &Catalogue,
    mut each: impl FnMut(EnteringMessage) -> bool,
) -> Result<(), String> {
    let found = catalogue.find(plugin);
    let found = found.ok_or_else(|| format!("the plugin {plugin}, which reads it, is missing"))?;
    let found = found.with_config(&config);
    let library = Catalogue::from(found.clone());
    let validators = check::load_for(&library, catalogue).map_err(|error| error.to_string())?;
    let options = Options {
        dry: true,
        validators,
        ..Options::default()
    };
    let mut source = Trial::new(&found, config, options).map_err(|error| error.to_string())?;
    let mut ended = Ok(());
    'source: loop {
        let result = source.tick();
        for (_, message) in result.emitted {
            if !each(entering(&message)) {
                break 'source;
            }
        }
        match result.end {
            CallEnd::Fine => {}
            CallEnd::Ended | CallEnd::Stopped => break,
            CallEnd::Panicked(text) | CallEnd::Failed(_, text) => {
                ended = Err(text);
                break;
            }
        }
    }
    source.end();
    ended
}

fn entering(message: &Arc<Message>) -> EnteringMessage {
    EnteringMessage {
        schema: message.schema().to_owned(),
        json: message.json().as_bytes().to_vec(),
        frame: message.frame().cloned(),
    }
}
