//! It can be made and unmade at all.

use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;

pub fn check(subject: &Subject, tell: &Teller) {
    tell.doing("making it");
    match subject.make() {
        Ok(trial) => {
            tell.doing("destroying it");
            trial.end();
            tell.pass("made, made ready and destroyed");
        }
        Err(error) => tell.fail(error.to_string()),
    }
}
