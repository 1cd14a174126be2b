//! A plugin of the role `check` judges messages: it gives a verdict on each, the same each time and on several threads at
//! once, and malformed ones break nothing. It is never called to process.

use std::sync::Arc;

use flowpipe_engine::check::start_alone;
use flowpipe_generate::Random;
use flowpipe_host::check::{CheckPlugin, Judgement, NoVerdict};
use flowpipe_host::message::Message;
use flowpipe_terminal::counted;

use crate::plugin_check::checks::malformed::{SPOILED, bodies, shown};
use crate::plugin_check::checks::threads::{AT_ONCE, at_once};
use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::samples;
use crate::plugin_check::subject::Subject;

/// What concerns only stages that process messages.
pub fn skip(_: &Subject, report: &Reporter) {
    report.skip("it judges messages, and is never called for that");
}

/// Messages without a fault: each gets a verdict.
pub fn answers(subject: &Subject, report: &Reporter) {
    let messages = samples(subject, report);
    if messages.is_empty() {
        return;
    }
    let Some(check) = start(subject, report) else {
        return;
    };
    let mut refused = 0;
    for message in &messages {
        match judge(&check, message, report) {
            Some(Judgement::Refuse(_)) => refused += 1,
            Some(_) => {}
            None => return,
        }
    }
    check.end();
    let all = counted(messages.len(), "message");
    report.pass(match refused {
        0 => format!("{all}: all accepted"),
        _ => format!("{all}: {refused} refused"),
    });
}

/// The same verdict on the same message, each time and by another one of it.
pub fn repeatable(subject: &Subject, report: &Reporter) {
    let messages = samples(subject, report);
    let (Some(first), Some(second)) = (start(subject, report), start(subject, report)) else {
        return;
    };
    for message in &messages {
        let verdicts = [&first, &second, &first].map(|check| judge(check, message, report));
        if verdicts.contains(&None) {
            return;
        }
        if verdicts.windows(2).any(|pair| pair[0] != pair[1]) {
            let shown = shown(message.json());
            return report.fail(format!(
                "it judges a message differently another time: {shown}"
            ));
        }
    }
    first.end();
    second.end();
    if !messages.is_empty() {
        let count = counted(messages.len(), "message");
        report.pass(format!("{count}, the same verdict three times"));
    }
}

/// Malformed messages: refused or accepted, or refused by the host because they can't be read, but without a panic.
pub fn malformed(subject: &Subject, report: &Reporter) {
    let Some(check) = start(subject, report) else {
        return;
    };
    let boards = samples::boards();
    let mut random = Random::new(11);
    let (mut judged, mut accepted) = (0, 0);
    for input in &subject.manifest().inputs {
        let good = samples::messages(&boards, input).into_iter().next();
        let good = good.as_ref().map(|(_, good)| &good.body);
        for body in bodies(good, SPOILED, &mut random) {
            let Ok(message) = Message::detached(&input.schema, body.to_string().as_bytes()) else {
                continue;
            };
            let shown = shown(message.json());
            report.doing(format!("judging {shown}"));
            match check.try_judge(None, &message) {
                Err(NoVerdict {
                    panicked: true,
                    why,
                }) => return report.fail(format!("{why}, on the message {shown}")),
                // It can't read it: the host refuses it then.
                Err(_) | Ok(Judgement::Refuse(_)) => {}
                Ok(Judgement::Accept | Judgement::Weak(_)) => accepted += 1,
            }
            judged += 1;
        }
    }
    check.end();
    let count = counted(judged, "message");
    report.pass(format!("{count}: {accepted} accepted"));
}

/// Several threads judge at once, as they would one after the other.
pub fn threads(subject: &Subject, report: &Reporter) {
    let messages = samples(subject, report);
    if messages.is_empty() {
        return;
    }
    let Some(check) = start(subject, report) else {
        return;
    };
    let all = |check: &Arc<CheckPlugin>| {
        let verdicts = messages
            .iter()
            .map(|message| check.try_judge(None, message));
        verdicts.collect::<Vec<_>>()
    };
    report.doing("judging on one thread");
    let alone = all(&check);
    report.doing("judging on several threads at once");
    let at_once = at_once(|| all(&check));
    check.end();
    match at_once.iter().all(|verdicts| *verdicts == alone) {
        true => report.pass(format!("{AT_ONCE} threads at once, the same verdicts")),
        false => report.fail("on several threads at once it judges differently than on one"),
    }
}

/// The verdict. `None`: there is none, which is reported.
fn judge(check: &CheckPlugin, message: &Message, report: &Reporter) -> Option<Judgement> {
    let shown = shown(message.json());
    report.doing(format!("judging {shown}"));
    match check.try_judge(None, message) {
        Ok(judgement) => Some(judgement),
        Err(NoVerdict { why, .. }) => {
            report.fail(format!("it gave no verdict: {why}, on the message {shown}"));
            None
        }
    }
}

/// One more of the check. `None`: it does not start, which is reported.
fn start(subject: &Subject, report: &Reporter) -> Option<Arc<CheckPlugin>> {
    report.doing("creating it");
    let started = start_alone(&subject.found);
    started.map_err(|error| report.fail(error.to_string())).ok()
}

/// The samples of all schemas that it judges, without pictures.
fn samples(subject: &Subject, report: &Reporter) -> Vec<Message> {
    let boards = samples::boards();
    let mut all = Vec::new();
    for input in &subject.manifest().inputs {
        let samples = samples::messages(&boards, input);
        if samples.is_empty() {
            let schema = &input.schema;
            report.skip(format!(
                "there are no samples of {schema}, a schema that flowpipe does not know: judge messages of your own, in a \
                 test of the check"
            ));
        }
        let messages = samples.into_iter().filter_map(|(_, sample)| {
            Message::detached(&sample.schema, sample.body.to_string().as_bytes()).ok()
        });
        all.extend(messages);
    }
    all
}
