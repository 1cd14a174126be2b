//! Tables of the statistics of both pipelines, with their ratio.

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use flowpipe_terminal::escape;

use crate::compare::comparison::{Comparison, PipelineTotals, Totals};
use crate::compare::frame::PlanFigures;
use crate::compare::pair::Pair;
use crate::compare::side::Side;
use crate::compare::times::{StageTimes, WorkTimes};
use crate::show::report::duration;

/// The verdict on each board, and the time of the answer.
pub fn answers(comparison: &Comparison, order: &[usize]) -> String {
    let header = [
        "board",
        "size",
        "frame",
        "of",
        "A",
        "B",
        "answer in A",
        "B",
        "B/A",
    ];
    let mut table = table(&header);
    for &index in order {
        let pair = &comparison.boards[index];
        let sides = [&pair.a, &pair.b];
        let verdict = |side: &Option<Side>| match side {
            Some(side) => side.verdict.word(),
            None => "not read",
        };
        let times = sides.map(|side| side.as_ref()?.solve_ns);
        let mut row = vec![
            (index + 1).to_string(),
            size(pair),
            pair.frame.number.to_string(),
            place(pair),
            verdict(&pair.a).to_owned(),
            verdict(&pair.b).to_owned(),
        ];
        row.extend(two_times(times));
        table.add_row(row);
    }
    let totals = comparison.totals();
    let mut row = vec![
        "all".to_owned(),
        String::new(),
        String::new(),
        String::new(),
    ];
    row.extend([totals.a.solved, totals.b.solved].map(|count| format!("{count} solved")));
    let solved = totals.both_solved > 0;
    let sums = [totals.a.solve_ns, totals.b.solve_ns];
    row.extend(two_times(sums.map(|sum| solved.then_some(sum))));
    table.add_row(row);
    finish(table, 6)
}

/// The strokes of each board. Empty if there are none.
pub fn drags(comparison: &Comparison, order: &[usize]) -> String {
    let drawn = |index: &&usize| plans(&comparison.boards[**index]) != [None, None];
    let order: Vec<&usize> = order.iter().filter(drawn).collect();
    if order.is_empty() {
        return String::new();
    }
    let header = [
        "board",
        "strokes A",
        "B",
        "segments A",
        "B",
        "B/A",
        "cells A",
        "B",
        "B/A",
        "drag time A",
        "B",
        "B/A",
    ];
    let mut table = table(&header);
    for &index in order {
        let figures = plans(&comparison.boards[index]).map(|plan| plan.map(Figures::of));
        table.add_row(drag_row((index + 1).to_string(), figures));
    }
    let Totals {
        a, b, both_planned, ..
    } = comparison.totals();
    if both_planned > 0 {
        let name = match both_planned == comparison.boards.len() {
            true => "all".to_owned(),
            false => format!("{both_planned} of both"),
        };
        let sums = [Some(Figures::sum(&a)), Some(Figures::sum(&b))];
        table.add_row(drag_row(name, sums));
    }
    finish(table, 1)
}

/// The times of the stages.
pub fn stages(stages: &[StageTimes]) -> String {
    let header = [
        "stage", "plugin", "p50 A", "B", "B/A", "p95 A", "B", "B/A", "worst A", "B", "B/A",
    ];
    let mut table = table(&header);
    for row in stages {
        let sides = [row.a.as_ref(), row.b.as_ref()];
        let plugins = sides.map(|side| side.map_or("-", |times| &times.plugin));
        let plugins = plugins.map(escape);
        let plugins = match plugins {
            [a, b] if a == b => a.into_owned(),
            [a, b] => format!("{a}\n{b}"),
        };
        let mut cells = vec![escape(&row.stage).into_owned(), plugins];
        let figures: [fn(&WorkTimes) -> u64; 3] = [|it| it.p50_ns, |it| it.p95_ns, |it| it.max_ns];
        for figure in figures {
            cells.extend(two_times(sides.map(|side| side.map(figure))));
        }
        table.add_row(cells);
    }
    finish(table, 2)
}

