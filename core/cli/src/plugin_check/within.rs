//! One check, within a process of its own.

use crate::args::PluginCheck;
use crate::exit::{Ended, Failure};
use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;
use crate::plugin_check::{checks, stages};

/// Runs the check of that name on the stage that the arguments name, or loads the file and no more.
///
/// # Errors
/// When there is no such check or stage, or the config can't be used.
pub fn run(args: &PluginCheck, check: &str) -> Result<Ended, Failure> {
    if check == stages::LOAD {
        stages::load(args);
        return Ok(Ended::Done);
    }
    let stage = args.stage.as_deref().unwrap_or_default();
    let Some(check) = checks::ALL.iter().find(|it| it.name == check) else {
        return Err(Failure::Usage(format!("there is no check `{check}`")));
    };
    let config = args.config.as_deref();
    let subject = Subject::open(&args.file, stage, config, args.patience()?)?;
    (check.run)(&subject, &Teller);
    Ok(Ended::Done)
}
