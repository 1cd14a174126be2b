//! Prints how many segments each way of planning needs and what that takes, by class of boards, as a
//! Markdown table; then how long planning takes.
//!
//! `cargo run --release -p flowpipe-path --example table`: the real levels where they are there, else boards
//! made for it.
//!
//! Each flow is drawn from the end that needs fewer segments, and all ways stop beside the last terminal.
//! The time of dragging is 18 ms for each segment: so long the pointer stays at its end, for the game to
//! see it there (see `Profile::Segments`). Times of planning are processor time of one thread, each the
//! best of some runs.

#[path = "../tests/path/support/boards.rs"]
mod boards;

use std::collections::BTreeMap;

use flowpipe_generate::Kind;
use flowpipe_path::corners::corners;
use flowpipe_path::order::{Choice, Ends, Visit, order, travel as travel_of};
use flowpipe_path::{Config, Corridor, End, Method, Minlink, legs, plan};
use flowpipe_puzzle::message::{Profile, Stroke};
use rustix::time::{ClockId, clock_gettime};

use boards::Solved;

/// Milliseconds that a segment takes.
const SEGMENT_MS: f64 = 18.0;
/// Runs of which the best counts.
const RUNS: usize = 7;

fn main() {
    let boards = boards::real().unwrap_or_else(|| {
        println!("no real levels: boards made for this instead\n");
        made()
    });
    let mut classes: BTreeMap<(usize, &str), Vec<&Solved>> = BTreeMap::new();
    for board in &boards {
        // Sizes in their order, kinds behind them.
        let sized = board
            .class
            .starts_with(|first: char| first.is_ascii_digit());
        let cells = if sized {
            board.puzzle.board().len()
        } else {
            usize::MAX
        };
        let class = (cells, board.class.as_str());
        classes.entry(class).or_default().push(board);
    }
    segments(&classes);
    one_way(&boards);
    times(&boards);
    println!();
    orders();
}

fn is_plain(board: &Solved) -> bool {
    board.puzzle.board().is_plain_rectangle()
}

fn made() -> Vec<Solved> {
    let mut boards = Vec::new();
    for seed in 0..30 {
        let plain = [(5, 5), (7, 7), (9, 9), (12, 12), (15, 18)];
        boards.extend(plain.map(|(cols, rows)| boards::made(cols, rows, &[], seed)));
        boards.extend(Kind::ALL.map(|kind| boards::made(8, 8, &[kind], seed)));
    }
    boards.into_iter().flatten().collect()
}

fn strokes(board: &Solved, method: Method, config: &Config) -> Vec<Stroke> {
    let flows = &board.solution.flows;
    plan(&board.puzzle, flows, method, config, Profile::Segments)
}

fn count(strokes: &[Stroke]) -> usize {
    strokes.iter().map(|stroke| stroke.points.len() - 1).sum()
}

