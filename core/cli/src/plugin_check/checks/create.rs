//! It can be created and destroyed.

use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::subject::Subject;

pub fn check(subject: &Subject, report: &Reporter) {
    report.doing("creating it");
    match subject.create() {
        Ok(trial) => {
            report.doing("destroying it");
            trial.end();
            report.pass("created, activated and destroyed");
        }
        Err(error) => report.fail(error.to_string()),
    }
}
