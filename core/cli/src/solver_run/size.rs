//! How much memory replies take.

use flowpipe_puzzle::message::{Effort, Verdict};
use flowpipe_puzzle::solution::Solution;

use super::{SolverReply, StrokePlan};

/// About what an entry of a map takes besides its name.
const ENTRY_BYTES: usize = 96;

/// The bytes that a solver's reply takes besides its own size.
pub fn reply_bytes(reply: &SolverReply) -> usize {
    let solved = match reply {
        SolverReply::TimedOut(reason) | SolverReply::Failed(reason) => return reason.capacity(),
        SolverReply::Answer { solved, .. } => solved,
    };
    let verdict = match &solved.answer {
        Verdict::Solution {
            solution,
            others,
            count,
            ..
        } => {
            let all = std::iter::once(solution).chain(others);
            let flows: usize = all.map(solution_bytes).sum();
            let digits = count.as_ref().map_or(0, |it| it.digits.capacity());
            flows + digits + others.capacity() * size_of::<Solution>()
        }
        Verdict::Unsolvable { reason, .. } => reason.as_ref().map_or(0, String::capacity),
        Verdict::Unsupported { reason, .. } | Verdict::Unknown { reason, .. } => reason.capacity(),
    };
    verdict + effort_bytes(&solved.effort) + size_of_val(&**solved)
}

/// The bytes that a planner's reply takes besides its own size.
pub fn plan_bytes(plan: &Result<StrokePlan, String>) -> usize {
    let plan = match plan {
        Err(reason) => return reason.capacity(),
        Ok(plan) => plan,
    };
    let each = plan.strokes.iter().map(|stroke| {
        size_of_val(stroke) + size_of_val(&*stroke.cells) + size_of_val(&*stroke.points)
    });
    each.sum()
}

/// The bytes that an effort takes besides its own size.
fn effort_bytes(effort: &Effort) -> usize {
    let name = |name: &String| name.capacity() + ENTRY_BYTES;
    let figures = effort.figures.keys().map(name);
    let series = effort.series.iter();
    let series = series.map(|(key, values)| name(key) + values.capacity() * size_of::<f64>());
    figures.chain(series).sum()
}

fn solution_bytes(solution: &Solution) -> usize {
    let flows = solution.flows.iter();
    let flows = flows.map(|flow| size_of_val(flow) + size_of_val(&*flow.cells));
    flows.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_series_count() {
        let effort = Effort::default().with_series("best", vec![0.0; 1 << 20]);
        assert!(effort_bytes(&effort) >= size_of::<f64>() << 20);
    }
}