fn segments(classes: &BTreeMap<(usize, &str), Vec<&Solved>>) {
    println!(
        "| boards | | segments a board: cells | turns | corners | minlink | ms a board: cells | turns | corners | minlink |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut totals = ([0; 4], 0);
    for ((_, class), boards) in classes {
        let sum = |method| -> usize {
            let counts = boards
                .iter()
                .map(|board| count(&strokes(board, method, &Config::default())));
            counts.sum()
        };
        let sums = Method::ALL.map(sum);
        row(class, boards.len(), sums);
        for (total, sum) in totals.0.iter_mut().zip(sums) {
            *total += sum;
        }
        totals.1 += boards.len();
    }
    row("all", totals.1, totals.0);
    println!("\nsegments in all: {:?}", totals.0);
    for order in [false, true] {
        let config = Config {
            order,
            ..Config::default()
        };
        let all = classes.values().flatten();
        let far: f64 = all
            .map(|board| travel(&strokes(board, Method::FewestSegments, &config)))
            .sum();
        let cells = far / totals.1 as f64;
        println!(
            "cells a board that the pointer goes without drawing, ordered {order}: {cells:.1}"
        );
    }
}

fn travel(strokes: &[Stroke]) -> f64 {
    let over = |pair: &[Stroke]| match (pair[0].points.last(), pair[1].points.first()) {
        (Some(from), Some(to)) => f64::hypot(to[0] - from[0], to[1] - from[1]),
        _ => 0.0,
    };
    strokes.windows(2).map(over).sum()
}

fn row(class: &str, boards: usize, sums: [usize; 4]) {
    let each = sums.map(|sum| sum as f64 / boards as f64);
    print!("| {class} | {boards} |");
    for segments in each {
        print!(" {segments:.1} |");
    }
    for segments in each {
        print!(" {:.0} |", segments * SEGMENT_MS);
    }
    println!();
}

/// On plain rectangles, each flow from its given end and from the better one.
fn one_way(boards: &[Solved]) {
    let (mut sums, mut flows) = ([[0; 2]; 4], 0);
    for board in boards.iter().filter(|board| is_plain(board)) {
        let lattice = board.puzzle.board();
        for flow in &board.solution.flows {
            let mut counts = [[0; 2]; 4];
            for back in [0, 1] {
                let mut cells = flow.cells.clone();
                if back == 1 {
                    cells.reverse();
                }
                for leg in legs(lattice, &cells, End::BesideTerminal) {
                    let corridor = Corridor::of(lattice, &leg, Config::default().inner);
                    counts[0][back] += leg.dragged().len() - 1;
                    counts[1][back] += corridor.turns();
                    counts[2][back] += corners(&corridor).len() - 1;
                    counts[3][back] += Minlink::default().count(&corridor);
                }
            }
            flows += 1;
            for (sum, [given, turned]) in sums.iter_mut().zip(counts) {
                sum[0] += given;
                sum[1] += given.min(turned);
            }
        }
    }
    println!("\non plain rectangles, {flows} flows, from the given end and from the better one:");
    for (method, [given, better]) in Method::ALL.iter().zip(sums) {
        println!("  {method:?}: {given} {better}");
    }
}

fn times(boards: &[Solved]) {
    println!("\n| microseconds | p50 | p95 | p99 | max |\n|---|--:|--:|--:|--:|");
    let mut minlink = Minlink::default();
    let (mut flows_count, mut flows_way, mut flows_corners) = (Vec::new(), Vec::new(), Vec::new());
    for board in boards {
        let lattice = board.puzzle.board();
        for flow in &board.solution.flows {
            let legs = legs(lattice, &flow.cells, End::BesideTerminal);
            let each = |mut work: Box<dyn FnMut(&Corridor) + '_>| {
                best(|| {
                    for leg in &legs {
                        work(&Corridor::of(lattice, leg, Config::default().inner));
                    }
                })
            };
            flows_count.push(each(Box::new(|corridor| {
                std::hint::black_box(minlink.count(corridor));
            })));
            flows_way.push(each(Box::new(|corridor| {
                std::hint::black_box(minlink.fewest(corridor));
            })));
            flows_corners.push(each(Box::new(|corridor| {
                std::hint::black_box(corners(corridor));
            })));
        }
    }
    quantiles("a flow's fewest segments, counted", flows_count);
    quantiles("a flow's way in fewest segments", flows_way);
    quantiles("a flow's way by corners", flows_corners);
    for order in [false, true] {
        let config = Config {
            order,
            ..Config::default()
        };
        for method in Method::ALL {
            let each = boards.iter().map(|board| {
                best(|| {
                    std::hint::black_box(strokes(board, method, &config));
                })
            });
            let ordered = if order { ", ordered" } else { "" };
            quantiles(
                &format!("a whole board, {method:?}{ordered}"),
                each.collect(),
            );
        }
    }
}

/// The order alone, of more flows than real boards have.
fn orders() {
    let mut rng = fastrand::Rng::with_seed(1);
    for count in [16, 64, 700] {
        let mut point = || [0, 1].map(|_| (rng.f64() * 40.0).floor() + 0.5);
        let mut flow = || {
            let (press, release) = (point(), point());
            let ends = |press, release| Ends {
                press,
                release,
                between: 0.0,
            };
            Choice {
                given: ends(press, release),
                turned: Some(ends(release, press)),
            }
        };
        let flows: Vec<Choice> = (0..count).map(|_| flow()).collect();
        let took = best(|| {
            std::hint::black_box(order(&flows));
        });
        let given: Vec<Visit> = (0..count).map(Visit::as_given).collect();
        let (before, after) = (travel_of(&flows, &given), travel_of(&flows, &order(&flows)));
        println!(
            "order of {count} random flows on 40 x 40: {took:.0} microseconds, {before:.0} cells to {after:.0}"
        );
    }
}

/// Microseconds of the thread's processor time, of the best of some runs.
fn best(mut work: impl FnMut()) -> f64 {
    let mut run = |times: u32| {
        let begin = now();
        for _ in 0..times {
            work();
        }
        (now() - begin) / f64::from(times)
    };
    let first = run(1);
    let times = (100.0 / first).clamp(1.0, 100.0) as u32;
    (0..RUNS).map(|_| run(times)).fold(f64::MAX, f64::min)
}

/// Processor time of this thread, in microseconds.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

fn quantiles(what: &str, mut values: Vec<f64>) {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
    println!(
        "| {what} | {:.1} | {:.1} | {:.1} | {:.1} |",
        at(0.5),
        at(0.95),
        at(0.99),
        at(1.0)
    );
}
