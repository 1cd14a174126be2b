//! The machines of a run and their links.

use flowpipe_terminal::escape;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::text::{Ink, put};
use crate::machines::progress::MachineView;
use crate::machines::size;
use crate::show::report::duration;
use crate::top::history::LinkState;

/// How many rows they have.
pub(super) fn rows(machines: &[MachineView], links: &[LinkState]) -> u16 {
    let heading = usize::from(!machines.is_empty());
    u16::try_from(heading + machines.len() + links.len()).unwrap_or(u16::MAX)
}

/// Draws a line for each machine, and one for each link.
pub(super) fn draw(
    machines: &[MachineView],
    links: &[LinkState],
    ink: Ink,
    area: Rect,
    buffer: &mut Buffer,
) {
    if machines.is_empty() {
        return;
    }
    put(buffer, area, 0, 0, "machines and links", ink.heading());
    let mut row = 1;
    for machine in machines {
        let (text, style) = state(machine, ink);
        let name = escape(&machine.name);
        let column = put(buffer, area, 0, row, &format!("{name}  "), Style::new());
        put(buffer, area, column, row, &text, style);
        row += 1;
    }
    for link in links {
        let [one, other] = &link.machines;
        let names = format!("{} - {}  ", escape(one), escape(other));
        let column = put(buffer, area, 0, row, &names, Style::new());
        let (text, style) = match link.is_connected {
            true => {
                let rate = format!("{}/s", size(link.rate as u64));
                let error = link.clock_error_ns.map(i64::unsigned_abs);
                let clock = error.map(|error| format!("  clocks ± {}", duration(error)));
                (rate + &clock.unwrap_or_default(), Style::new())
            }
            false => ("no connection".to_owned(), ink.bad()),
        };
        put(buffer, area, column, row, &text, style);
        row += 1;
    }
}

fn state(machine: &MachineView, ink: Ink) -> (String, Style) {
    match (machine.state.as_str(), machine.silent_seconds) {
        ("silent", Some(seconds)) => (format!("silent for {seconds:.0} s"), ink.bad()),
        ("dead", _) => ("dead".to_owned(), ink.bad()),
        ("here", _) => ("this one".to_owned(), ink.quiet()),
        ("ended", _) => ("has ended".to_owned(), ink.quiet()),
        (state, _) => (escape(state).into_owned(), ink.good()),
    }
}
