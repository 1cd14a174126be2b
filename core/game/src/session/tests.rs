//! Sessions played by hand, without a clock.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use flowpipe_puzzle::place::centre;
use flowpipe_puzzle::{Cell, Solution, text};
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::generate::generate;

/// A log that the test reads.
#[derive(Clone, Default)]
pub(super) struct Kept(Rc<RefCell<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Kept {
    fn lines(&self) -> Vec<Value> {
        let bytes = self.0.borrow();
        let lines = bytes
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty());
        lines
            .map(|line| serde_json::from_slice(line).expect("a line of JSON"))
            .collect()
    }

    pub(super) fn all(&self, event: &str) -> Vec<Value> {
        let lines = self.lines().into_iter();
        lines.filter(|line| line["event"] == event).collect()
    }
}

pub(super) fn given(count: u64) -> (Levels, Vec<Solution>) {
    let board = flowpipe_puzzle::Board::rectangle(6, 5).expect("a board");
    let (levels, solutions) = (0..count)
        .map(|seed| generate(&board, 5, seed).expect("a puzzle"))
        .map(|(puzzle, solution)| {
            let title = Some("given".to_owned());
            (Level { title, puzzle }, solution)
        })
        .unzip();
    (Levels::Given(levels), solutions)
}

/// A session of one board.
fn started_on(puzzle: &Puzzle, input: Input) -> (Session, Kept) {
    let level = Level {
        title: None,
        puzzle: puzzle.clone(),
    };
    let options = Options {
        input,
        ..Options::default()
    };
    started(Levels::Given(vec![level]), options)
}

pub(super) fn started(levels: Levels, options: Options) -> (Session, Kept) {
    let kept = Kept::default();
    let session = Session::new(levels, options, Log::to(kept.clone())).expect("a session");
    (session, kept)
}

pub(super) const STEP: Duration = Duration::from_millis(1);

pub(super) fn at(session: &Session, cell: Cell) -> [f64; 2] {
    centre(session.puzzle().board(), cell)
}

/// Draws cells, an event a millisecond.
pub(super) fn draw(session: &mut Session, now: &mut Duration, cells: &[Cell]) {
    let (first, last) = (cells[0], cells[cells.len() - 1]);
    session.pointer(*now, Pointer::Press(at(session, first)));
    for &cell in &cells[1..] {
        *now += STEP;
        session.pointer(*now, Pointer::Move(at(session, cell)));
    }
    *now += STEP;
    session.pointer(*now, Pointer::Release(at(session, last)));
    *now += STEP;
}

pub(super) fn solve(session: &mut Session, now: &mut Duration, solution: &Solution) {
    for flow in &solution.flows {
        draw(session, now, &flow.cells);
    }
}

#[test]
fn free_play_goes_from_board_to_board_and_ends() {
    let options = Options {
        input: Input::Events,
        ..Options::default()
    };
    let (levels, solutions) = given(2);
    let (mut session, log) = started(levels, options);
    let mut now = STEP;
    for solution in &solutions {
        solve(&mut session, &mut now, solution);
        let before = session.view(now);
        assert!(before.flip.is_none() && before.header.pipe_percent == 100);
        now += PAUSE;
        session.advance(now);
        now += FLIP;
        session.advance(now);
    }
    assert_eq!(log.all("solved").len(), 2);
    assert_eq!(log.all("solved")[1]["number"], 2);
    assert_eq!(log.all("level")[1]["title"], "given");
    assert_eq!(log.all("over")[0]["solved"], 2);
    assert_eq!(session.wake_at(now), None);
    assert_eq!(session.view(now).header.title, "the end");
    // Begin again.
    session.command(now, Command::Next);
    session.advance(now + FLIP);
    assert_eq!(session.view(now + FLIP).header.title, "level 3");
    assert_eq!(session.close(now + FLIP).expect("closed"), 2);
    assert_eq!(log.all("closed")[0]["solved"], 2);
}

#[test]
fn frames_lose_the_path_between_two_captures() {
    // Down, across and up again within one frame: the game sees a straight line.
    let (puzzle, _) = text::read("A.A\n...\n...")
        .remove(0)
        .puzzle
        .expect("a puzzle");
    for (input, joined) in [(Input::Events, 1), (Input::Frames, 0)] {
        let (mut session, log) = started_on(&puzzle, input);
        let mut now = STEP;
        session.pointer(now, Pointer::Press(at(&session, 0)));
        for cell in [3, 4, 5, 8] {
            now += STEP;
            session.pointer(now, Pointer::Move(at(&session, cell)));
        }
        session.advance(FRAME);
        // A cell further on beyond the look: 5 and 2.
        for cell in [5, 2] {
            now = now.max(FRAME) + STEP;
            session.pointer(now, Pointer::Move(at(&session, cell)));
        }
        session.pointer(now, Pointer::Release(at(&session, 2)));
        session.advance(FRAME * 2);
        assert_eq!(log.all("joined").len(), joined, "{input:?}");
        // Only the events' times decide, not when they are read.
        assert_eq!(log.all("move").len(), 6);
    }
}

