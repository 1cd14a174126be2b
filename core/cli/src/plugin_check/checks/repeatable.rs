//! The same messages in: the same messages out, where the plugin says so.

use flowpipe_runtime::trial::{Trial, Tried};

use crate::plugin_check::samples::{self, Sendable};
use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;

pub fn check(subject: &Subject, tell: &Teller) {
    let says_so = subject.manifest().deterministic;
    let Some(takes) = subject.takes() else {
        return tell.skip("it is a source");
    };
    let boards = samples::boards();
    let messages: Vec<Sendable> = boards
        .iter()
        .filter_map(|board| board.message(takes))
        .collect();
    if messages.is_empty() {
        return tell.skip(format!("there are no samples of {takes}"));
    }
    let made = [(); 2].map(|()| subject.make());
    let [Ok(mut first), Ok(mut second)] = made else {
        return tell.fail("it can't be made twice at a time");
    };
    tell.doing("answering everything for the first time");
    let once = all(&mut first, &messages);
    tell.doing("answering everything with another stage");
    let again = all(&mut second, &messages);
    tell.doing("forgetting everything (reset)");
    let reset = first.reset().map(|()| all(&mut first, &messages));
    first.end();
    second.end();
    let differs = |other: &[Vec<String>]| {
        let pairs = once.iter().zip(other).zip(&boards);
        pairs
            .filter(|((one, other), _)| one != other)
            .map(|(_, board)| board.name.clone())
            .next()
    };
    if let Err(why) = &reset {
        tell.fail(format!("it can't be reset: {why}"));
    }
    let found = differs(&again)
        .map(|name| format!("two stages answer differently to {name}"))
        .or_else(|| {
            let name = differs(reset.as_deref().ok()?)?;
            Some(format!("after a reset it answers differently to {name}"))
        });
    match (says_so, found) {
        (true, Some(found)) => tell.fail(format!("it says that it is deterministic, but {found}")),
        (true, None) => tell.pass(format!("{} messages, three times the same", messages.len())),
        (false, Some(found)) => tell.pass(format!(
            "it does not say that it is deterministic, and {found}"
        )),
        (false, None) => tell.pass(
            "it does not say that it is deterministic, though it answered the same three times",
        ),
    }
}

/// What it emits to each message.
fn all(trial: &mut Trial, messages: &[Sendable]) -> Vec<Vec<String>> {
    let mut answers = Vec::new();
    for message in messages {
        let frame = message.frame(trial);
        let tried = trial.message(
            0,
            &message.schema,
            message.body.to_string().as_bytes(),
            frame,
        );
        answers.push(tried.as_ref().map(told).unwrap_or_default());
    }
    answers
}

/// What came of a call, to be held against what came of another.
pub fn told(tried: &Tried) -> Vec<String> {
    let emitted = tried.emitted.iter();
    emitted
        .map(|(port, it)| format!("{port} {} {}", it.schema(), it.json()))
        .collect()
}
