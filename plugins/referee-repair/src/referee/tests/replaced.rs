//! Boards that make way for another one before all strokes are known to have been played.

use super::vanishing::{asked_for, refused};
use super::*;

/// A run of one board, which has three flows. Of the strokes so many were played when the mouse stopped, and these flows
/// were seen drawn.
fn stopped(strokes: usize, seen: Option<&[usize]>) -> Table {
    let mut table = Table::new(Config {
        boards: Some(1),
        ..Config::default()
    });
    table.see(1, empty(3));
    assert_eq!(table.answer(1, 3), ["play"]);
    if let Some(drawn) = seen {
        let seen = sighting(3, drawn, BoardState::Partial);
        assert_eq!(table.see(10, seen), [""; 0]);
    }
    table.now += 10 * MS;
    let halted = outcome(strokes).with_refused("the program stood still");
    assert_eq!(table.outcome(&halted), [""; 0]);
    table
}

#[test]
fn a_board_that_makes_way_half_played_was_not_solved() {
    let mut table = stopped(1, Some(&[0]));
    assert_eq!(table.see(500, empty(2)), ["ask"]);
}

/// The mouse lets go in the last stroke: its pipe may be whole.
#[test]
fn a_board_that_makes_way_in_its_last_stroke_counts() {
    let mut table = stopped(2, Some(&[0, 1]));
    assert_eq!(table.see(500, empty(2)), ["ask", "solved", "end"]);
    // Something leads on before the board counts as gone.
    let mut table = stopped(2, Some(&[0, 1]));
    assert_eq!(table.see(500, refused()), [""; 0]);
    assert_eq!(table.see(300, empty(2)), ["ask", "solved", "end"]);
    // Too little of it was seen drawn.
    let mut table = stopped(2, Some(&[0]));
    assert_eq!(table.see(500, empty(2)), ["ask", "unknown", "end"]);
    let mut table = stopped(2, None);
    assert_eq!(table.see(500, empty(2)), ["ask", "unknown", "end"]);
}

#[test]
fn a_board_that_is_read_otherwise_after_its_last_stroke_did_not_make_way() {
    let mut table = stopped(2, Some(&[0, 1]));
    let other = sighting(2, &[0], BoardState::Partial);
    assert_eq!(table.see(500, other), ["ask"]);
    // Nor in another window.
    let mut table = stopped(2, Some(&[0, 1]));
    let mut elsewhere = empty(2);
    elsewhere.frame.window = Some(8);
    assert_eq!(table.see(500, elsewhere), ["ask"]);
}

#[test]
fn a_board_that_was_seen_unsolved_after_its_last_stroke_did_not_make_way() {
    let mut table = stopped(2, Some(&[0, 1]));
    let mut moved = sighting(3, &[0, 1], BoardState::Partial);
    moved.frame.origin = [1.0, 1.0];
    assert_eq!(table.see_soon(200, moved), [""; 0], "the window moves");
    assert_eq!(table.see(10, empty(2)), ["ask"]);
}

/// Plays a board of three flows, of which the game shows this when it had its time. Returns what is asked for then.
fn shown_late(table: &mut Table, drawn: Vec<Flow>) -> Draw {
    table.see(1, empty(3));
    assert_eq!(table.answer(1, 3), ["play"]);
    assert_eq!(table.played(20, 3), [""; 0]);
    asked_for(table, drawn)
}

/// A game that lags shows the last flow only after clicks on its terminals were asked for.
#[test]
fn a_board_that_makes_way_while_its_last_flow_is_cleared_was_solved() {
    let config = Config {
        boards: Some(1),
        ..Config::default()
    };
    let mut drawn = flows(3);
    drawn[2].cells.truncate(2);
    let mut table = Table::new(config.clone());
    assert_eq!(shown_late(&mut table, drawn.clone()), Draw::Clear(vec![2]));
    assert_eq!(table.played(20, 4), [""; 0]);
    assert_eq!(table.see(500, empty(2)), ["ask", "solved", "end"]);
    // Two flows are missing: the game has not taken them.
    let mut table = Table::new(config);
    drawn.remove(1);
    assert_eq!(shown_late(&mut table, drawn), Draw::Clear(vec![2]));
    assert_eq!(table.played(20, 4), [""; 0]);
    assert_eq!(table.see(500, empty(2)), ["ask"]);
}

/// Two of three flows are seen, so that the board is to be played again. That attempt is refused before its first press,
/// and another board comes.
fn nothing_pressed_in_next_attempt(table: &mut Table) {
    let seen = sighting(3, &[0, 1], BoardState::Partial);
    let mut asked = table.see(300, seen.clone());
    for _ in 0..40 {
        if asked == ["play"] {
            break;
        }
        asked = table.see(100, seen.clone());
    }
    assert_eq!(asked, ["play"]);
    table.now += 10 * MS;
    let nothing = outcome(0).with_act_ns(0).with_refused("it is covered");
    assert_eq!(table.outcome(&nothing), [""; 0]);
    assert_eq!(table.see(500, empty(2)), ["ask"]);
}

#[test]
fn an_attempt_that_presses_nothing_does_not_solve_a_board_that_was_stopped() {
    let mut table = stopped(2, Some(&[0, 1]));
    nothing_pressed_in_next_attempt(&mut table);
}

#[test]
fn an_attempt_that_presses_nothing_does_not_solve_a_board_that_was_seen_unsolved() {
    let mut table = Table::new(Config {
        boards: Some(1),
        ..Config::default()
    });
    table.see(1, empty(3));
    assert_eq!(table.answer(1, 3), ["play"]);
    assert_eq!(table.played(20, 3), [""; 0]);
    nothing_pressed_in_next_attempt(&mut table);
}

/// However reliable the game has been.
#[test]
fn a_board_of_which_no_flow_was_drawn_is_not_solved_by_clicks_that_clear() {
    let folder = tempfile::tempdir().unwrap();
    let games = Games::new(Some(folder.path().join("games.toml")));
    let entry = crate::games::GameEntry {
        profile: Some(Profile::Cells),
        confidence: Some(1.0),
        ..Default::default()
    };
    games.keep("window", &entry);
    let config = Config {
        boards: Some(20),
        ..Config::default()
    };
    let mut table = Table::keeping(config, games);
    for board in 0..8 {
        let rows = 4 + board % 2;
        table.see(1000, empty(rows));
        table.answer(1, rows);
        table.now += 20 * MS;
        table.outcome(&outcome(rows).with_profile(Profile::Cells));
        let all: Vec<usize> = (0..rows).collect();
        table.see(300, sighting(rows, &all, BoardState::Solved));
    }
    table.see(1000, empty(3));
    assert_eq!(table.answer(1, 3), ["play"]);
    // Stopped in the first stroke.
    table.now += 10 * MS;
    table.outcome(&outcome(0).with_refused("the program stood still"));
    let mut drawn = flows(3)[..1].to_vec();
    drawn[0].cells.truncate(2);
    let mut seen = sighting(3, &[], BoardState::Partial);
    if let Reading::Board(board) = &mut seen.reading {
        board.drawn = drawn;
    }
    for _ in 0..40 {
        if !table.display(100, seen.clone()).is_empty() {
            break;
        }
    }
    table.played(20, 4);
    assert_eq!(table.see(500, empty(2)), ["ask"]);
}
