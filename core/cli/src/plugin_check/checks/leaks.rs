//! Made, used and destroyed a thousand times: nothing may be left.

use std::thread;

use crate::plugin_check::checks::threads::work;
use crate::plugin_check::heap;
use crate::plugin_check::samples::{self, Sample};
use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;

/// How often it is made, in three parts. What the first leave may be caches that are filled once; only what both
/// others leave is a leak.
const PARTS: [u32; 3] = [200, 400, 400];
/// Bytes for each stage that count as nothing.
const NOTHING: u64 = 8;

/// What is held after a part.
struct Held {
    heap: Option<u64>,
    files: Option<usize>,
}

pub fn check(subject: &Subject, tell: &Teller) {
    let boards = samples::boards();
    let mut held = Vec::new();
    let mut made = 0;
    for part in PARTS {
        // On a thread of its own: what the allocator keeps at hand for a thread comes back when it ends.
        let result = thread::scope(|scope| {
            let rounds = scope.spawn(|| rounds(subject, tell, &boards, made, part));
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
        let before = second.saturating_sub(first) / u64::from(PARTS[1]);
        let after = third.saturating_sub(second) / u64::from(PARTS[2]);
        if before.min(after) > NOTHING {
            let bytes = before.min(after);
            tell.fail(format!("each stage leaves {bytes} bytes of memory"));
        }
    } else {
        tell.warn("memory can't be measured on this system");
    }
    if let (Some(second), Some(third)) = (second.files, third.files)
        && third > second
    {
        let (left, stages) = (third - second, PARTS[2]);
        tell.fail(format!("{left} open files are left by {stages} stages"));
    }
    tell.pass(format!("made and destroyed {made} times"));
}

fn rounds(
    subject: &Subject,
    tell: &Teller,
    boards: &[Sample],
    made: u32,
    rounds: u32,
) -> Result<(), String> {
    for round in 0..rounds {
        let number = made + round + 1;
        if round % 50 == 0 {
            tell.doing(format!("making stage number {number}"));
        }
        let mut trial = subject
            .make()
            .map_err(|error| format!("stage number {number}: {error}"))?;
        // Working takes its time: not every one has to.
        if round % 10 == 0 {
            work(subject, &mut trial, boards.get(..1).unwrap_or_default());
        }
        let left = trial.end();
        if left > 0 {
            return Err(format!("{left} frames are left when it is destroyed"));
        }
    }
    Ok(())
}
