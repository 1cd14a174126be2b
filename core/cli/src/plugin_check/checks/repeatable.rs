//! The same messages in give the same messages out, if the plugin declares itself deterministic.

use flowpipe_terminal::counted;

use crate::plugin_check::checks::call::{self, CallResult};
use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::samples::{self, SampleMessage};
use crate::plugin_check::subject::Subject;

pub fn check(subject: &Subject, report: &Reporter) {
    let is_declared = subject.manifest().deterministic;
    let Some(input) = subject.first_input() else {
        return report.skip("it is a source");
    };
    let boards = samples::boards();
    let messages = samples::messages(&boards, input).into_iter();
    let messages: Vec<SampleMessage> = messages.map(|(_, message)| message).collect();
    if messages.is_empty() {
        let schema = &input.schema;
        return report.skip(format!("there are no samples of {schema}"));
    }
    report.doing("creating it twice");
    let made = [(); 2].map(|()| subject.create());
    let [Ok(mut first), Ok(mut second)] = made else {
        return report.fail("two stages of it can't exist at a time");
    };
    let once = call::all(subject, report, &mut first, &messages, "", true);
    let messages = messages.get(..once.len()).unwrap_or_default();
    let how = " with another stage";
    let again = call::all(subject, report, &mut second, messages, how, false);
    report.doing("resetting it");
    let reset = first.reset().map(|()| {
        call::all(
            subject,
            report,
            &mut first,
            messages,
            " after a reset",
            false,
        )
    });
    report.doing("destroying it");
    first.end();
    second.end();
    if let Err(why) = &reset {
        report.fail(format!("it can't be reset: {why}"));
    }
    // Cancelled calls are not compared.
    let compared = once
        .iter()
        .zip(&again)
        .filter(|(one, other)| !one.late && !other.late);
    let count = compared.count();
    if count == 0 {
        return report.warn(format!(
            "{} was not answered within {:?}: raise the timeout with --time",
            messages
                .first()
                .map_or("a message", |message| &message.name),
            subject.timeout
        ));
    }
    let differs =
        |other: &[CallResult]| first_difference(&once, other).map(|at| messages[at].name.as_str());
    let found = differs(&again)
        .map(|name| format!("two stages answer differently to {name}"))
        .or_else(|| {
            let name = differs(reset.as_deref().ok()?)?;
            Some(format!("after a reset it answers differently to {name}"))
        });
    match (is_declared, found) {
        (true, Some(found)) => {
            report.fail(format!("it declares itself deterministic, but {found}"))
        }
        (true, None) => report.pass(format!(
            "{}, the same answers three times",
            counted(count, "message")
        )),
        (false, Some(found)) => report.pass(format!(
            "it does not declare itself deterministic, and {found}"
        )),
        (false, None) => report.pass(
            "it does not declare itself deterministic, but gave the same answers three times",
        ),
    }
}

/// The index of the first message with different answers. Cancelled calls are not compared.
pub fn first_difference(some: &[CallResult], others: &[CallResult]) -> Option<usize> {
    some.iter().zip(others).position(|(one, other)| {
        !one.late && !other.late && (&one.emitted, &one.end) != (&other.emitted, &other.end)
    })
}
