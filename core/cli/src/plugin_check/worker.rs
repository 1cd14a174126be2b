//! One check, in the child process.

use crate::args::{Global, PluginCheck};
use crate::exit::{Ended, Failure};
use crate::plugin_check::protocol::{CheckLine, Reporter};
use crate::plugin_check::subject::{Subject, answer_timeout};
use crate::plugin_check::{checks, stages};

/// Runs the check of that name on the stage of the arguments, or only loads the file. Reports its end: the plugin may
/// end the process before.
///
/// # Errors
/// When there is no such check, or the system has no files or threads left.
pub fn run(global: &Global, args: &PluginCheck, check: &str) -> Result<Ended, Failure> {
    let broken = |error| Failure::Run(format!("a check's process: {error}"));
    end_with_parent().map_err(broken)?;
    let report = Reporter::new().map_err(broken)?;
    if check == stages::LOAD {
        stages::load(args, &report);
    } else {
        let Some(check) = checks::ALL.iter().find(|it| it.name == check) else {
            return Err(Failure::Usage(format!("there is no check `{check}`")));
        };
        let stage = args.stage.as_deref().unwrap_or_default();
        let config = args.config.as_deref();
        let subject = Subject::open(global, &args.file, stage, config, answer_timeout(args)?);
        match subject {
            Ok(subject) => check.run(&subject, &report),
            // It existed when the file was loaded before.
            Err(failure) => report.fail(failure.to_string()),
        }
    }
    report.doing("ending its process");
    report.line(&CheckLine::Done);
    Ok(Ended::Done)
}

/// Kills this process and its group when the program is gone, whatever the plugin does.
#[cfg(unix)]
fn end_with_parent() -> std::io::Result<()> {
    use flowpipe_process::parent::{self, Disconnected};
    use rustix::process::{Signal, kill_current_process_group};
    parent::watch(parent::take_stdin()?, |why| {
        // A plugin that closes this pipe is reported by its check.
        if why == Disconnected::Program {
            let _ = kill_current_process_group(Signal::KILL);
        }
    })
}

#[cfg(not(unix))]
fn end_with_parent() -> std::io::Result<()> {
    Ok(())
}
