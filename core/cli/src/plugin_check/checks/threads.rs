//! The rules of threads: created on one, working on others, several stages in parallel, and no thread left behind.

use std::thread;
use std::time::{Duration, Instant};

use flowpipe_engine::trial::{CallEnd, Trial};

use crate::plugin_check::checks::call::{self, CallResult};
use crate::plugin_check::checks::repeatable::first_difference;
use crate::plugin_check::heap;
use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::samples::{self, SampleMessage};
use crate::plugin_check::subject::Subject;

/// How many threads work at once.
pub const AT_ONCE: usize = 4;
/// How many messages a stage gets at a time.
const MESSAGES: usize = 5;
const MOVED: &str = " on another thread than created it";
const SIDE_BY_SIDE: &str = " while three others like it work";

pub fn check(subject: &Subject, report: &Reporter) {
    let messages = messages(subject, MESSAGES);
    report.doing("creating it");
    // Libraries may start threads of their own when they are first used.
    let baseline = match subject.create() {
        Ok(mut trial) => {
            let answers = work(subject, report, &mut trial, &messages, "");
            trial.end();
            answers
        }
        Err(error) => return report.fail(error.to_string()),
    };
    if let Some(panic) = baseline.iter().find_map(CallResult::panic) {
        report.fail(panic);
    }
    // Calls that timed out are not repeated.
    let messages = messages.get(..baseline.len()).unwrap_or(&messages);
    let threads_before = heap::count("task");

    report.doing("creating it again");
    match subject.create() {
        Ok(trial) => {
            let answers = moved(subject, report, trial, messages);
            let home = Baseline {
                subject,
                messages,
                answers: &baseline,
            };
            let wrong = answers.iter().find_map(|answers| {
                let fault = home.fault(answers, CallResult::fault);
                fault.or_else(|| home.other(answers))
            });
            if let Some(wrong) = wrong {
                report.fail(format!("{}{wrong}", MOVED.trim_start()));
            }
        }
        Err(error) => report.fail(error.to_string()),
    }
    side_by_side(
        &Baseline {
            subject,
            messages,
            answers: &baseline,
        },
        report,
    );
    match (threads_before, threads_in_the_end(threads_before)) {
        (Some(before), Some(after)) if after > before => {
            let left = after - before;
            let threads = if left == 1 {
                "thread is"
            } else {
                "threads are"
            };
            report.fail(format!(
                "{left} {threads} left when all stages are destroyed"
            ));
        }
        _ => report.pass("moved between threads, four in parallel, no thread is left"),
    }
}

/// The answers of a stage on several threads, one after the other. A deterministic stage is reset before each.
fn moved(
    subject: &Subject,
    report: &Reporter,
    mut trial: Trial,
    messages: &[SampleMessage],
) -> Vec<Vec<CallResult>> {
    let mut all = Vec::new();
    for _ in 0..4 {
        let answers = thread::scope(|scope| {
            let worker = scope.spawn(|| {
                // Another check reports that it can't be reset.
                if subject.manifest().deterministic && trial.reset().is_err() {
                    return Vec::new();
                }
                work(subject, report, &mut trial, messages, MOVED)
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

fn side_by_side(home: &Baseline<'_>, report: &Reporter) {
    let Baseline {
        subject, messages, ..
    } = *home;
    report.doing("creating four in parallel");
    let made = at_once(|| {
        let mut trial = subject.create().map_err(|error| error.to_string())?;
        let answers = work(subject, report, &mut trial, messages, SIDE_BY_SIDE);
        trial.end();
        Ok::<_, String>(answers)
    });
    if let Some(failure) = made.iter().find_map(|made| made.as_ref().err()) {
        // A device may support one user only.
        report.warn(format!("several at once: {failure}"));
    }
    let answers = || made.iter().flatten();
    let place = SIDE_BY_SIDE.trim_start();
    if let Some(wrong) = answers().find_map(|answers| {
        let panic = home.fault(answers, CallResult::panic);
        panic.or_else(|| home.other(answers))
    }) {
        report.fail(format!("{place}{wrong}"));
    } else if let Some(fault) = answers().find_map(|answers| home.fault(answers, CallResult::fault))
    {
        report.warn(format!("{place}{fault}"));
    }
}

/// Works on [`AT_ONCE`] threads. A panic goes on here.
pub fn at_once<T: Send>(work: impl Fn() -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(&work)).collect();
        let ended = workers.into_iter().map(|worker| match worker.join() {
            Ok(made) => made,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    })
}

/// The answers of a stage on the thread that created it.
struct Baseline<'a> {
    subject: &'a Subject,
    messages: &'a [SampleMessage],
    answers: &'a [CallResult],
}

impl Baseline<'_> {
    /// A failure that the baseline does not have.
    fn fault(
        &self,
        answers: &[CallResult],
        what: fn(&CallResult) -> Option<&str>,
    ) -> Option<String> {
        let mut both = self.answers.iter().zip(answers).enumerate();
        both.find_map(|(at, (home, answer))| {
            let fault = what(answer).filter(|_| home.fault().is_none())?;
            Some(format!(": {fault}, at {}", self.name(at)))
        })
    }

    /// A different answer, if the stage declares itself deterministic.
    fn other(&self, answers: &[CallResult]) -> Option<String> {
        let same = self.subject.manifest().deterministic && !self.messages.is_empty();
        let at = same
            .then(|| first_difference(self.answers, answers))
            .flatten()?;
        Some(format!(": it answers differently to {}", self.name(at)))
    }

    fn name(&self, at: usize) -> &str {
        let message = self.messages.get(at);
        message.map_or("a tick", |message| &message.name)
    }
}

/// The number of threads, after a grace period for ending ones.
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

/// At most so many messages for a stage; none for a source.
pub fn messages(subject: &Subject, count: usize) -> Vec<SampleMessage> {
    let Some(input) = subject.first_input() else {
        return Vec::new();
    };
    let boards = samples::boards();
    let messages = samples::messages(&boards, input).into_iter();
    messages.map(|(_, message)| message).take(count).collect()
}

/// Passes messages to a stage, or runs ticks of a source. Returns the results.
pub fn work(
    subject: &Subject,
    report: &Reporter,
    trial: &mut Trial,
    messages: &[SampleMessage],
    how: &str,
) -> Vec<CallResult> {
    if subject.takes().is_some() {
        return call::all(subject, report, trial, messages, how, true);
    }
    let mut answers = Vec::new();
    for _ in 0..MESSAGES {
        report.doing(format!("running a tick{how}"));
        let answer = call::tick(subject, trial);
        let goes_on = answer.end == CallEnd::Fine;
        answers.push(answer);
        if !goes_on {
            break;
        }
    }
    answers
}
