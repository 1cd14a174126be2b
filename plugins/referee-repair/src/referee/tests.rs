use flowpipe_plugin::puzzle::message::{
    BoardState, Draw, FrameNote, Profile, Reading, SeenBoard, StrokeEnd, StrokeOutcome, Verdict,
};
use flowpipe_plugin::puzzle::{Board as Cells, Flow, Geometry, Puzzle, Rules, Solution, Terminal};

use super::*;
use crate::board::Board;
use crate::games::Games;

mod memory;
mod profiles;
mod replaced;
mod rules;
mod stroke_ends;
mod stuck;
mod vanishing;

const MS: i64 = 1_000_000;
/// So long a game takes at most to display what was drawn, if it is a fast one.
const SOON_MS: i64 = 20;

/// Two rows of flows, the first at `top` of a board of two or three rows: puzzles that differ.
fn puzzle(rows: usize) -> Puzzle {
    let terminals = (0..rows)
        .flat_map(|row| {
            [0, 2].map(|col| Terminal {
                cell: 3 * row + col,
                colour: row as u16,
            })
        })
        .collect();
    Puzzle::new(
        Cells::rectangle(rows, 3).unwrap(),
        terminals,
        Rules::default(),
    )
    .unwrap()
}

fn flows(rows: usize) -> Vec<Flow> {
    let flow = |row: usize| Flow {
        colour: row as u16,
        cells: (3 * row..3 * row + 3).collect(),
    };
    (0..rows).map(flow).collect()
}

fn sighting(rows: usize, drawn: &[usize], state: BoardState) -> Sighting {
    let all = flows(rows);
    Sighting::new(
        FrameNote::of("window").with_window(7),
        Reading::Board(Box::new(
            SeenBoard::new(
                puzzle(rows),
                Geometry::axis_aligned(0.0, 0.0, 30.0, 10.0 * rows as f64, rows, 3),
                (0..rows)
                    .map(|row| [255, (80 * row % 256) as u8, 0])
                    .collect(),
            )
            .with_drawn(drawn.iter().map(|&flow| all[flow].clone()).collect(), state),
        )),
    )
}

fn empty(rows: usize) -> Sighting {
    sighting(rows, &[], BoardState::Empty)
}

fn answer(rows: usize) -> Solved {
    Solved::new(
        "solver",
        Verdict::solution(Solution { flows: flows(rows) }, None),
        empty(rows),
    )
}

fn outcome(strokes: usize) -> Outcome {
    Outcome::new(
        "mouse",
        FrameNote::of("window"),
        vec![StrokeOutcome::new(0, None); strokes],
    )
    .with_act_ns(10 * MS)
}

/// What was asked for, in words.
fn kinds(actions: &[Action]) -> Vec<&'static str> {
    let kind = |action: &Action| match action {
        Action::Ask(_) => "ask",
        Action::Play(_) => "play",
        Action::Report(result) if result.solved => "solved",
        Action::Report(result) if result.unknown => "unknown",
        Action::Report(_) => "given up",
        Action::Rules(_) => "rules",
        Action::End(_) => "end",
        Action::Warn(_) => "warn",
    };
    actions.iter().map(kind).collect()
}

/// A referee with a clock that advances by milliseconds.
struct Table {
    referee: Referee,
    now: i64,
    /// When the newest frame was captured.
    captured: i64,
    /// An outcome has come since.
    is_played: bool,
}

impl Table {
    fn new(config: Config) -> Self {
        Self::keeping(config, Games::none())
    }

    /// A game that got its longest time to display strokes before.
    fn keeping(config: Config, games: Games) -> Self {
        let mut referee = Referee::new(config, Calibration::new(games), false);
        referee.display_delay.meet(empty(2).frame.window);
        for _ in 0..2 {
            referee.display_delay.played(0, 0, 1, true);
        }
        Self {
            referee,
            now: 1000 * MS,
            captured: 0,
            is_played: false,
        }
    }

