//! The result of a picture, as text.

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use flowpipe_puzzle::message::{BoardState, Reading, SeenBoard};
use flowpipe_puzzle::{Board, Lattice};
use flowpipe_terminal::{counted, escape};

use crate::see::picture::{PictureResult, VisionAnswer};
use crate::see::times::{CallTimes, Cost};
use crate::show::board;
use crate::show::colour::{BAD, GOOD, HEADING, paint};
use crate::show::report::duration;

/// Some lines, the last one with its line break. `None`: there is no reading.
pub fn text(file: &str, result: &PictureResult, colours: bool) -> Option<String> {
    let file = paint(file, HEADING, colours);
    let time = duration(result.times.whole().p50_ns);
    let mut text = match result.answer().ok()? {
        VisionAnswer::Messages(messages) => {
            let count = match messages.count() {
                0 => paint("no messages", BAD, colours),
                count => paint(&counted(count, "message"), GOOD, colours),
            };
            format!("{file} {count} in {time}\n{}", messages.text(colours))
        }
        VisionAnswer::Reading(Reading::Board(seen)) => {
            let state = paint(state(seen.state), GOOD, colours);
            let what = kind(seen);
            let board = board(seen, colours);
            format!("{file} ({what}) {state}, read in {time}\n{board}")
        }
        VisionAnswer::Reading(Reading::Refused {
            step,
            reason,
            confidence,
            state,
            ..
        }) => {
            let refused = paint(&format!("refused at step \"{step}\""), BAD, colours);
            let state = state.map_or_else(String::new, |state| format!(", {}", self::state(state)));
            let reason = escape(reason);
            format!("{file} {refused} after {time}: {reason}\nconfidence {confidence:.2}{state}\n")
        }
    };
    text += &table(&result.times);
    Some(text)
}

fn state(state: BoardState) -> &'static str {
    match state {
        BoardState::Empty => "empty",
        BoardState::Partial => "partly drawn",
        BoardState::Solved => "solved",
        BoardState::Moving => "moving",
    }
}

/// The size, the flows, and the special cells.
fn kind(seen: &SeenBoard) -> String {
    let board: &Board = seen.puzzle.board();
    let shape = board.description();
    let (cols, rows, flows) = (board.cols(), board.rows(), seen.puzzle.flow_count());
    let mut kind = format!("{cols} x {rows}, {}", counted(flows, "flow"));
    for (there, word) in [
        (shape.lattice == Lattice::Hex, "hexes"),
        (shape.warps, "warps"),
        (!shape.holes.is_empty(), "holes"),
        (!shape.walls.is_empty(), "walls"),
        (!shape.bridges.is_empty(), "bridges"),
    ] {
        if there {
            kind += &format!(", {word}");
        }
    }
    kind
}

fn board(seen: &SeenBoard, colours: bool) -> String {
    let mut text = board::seen(seen, &seen.drawn, colours);
    if !colours {
        text += &format!("{}\n", board::legend(seen));
    }
    let corners = seen.geometry.corners;
    let corners = corners.map(|[x, y]| format!("({x:.1}, {y:.1})"));
    text += &format!(
        "corners {}, confidence {:.2}\n",
        corners.join(" "),
        seen.confidence
    );
    text
}

/// The time of each step, if the plugin measures them, and of the whole call.
fn table(times: &CallTimes) -> String {
    let steps = times.steps();
    if steps.is_empty() && times.calls() < 2 {
        return String::new();
    }
    let several = times.calls() > 1;
    let mut table = Table::new();
    table.load_preset(UTF8_BORDERS_ONLY);
    if several {
        table.set_header([
            "step".to_owned(),
            "p50".to_owned(),
            "p95".to_owned(),
            format!("of {} calls", times.calls()),
        ]);
    } else {
        table.set_header(["step", "time", "share"]);
    }
    let whole = times.whole();
    for cost in steps.iter().chain([&whole]) {
        table.add_row(row(cost, &whole, several));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

fn row(cost: &Cost<'_>, whole: &Cost<'_>, several: bool) -> Vec<String> {
    let share = 100.0 * cost.p50_ns as f64 / whole.p50_ns.max(1) as f64;
    let mut row = vec![escape(cost.step).into_owned(), duration(cost.p50_ns)];
    if several {
        row.push(duration(cost.p95_ns));
    }
    row.push(format!("{share:.1} %"));
    row
}
