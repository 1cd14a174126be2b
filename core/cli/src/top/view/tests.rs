//! Views of a run in terminals of several sizes.

use flowpipe_generate::Generator;
use flowpipe_puzzle::message::{
    FrameNote, Outcome, Profile, Reading, SeenBoard, Sighting, Stroke, StrokeOutcome, Strokes,
};
use flowpipe_puzzle::{Board as Cells, Flow, Solution};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;

use super::*;
use crate::machines::progress::{LinkView, MachineView};
use crate::metrics::{MetricRow, MetricValue, Note};
use crate::tally::Tally;
use crate::top::history::tests::{counts, hello};
use crate::top::protocol::{BoardView, Line, RunEnd};
use crate::visibility::Visibility;
use flowpipe_message::Tone;

/// A board with its solution, of which the first flows are drawn, and strokes that draw it.
fn board(rows: usize, cols: usize, flows: usize, standing: usize) -> BoardView {
    let cells = Cells::rectangle(rows, cols).unwrap();
    let made = Generator::new().on_board(&cells, flows..=flows, 1).unwrap();
    let Solution { flows } = made.solution;
    let mut seen = SeenBoard::untouched(made.puzzle, 64.0);
    seen.drawn = flows[..standing].to_vec();
    let frame = FrameNote::of("pictures/of/a/long/name/phone-5x5-01.png");
    let sighting = Sighting::new(frame.clone(), Reading::Board(Box::new(seen.clone())));
    let stroke = |flow: &Flow| {
        // A zigzag: each step is a segment.
        let points = (0..flow.cells.len().min(4)).map(|at| [at as f64, (at % 2) as f64]);
        // As planners do where the game needs no last cell.
        let cells = flow.cells[..flow.cells.len() - 1].to_vec();
        Stroke::new(flow.colour, cells, points.collect())
    };
    BoardView {
        source: frame.source,
        seen: Some(seen),
        solver: Some("solver-search".to_owned()),
        strokes: Some(
            Strokes::new(
                "planner-minlink",
                flows.iter().map(stroke).collect(),
                Solution {
                    flows: flows.clone(),
                },
                sighting,
            )
            .with_profile(Profile::Events),
        ),
        flows,
        ..BoardView::default()
    }
}

/// A run that has gone on for some seconds.
fn history(board: Option<BoardView>) -> RunHistory {
    let mut history = RunHistory::new(hello(&["screen", "vision"]));
    for tick in 0..=123 {
        history.add(Line::Counts(Box::new(counts(f64::from(tick) / 10.0))));
    }
    if let Some(board) = board {
        history.add(Line::Board(Box::new(board)));
    }
    history
}

fn drawn(
    history: &RunHistory,
    colours: Colours,
    (width, height): (u16, u16),
) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| draw(history, 1, colours, frame.buffer_mut()))
        .unwrap();
    terminal
}

fn snapshot(name: &str, history: &RunHistory, colours: Colours, size: (u16, u16)) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(true);
    let terminal = drawn(history, colours, size);
    settings.bind(|| insta::assert_snapshot!(name, terminal.backend()));
}

#[test]
fn terminals_of_all_sizes() {
    let small = history(Some(board(5, 5, 5, 2)));
    snapshot("wide", &small, Colours::All, (120, 24));
    snapshot("usual", &small, Colours::All, (80, 24));
    snapshot("narrow", &small, Colours::All, (44, 24));
    snapshot("low", &small, Colours::All, (80, 12));
    let large = history(Some(board(18, 15, 16, 5)));
    snapshot("large", &large, Colours::All, (80, 24));
    snapshot("nothing_yet", &history(None), Colours::All, (80, 12));
    for size in [(1, 1), (12, 3), (20, 5), (300, 4), (13, 90)] {
        drawn(&large, Colours::All, size);
    }
}

#[test]
fn restarts_are_shown_if_there_were_any() {
    let mut history = history(None);
    let mut counts = counts(12.4);
    let stage = &mut counts.progress.stages[1];
    (stage.failed, stage.restarted) = (12, 3);
    history.add(Line::Counts(Box::new(counts)));
    snapshot("restarts", &history, Colours::All, (80, 12));
}

