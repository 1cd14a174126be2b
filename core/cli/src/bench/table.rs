//! Rows as text.

use comfy_table::presets::{ASCII_MARKDOWN, UTF8_BORDERS_ONLY};
use comfy_table::{CellAlignment, Table};
use flowpipe_terminal::escape;

use crate::bench::row::BenchRow;
use crate::show::report::duration;

/// For a terminal.
pub fn text(rows: &[BenchRow]) -> String {
    table(rows, UTF8_BORDERS_ONLY)
}

/// As Markdown.
pub fn markdown(rows: &[BenchRow]) -> String {
    table(rows, ASCII_MARKDOWN)
}

fn table(rows: &[BenchRow], preset: &str) -> String {
    let mut table = Table::new();
    table.load_preset(preset);
    let mut header = vec![
        "boards", "solver", "solved", "median", "p99", "worst", "call", "nodes", "ratio",
    ];
    let are_named = rows.iter().any(|row| !row.machines.is_empty());
    if are_named {
        header.push("machines");
    }
    table.set_header(header);
    for row in rows {
        let time = |us: Option<f64>| us.map_or_else(String::new, |us| duration((us * 1e3) as u64));
        let mut cells = vec![
            row.class.to_owned(),
            escape(&row.solver).into_owned(),
            solved(row),
            time(row.median_us),
            time(row.p99_us),
            time(row.worst_us),
            time(row.call_median_us),
            row.median_nodes.map_or_else(String::new, number),
            row.times_first.map_or_else(String::new, ratio),
        ];
        if are_named {
            cells.push(escape(&row.machines.join(", ")).into_owned());
        }
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

/// `12 of 12`, with the number of tried boards if the rest was skipped.
fn solved(row: &BenchRow) -> String {
    if row.unsupported == row.tried && row.tried > 0 {
        return "not supported".to_owned();
    }
    let mut text = format!("{} of {}", row.solved, row.boards);
    if row.tried < row.boards {
        text += &format!(" ({} tried)", row.tried);
    }
    if row.failed > 0 {
        text += &format!(", {} failed", row.failed);
    }
    text
}

fn number(value: f64) -> String {
    match value {
        _ if value < 1e4 => format!("{value}"),
        _ if value < 1e7 => format!("{:.0}k", value / 1e3),
        _ => format!("{:.0}M", value / 1e6),
    }
}

fn ratio(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.1}")
    } else {
        number(value.round())
    }
}
