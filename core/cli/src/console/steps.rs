//! The times of the steps between a frame's capture and the first press of the mouse.

use std::fmt::Write as _;

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{CellAlignment, Table};
use flowpipe_host::message::Message;
use flowpipe_puzzle::message::{OUTCOME, Outcome};
use flowpipe_terminal::escape;
use serde::Serialize;

use crate::quantile::quantile;
use crate::show::report::duration;

/// The times of all frames that led to a press.
pub struct Steps {
    /// The stages' names, by index.
    stages: Vec<String>,
    rows: Vec<StepRow>,
}

/// One step, over all frames.
#[derive(Debug)]
struct StepRow {
    name: String,
    /// Nanoseconds.
    times: Vec<u64>,
}

/// The statistics of one step, in nanoseconds.
#[derive(Debug, Serialize)]
pub struct Step {
    /// A stage's name, `waiting`, or `in all`.
    pub step: String,
    /// How many frames went through it.
    pub count: usize,
    /// The median.
    pub p50_ns: u64,
    /// The 95th percentile.
    pub p95_ns: u64,
    /// The maximum.
    pub max_ns: u64,
}

impl Steps {
    /// No times, for a pipeline of these stages.
    pub fn new(stages: Vec<String>) -> Self {
        Self {
            stages,
            rows: Vec::new(),
        }
    }

    /// Replaces the stages' names. Existing stages keep their indices.
    pub fn rename(&mut self, stages: &[String]) {
        self.stages = stages.to_vec();
    }

    /// Adds the times of an outcome. Other messages are ignored.
    pub fn add(&mut self, message: &Message) {
        if message.schema() != OUTCOME {
            return;
        }
        let outcome = serde_json::from_str::<Outcome>(message.json()).ok();
        let lineage = message.lineage();
        let (Some(outcome), Some(origin)) = (outcome, lineage.origin) else {
            return;
        };
        // Nothing was pressed.
        if outcome.act_ns == 0 {
            return;
        }
        let mut times: Vec<(String, i64)> = Vec::new();
        let mut add = |name: &str, time: i64| match times.iter_mut().find(|it| it.0 == name) {
            Some((_, sum)) => *sum = sum.saturating_add(time),
            None => times.push((name.to_owned(), time)),
        };
        let (mut before, mut waiting) = (origin.captured_ns, 0_i64);
        let last = lineage.hops.len().saturating_sub(1);
        for (index, hop) in lineage.hops.iter().enumerate() {
            let stage = self.stages.get(hop.stage as usize);
            let stage = stage.map_or("?", String::as_str);
            // The time of the source before the capture does not count.
            let taken = hop.taken_ns.max(before);
            waiting = waiting.saturating_add(taken.saturating_sub(before));
            let done = if index == last {
                hop.emitted_ns.saturating_sub(outcome.act_ns)
            } else {
                hop.emitted_ns
            };
            add(stage, done.saturating_sub(taken));
            before = done;
        }
        add("waiting", waiting);
        add("in all", before.saturating_sub(origin.captured_ns));
        for (name, time) in times {
            let time = u64::try_from(time).unwrap_or(0);
            match self.rows.iter_mut().find(|row| row.name == name) {
                Some(row) => row.times.push(time),
                None => self.rows.push(StepRow {
                    name,
                    times: vec![time],
                }),
            }
        }
    }

    /// The statistics, in the order of the steps.
    pub fn report(&self) -> Vec<Step> {
        let mut rows: Vec<&StepRow> = self.rows.iter().collect();
        // The stages in the order of the pipeline, then the two sums.
        rows.sort_by_key(|row| {
            let place = self.stages.iter().position(|stage| *stage == row.name);
            (place.unwrap_or(usize::MAX), row.name == "in all")
        });
        rows.into_iter().map(StepRow::step).collect()
    }

    /// The statistics as a table; empty if there was no press.
    pub fn table(&self) -> String {
        let steps = self.report();
        if steps.is_empty() {
            return String::new();
        }
        let mut table = Table::new();
        table.load_preset(UTF8_BORDERS_ONLY);
        table.set_header(["captured -> first press", "boards", "p50", "p95", "max"]);
        for step in steps {
            table.add_row([
                escape(&step.step).into_owned(),
                step.count.to_string(),
                duration(step.p50_ns),
                duration(step.p95_ns),
                duration(step.max_ns),
            ]);
        }
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let mut text = String::new();
        // Writing to a String can't fail.
        let _ = writeln!(text, "{table}");
        text
    }
}

impl StepRow {
    fn step(&self) -> Step {
        let mut times = self.times.clone();
        times.sort_unstable();
        let at = |share| quantile(&times, share).unwrap_or(0);
        Step {
            step: self.name.clone(),
            count: times.len(),
            p50_ns: at(0.5),
            p95_ns: at(0.95),
            max_ns: at(1.0),
        }
    }
}
