//! The file is loaded, and its stages are told.

use flowpipe_config::manifest::Manifest;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_isolation::scanner::Scanner;

use crate::args::PluginCheck;
use crate::exit::Failure;
use crate::plugin_check::child;
use crate::plugin_check::telling::{Line, Teller};

/// The name under which a child loads the file and no more.
pub const LOAD: &str = "load";

/// The stages to check; the inner error says why the file can't be used.
///
/// # Errors
/// When no child can be started, or the file has no stage of the name asked for.
pub fn stages(args: &PluginCheck) -> Result<Result<Vec<Manifest>, String>, Failure> {
    let heard = child::run(args, LOAD, None)?;
    let mut all = Vec::new();
    for line in heard.lines {
        match line {
            Line::Stage(manifest) => all.push(*manifest),
            Line::Refused(reason) => return Ok(Err(reason)),
            Line::Doing(_) | Line::Found(..) | Line::Done => {}
        }
    }
    if let Some(died) = heard.died {
        return Ok(Err(died));
    }
    if all.is_empty() {
        return Ok(Err("it has no stages".to_owned()));
    }
    if let Some(wanted) = &args.stage {
        all.retain(|manifest| manifest.name == *wanted);
        if all.is_empty() {
            let file = args.file.display();
            return Err(Failure::Usage(format!("{file} has no stage `{wanted}`")));
        }
    }
    Ok(Ok(all))
}

/// The child's side.
pub fn load(args: &PluginCheck, tell: &Teller) {
    tell.doing("loading it");
    // This process is one of its own already.
    let catalogue = Catalogue::of_file(&args.file, &Scanner::InProcess);
    for refused in catalogue.refused() {
        tell.refuse(refused.reason.clone());
    }
    for found in catalogue.stages() {
        tell.line(&Line::Stage(Box::new(found.manifest.clone())));
    }
}
