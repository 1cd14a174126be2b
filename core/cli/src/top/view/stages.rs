//! The table of stages.

use flowpipe_terminal::escape;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::text::{Ink, put, rate};
use crate::show::report::duration;
use crate::top::history::StageState;

/// The width of all columns that are always shown.
pub(super) const FULL: u16 = 74;
/// The width of the name, the rate, the median and the queue.
pub(super) const LEAST: u16 = 40;

/// The maximum width of a stage's name.
const NAME: usize = 16;
/// How many samples of a queue are drawn.
const BARS: usize = 8;
/// How full a queue was.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Name,
    Machine,
    Rate,
    Busy,
    Median,
    Most,
    Queue,
    Dropped,
    Failed,
    Workers,
    Restarts,
}

/// In the order of importance, with their headings and widths. The last three are shown if they have something to show.
const COLUMNS: [(Column, &str, u16); 11] = [
    (Column::Name, "stage", 0),
    (Column::Rate, "/s", 6),
    (Column::Median, "p50", 8),
    (Column::Queue, "queue", 15),
    (Column::Dropped, "dropped", 8),
    (Column::Busy, "busy", 6),
    (Column::Most, "p95", 8),
    (Column::Failed, "failed", 7),
    (Column::Machine, "machine", 9),
    (Column::Workers, "workers", 8),
    (Column::Restarts, "restarts", 9),
];
/// In the order from left to right.
const ORDER: [Column; 11] = [
    Column::Name,
    Column::Machine,
    Column::Rate,
    Column::Busy,
    Column::Workers,
    Column::Median,
    Column::Most,
    Column::Queue,
    Column::Dropped,
    Column::Failed,
    Column::Restarts,
];

/// Draws the table with those columns that have room.
pub(super) fn draw(stages: &[StageState], ink: Ink, area: Rect, buffer: &mut Buffer) {
    let name_length = |stage: &StageState| escape(&stage.name).chars().count();
    let longest = stages.iter().map(name_length).max();
    let name = longest.unwrap_or(0).clamp("stage".len(), NAME) as u16;
    let mut left = area.width;
    let restarts = stages.iter().any(|stage| stage.restarted > 0);
    let machine_length = |stage: &StageState| {
        let name = stage.machine.as_deref()?;
        Some(escape(name).chars().count())
    };
    let machines = stages.iter().filter_map(machine_length).max();
    let machine = machines.map_or(0, |longest| longest.min(NAME) as u16 + 1);
    let workers = stages.iter().any(|stage| stage.workers > 1);
    let chosen: Vec<_> = COLUMNS
        .iter()
        .filter(|it| match it.0 {
            Column::Machine => machines.is_some(),
            Column::Workers => workers,
            Column::Restarts => restarts,
            _ => true,
        })
        .map(|&(column, heading, width)| match column {
            Column::Name => (column, heading, width.max(name)),
            Column::Machine => (column, heading, width.max(machine)),
            _ => (column, heading, width),
        })
        // If a column does not fit, neither do those after it.
        .map_while(|column| {
            left = left.checked_sub(column.2)?;
            Some(column)
        })
        .collect();
    let mut x = 0;
    for column in ORDER {
        let Some(&(column, heading, width)) = chosen.iter().find(|it| it.0 == column) else {
            continue;
        };
        align(
            buffer,
            area,
            (x, 0),
            (column, width),
            (heading, ink.heading()),
        );
        for (row, stage) in (1..).zip(stages) {
            let (text, style) = cell(column, stage, ink);
            align(buffer, area, (x, row), (column, width), (&text, style));
        }
        x += width;
    }
}

/// Writes names at the left of their column, everything else at the right.
fn align(
    buffer: &mut Buffer,
    area: Rect,
    (x, row): (u16, u16),
    (column, width): (Column, u16),
    (text, style): (&str, Style),
) {
    let room = usize::from(width);
    let text: String = text.chars().take(room).collect();
    let text = match column {
        Column::Name => text,
        _ => format!("{text:>room$}"),
    };
    put(buffer, area, x, row, &text, style);
}

fn cell(column: Column, stage: &StageState, ink: Ink) -> (String, Style) {
    let plain = Style::new();
    match column {
        Column::Name => (escape(&stage.name).into_owned(), plain),
        Column::Machine => {
            let name = escape(stage.machine.as_deref().unwrap_or_default());
            let style = if stage.is_stale { ink.bad() } else { plain };
            (name.chars().take(NAME).collect(), style)
        }
        Column::Rate => (rate(stage.rate), plain),
        Column::Busy => (
            format!("{:.0} %", stage.busy * 100.0),
            ink.share(stage.busy),
        ),
        Column::Workers => (stage.workers.to_string(), plain),
        Column::Median => (duration(stage.time.p50_ns), plain),
        Column::Most => (duration(stage.time.p95_ns), plain),
        Column::Queue if stage.capacity == 0 => ("-".to_owned(), ink.quiet()),
        Column::Queue => {
            let last = stage.fills.len().saturating_sub(BARS);
            let bars: String = stage.fills[last..].iter().map(|&fill| bar(fill)).collect();
            let share = stage.queued as f64 / stage.capacity as f64;
            let count = format!("{}/{}", stage.queued, stage.capacity);
            (format!("{bars} {count:>5}"), ink.share(share))
        }
        Column::Dropped => count(stage.dropped, plain, ink),
        Column::Failed => count(stage.failed, ink.bad(), ink),
        Column::Restarts => count(stage.restarted, ink.bad(), ink),
    }
}

fn count(count: u64, style: Style, ink: Ink) -> (String, Style) {
    match count {
        0 => ("0".to_owned(), ink.quiet()),
        count => (count.to_string(), style),
    }
}

/// A bar for a fill from 0 to 1. Any waiting message is visible.
fn bar(fill: f64) -> char {
    let steps = LEVELS.len() - 1;
    LEVELS[((fill * steps as f64).ceil() as usize).min(steps)]
}
