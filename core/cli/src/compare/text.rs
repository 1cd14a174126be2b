//! A comparison, as text.

use std::fmt::Write as _;

use flowpipe_terminal::{counted, escape};

use crate::compare::comparison::{Comparison, PipelineSummary, RepeatedFailure};
use crate::compare::offline::{ChangeKind, StageChange};
use crate::compare::pair::Pair;
use crate::compare::side::Side;
use crate::compare::table;
use crate::show::board;
use crate::show::colour::{BAD, GOOD, HEADING, QUIET, paint};

/// How many boards with differences are drawn; `--json` has all.
const DRAWN: usize = 10;
/// Boards with more columns are not drawn.
const WIDEST: usize = 20;
/// Spaces between two boards.
const GAP: usize = 6;

/// The whole comparison, with the differences first.
pub fn text(comparison: &Comparison, colours: bool) -> String {
    let mut text = String::new();
    write_pipeline(&mut text, "A", &comparison.a, "board", colours);
    write_pipeline(&mut text, "B", &comparison.b, "board", colours);
    let differs = |index: &usize| !comparison.boards[*index].differences.is_empty();
    let (mut order, same): (Vec<usize>, Vec<usize>) =
        (0..comparison.boards.len()).partition(differs);
    // What matters comes first.
    order.sort_by_key(|&index| !comparison.boards[index].matters());
    for (place, &index) in order.iter().enumerate() {
        let drawn = place < DRAWN;
        difference(
            &mut text,
            index + 1,
            &comparison.boards[index],
            drawn,
            colours,
        );
    }
    order.extend(same);
    // Writing to a String can't fail.
    if !comparison.boards.is_empty() {
        let _ = writeln!(text, "\n{}", table::answers(comparison, &order).trim_end());
        text += &table::drags(comparison, &order);
    }
    text += &table::stages(&comparison.stages);
    let _ = writeln!(text, "{}", summary(comparison, colours));
    text
}

/// The pipeline, its changes and its failures. `noun`: what it may answer differently in a later round.
pub fn write_pipeline(
    text: &mut String,
    who: &str,
    pipeline: &PipelineSummary,
    noun: &str,
    colours: bool,
) {
    let who = paint(who, HEADING, colours);
    let _ = writeln!(text, "{who} {}", escape(&pipeline.file));
    for StageChange {
        stage,
        plugin,
        what,
    } in &pipeline.changes
    {
        let what = match what {
            ChangeKind::Recorded { from } => {
                format!("{from} of the recording, instead of {plugin}")
            }
            ChangeKind::ActsOnTheWorld => format!("left out, {plugin} acts on the world"),
            ChangeKind::Unfed => format!("left out with the stages that feed it ({plugin})"),
            ChangeKind::Replaced { by } => format!("{by}, instead of {plugin}"),
            ChangeKind::UsesTime => format!(
                "{plugin} uses the time: the recording is played as fast as possible, so that what it emits depends on \
                 the speed, and differs from run to run"
            ),
            ChangeKind::IdlesDry => {
                format!(
                    "{plugin} emits nothing: a comparison is a dry run, in which it sends no requests"
                )
            }
        };
        let line = paint(&format!("  {stage}: {what}"), QUIET, colours);
        let _ = writeln!(text, "{line}");
    }
    for RepeatedFailure { failed, times, .. } in &pipeline.failures {
        let failure = paint("failed:", BAD, colours);
        let times = match times {
            1 => String::new(),
            times => format!(" ({times} times)"),
        };
        let _ = writeln!(
            text,
            "  {failure} stage \"{}\": {}{times}",
            escape(&failed.stage),
            escape(&failed.text)
        );
    }
    if pipeline.unsteady > 0 {
        let _ = writeln!(
            text,
            "  answers differently in a later round on {}",
            counted(pipeline.unsteady, noun)
        );
    }
}

