//! Loads the file, and lists its stages.

use flowpipe_config::manifest::Manifest;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_isolation::scanner::Scanner;

use crate::args::{Global, PluginCheck};
use crate::exit::Failure;
use crate::plugin_check::child;
use crate::plugin_check::protocol::{CheckLine, Reporter};

/// The name of the child that only loads the file.
pub const LOAD: &str = "load";

/// The stages to check. The inner error is why the file can't be used.
///
/// # Errors
/// When no child can be started, or the file has no stage of the name asked for.
pub fn stages(
    global: &Global,
    args: &PluginCheck,
) -> Result<Result<Vec<Manifest>, String>, Failure> {
    let output = child::run(global, args, LOAD, None)?;
    let mut all = Vec::new();
    for line in output.lines {
        match line {
            CheckLine::Stage(manifest) => all.push(*manifest),
            CheckLine::Refused(reason) => return Ok(Err(reason)),
            CheckLine::Doing(_) | CheckLine::Found(..) | CheckLine::Done => {}
        }
    }
    if let Some(failure) = output.failure {
        return Ok(Err(failure));
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

/// The side of the child.
pub fn load(args: &PluginCheck, report: &Reporter) {
    report.doing("loading it");
    // This process is a child already.
    let catalogue = Catalogue::of_file(&args.file, &Scanner::InProcess);
    for refused in catalogue.refused() {
        report.refuse(refused.reason.clone());
    }
    for found in catalogue.stages() {
        report.line(&CheckLine::Stage(Box::new(found.manifest.clone())));
    }
}
