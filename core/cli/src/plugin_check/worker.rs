//! One check, within a process of its own.

use crate::args::PluginCheck;
use crate::exit::{Ended, Failure};
use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::{Line, Teller};
use crate::plugin_check::{checks, process, stages};

/// Runs the check of that name on the stage that the arguments name, or loads the file and no more. Says at the
/// end that it has come there: the plugin may end the process before.
///
/// # Errors
/// When there is no such check, or the system has no more files or threads.
pub fn run(args: &PluginCheck, check: &str) -> Result<Ended, Failure> {
    let broken = |error| Failure::Run(format!("a check's process: {error}"));
    process::end_with_parent().map_err(broken)?;
    let tell = Teller::new().map_err(broken)?;
    if check == stages::LOAD {
        stages::load(args, &tell);
    } else {
        let Some(check) = checks::ALL.iter().find(|it| it.name == check) else {
            return Err(Failure::Usage(format!("there is no check `{check}`")));
        };
        let stage = args.stage.as_deref().unwrap_or_default();
        let config = args.config.as_deref();
        match Subject::open(&args.file, stage, config, args.patience()?) {
            Ok(subject) => (check.run)(&subject, &tell),
            // It was there when the file was loaded before.
            Err(failure) => tell.fail(failure.to_string()),
        }
    }
    tell.doing("ending its process");
    tell.line(&Line::Done);
    Ok(Ended::Done)
}
