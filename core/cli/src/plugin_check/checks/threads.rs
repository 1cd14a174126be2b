//! The rules of threads: made on one, working on another that may change, several stages side by side, and no
//! thread left behind.

use std::thread;
use std::time::{Duration, Instant};

use flowpipe_runtime::trial::{End, Trial};

use crate::plugin_check::heap;
use crate::plugin_check::samples::{self, Sample};
use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;

pub fn check(subject: &Subject, tell: &Teller) {
    let boards = samples::boards();
    tell.doing("making it");
    // Libraries may start threads of their own when they are first used.
    if let Err(error) = subject.make().map(|mut trial| {
        work(subject, &mut trial, &boards);
        trial.end();
    }) {
        return tell.fail(error.to_string());
    }
    let threads_before = heap::count("task");

    tell.doing("working on one thread after the other");
    let moved = subject.make().map(|mut trial| {
        for _ in 0..4 {
            trial = thread::scope(|scope| {
                let worker = scope.spawn(|| {
                    work(subject, &mut trial, &boards);
                    trial
                });
                match worker.join() {
                    Ok(trial) => trial,
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            });
        }
        trial.end();
    });
    if let Err(error) = moved {
        tell.fail(error.to_string());
    }

    tell.doing("four stages working side by side");
    let failures: Vec<String> = thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| match subject.make() {
                    Ok(mut trial) => {
                        work(subject, &mut trial, &boards);
                        trial.end();
                        None
                    }
                    Err(error) => Some(error.to_string()),
                })
            })
            .collect();
        let ended = workers.into_iter().map(|worker| match worker.join() {
            Ok(failure) => failure,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.flatten().collect()
    });
    if let Some(failure) = failures.first() {
        // A device may well be there for one only.
        tell.warn(format!("several at once: {failure}"));
    }
    match (threads_before, threads_in_the_end(threads_before)) {
        (Some(before), Some(after)) if after > before => tell.fail(format!(
            "{} threads are left when all stages are destroyed",
            after - before
        )),
        _ => tell.pass("moved between threads, four side by side, no thread is left"),
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

/// Lets a stage work a little, whatever comes of it.
pub fn work(subject: &Subject, trial: &mut Trial, boards: &[Sample]) {
    const MESSAGES: usize = 5;
    let Some(takes) = subject.takes() else {
        for _ in 0..MESSAGES {
            if trial.tick().end != End::Fine {
                break;
            }
        }
        return;
    };
    for board in boards.iter().take(MESSAGES) {
        if let Some(message) = board.message(takes) {
            let frame = message.frame(trial);
            // The body is JSON: it was made here.
            let _ = trial.message(
                0,
                &message.schema,
                message.body.to_string().as_bytes(),
                frame,
            );
        }
    }
}