    /// A frame that was captured a millisecond ago.
    fn see(&mut self, after_ms: i64, sighting: Sighting) -> Vec<&'static str> {
        kinds(&self.display(after_ms, sighting))
    }

    /// The same, seen once.
    fn see_soon(&mut self, after_ms: i64, sighting: Sighting) -> Vec<&'static str> {
        self.is_played = false;
        self.see(after_ms, sighting)
    }

    /// The same, with what is asked for. After strokes a game displays it from soon after their outcome on.
    fn display(&mut self, after_ms: i64, sighting: Sighting) -> Vec<Action> {
        let mut actions = Vec::new();
        let mut after_ms = after_ms;
        if std::mem::take(&mut self.is_played) && after_ms > SOON_MS {
            actions = self.display(SOON_MS, sighting.clone());
            after_ms -= SOON_MS;
        }
        self.now += after_ms * MS;
        self.captured = self.now - MS;
        actions.extend(self.referee.sighting(sighting, self.captured, self.now));
        actions
    }

    fn answer(&mut self, after_ms: i64, rows: usize) -> Vec<&'static str> {
        self.now += after_ms * MS;
        let actions = self.referee.solved(answer(rows), self.captured, self.now);
        kinds(&actions)
    }

    fn played(&mut self, after_ms: i64, strokes: usize) -> Vec<&'static str> {
        self.now += after_ms * MS;
        self.outcome(&outcome(strokes))
    }

    /// An outcome comes of what was sent last.
    fn outcome(&mut self, outcome: &Outcome) -> Vec<&'static str> {
        self.is_played = true;
        kinds(&self.referee.outcome(outcome, self.captured, self.now))
    }
}

#[test]
fn a_board_is_asked_played_and_counted() {
    let mut table = Table::new(Config::default());
    assert_eq!(table.see(1, empty(2)), ["ask"]);
    assert_eq!(table.see(1, empty(2)), [""; 0], "asked already");
    assert_eq!(table.answer(1, 2), ["play"]);
    assert_eq!(table.see(1, empty(2)), [""; 0], "it is being played");
    assert_eq!(table.played(20, 2), [""; 0]);
    let done = || sighting(2, &[0, 1], BoardState::Solved);
    assert_eq!(table.see(5, done()), ["solved"]);
    assert_eq!(table.see(5, done()), [""; 0], "counted once");
}

#[test]
fn a_board_that_still_turns_is_solved_before_it_lands() {
    let mut table = Table::new(Config::default());
    assert_eq!(table.see(1, sighting(3, &[], BoardState::Moving)), ["ask"]);
    assert_eq!(table.answer(1, 3), [""; 0]);
    assert_eq!(table.see(1, sighting(3, &[], BoardState::Moving)), [""; 0]);
    assert_eq!(table.see(1, empty(3)), ["play"]);
}

#[test]
fn what_keeps_a_board_from_being_played_is_logged_when_it_lasts() {
    let mut table = Table::new(Config::default());
    let moving = || sighting(3, &[], BoardState::Moving);
    assert_eq!(table.see(1, moving()), ["ask"]);
    assert_eq!(table.see(1900, moving()), [""; 0]);
    assert_eq!(table.see(200, moving()), ["warn"]);
    assert_eq!(table.see(1000, moving()), [""; 0], "logged once");
    assert_eq!(table.see(1, empty(3)), [""; 0]);
    assert_eq!(
        table.see(600, empty(3)),
        ["warn"],
        "the solver has not answered"
    );
    assert_eq!(table.answer(1, 3), ["play"]);
    table.played(20, 3);

    // Vision takes longer than a capture stays fresh.
    let mut table = Table::new(Config::default());
    table.see(1, empty(2));
    assert_eq!(table.answer(300, 2), [""; 0]);
    let mut late = |after_ms: i64| {
        table.now += after_ms * MS;
        let captured = table.now - 300 * MS;
        table.referee.sighting(empty(2), captured, table.now)
    };
    assert_eq!(late(1500), []);
    let [Action::Warn(text)] = &late(600)[..] else {
        panic!("no warning");
    };
    assert!(
        text.contains("captured 300 ms ago, and fresh_ms of referee-repair is 250"),
        "{text}"
    );
}

