//! The same messages in: the same messages out, where the plugin says so.

use crate::plugin_check::checks::ask::{self, Answer};
use crate::plugin_check::samples::{self, Sample, Sendable};
use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;

pub fn check(subject: &Subject, tell: &Teller) {
    let says_so = subject.manifest().deterministic;
    let Some(takes) = subject.takes() else {
        return tell.skip("it is a source");
    };
    let boards = samples::boards();
    let messages: Vec<(&Sample, Sendable)> = boards
        .iter()
        .filter_map(|board| Some((board, board.message(takes)?)))
        .collect();
    if messages.is_empty() {
        return tell.skip(format!("there are no samples of {takes}"));
    }
    tell.doing("making it twice");
    let made = [(); 2].map(|()| subject.make());
    let [Ok(mut first), Ok(mut second)] = made else {
        return tell.fail("it can't be made twice at a time");
    };
    let once = ask::all(subject, tell, &mut first, &messages, "", true);
    let messages = messages.get(..once.len()).unwrap_or_default();
    let how = " with another stage";
    let again = ask::all(subject, tell, &mut second, messages, how, false);
    tell.doing("forgetting everything (reset)");
    let reset = first
        .reset()
        .map(|()| ask::all(subject, tell, &mut first, messages, " after a reset", false));
    tell.doing("destroying it");
    first.end();
    second.end();
    if let Err(why) = &reset {
        tell.fail(format!("it can't be reset: {why}"));
    }
    // What had to be cancelled says nothing.
    let compared = once
        .iter()
        .zip(&again)
        .filter(|(one, other)| !one.late && !other.late);
    let count = compared.count();
    if count == 0 {
        return tell.warn(format!(
            "{} was not answered within {:?}: give it more with --time",
            messages.first().map_or("a board", |(board, _)| &board.name),
            subject.patience
        ));
    }
    let differs =
        |other: &[Answer]| first_difference(&once, other).map(|at| messages[at].0.name.as_str());
    let found = differs(&again)
        .map(|name| format!("two stages answer differently to {name}"))
        .or_else(|| {
            let name = differs(reset.as_deref().ok()?)?;
            Some(format!("after a reset it answers differently to {name}"))
        });
    match (says_so, found) {
        (true, Some(found)) => tell.fail(format!("it says that it is deterministic, but {found}")),
        (true, None) => tell.pass(format!("{count} messages, three times the same")),
        (false, Some(found)) => tell.pass(format!(
            "it does not say that it is deterministic, and {found}"
        )),
        (false, None) => tell.pass(
            "it does not say that it is deterministic, though it answered the same three times",
        ),
    }
}

/// The number of the first message that was answered otherwise. What had to be cancelled says nothing.
pub fn first_difference(some: &[Answer], others: &[Answer]) -> Option<usize> {
    some.iter().zip(others).position(|(one, other)| {
        !one.late && !other.late && (&one.told, &one.end) != (&other.told, &other.end)
    })
}