fn difference(text: &mut String, number: usize, pair: &Pair, drawn: bool, colours: bool) {
    let flows = pair.any().map_or(0, |side| side.seen.puzzle.flow_count());
    let heading = format!(
        "board {number} ({}, {})",
        table::size(pair),
        counted(flows, "flow")
    );
    let _ = writeln!(
        text,
        "\n{}, frame {} of {}",
        paint(&heading, HEADING, colours),
        pair.frame.number,
        escape(&pair.source)
    );
    for difference in &pair.differences {
        let style = if difference.matters() { BAD } else { QUIET };
        let _ = writeln!(text, "  {}", paint(&difference.words(), style, colours));
    }
    for (who, side) in [("A", &pair.a), ("B", &pair.b)] {
        let reason = side.as_ref().and_then(|side| side.reason.as_ref());
        if let Some(reason) = reason {
            let _ = writeln!(text, "  {who}: {}", escape(reason));
        }
    }
    if let (true, Some(a), Some(b)) = (drawn, &pair.a, &pair.b)
        && [a, b]
            .iter()
            .all(|side| side.seen.puzzle.board().cols() <= WIDEST)
    {
        text.push_str(&beside(
            &drawing("A", a, colours),
            &drawing("B", b, colours),
        ));
    }
}

/// A board with its solution, below the solver's name.
fn drawing(who: &str, side: &Side, colours: bool) -> Vec<String> {
    let solver = side.solver.as_deref().unwrap_or_default();
    let drawn = board::seen(&side.seen, side.flows(), colours);
    let heading = format!("{who} {}", escape(solver)).trim_end().to_owned();
    let lines = drawn.lines().map(str::to_owned);
    std::iter::once(heading).chain(lines).collect()
}

/// Lines beside each other.
fn beside(left: &[String], right: &[String]) -> String {
    let width = left.iter().map(|line| width(line)).max().unwrap_or(0);
    let mut text = String::new();
    for row in 0..left.len().max(right.len()) {
        let line = |lines: &[String]| lines.get(row).cloned().unwrap_or_default();
        let (left, right) = (line(left), line(right));
        let blanks = width + GAP - self::width(&left);
        let line = format!("{left}{}{right}", " ".repeat(blanks));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// The width of a line on a terminal, without escape codes.
fn width(line: &str) -> usize {
    let mut width = 0;
    let mut in_code = false;
    for character in line.chars() {
        match character {
            '\x1b' => in_code = true,
            'm' if in_code => in_code = false,
            _ => width += usize::from(!in_code),
        }
    }
    width
}

fn summary(comparison: &Comparison, colours: bool) -> String {
    let totals = comparison.totals();
    let frames = &comparison.frames;
    let mut parts = Vec::new();
    if totals.boards == 0 {
        parts.push(paint("neither reads a board", BAD, colours));
    } else if comparison.differs() {
        let different = format!(
            "{} of {} {}",
            totals.different,
            boards(totals.boards),
            if totals.different == 1 {
                "differs"
            } else {
                "differ"
            }
        );
        parts.push(paint(&different, BAD, colours));
    } else {
        let same = format!("{}: the same answers", boards(totals.boards));
        parts.push(paint(&same, GOOD, colours));
    }
    let another = comparison.boards.iter();
    let another = another.filter(|it| !it.matters() && !it.differences.is_empty());
    match another.count() {
        0 => {}
        count => parts.push(format!("{} with another solution", boards(count))),
    }
    for (count, what) in [
        (frames.a_alone, "read by A alone"),
        (frames.b_alone, "read by B alone"),
        (frames.differently, "read differently"),
    ] {
        if count > 0 {
            let plural = if count == 1 { "" } else { "s" };
            parts.push(format!("{count} frame{plural} {what}"));
        }
    }
    parts.join(", ")
}

fn boards(count: usize) -> String {
    format!("{count} board{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_aligned_side_by_side_despite_colour_codes() {
        let lines = |lines: &[&str]| -> Vec<String> { lines.iter().map(|&it| it.into()).collect() };
        let left = lines(&["A", "\x1b[1mab\x1b[0mc", "d"]);
        let right = lines(&["B", "x"]);
        assert_eq!(
            beside(&left, &right),
            "A        B\n\x1b[1mab\x1b[0mc      x\nd\n"
        );
    }
}