#[test]
fn what_is_missing_is_drawn_again_once_the_game_had_its_time() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(2));
    table.answer(1, 2);
    table.played(20, 2);
    let half = || sighting(2, &[1], BoardState::Partial);
    assert_eq!(table.see(50, half()), [""; 0], "it may only be late");
    assert_eq!(table.see(110, half()), [""; 0], "150 ms after the first");
    assert_eq!(table.see(11, half()), ["play"]);
    table.played(10, 1);
    let actions = table.referee.sighting(
        sighting(2, &[0, 1], BoardState::Solved),
        table.now + MS,
        table.now + 2 * MS,
    );
    let [Action::Report(result)] = actions.as_slice() else {
        panic!("{actions:?}")
    };
    assert_eq!(
        (result.attempts, result.strokes, result.repeated),
        (2, 3, 1)
    );
}

/// What appears after 300 ms is waited for from the second attempt on, also by a referee that takes over.
#[test]
fn a_game_that_displays_strokes_late_is_learnt() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(3));
    table.answer(1, 3);
    table.played(20, 3);
    let none = || empty(3);
    assert_eq!(table.see_soon(140, none()), [""; 0]);
    assert_eq!(
        table.see_soon(20, none()),
        ["play"],
        "nothing is known of it"
    );
    let one = || sighting(3, &[0], BoardState::Partial);
    assert_eq!(table.see_soon(140, one()), [""; 0]);
    table.played(20, 1);
    assert_eq!(table.see_soon(180, one()), [""; 0], "twice 300 ms");
    let memory = serde_json::to_value(Memory::of(&table.referee)).unwrap();
    let memory: Memory = serde_json::from_value(memory).unwrap();
    let calibration = Calibration::new(Games::none());
    table.referee = Referee::new(Config::default(), calibration, false);
    memory.restore(&mut table.referee);
    assert_eq!(table.see_soon(400, one()), [""; 0], "580 ms");
    assert_eq!(table.see_soon(40, one()), ["play"]);
}

/// Some flows were asked for, and all of them are drawn: nothing more is to appear.
#[test]
fn once_all_is_displayed_that_was_asked_for_nothing_is_waited_for() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(3));
    table.answer(1, 3);
    table.played(20, 2);
    let board = table.referee.session.board.as_mut().unwrap();
    board.asked = vec![0, 1];
    let shown = |drawn: &[usize]| sighting(3, drawn, BoardState::Partial);
    assert_eq!(table.see_soon(10, shown(&[0])), [""; 0]);
    assert_eq!(table.see_soon(10, shown(&[0, 1])), ["play"]);
}

#[test]
fn what_was_captured_before_the_last_stroke_is_no_evidence() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(2));
    table.answer(1, 2);
    table.played(20, 2);
    let late = sighting(2, &[0], BoardState::Partial);
    let actions = table
        .referee
        .sighting(late, table.now - 10 * MS, table.now + 500 * MS);
    assert_eq!(actions, []);
}

#[test]
fn old_frames_are_not_played() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(2));
    assert_eq!(table.answer(2000, 2), [""; 0], "the solver took long");
    assert_eq!(table.see(1, empty(2)), ["play"]);
}

#[test]
fn a_window_that_moves_is_waited_for() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(2));
    table.referee.acting = Acting::default();
    let mut moved = empty(2);
    moved.frame.origin = [5.0, 5.0];
    table.answer(2000, 2);
    assert_eq!(table.see(1, moved.clone()), [""; 0]);
    assert_eq!(table.see(1, moved), ["play"]);
}

#[test]
fn a_board_that_makes_way_was_solved() {
    let config = Config {
        boards: Some(2),
        ..Config::default()
    };
    let mut table = Table::new(config);
    table.see(1, empty(2));
    table.answer(1, 2);
    table.played(20, 2);
    assert_eq!(table.see(500, empty(3)), ["ask", "solved"]);
    assert_eq!(table.answer(1, 3), ["play"]);
    table.played(20, 3);
    assert_eq!(
        table.see(9, sighting(3, &[0, 1, 2], BoardState::Solved)),
        ["solved", "end"]
    );
    assert_eq!(table.see(9, empty(4)), [""; 0], "it is over");
}

