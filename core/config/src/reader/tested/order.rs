//! When the inputs of a test enter.

use std::time::Duration;

use crate::reader::duration;
use crate::reader::error::Findings;
use crate::reader::problem::Problem;
use crate::reader::written::test::WrittenTest;

/// Checks that inputs enter in their order: each at the same time as those before it, or later.
pub(super) fn check(test: &WrittenTest<'_, '_>, findings: &mut Findings) {
    let mut latest = Duration::ZERO;
    for after in test.inputs.iter().filter_map(|it| it.after.as_ref()) {
        if *after.get_ref() < latest {
            let problem = Problem::EarlierTestInput {
                after: duration::written(*after.get_ref()),
                before: duration::written(latest),
            };
            findings.report(&after.span(), problem);
        }
        latest = latest.max(*after.get_ref());
    }
}