/// The statistics of a plan, or of all plans.
#[derive(Clone, Copy)]
struct Figures {
    strokes: usize,
    segments: usize,
    length: f64,
    drag_ms: f64,
}

impl Figures {
    fn of(plan: &PlanFigures) -> Self {
        Self {
            strokes: plan.strokes,
            segments: plan.segments,
            length: plan.length,
            drag_ms: plan.drag_ms,
        }
    }

    fn sum(sums: &PipelineTotals) -> Self {
        Self {
            strokes: sums.strokes,
            segments: sums.segments,
            length: sums.length,
            drag_ms: sums.drag_ms,
        }
    }
}

fn drag_row(name: String, sides: [Option<Figures>; 2]) -> Vec<String> {
    let count = |figure: fn(&Figures) -> usize| {
        sides.map(|side| side.map_or_else(dash, |it| figure(&it).to_string()))
    };
    let ratio_of =
        |figure: fn(&Figures) -> f64| ratio(sides.map(|side| side.map(|it| figure(&it))));
    let [strokes_a, strokes_b] = count(|it| it.strokes);
    let [segments_a, segments_b] = count(|it| it.segments);
    let [length_a, length_b] =
        sides.map(|side| side.map_or_else(dash, |it| format!("{:.1}", it.length)));
    let [drag_a, drag_b] =
        sides.map(|side| side.map_or_else(dash, |it| duration((it.drag_ms * 1e6) as u64)));
    vec![
        name,
        strokes_a,
        strokes_b,
        segments_a,
        segments_b,
        ratio_of(|it| it.segments as f64),
        length_a,
        length_b,
        ratio_of(|it| it.length),
        drag_a,
        drag_b,
        ratio_of(|it| it.drag_ms),
    ]
}

fn plans(pair: &Pair) -> [Option<&PlanFigures>; 2] {
    [&pair.a, &pair.b].map(|side| side.as_ref()?.plan.as_ref())
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(UTF8_BORDERS_ONLY);
    table.set_header(header);
    table
}

/// Renders the table, with the columns from `first` on aligned to the right.
fn finish(mut table: Table, first: usize) -> String {
    for column in table.column_iter_mut().skip(first) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

fn two_times(times: [Option<u64>; 2]) -> [String; 3] {
    let [a, b] = times.map(|time| time.map_or_else(dash, duration));
    [a, b, ratio(times.map(|time| time.map(|time| time as f64)))]
}

/// The second as a multiple of the first.
fn ratio([a, b]: [Option<f64>; 2]) -> String {
    match (a, b) {
        (Some(a), Some(b)) if a > 0.0 => match b / a {
            ratio @ ..10.0 => format!("{ratio:.2}"),
            ratio @ ..100.0 => format!("{ratio:.1}"),
            ratio => format!("{ratio:.0}"),
        },
        (Some(_), Some(b)) if b <= 0.0 => "1.00".to_owned(),
        _ => dash(),
    }
}

fn dash() -> String {
    "-".to_owned()
}

/// Columns and rows.
pub fn size(pair: &Pair) -> String {
    let board = pair.any().map(|side| side.seen.puzzle.board());
    board.map_or_else(dash, |it| format!("{} x {}", it.cols(), it.rows()))
}

/// The end of its source.
fn place(pair: &Pair) -> String {
    const LONGEST: usize = 20;
    let source = escape(&pair.source);
    match source.chars().count() {
        ..=LONGEST => source.into_owned(),
        length => {
            let end: String = source.chars().skip(length - LONGEST + 1).collect();
            format!("…{end}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_the_second() {
        let shown = [
            [Some(2.0), Some(1.0)],
            [Some(1.0), Some(12.34)],
            [Some(1.0), Some(345.6)],
            [Some(0.0), Some(0.0)],
            [Some(0.0), Some(1.0)],
            [None, Some(1.0)],
        ];
        assert_eq!(shown.map(ratio), ["0.50", "12.3", "346", "1.00", "-", "-"]);
    }
}
