//! Made, used and destroyed a thousand times: nothing may be left.

use std::thread;
use std::time::{Duration, Instant};

use flowpipe_engine::trial;

use crate::plugin_check::checks::threads::{messages, work};
use crate::plugin_check::heap;
use crate::plugin_check::samples::{self, Sample, Sendable};
use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;

/// How often it is made, in three parts. What the first leave may be caches that are filled once; only what both
/// others leave is a leak.
const PARTS: [u32; 3] = [200, 400, 400];
/// No part of a slow one has less.
const FEWEST: u32 = 10;
/// Working takes its time: one of so many has to.
const WORKS: u32 = 10;
/// It takes about so long at most, for all but the slowest.
const ENOUGH: Duration = Duration::from_secs(30);
/// Bytes for each stage that count as nothing.
const NOTHING: u64 = 8;
/// Bytes that count as nothing in a part, however few stages there are.
const NOTHING_IN_ALL: u64 = 1024;

/// What is held after a part.
struct Held {
    heap: Option<u64>,
    files: Option<usize>,
}

pub fn check(subject: &Subject, tell: &Teller) {
    let boards = samples::boards();
    let messages = messages(subject, &boards, 1);
    let parts = match pace(subject, tell, &messages) {
        Ok((making, working)) => parts(making, working),
        Err(why) => return tell.fail(why),
    };
    let mut held = Vec::new();
    let mut made = 0;
    for part in parts {
        // On a thread of its own: what the allocator keeps at hand for a thread comes back when it ends.
        let result = thread::scope(|scope| {
            let rounds = scope.spawn(|| rounds(subject, tell, &messages, made, part));
            match rounds.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        if let Err(why) = result {
            return tell.fail(why);
        }
        made += part;
        held.push(Held {
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
            tell.fail(format!("each stage leaves {bytes} bytes of memory"));
        }
    } else {
        tell.warn("memory can't be measured on this system");
    }
    if let (Some(second), Some(third)) = (second.files, third.files)
        && third > second
    {
        let (left, stages) = (third - second, parts[2]);
        tell.fail(format!("{left} open files are left by {stages} stages"));
    }
    tell.pass(format!("made and destroyed {made} times"));
}

/// How long it takes to make and destroy one, and to let it work; the shortest of a few, whatever else the machine
/// does.
fn pace(
    subject: &Subject,
    tell: &Teller,
    messages: &[(&Sample, Sendable)],
) -> Result<(Duration, Duration), String> {
    let mut shortest = (Duration::MAX, Duration::MAX);
    for _ in 0..3 {
        tell.doing("making it");
        let began = Instant::now();
        let mut trial = subject.make().map_err(|error| error.to_string())?;
        let making = began.elapsed();
        let began = Instant::now();
        work(subject, tell, &mut trial, messages, "");
        let working = began.elapsed();
        tell.doing("destroying it");
        let began = Instant::now();
        trial.end();
        let making = making + began.elapsed();
        shortest = (shortest.0.min(making), shortest.1.min(working));
    }
    Ok(shortest)
}

/// How many there are in each part when it takes so long to make one, and to let one work.
fn parts(making: Duration, working: Duration) -> [u32; 3] {
    let each = making.as_secs_f64() + working.as_secs_f64() / f64::from(WORKS);
    let all = each * f64::from(PARTS.iter().sum::<u32>());
    let share = (ENOUGH.as_secs_f64() / all).min(1.0);
    PARTS.map(|part| ((f64::from(part) * share) as u32).max(FEWEST))
}

fn rounds(
    subject: &Subject,
    tell: &Teller,
    messages: &[(&Sample, Sendable)],
    made: u32,
    rounds: u32,
) -> Result<(), String> {
    for round in 0..rounds {
        let number = made + round + 1;
        tell.doing(format!("making stage number {number}"));
        let mut trial = subject
            .make()
            .map_err(|error| format!("stage number {number}: {error}"))?;
        if round % WORKS == 0 {
            let how = format!(", stage number {number}");
            work(subject, tell, &mut trial, messages, &how);
        }
        tell.doing(format!("destroying stage number {number}"));
        let left = trial.end();
        if left > 0 {
            return Err(format!("{left} frames are left when it is destroyed"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_ones_are_made_less_often() {
        let ms = Duration::from_millis;
        assert_eq!(parts(Duration::ZERO, Duration::ZERO), PARTS);
        assert_eq!(parts(ms(20), ms(10)), PARTS);
        assert_eq!(parts(ms(0), ms(1000)), [60, 120, 120]);
        assert_eq!(parts(ms(5000), ms(5000)), [FEWEST; 3]);
    }
}