#[test]
fn a_board_that_takes_nothing_is_given_up() {
    let config = Config {
        attempts: 3,
        ..Config::default()
    };
    let mut table = Table::new(config);
    assert_eq!(table.see(1, empty(2)), ["ask"]);
    assert_eq!(table.answer(1, 2), ["play"]);
    for _ in 0..2 {
        table.played(20, 2);
        assert_eq!(table.see(200, empty(2)), ["play"]);
    }
    table.played(20, 2);
    assert_eq!(table.see(200, empty(2)), ["warn", "given up"]);
    assert_eq!(
        table.see(200, sighting(2, &[0], BoardState::Partial)),
        [""; 0]
    );
}

#[test]
fn a_board_without_a_solution_is_reported_once() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(2));
    let mut none = answer(2);
    none.answer = Verdict::unsolvable(None);
    let reported = table.referee.solved(none, table.captured, table.now);
    assert_eq!(kinds(&reported), ["given up"]);
    assert_eq!(table.see(1, empty(2)), [""; 0]);
}

#[test]
fn time_runs_from_the_first_stroke() {
    let config = Config {
        seconds: Some(1.0),
        ..Config::default()
    };
    let mut table = Table::new(config);
    assert_eq!(table.see(5000, empty(2)), ["ask"]);
    table.answer(1, 2);
    table.played(20, 2);
    assert_eq!(
        table.see(985, sighting(2, &[0, 1], BoardState::Solved)),
        ["solved"]
    );
    assert_eq!(table.see(20, empty(3)), ["end"]);
}

#[test]
fn time_runs_from_the_start_while_nothing_is_played() {
    let config = Config {
        seconds: Some(3.0),
        ..Config::default()
    };
    let reason = |table: &mut Table, seen: Option<Sighting>| {
        if let Some(seen) = seen {
            assert!(table.referee.sighting(seen, table.now, table.now).len() < 2);
        }
        let due = table.referee.due().map(|(due, _)| due);
        table.now += 3_001 * MS;
        let actions = table.referee.tick(table.now);
        let [Action::End(reason)] = &actions[..] else {
            panic!("{actions:?}")
        };
        assert!(due.is_some_and(|due| due < table.now));
        assert_eq!(table.referee.due(), None, "it is over");
        reason.clone()
    };
    let mut nothing = Table::new(config.clone());
    assert_eq!(nothing.referee.tick(nothing.now), []);
    let text = reason(&mut nothing, None);
    assert_eq!(
        text,
        "the time is up, and no picture came: is the window there?"
    );
    let mut unread = Table::new(config.clone());
    let text = reason(&mut unread, Some(vanishing::refused()));
    assert_eq!(text, "the time is up: no grid (step: find board)");
    let mut stuck = Table::new(config);
    let text = reason(&mut stuck, Some(empty(2)));
    assert_eq!(text, "the time is up, and no board was solved");
}

#[test]
fn a_refused_try_is_no_attempt() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(2));
    table.answer(1, 2);
    let covered = outcome(0).with_refused("covered").with_act_ns(0);
    for _ in 0..50 {
        table.now += 10 * MS;
        assert_eq!(table.outcome(&covered), [""; 0]);
        assert_eq!(table.see(10, empty(2)), ["play"]);
    }
}

#[test]
fn a_dry_run_plays_each_board_once() {
    let mut table = Table::new(Config::default());
    table.referee = Referee::new(Config::default(), Calibration::new(Games::none()), true);
    table.see(1, empty(2));
    assert_eq!(table.answer(1, 2), ["play"]);
    let dry = outcome(2).with_act_ns(0);
    assert_eq!(table.outcome(&dry), [""; 0]);
    assert_eq!(table.see(100, empty(2)), [""; 0]);
    assert_eq!(table.see(100, empty(3)), ["ask"]);
}