#[test]
fn events_lose_jumps_that_frames_fill() {
    let (puzzle, _) = text::read("A..A").remove(0).puzzle.expect("a puzzle");
    for (input, solved) in [(Input::Events, 0), (Input::Frames, 1)] {
        let (mut session, log) = started_on(&puzzle, input);
        draw(&mut session, &mut STEP.clone(), &[0, 3]);
        session.advance(FRAME * 2);
        assert_eq!(log.all("solved").len(), solved, "{input:?}");
    }
}

#[test]
fn only_straight_jumps_are_filled_where_the_game_does_not_fill_others() {
    let (puzzle, _) = text::read("A..\n...\n..A")
        .remove(0)
        .puzzle
        .expect("a puzzle");
    for (input, extended) in [(Input::Frames, 2), (Input::Straight, 2), (Input::Events, 0)] {
        let (mut session, log) = started_on(&puzzle, input);
        draw(&mut session, &mut STEP.clone(), &[0, 2]);
        session.advance(FRAME * 2);
        assert_eq!(log.all("extended").len(), extended, "{input:?}");
    }
    // A knight's move: through the cells 3 and 4 to 7.
    for (input, extended) in [(Input::Frames, 3), (Input::Straight, 0)] {
        let (mut session, log) = started_on(&puzzle, input);
        session.pointer(STEP, Pointer::Press([0.5, 0.5]));
        session.pointer(STEP, Pointer::Move([1.5, 2.5]));
        session.advance(FRAME * 2);
        assert_eq!(log.all("extended").len(), extended, "{input:?}");
    }
}

#[test]
fn a_drag_that_is_not_nudged_draws_nothing() {
    let (puzzle, _) = text::read("A.A").remove(0).puzzle.expect("a puzzle");
    for (to, solved) in [([0.7, 0.5], 0), ([0.9, 0.5], 1)] {
        let level = Level {
            title: None,
            puzzle: puzzle.clone(),
        };
        let options = Options {
            input: Input::Events,
            nudge: 8.0,
            ..Options::default()
        };
        let (mut session, log) = started(Levels::Given(vec![level]), options);
        session.laid_out(STEP, [10.0, 10.0, 75.0, 25.0]);
        session.pointer(STEP, Pointer::Press([0.5, 0.5]));
        for at in [to, [1.5, 0.5], [2.5, 0.5]] {
            session.pointer(STEP, Pointer::Move(at));
        }
        session.pointer(STEP, Pointer::Release([2.5, 0.5]));
        assert_eq!(log.all("solved").len(), solved, "{to:?}");
        assert_eq!(log.all("press").len(), 1);
    }
}

#[test]
fn clicks_draw_without_a_button() {
    let (levels, solutions) = given(1);
    let options = Options {
        input: Input::Clicks,
        ..Options::default()
    };
    let (mut session, log) = started(levels, options);
    let mut now = STEP;
    // Drags do nothing.
    solve(&mut session, &mut now, &solutions[0]);
    assert!(log.all("extended").is_empty() && !session.is_following());
    for flow in &solutions[0].flows {
        let ends = [flow.cells[0], flow.cells[flow.cells.len() - 1]];
        for (cell, is_following) in ends.into_iter().zip([true, false]) {
            session.pointer(now, Pointer::Press(at(&session, cell)));
            session.pointer(now, Pointer::Release(at(&session, cell)));
            assert_eq!(session.is_following(), is_following);
            for &cell in flow.cells.iter().filter(|_| is_following) {
                now += STEP;
                session.pointer(now, Pointer::Move(at(&session, cell)));
            }
        }
    }
    assert_eq!(log.all("solved").len(), 1);
}

