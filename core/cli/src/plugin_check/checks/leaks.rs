//! Created, used and destroyed a thousand times, it must leak nothing.

use std::thread;
use std::time::{Duration, Instant};

use flowpipe_engine::trial;
use flowpipe_terminal::counted;

use crate::plugin_check::checks::threads::{messages, work};
use crate::plugin_check::heap;
use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::samples::SampleMessage;
use crate::plugin_check::subject::Subject;

/// How often it is created, in three parts. The first part may fill caches; only what grows in both others is a leak.
const PARTS: [u32; 3] = [200, 400, 400];
/// The minimum of a part, for a slow stage.
const FEWEST: u32 = 10;
/// One of this many stages gets messages.
const WORKS: u32 = 10;
/// The approximate time limit, for all but the slowest.
const ENOUGH: Duration = Duration::from_secs(30);
/// The bytes of each stage that are ignored.
const NOTHING: u64 = 8;
/// The bytes of a part that are ignored.
const NOTHING_IN_ALL: u64 = 1024;

/// The resources in use after a part.
struct Resources {
    heap: Option<u64>,
    files: Option<usize>,
}

pub fn check(subject: &Subject, report: &Reporter) {
    let messages = messages(subject, 1);
    let parts = match pace(subject, report, &messages) {
        Ok((making, working)) => parts(making, working),
        Err(why) => return report.fail(why),
    };
    let mut held = Vec::new();
    let mut made = 0;
    for part in parts {
        // On a thread of its own: the allocator frees the caches of a thread at its end.
        let result = thread::scope(|scope| {
            let rounds = scope.spawn(|| rounds(subject, report, &messages, made, part));
            match rounds.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        if let Err(why) = result {
            return report.fail(why);
        }
        made += part;
        held.push(Resources {
            heap: heap::bytes(),
            files: heap::count("fd"),
        });
    }
    let [first, second, third] = &held[..] else {
        return;
    };
    if let (Some(first), Some(second), Some(third)) = (first.heap, second.heap, third.heap) {
        let before = second.saturating_sub(first) / u64::from(parts[1]);
        let after = third.saturating_sub(second) / u64::from(parts[2]);
        let bytes = before.min(after).saturating_sub(trial::LEFT_BY_EACH);
        if bytes > NOTHING && bytes * u64::from(parts[2]) > NOTHING_IN_ALL {
            report.fail(format!("each stage leaves {bytes} bytes of memory"));
        }
    } else {
        report.warn("memory can't be measured on this system");
    }
    if let (Some(second), Some(third)) = (second.files, third.files)
        && third > second
    {
        let (left, stages) = (third - second, parts[2]);
        let is = if left == 1 { "is" } else { "are" };
        let (files, stages) = (counted(left, "open file"), counted(stages, "stage"));
        report.fail(format!("{files} {is} left by {stages}"));
    }
    report.pass(format!("created and destroyed {made} times"));
}

/// The time to create and destroy a stage, and to pass messages to it: the minimum of a few.
fn pace(
    subject: &Subject,
    report: &Reporter,
    messages: &[SampleMessage],
) -> Result<(Duration, Duration), String> {
    let mut shortest = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        report.doing("creating it");
        let began = Instant::now();
        let mut trial = subject.create().map_err(|error| error.to_string())?;
        let making = began.elapsed();
        let began = Instant::now();
        work(subject, report, &mut trial, messages, "");
        let working = began.elapsed();
        report.doing("destroying it");
        let began = Instant::now();
        trial.end();
        let making = making + began.elapsed();
        shortest = (shortest.0.min(making), shortest.1.min(working));
    }
    Ok(shortest)
}

/// The number of stages in each part, by the times to create one and to pass messages to it.
fn parts(making: Duration, working: Duration) -> [u32; 3] {
    let each = making.as_secs_f64() + working.as_secs_f64() / f64::from(WORKS);
    let all = each * f64::from(PARTS.iter().sum::<u32>());
    let share = (ENOUGH.as_secs_f64() / all).min(1.0);
    PARTS.map(|part| ((f64::from(part) * share) as u32).max(FEWEST))
}

fn rounds(
    subject: &Subject,
    report: &Reporter,
    messages: &[SampleMessage],
    made: u32,
    rounds: u32,
) -> Result<(), String> {
    for round in 0..rounds {
        let number = made + round + 1;
        report.doing(format!("creating stage number {number}"));
        let mut trial = subject
            .create()
            .map_err(|error| format!("stage number {number}: {error}"))?;
        if round % WORKS == 0 {
            let how = format!(", stage number {number}");
            work(subject, report, &mut trial, messages, &how);
        }
        report.doing(format!("destroying stage number {number}"));
        let left = trial.end();
        if left > 0 {
            let frames = if left == 1 { "frame is" } else { "frames are" };
            return Err(format!("{left} {frames} left when it is destroyed"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_stages_are_created_less_often() {
        let ms = Duration::from_millis;
        assert_eq!(parts(Duration::ZERO, Duration::ZERO), PARTS);
        assert_eq!(parts(ms(20), ms(10)), PARTS);
        assert_eq!(parts(ms(0), ms(1000)), [60, 120, 120]);
        assert_eq!(parts(ms(5000), ms(5000)), [FEWEST; 3]);
    }
}