/// What lies on it would be cleared by clicks first, and an unknown game gets a few flows first.
#[test]
fn a_dry_run_ends_once_it_has_planned_all_strokes_of_a_partly_drawn_board() {
    let config = Config {
        boards: Some(1),
        ..Config::default()
    };
    let mut table = Table::new(config.clone());
    table.referee = Referee::new(config, Calibration::new(Games::none()), true);
    let mut partly = sighting(3, &[0], BoardState::Partial);
    if let Reading::Board(seen) = &mut partly.reading {
        // The beginning of a flow on the cells of another one.
        seen.drawn.push(Flow::new(1, vec![3, 6]));
    }
    assert_eq!(table.see(1, partly.clone()), ["ask"]);
    table.now += MS;
    let asked = table.referee.solved(answer(3), table.captured, table.now);
    let [Action::Play(asked)] = &asked[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(asked.draw, Draw::All);
    let dry = outcome(2).with_act_ns(0).with_refused("this is a dry run");
    let actions = table.referee.outcome(&dry, table.captured, table.now);
    let reason = "a dry run has planned the strokes of 1 board".to_owned();
    assert_eq!(actions, [Action::End(reason)]);
    assert_eq!(table.see(100, partly), [""; 0]);
}

#[test]
fn a_window_that_was_closed_was_not_solved() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(2));
    table.answer(1, 2);
    table.played(20, 2);
    let mut elsewhere = empty(3);
    elsewhere.frame.window = Some(8);
    assert_eq!(table.see(500, elsewhere), ["ask"]);
}

/// Shows the referee a board that stays as it is, ten times a second, until something is done. Gives after how long.
fn until_done(table: &mut Table, seen: &Sighting) -> (Vec<&'static str>, i64) {
    let began = table.now;
    loop {
        let done = table.see(100, seen.clone());
        let took = (table.now - began) / MS;
        if !done.is_empty() || took > 200_000 {
            return (done, took);
        }
    }
}

#[test]
fn strokes_whose_stage_died_are_asked_for_again_within_seconds() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(2));
    assert_eq!(table.answer(1, 2), ["play"]);
    // It died in the middle: something was drawn.
    table.see(300, sighting(2, &[0], BoardState::Partial));
    let half = sighting(2, &[0], BoardState::Partial);
    let (done, took) = until_done(&mut table, &half);
    assert_eq!(done, ["play"]);
    assert!((5_000..6_000).contains(&took), "{took}");
    // One that dies each time is no reason to try without end.
    let mut plays = 1;
    let given_up = loop {
        match until_done(&mut table, &half) {
            (done, _) if done == ["play"] => plays += 1,
            (done, _) => break done,
        }
    };
    assert_eq!((given_up, plays), (vec!["given up"], 8));
}

#[test]
fn strokes_that_are_seen_to_be_played_are_waited_for() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(3));
    assert_eq!(table.answer(1, 3), ["play"]);
    for drawn in [&[0][..], &[0, 1], &[0], &[0, 1], &[0, 1, 2]] {
        assert_eq!(
            table.see(4_000, sighting(3, drawn, BoardState::Partial)),
            [""; 0]
        );
    }
    assert_eq!(
        table.see(4_900, sighting(3, &[0, 1, 2], BoardState::Partial)),
        [""; 0]
    );
}

#[test]
fn an_outcome_that_comes_late_after_all_gives_the_next_more_time() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(2));
    assert_eq!(table.answer(1, 2), ["play"]);
    let first = table.captured;
    let (done, took) = until_done(&mut table, &empty(2));
    assert_eq!(done, ["play"]);
    assert!((5_000..6_000).contains(&took), "{took}");
    // That of the first strokes; the second are still waited for.
    table.referee.outcome(&outcome(0), first, table.now);
    let (done, took) = until_done(&mut table, &empty(2));
    assert_eq!(done, ["play"]);
    assert!((9_000..11_000).contains(&took), "{took}");
}
