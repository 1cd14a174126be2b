//! The report of a run, as tables.

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use flowpipe_engine::report::{Distribution, Report};
use flowpipe_terminal::{counted, escape, escape_indented};

use crate::line_budget::shortened;
use crate::show::colour::{BAD, HEADING, QUIET, paint};

/// The mark that actuators set at the first press.
const ACTION: &str = "action";

/// The tables at the end of a run. `drives_mouse`: an action is expected, so that its absence is reported too.
pub fn tables(report: &Report, drives_mouse: bool, colours: bool) -> String {
    let has_line = drives_mouse || report.marks.contains_key(ACTION);
    let action = has_line.then(|| action(report, colours));
    text(report, action.as_deref(), true, colours)
}

/// The tables at the end of a replay. Its frames were captured during the recording, so that the time from there to an
/// action of the replay has no meaning. It does not know which contestants sat out: a recording has no calls of them.
pub fn replay_tables(report: &Report, colours: bool) -> String {
    text(report, None, false, colours)
}

fn text(report: &Report, action: Option<&str>, sat_out_is_known: bool, colours: bool) -> String {
    let mut text = stages(report);
    for race in report
        .stages
        .iter()
        .filter(|stage| stage.contestants.len() > 1)
    {
        let won = |one: &flowpipe_engine::report::ContestantReport| {
            let sat_out = match sat_out_is_known {
                true => format!(", sat out {}", one.sat_out),
                false => String::new(),
            };
            let plugin = escape(&one.plugin);
            format!("{plugin} won {}, failed {}{sat_out}", one.won, one.failed)
        };
        let all: Vec<_> = race.contestants.iter().map(won).collect();
        text += &format!("race in {}: {}\n", escape(&race.name), all.join("; "));
    }
    for stage in report.stages.iter().filter(|stage| stage.workers > 1) {
        text += &workers(&stage.name, stage.workers, stage.machine.as_deref());
    }
    for stage in report.stages.iter().filter(|stage| stage.restarted > 0) {
        text += &format!("restarts of {}: {}\n", escape(&stage.name), stage.restarted);
    }
    for edge in report
        .edges
        .iter()
        .filter(|edge| edge.dropped + edge.discarded > 0)
    {
        text += &format!(
            "queue {} -> {}: {} dropped, {} left over at the end\n",
            escape(&edge.from),
            escape(&edge.to),
            edge.dropped,
            edge.discarded
        );
    }
    if let Some(action) = action {
        text += &format!("\n{action}\n");
    }
    if let Some(failure) = &report.failure {
        text += &format!(
            "{} {}\n",
            paint("failed:", BAD, colours),
            escape_indented(&shortened(&failure.to_string()))
        );
    }
    text
}

/// The workers of a stage, as a line. `machine`: its machine, or several with commas between. A machine that has workers may
/// have died, and they are counted all the same.
fn workers(stage: &str, count: usize, machine: Option<&str>) -> String {
    let configured = match machine.is_some_and(|it| it.contains(',')) {
        true => " configured",
        false => "",
    };
    format!("workers of {}: {count}{configured}\n", escape(stage))
}

fn stages(report: &Report) -> String {
    let mut table = Table::new();
    table.load_preset(UTF8_BORDERS_ONLY);
    let has_machines = report.stages.iter().any(|stage| stage.machine.is_some());
    let mut names = vec![
        "stage", "in", "out", "dropped", "failed", "p50", "p95", "max", "share",
    ];
    if has_machines {
        names.insert(1, "machine");
    }
    table.set_header(names);
    for stage in &report.stages {
        let time = &stage.time;
        let mut row = vec![
            escape(&stage.name).into_owned(),
            stage.received.to_string(),
            stage.emitted.to_string(),
            stage.dropped.to_string(),
            (stage.failed + stage.timed_out).to_string(),
            duration(time.p50_ns),
            duration(time.p95_ns),
            duration(time.max_ns),
            format!("{:.1} %", stage.share * 100.0),
        ];
        if has_machines {
            let machine = stage.machine.as_deref().unwrap_or_default();
            row.insert(1, escape(machine).into_owned());
        }
        table.add_row(row);
    }
    let texts = if has_machines { 2 } else { 1 };
    for column in table.column_iter_mut().skip(texts) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n")
}

/// The time from capture to the first mouse action.
fn action(report: &Report, colours: bool) -> String {
    let name = paint("frame captured -> first mouse action", HEADING, colours);
    match report.marks.get(ACTION) {
        Some(mark) => format!("{name}: {}", percentiles(&mark.time)),
        None => format!("{name}: {}", paint("no action", QUIET, colours)),
    }
}

fn percentiles(time: &Distribution) -> String {
    let [p50, p95, max] = [time.p50_ns, time.p95_ns, time.max_ns].map(duration);
    format!(
        "p50 {p50}, p95 {p95}, max {max} ({})",
        counted(time.count, "frame")
    )
}

/// A duration with three digits and the unit that fits.
pub fn duration(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    let (value, unit) = match nanoseconds {
        0 => return "-".to_owned(),
        1..1_000 => return format!("{nanoseconds} ns"),
        1_000..1_000_000 => (value / 1e3, "µs"),
        1_000_000..1_000_000_000 => (value / 1e6, "ms"),
        _ => (value / 1e9, "s"),
    };
    match value {
        ..10.0 => format!("{value:.2} {unit}"),
        ..100.0 => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_on_several_machines_are_those_that_are_configured() {
        let line = |machine| workers("slow\u{1b}", 4, machine);
        assert_eq!(line(None), "workers of slow\\u001b: 4\n");
        assert_eq!(line(Some("rack1")), "workers of slow\\u001b: 4\n");
        assert_eq!(
            line(Some("rack1, rack2")),
            "workers of slow\\u001b: 4 configured\n"
        );
    }

    #[test]
    fn durations_have_three_digits() {
        let shown = [0, 999, 1_234, 56_789, 456_789, 1_234_567, 12_345_678_901].map(duration);
        assert_eq!(
            shown,
            [
                "-", "999 ns", "1.23 µs", "56.8 µs", "457 µs", "1.23 ms", "12.3 s"
            ]
        );
    }
}