fn link(machines: [&str; 2], is_connected: bool) -> LinkView {
    LinkView {
        machines: machines.map(str::to_owned),
        is_connected,
        sent_bytes: 5_000,
        received_bytes: 1_000,
        clock_error_ns: Some(35_000),
    }
}

#[test]
fn the_machine_is_shown_if_there_are_several() {
    let mut history = history(None);
    let stages = history.hello.stages.iter_mut();
    for (stage, machine) in stages.zip(["desk", "rack-in-the-cellar"]) {
        stage.machine = Some(machine.to_owned());
    }
    let mut last = counts(12.4);
    let machine = |name: &str, state: &str| MachineView {
        name: name.to_owned(),
        state: state.to_owned(),
        silent_seconds: (state == "silent").then_some(4.2),
    };
    last.machines = vec![
        machine("desk", "here"),
        machine("rack-in-the-cellar", "silent"),
        machine("third", "dead"),
        machine("fourth", "active"),
    ];
    last.links = vec![
        link(["desk", "rack-in-the-cellar"], true),
        link(["desk", "third"], false),
    ];
    history.add(Line::Counts(Box::new(last)));
    let text = drawn(&history, Colours::None, (100, 24))
        .backend()
        .to_string();
    let row = |stage: &str| {
        text.lines()
            .find(|row| row.contains(stage))
            .unwrap()
            .to_owned()
    };
    assert!(row("queue").contains(" machine "), "{text}");
    assert!(row("screen").contains(" desk "), "{text}");
    assert!(row("vision").contains(" rack-in-the-cell "), "{text}");
    for line in [
        "desk  this one",
        "rack-in-the-cellar  silent for 4 s",
        "third  dead",
        "fourth  active",
        "desk - rack-in-the-cellar  0 B/s  clocks ± 35.0 µs",
        "desk - third  no connection",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let mut later = counts(13.4);
    later.links = vec![link(["desk", "rack-in-the-cellar"], true)];
    later.links[0].sent_bytes += 3_000_000;
    let mut since = RunHistory::new(hello(&["screen", "vision"]));
    let mut first = counts(12.4);
    first.links = vec![link(["desk", "rack-in-the-cellar"], true)];
    since.add(Line::Counts(Box::new(first)));
    since.add(Line::Counts(Box::new(later)));
    assert!((since.links()[0].rate - 3e6).abs() < 1.0);
    assert!(history.stages()[1].is_stale && !history.stages()[0].is_stale);
}

#[test]
fn workers_are_shown_if_a_stage_has_several() {
    let mut history = history(None);
    let mut counts = counts(12.4);
    counts.progress.stages[1].workers = 4;
    history.add(Line::Counts(Box::new(counts)));
    snapshot("workers", &history, Colours::All, (90, 12));
}

#[test]
fn letters_distinguish_flows_without_colours() {
    let history = history(Some(board(5, 5, 5, 2)));
    snapshot("without_colours", &history, Colours::None, (80, 24));
    let coloured = |colours| {
        let terminal = drawn(&history, colours, (80, 24));
        let cells = &terminal.backend().buffer().content;
        cells
            .iter()
            .filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
            .count()
    };
    assert_eq!(coloured(Colours::None), 0);
    assert!(coloured(Colours::All) > 30);
    let terminal = drawn(&history, Colours::All, (80, 24));
    let red = Color::Rgb(255, 0, 0);
    let cells = &terminal.backend().buffer().content;
    assert!(
        cells
            .iter()
            .any(|cell| cell.fg == red && cell.symbol() == "●")
    );
}

#[test]
fn outcomes_of_strokes_and_runs() {
    let mut played = board(5, 5, 5, 0);
    let accepted = |index: usize| StrokeOutcome::new(index as u16, Some(index != 3));
    played.outcome = Some(
        Outcome::new(
            "actuator-simulated",
            FrameNote::of("a"),
            (0..5).map(accepted).collect(),
        )
        .with_solved(false)
        .with_drawn(played.flows[..3].to_vec())
        .with_act_ns(1),
    );
    played.refused = Some(("find board".to_owned(), "there is no board".to_owned()));
    let mut history = history(Some(played));
    snapshot("played", &history, Colours::All, (80, 24));
    let mut next = board(6, 6, 6, 0);
    next.strokes = history.board.take().and_then(|board| board.strokes);
    next.flows.clear();
    next.solver = None;
    history.add(Line::Board(Box::new(next)));
    history.add(Line::Over(RunEnd {
        how: "stopped".to_owned(),
    }));
    snapshot("next_and_over", &history, Colours::All, (80, 24));
}

#[test]
fn of_several_machines_the_counts_are_those_of_one() {
    let mut unsolved = board(5, 5, 5, 0);
    unsolved.flows.clear();
    unsolved.solver = None;
    let mut history = history(Some(unsolved));
    let text = |history: &RunHistory| {
        let drawn = drawn(history, Colours::None, (100, 24));
        drawn.backend().to_string()
    };
    let alone = text(&history);
    assert!(alone.contains("not solved so far"), "{alone}");
    assert!(!alone.contains("on this machine"), "{alone}");
    history.hello.machine = Some("desk".to_owned());
    let with_solver = text(&history);
    assert!(with_solver.contains("not solved so far"), "{with_solver}");
    let counted = "on this machine: 0 boards read, 0 solved, ";
    assert!(with_solver.contains(counted), "{with_solver}");
    let mut last = counts(12.4);
    last.without_solver = true;
    history.add(Line::Counts(Box::new(last)));
    let elsewhere = text(&history);
    assert!(!elsewhere.contains("not solved"), "{elsewhere}");
    assert!(elsewhere.contains("5 x 5, 5 flows"), "{elsewhere}");
}

/// Counts of a pipeline that knows no boards, with metrics.
fn foreign() -> Counts {
    let mut it = counts(12.4);
    let names = vec!["screen".to_owned(), "vision".to_owned()];
    it.boards = Tally::new(
        &Visibility {
            names,
            is_shown: Vec::new(),
            has_referee: false,
            has_boards: false,
            has_solver: false,
            wanted_boards: None,
            writes_stdout: false,
        },
        false,
    );
    let row = |name: &str, unit: Option<&str>, value| MetricRow {
        stage: "vision".to_owned(),
        name: name.to_owned(),
        unit: unit.map(str::to_owned),
        value,
    };
    it.metrics = vec![
        row("fields won", None, MetricValue::Counter(12)),
        row("mines left", None, MetricValue::Gauge(4.0)),
        row("time to read", Some("ms"), MetricValue::Gauge(1.25)),
    ];
    let note = |text: &str, tone| Note {
        stage: "vision".to_owned(),
        text: text.to_owned(),
        tone,
    };
    it.notes = vec![
        note("a field of 9 x 9", Tone::Plain),
        note("it is won", Tone::Good),
        note("it is lost\u{1b}[2J", Tone::Bad),
    ];
    it
}

#[test]
fn a_run_without_boards_shows_metrics() {
    let mut history = history(None);
    history.add(Line::Counts(Box::new(foreign())));
    snapshot("metrics", &history, Colours::All, (80, 14));
    snapshot("metrics_wide", &history, Colours::All, (130, 10));
    for size in [(1, 1), (12, 3), (20, 6), (80, 7)] {
        drawn(&history, Colours::All, size);
    }
    let mut few = foreign();
    (few.metrics, few.notes) = (Vec::new(), Vec::new());
    history.add(Line::Counts(Box::new(few)));
    snapshot("no_metrics", &history, Colours::All, (80, 8));
}

#[test]
fn metrics_of_a_run_with_boards_are_below_the_strokes() {
    let mut history = history(Some(board(5, 5, 5, 2)));
    let mut counts = counts(12.4);
    let Counts { metrics, notes, .. } = foreign();
    (counts.metrics, counts.notes) = (metrics, notes);
    history.add(Line::Counts(Box::new(counts)));
    snapshot("metrics_and_boards", &history, Colours::All, (80, 24));
}

#[test]
fn times_and_names() {
    let elapsed = [1.25, 61.0, 3_661.0, 90_000.0].map(text::elapsed);
    assert_eq!(elapsed, ["1.2 s", "1:01 min", "1:01 h", "25:00 h"]);
    assert_eq!(text::last("ünïcode/name", 5), "…name");
    assert_eq!(text::last("short", 5), "short");
    assert_eq!(text::first("ünïcode/name", 5), "ünïc…");
    assert_eq!(text::first("short", 5), "short");
}
