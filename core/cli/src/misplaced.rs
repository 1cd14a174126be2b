//! A file where a command belongs: `flowpipe x.toml`.

use std::path::Path;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::pipeline_file;

/// Adds the command that was probably meant to an error of the command-line parser.
pub fn add_hint(error: &mut clap::Error) {
    if let Some(command) = meant(error) {
        let tip = StyledStr::from(format!("did you mean `flowpipe {command}`?"));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
        error.remove(ContextKind::SuggestedSubcommand);
    }
}

fn meant(error: &clap::Error) -> Option<String> {
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) if error.kind() == ErrorKind::InvalidSubcommand => word,
        _ => return None,
    };
    let file = Path::new(word);
    let extension = file.extension().and_then(|it| it.to_str());
    let command = match extension.unwrap_or_default() {
        "toml" => "run",
        "mcap" => "replay",
        "png" | "jpg" | "jpeg" => "see",
        // A packaged pipeline.
        "" if !file.exists() && pipeline_file::find(file).is_ok_and(|it| it != file) => "run",
        _ if file.is_file() => "solve",
        _ => return None,
    };
    Some(format!("{command} {}", shell_words::quote(word)))
}
