//! Prints by class of boards how many segments the flows' ways have, and how long it takes to find those with the
//! fewest: median, 99 % and worst by flow and by board in microseconds, corridor, width and points included,
//! in one direction.
//!
//! `cargo run --release -p flowpipe-path --example path_times`. It is the processor time of the thread, the best of
//! some runs.

#[path = "../benches/support/flows.rs"]
mod flows;

use std::hint::black_box;

use flowpipe_path::{Corridor, Inner, Minlink};
use flows::Legs;
use rustix::time::{ClockId, clock_gettime};

fn main() {
    println!(
        "{:20} {:>6} {:>6} {:>7} {:>7} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "class",
        "boards",
        "flows",
        "turns",
        "fewest",
        "better",
        "flow",
        "99 %",
        "worst",
        "board",
        "99 %",
        "worst"
    );
    for (class, boards) in flows::classes() {
        measure(&class, &boards);
    }
}

/// Processor time of this thread, in microseconds.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

fn measure(class: &str, boards: &[Legs]) {
    let mut minlink = Minlink::default();
    let (mut flows, mut whole) = (Vec::new(), Vec::new());
    let (mut turns, mut fewest, mut better) = (0, 0, 0);
    for Legs { board, legs } in boards {
        let mut sum = 0.0;
        for leg in legs {
            let corridor = Corridor::of(board, leg, Inner::default());
            turns += corridor.turns();
            let count = minlink.count(&corridor);
            let back = legs_back(board, leg);
            fewest += count;
            better += back.map_or(count, |back| count.min(minlink.count(&back)));
            let mut batch = || {
                let begin = now();
                for _ in 0..20 {
                    black_box(minlink.fewest(&Corridor::of(board, leg, Inner::default())));
                }
                (now() - begin) / 20.0
            };
            let time = (0..10).map(|_| batch()).fold(f64::MAX, f64::min);
            flows.push(time);
            sum += time;
        }
        whole.push(sum);
    }
    let at = |values: &mut [f64], share: f64| {
        values.sort_by(f64::total_cmp);
        let index = (values.len().max(1) - 1) as f64 * share;
        values.get(index as usize).copied().unwrap_or_default()
    };
    println!(
        "{class:20} {:6} {:6} {turns:7} {fewest:7} {better:7} {:8.2} {:8.2} {:8.2} {:8.1} {:8.1} {:8.1}",
        boards.len(),
        flows.len(),
        at(&mut flows, 0.5),
        at(&mut flows, 0.99),
        at(&mut flows, 1.0),
        at(&mut whole, 0.5),
        at(&mut whole, 0.99),
        at(&mut whole, 1.0),
    );
}

/// The corridor the other way, where the flow is in one piece.
fn legs_back(board: &flowpipe_puzzle::Board, leg: &flowpipe_path::Leg) -> Option<Corridor> {
    let cells: Vec<_> = leg.cells.iter().rev().copied().collect();
    match flowpipe_path::legs(board, &cells, flowpipe_path::End::BesideTerminal).as_slice() {
        [back] => Some(Corridor::of(board, back, Inner::default())),
        _ => None,
    }
}