#[test]
fn a_time_trial_flips_and_ends() {
    let options = Options {
        input: Input::Events,
        trial: Some(Duration::from_secs(2)),
        ..Options::default()
    };
    let (levels, solutions) = given(9);
    let (mut session, log) = started(levels, options);
    // The time runs from the first press on a board.
    let mut now = Duration::from_secs(9);
    assert_eq!(session.view(now).header.title, "0:02");
    let began = now;
    solve(&mut session, &mut now, &solutions[0]);
    let landing = log.all("solved")[0]["t"].as_u64().expect("a time");
    let landing = Duration::from_nanos(landing) + FLIP;
    // The flip ignores input, and there is nothing to skip.
    session.command(now, Command::Next);
    draw(&mut session, &mut now, &solutions[1].flows[0].cells);
    assert_eq!(session.view(now).header.flows, 0);
    assert!(log.all("move").iter().any(|line| line["ignored"] == true));
    let flip = session.view(landing - FLIP / 2).flip.expect("it flips");
    assert!((flip.share - 0.5).abs() < 1e-6);
    now = landing;
    solve(&mut session, &mut now, &solutions[1]);
    assert_eq!(log.all("solved").len(), 2);
    assert_eq!(log.all("ready")[1]["t"], landing.as_nanos() as u64);
    let end = began + Duration::from_secs(2);
    session.advance(end + STEP);
    let over = &log.all("over")[0];
    assert_eq!(
        (&over["t"], &over["solved"]),
        (&(end.as_nanos() as u64).into(), &2.into())
    );
    now = end + STEP;
    solve(&mut session, &mut now, &solutions[2]);
    assert_eq!(log.all("solved").len(), 2);
}

#[test]
fn undo_restart_and_next() {
    let options = Options {
        input: Input::Events,
        ..Options::default()
    };
    let (levels, solutions) = given(2);
    let (mut session, log) = started(levels, options);
    let mut now = STEP;
    let flows = &solutions[0].flows;
    draw(&mut session, &mut now, &flows[0].cells);
    draw(&mut session, &mut now, &flows[1].cells);
    // A press on nothing changes nothing that could be taken back.
    session.pointer(now, Pointer::Press([-5.0, 0.5]));
    session.pointer(now, Pointer::Release([-5.0, 0.5]));
    assert_eq!(session.view(now).header.flows, 2);
    session.command(now, Command::Undo);
    assert_eq!(
        (
            session.view(now).header.flows,
            session.view(now).header.moves
        ),
        (1, 1)
    );
    session.pointer(now, Pointer::Press(at(&session, flows[1].cells[0])));
    session.command(now, Command::Restart);
    assert_eq!(session.view(now).header.flows, 1, "not during a drag");
    session.pointer(now, Pointer::Release(at(&session, flows[1].cells[0])));
    session.command(now, Command::Restart);
    assert_eq!(session.view(now).header.flows, 0);
    session.command(now, Command::Undo);
    assert_eq!(log.all("undo").len(), 1);
    session.command(now, Command::Next);
    assert_eq!(session.view(now + FLIP).header.title, "level 2");
    assert!(session.view(now).flip.is_some());
}

#[test]
fn without_boards_there_is_no_session() {
    let nothing = Session::new(Levels::Given(Vec::new()), Options::default(), Log::none());
    assert!(matches!(nothing, Err(SessionError::NoLevels)));
}

proptest! {
    /// Whatever comes, the game goes on, keeps its counts, and depends on the inputs alone: looking
    /// at it in between changes nothing.
    #[test]
    fn the_same_inputs_give_the_same_game(
        inputs in prop::collection::vec((0..8u8, 0..400u64, -0.5..5.5f64, -0.5..6.5f64), 1..120),
        input in prop::sample::select(vec![
            Input::Events, Input::Frames, Input::Straight, Input::Clicks,
        ]),
        nudge in prop::sample::select(vec![0.0, 8.0]),
        trial in any::<bool>(),
        drop in prop::sample::select(vec![0.0, 0.3]),
    ) {
        let trial = trial.then_some(Duration::from_secs(3));
        let options = Options { input, nudge, drop, seed: 5, trial, ..Options::default() };
        let play = |looks: bool| {
            let (mut session, log) = started(given(2).0, options.clone());
            let mut now = Duration::ZERO;
            session.laid_out(now, [0.0, 0.0, 250.0, 300.0]);
            for &(kind, wait, x, y) in &inputs {
                let later = now + Duration::from_millis(wait);
                while let Some(at) = session.wake_at(now).filter(|&at| looks && at < later) {
                    assert!(at > now || session.due().is_none());
                    now = at;
                    session.advance(now);
                    let _ = session.view(now);
                }
                now = later;
                match kind {
                    0 | 1 => session.pointer(now, Pointer::Press([x, y])),
                    2 => session.pointer(now, Pointer::Release([x, y])),
                    3 => session.command(now, Command::Undo),
                    4 if x < 1.0 => session.command(now, Command::Next),
                    _ => session.pointer(now, Pointer::Move([x, y])),
                }
            }
            let view = session.view(now);
            let solved = session.close(now).expect("closed");
            (view, solved, log.lines())
        };
        let (view, solved, lines) = play(false);
        prop_assert_eq!(lines.iter().filter(|line| line["event"] == "solved").count(), solved);
        prop_assert_eq!((view, solved, lines), play(true));
    }
}
