//! Sessions of other kinds, from board to board.

use super::super::tests::{Kept, STEP, at, draw, given, solve, started};
use super::super::{Command, Input, Options, PAUSE, Session};
use super::*;
use crate::cover::{BANNER, BLANK, HELP, ON_TO_THE_NEXT, SOLVED};
use crate::kind::Kind;

/// A session of two boards of a kind, the solution of the first one, and the log.
fn started_as(name: &str) -> (Session, flowpipe_puzzle::Solution, Kept) {
    let manner = Kind::named(name).expect("a kind").manner;
    let options = Options {
        input: Input::Events,
        manner,
        ..Options::default()
    };
    let (levels, mut solutions) = given(2);
    let (session, log) = started(levels, options);
    (session, solutions.remove(0), log)
}

fn click(session: &mut Session, now: Duration, at: [f64; 2]) {
    session.pointer(now, Pointer::Press(at));
    session.pointer(now, Pointer::Release(at));
}

fn button(session: &Session, cover: &Cover) -> [f64; 2] {
    let [middle, _] = cover.button(session.puzzle().board()).expect("a button");
    middle
}

#[test]
fn the_first_click_draws_nothing() {
    for (name, cover) in [("click-to-start", None), ("help", Some(&HELP))] {
        let (mut session, solution, log) = started_as(name);
        let mut now = STEP;
        assert_eq!(session.view(now).cover, cover);
        assert!(log.all("ready").is_empty());
        // A whole drag is a click, too.
        draw(&mut session, &mut now, &solution.flows[0].cells);
        assert_eq!(log.all("pressed").len(), 0);
        assert!(log.all("press").iter().all(|line| line["ignored"] == true));
        assert_eq!((log.all("ready").len(), session.view(now).cover), (1, None));
        solve(&mut session, &mut now, &solution);
        assert_eq!(log.all("solved").len(), 1);
        // Only the first board has one.
        session.advance(now + PAUSE);
        assert_eq!(log.all("ready").len(), 2);
    }
}

#[test]
fn a_dialog_stays_until_its_button_is_clicked() {
    let (mut session, solution, log) = started_as("popup");
    let mut now = STEP;
    solve(&mut session, &mut now, &solution);
    assert_eq!(session.view(now).cover, Some(&SOLVED));
    assert_eq!(session.wake_at(now), None);
    now += Duration::from_secs(60);
    let on_button = button(&session, &SOLVED);
    let beside = at(&session, 0);
    click(&mut session, now, beside);
    // A press beside the button that is released on it is no click on it, and the other way round.
    for [press, release] in [[beside, on_button], [on_button, beside]] {
        session.pointer(now, Pointer::Press(press));
        session.pointer(now, Pointer::Release(release));
    }
    session.command(now, Command::Next);
    session.command(now, Command::Undo);
    assert_eq!(log.all("ready").len(), 1);
    click(&mut session, now, on_button);
    assert_eq!((log.all("ready").len(), session.number()), (2, 2));
    assert_eq!(session.view(now).cover, None);
    assert!(!session.is_flipping());
}

#[test]
fn banners_and_empty_windows_go_by_themselves() {
    for (name, cover, milliseconds) in [("banner", &BANNER, 2000), ("vanishing", &BLANK, 1000)] {
        let (mut session, solution, log) = started_as(name);
        let mut now = STEP;
        solve(&mut session, &mut now, &solution);
        let solved = log.all("solved")[0]["t"].as_u64().expect("a time");
        let end = Duration::from_nanos(solved) + Duration::from_millis(milliseconds);
        assert_eq!(session.wake_at(now), Some(end));
        session.advance(end - STEP);
        assert_eq!(session.view(end - STEP).cover, Some(cover), "{name}");
        session.advance(end);
        assert_eq!((log.all("ready").len(), session.view(end).cover), (2, None));
    }
}

#[test]
fn the_next_board_is_asked_for() {
    for (name, dialog) in [
        ("next-button", None),
        ("next-button-dialog", Some(&ON_TO_THE_NEXT)),
    ] {
        let (mut session, solution, log) = started_as(name);
        let mut now = STEP;
        solve(&mut session, &mut now, &solution);
        now += Duration::from_secs(60);
        let middle = at(&session, 12);
        click(&mut session, now, middle);
        assert_eq!(session.view(now).cover, None);
        assert_eq!(session.view(now).header.pipe_percent, 100);
        session.command(now, Command::Next);
        assert_eq!(session.view(now).cover, dialog);
        if let Some(cover) = dialog {
            session.command(now, Command::Next);
            let on_button = button(&session, cover);
            click(&mut session, now, on_button);
        }
        assert_eq!((log.all("ready").len(), session.number()), (2, 2), "{name}");
    }
}

#[test]
fn permanent_lines_are_cleared_by_a_restart_alone() {
    let (mut session, solution, log) = started_as("permanent");
    let mut now = STEP;
    let cells = &solution.flows[0].cells;
    draw(&mut session, &mut now, &cells[..2]);
    let drawn = |session: &Session| session.play.drawn();
    let was = drawn(&session);
    assert_eq!(was.len(), 1);
    session.command(now, Command::Undo);
    draw(&mut session, &mut now, &cells[..1]);
    assert_eq!(drawn(&session), was);
    session.command(now, Command::Restart);
    assert_eq!(drawn(&session), []);
    solve(&mut session, &mut now, &solution);
    assert_eq!(log.all("solved").len(), 1);
}

#[test]
fn a_game_reads_the_pointer_at_its_own_rate() {
    for (name, rate) in [("144-hz", 144), ("slow-rendering", 15)] {
        let manner = Kind::named(name).expect("a kind").manner;
        let options = Options {
            input: manner.input,
            manner,
            ..Options::default()
        };
        let (levels, solutions) = given(1);
        let (mut session, log) = started(levels, options);
        let first = at(&session, solutions[0].flows[0].cells[0]);
        let frame = Duration::from_nanos(1_000_000_000 / rate);
        session.pointer(STEP, Pointer::Press(first));
        assert_eq!(session.wake_at(STEP), Some(frame), "{name}");
        session.advance(frame);
        assert_eq!(log.all("pressed").len(), 1);
    }
}
