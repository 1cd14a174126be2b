//! The rules of threads: made on one, working on another that may change, several stages side by side, and no
//! thread left behind.

use std::thread;
use std::time::{Duration, Instant};

use flowpipe_engine::trial::{End, Trial};

use crate::plugin_check::checks::ask::{self, Answer};
use crate::plugin_check::checks::repeatable::first_difference;
use crate::plugin_check::heap;
use crate::plugin_check::samples::{self, Sample, Sendable};
use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;

/// So many messages a stage is put to at a time.
const MESSAGES: usize = 5;
const MOVED: &str = " on another thread than made it";
const SIDE_BY_SIDE: &str = " while three others like it work";

pub fn check(subject: &Subject, tell: &Teller) {
    let boards = samples::boards();
    let messages = messages(subject, &boards, MESSAGES);
    tell.doing("making it");
    // Libraries may start threads of their own when they are first used.
    let at_home = match subject.make() {
        Ok(mut trial) => {
            let answers = work(subject, tell, &mut trial, &messages, "");
            trial.end();
            answers
        }
        Err(error) => return tell.fail(error.to_string()),
    };
    if let Some(panic) = at_home.iter().find_map(Answer::panic) {
        tell.fail(panic);
    }
    // What took too long at home is not asked again.
    let messages = messages.get(..at_home.len()).unwrap_or(&messages);
    let threads_before = heap::count("task");

    tell.doing("making it again");
    match subject.make() {
        Ok(trial) => {
            let answers = moved(subject, tell, trial, messages);
            let home = Home {
                subject,
                messages,
                answers: &at_home,
            };
            let wrong = answers.iter().find_map(|answers| {
                let fault = home.fault(answers, Answer::fault);
                fault.or_else(|| home.other(answers))
            });
            if let Some(wrong) = wrong {
                tell.fail(format!("{}{wrong}", MOVED.trim_start()));
            }
        }
        Err(error) => tell.fail(error.to_string()),
    }
    side_by_side(
        &Home {
            subject,
            messages,
            answers: &at_home,
        },
        tell,
    );
    match (threads_before, threads_in_the_end(threads_before)) {
        (Some(before), Some(after)) if after > before => tell.fail(format!(
            "{} threads are left when all stages are destroyed",
            after - before
        )),
        _ => tell.pass("moved between threads, four side by side, no thread is left"),
    }
}

/// What a stage answers on one thread after the other. Where it is to answer the same as before, it is told to
/// forget.
fn moved(
    subject: &Subject,
    tell: &Teller,
    mut trial: Trial,
    messages: &[(&Sample, Sendable)],
) -> Vec<Vec<Answer>> {
    let mut all = Vec::new();
    for _ in 0..4 {
        let answers = thread::scope(|scope| {
            let worker = scope.spawn(|| {
                // That it can't be reset is told elsewhere.
                if subject.manifest().deterministic && trial.reset().is_err() {
                    return Vec::new();
                }
                work(subject, tell, &mut trial, messages, MOVED)
            });
            match worker.join() {
                Ok(answers) => answers,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        all.push(answers);
    }
    trial.end();
    all
}

fn side_by_side(home: &Home<'_>, tell: &Teller) {
    let Home {
        subject, messages, ..
    } = *home;
    tell.doing("making four at once");
    let made: Vec<_> = thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut trial = subject.make().map_err(|error| error.to_string())?;
                    let answers = work(subject, tell, &mut trial, messages, SIDE_BY_SIDE);
                    trial.end();
                    Ok::<_, String>(answers)
                })
            })
            .collect();
        let ended = workers.into_iter().map(|worker| match worker.join() {
            Ok(made) => made,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    });
    if let Some(failure) = made.iter().find_map(|made| made.as_ref().err()) {
        // A device may well be there for one only.
        tell.warn(format!("several at once: {failure}"));
    }
    let answers = || made.iter().flatten();
    let place = SIDE_BY_SIDE.trim_start();
    if let Some(wrong) = answers().find_map(|answers| {
        let panic = home.fault(answers, Answer::panic);
        panic.or_else(|| home.other(answers))
    }) {
        tell.fail(format!("{place}{wrong}"));
    } else if let Some(fault) = answers().find_map(|answers| home.fault(answers, Answer::fault)) {
        tell.warn(format!("{place}{fault}"));
    }
}

/// What a stage answers on the thread that made it.
struct Home<'a> {
    subject: &'a Subject,
    messages: &'a [(&'a Sample, Sendable)],
    answers: &'a [Answer],
}

impl Home<'_> {
    /// What failed elsewhere, and not here.
    fn fault(&self, answers: &[Answer], what: fn(&Answer) -> Option<&str>) -> Option<String> {
        let mut both = self.answers.iter().zip(answers).enumerate();
        both.find_map(|(at, (home, answer))| {
            let fault = what(answer).filter(|_| home.fault().is_none())?;
            Some(format!(": {fault}, at {}", self.name(at)))
        })
    }

    /// What is answered otherwise, where a stage says that it is deterministic.
    fn other(&self, answers: &[Answer]) -> Option<String> {
        let same = self.subject.manifest().deterministic && !self.messages.is_empty();
        let at = same
            .then(|| first_difference(self.answers, answers))
            .flatten()?;
        Some(format!(": it answers otherwise to {}", self.name(at)))
    }

    fn name(&self, at: usize) -> &str {
        let message = self.messages.get(at);
        message.map_or("a tick", |(board, _)| &board.name)
    }
}

/// How many threads there are when those that are ending have had their time.
fn threads_in_the_end(wanted: Option<usize>) -> Option<usize> {
    let began = Instant::now();
    loop {
        let count = heap::count("task");
        if count <= wanted || began.elapsed() > Duration::from_secs(5) {
            return count;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Messages for a stage to work on; none for a source.
pub fn messages<'a>(
    subject: &Subject,
    boards: &'a [Sample],
    count: usize,
) -> Vec<(&'a Sample, Sendable)> {
    let takes = subject.takes();
    let messages = boards
        .iter()
        .filter_map(|board| Some((board, board.message(takes?)?)));
    messages.take(count).collect()
}

/// Lets a stage work a little: what came of it, for whom it may concern. A source is asked instead.
pub fn work(
    subject: &Subject,
    tell: &Teller,
    trial: &mut Trial,
    messages: &[(&Sample, Sendable)],
    how: &str,
) -> Vec<Answer> {
    if subject.takes().is_some() {
        return ask::all(subject, tell, trial, messages, how, true);
    }
    let mut answers = Vec::new();
    for _ in 0..MESSAGES {
        tell.doing(format!("asking it{how}"));
        let answer = ask::tick(subject, trial);
        let goes_on = answer.end == End::Fine;
        answers.push(answer);
        if !goes_on {
            break;
        }
    }
    answers
}
