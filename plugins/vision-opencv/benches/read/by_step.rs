//! What each step costs, in processor time of the thread: p50 and p95, as tables in Markdown.

use std::hint::black_box;

use flowpipe_plugin::puzzle::message::StepTime;
use rustix::time::{ClockId, clock_gettime};

use crate::config::Config;
use crate::games::{Frame, Game, MOVE, games, real};
use crate::state;
use crate::steps::Steps;
use crate::track::reader::Reader;

/// Reads each board; the first ones are not counted.
const LOOKS: usize = 300;
const UNCOUNTED: usize = 20;
/// One in this number of real screenshots is read.
const EVERY: usize = 6;

/// What looks at one kind of picture cost, by step, in milliseconds.
struct Costs {
    label: String,
    /// The steps in their order, and the cost of each in the looks that took it.
    steps: Vec<(String, Vec<f64>)>,
    all: Vec<f64>,
}

/// Prints what looks at whole pictures cost, and looks where the board is known and a move was made.
pub fn tables() {
    let games = games();
    let real = real(EVERY);
    let mut full: Vec<Costs> = Vec::new();
    if !real.is_empty() {
        full.push(measure("real, 1920x1080".into(), &real, Reader::reset));
    }
    for game in &games {
        full.push(measure(game.label(), &[game.frame(0)], Reader::reset));
    }
    print("whole picture", &full);
    let in_place = |game: &Game| {
        let frames = [0, MOVE].map(|more| game.frame(more));
        measure(game.label(), &frames, |_| {})
    };
    let costs: Vec<Costs> = games.iter().map(in_place).collect();
    print("in place, a move between", &costs);
}

/// Reads pictures, alternating.
fn measure(label: String, frames: &[Frame], before: impl Fn(&mut Reader)) -> Costs {
    let config = Config {
        timed: true,
        ..Config::default()
    };
    let mut reader = Reader::with_steps(config, Steps::timed(now));
    let mut costs = Costs {
        label,
        steps: Vec::new(),
        all: Vec::new(),
    };
    for look in 0..LOOKS {
        before(&mut reader);
        let began = now();
        black_box(state(&mut reader, &frames[look % frames.len()]));
        let took = now() - began;
        let steps = reader.steps().take();
        if look >= UNCOUNTED {
            costs.add(steps, took as f64 / 1e6);
        }
    }
    costs
}

impl Costs {
    fn add(&mut self, steps: Vec<StepTime>, all: f64) {
        self.all.push(all);
        for StepTime { step, ms, .. } in steps {
            match self.steps.iter_mut().find(|(name, _)| *name == step) {
                Some((_, times)) => times.push(ms),
                None => self.steps.push((step, vec![ms])),
            }
        }
    }

    fn of(&self, step: &str) -> Option<&[f64]> {
        let mut steps = self.steps.iter();
        let (_, times) = steps.find(|(name, _)| name == step)?;
        Some(times)
    }
}

/// One row a step, one column a kind of picture.
fn print(title: &str, costs: &[Costs]) {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in costs.iter().flat_map(|costs| &costs.steps) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let row = |name: &str, cell: &dyn Fn(&Costs) -> String| {
        let cells: Vec<String> = costs.iter().map(cell).collect();
        println!("| {name} | {} |", cells.join(" | "));
    };
    println!();
    row(&format!("ms, p50 / p95, {title}"), &|costs| {
        costs.label.clone()
    });
    println!("|---|{}", "--:|".repeat(costs.len()));
    for name in names {
        row(name, &|costs| {
            costs.of(name).map_or_else(String::new, percentiles)
        });
    }
    row("**in all**", &|costs| percentiles(&costs.all));
}

/// The middle one, and what 95 in 100 do not exceed.
fn percentiles(times: &[f64]) -> String {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    format!("{:.3} / {:.3}", at(0.5), at(0.95))
}

/// Nanoseconds that this thread has had a processor.
fn now() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
