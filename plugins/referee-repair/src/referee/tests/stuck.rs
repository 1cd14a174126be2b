//! Runs that do not get on.

use super::*;

fn config() -> Config {
    Config {
        boards: Some(3),
        stuck_seconds: 10.0,
        ..Config::default()
    }
}

/// Shows a sighting ten times a second until the run ends, at most for 100 seconds. Returns after how many seconds, and
/// why.
fn until_end(table: &mut Table, seen: &Sighting) -> Option<(i64, String)> {
    let began = table.now;
    for _ in 0..1000 {
        table.now += 100 * MS;
        let captured = table.now - MS;
        for action in table.referee.sighting(seen.clone(), captured, table.now) {
            if let Action::End(reason) = action {
                return Some(((table.now - began) / (1000 * MS), reason));
            }
        }
    }
    None
}

#[test]
fn a_run_with_a_number_of_boards_ends_when_it_is_stuck() {
    let mut table = Table::new(config());
    table.see(1, empty(3));
    table.answer(1, 3);
    table.played(20, 3);
    let solved = sighting(3, &[0, 1, 2], BoardState::Solved);
    let (seconds, reason) = until_end(&mut table, &solved).unwrap();
    assert_eq!(seconds, 10);
    assert!(
        reason.starts_with("stuck for 10 s: the last board is solved, and no other one came: open"),
        "{reason}"
    );
    assert_eq!(table.referee.due(), None, "it is over");
    // Without a number it waits for the next board.
    let mut table = Table::new(Config {
        boards: None,
        ..config()
    });
    assert_eq!(until_end(&mut table, &solved), None);
}

#[test]
fn a_run_that_gets_on_is_not_stuck() {
    let mut table = Table::new(config());
    table.see(1, empty(3));
    assert_eq!(table.answer(1, 3), ["play"]);
    // An attempt that takes long, of which more and more is seen.
    for drawn in [&[][..], &[0], &[0, 1]] {
        assert_eq!(
            table.see(9_000, sighting(3, drawn, BoardState::Partial)),
            [""; 0]
        );
    }
    table.played(20, 3);
    table.see(SOON_MS, sighting(3, &[0, 1, 2], BoardState::Solved));
    assert_eq!(table.see(9_000, empty(2)), ["ask"], "another board");
    assert_eq!(table.see(9_000, empty(2)), ["warn"], "no answer");
    // The same more and less again is no progress.
    assert_eq!(table.see(1_001, empty(2)), ["end"]);
}

#[test]
fn the_reason_says_what_was_tried_and_what_to_do() {
    let reason = |table: &mut Table, seen: &Sighting| until_end(table, seen).unwrap().1;
    let mut nothing = Table::new(config());
    let _ = nothing.referee.tick(nothing.now);
    nothing.now += 10_001 * MS;
    let actions = nothing.referee.tick(nothing.now);
    let [Action::End(text)] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert!(
        text.contains("no picture came: open the game's window"),
        "{text}"
    );

    let text = reason(&mut Table::new(config()), &vanishing::refused());
    assert!(
        text.contains("no board is read (no grid (step: find board))"),
        "{text}"
    );

    let text = reason(&mut Table::new(config()), &empty(3));
    assert!(text.contains("the solver has not answered"), "{text}");

    // A message of the system lies over a board that is half drawn.
    let mut covered = Table::new(config());
    covered.see(1, empty(3));
    covered.answer(1, 3);
    covered.outcome(&outcome(3).with_profile(Profile::Slow));
    covered.see(200, sighting(3, &[0], BoardState::Partial));
    covered.outcome(&outcome(2).with_profile(Profile::Slow));
    covered.see(200, sighting(3, &[0], BoardState::Partial));
    let text = reason(&mut covered, &vanishing::refused());
    let tried = "2 flows are missing after 2 attempts (flows taken by profile: ";
    for part in ["can't be read any more", tried, "close what lies over it"] {
        assert!(text.contains(part), "{text}");
    }

    // The mouse stops within its strokes, and does not play the last ones.
    for attempts in [1, 9] {
        let mut stopped = Table::new(Config {
            attempts,
            ..config()
        });
        stopped.see(1, empty(3));
        stopped.answer(1, 3);
        let mut outcome = outcome(2).with_profile(Profile::Slow);
        outcome.refused = Some("the screen is off".to_owned());
        stopped.outcome(&outcome);
        let text = reason(&mut stopped, &empty(3));
        assert!(text.contains("the screen is off"), "{text}");
        assert!(!text.contains("clicks"), "{text}");
    }

    // The game takes nothing.
    let mut table = Table::new(Config {
        attempts: 1,
        ..config()
    });
    table.see(1, empty(3));
    table.answer(1, 3);
    table.outcome(&outcome(3).with_profile(Profile::Slow));
    let text = reason(&mut table, &empty(3));
    for part in ["the board was not solved", "Restart the board in the game"] {
        assert!(text.contains(part), "{text}");
    }
}

/// On Wayland, a person may have moved the mouse within each stroke.
#[test]
fn a_hand_that_is_not_reported_is_named_beside_the_game() {
    for (desktop, is_named) in [
        ("x11 :0", false),
        ("mutter unix:path=/run/bus", false),
        ("wlroots /run/user/7/wayland-1", true),
        ("wlroots (sway) /run/user/7/wayland-1", true),
    ] {
        let mut seen = empty(3);
        seen.frame = seen.frame.with_desktop(desktop);
        let mut table = Table::new(config());
        table.see(1, seen.clone());
        table.answer(1, 3);
        table.outcome(&outcome(3).with_profile(Profile::Slow));
        let (_, text) = until_end(&mut table, &seen).unwrap();
        assert!(text.contains("strokes draw nothing more"), "{text}");
        let hand = text.contains("leave the mouse alone");
        assert_eq!(hand, is_named, "{desktop}: {text}");
    }
}

#[test]
fn a_board_with_damage_that_stays_is_given_up_and_played_again_once_it_is_empty() {
    let mut table = Table::new(config());
    table.see(1, empty(3));
    assert_eq!(table.answer(1, 3), ["play"]);
    table.outcome(&outcome(3).with_profile(Profile::Slow));
    let mut across = sighting(3, &[0, 1], BoardState::Partial);
    if let Reading::Board(board) = &mut across.reading {
        board.drawn.push(Flow::new(2, vec![6, 3]));
    }
    // Clicks, and two strokes over it.
    let mut see = || {
        let actions = table.display(200, across.clone());
        if let [Action::Play(solved)] = &actions[..] {
            let profile = match &solved.draw {
                Draw::Clear(_) => Profile::Slow,
                _ => solved.profile.unwrap(),
            };
            table.outcome(&outcome(1).with_profile(profile));
        }
        actions
    };
    for _ in 0..3 {
        assert_eq!(kinds(&see()), ["play"]);
    }
    let actions = see();
    let [Action::Report(result)] = &actions[..] else {
        panic!("{actions:?}");
    };
    let reason = result.reason.as_deref();
    assert_eq!(reason, Some("what is drawn wrongly stays in this game"));
    assert_eq!(table.see(200, empty(3)), ["play"]);
}

#[test]
fn a_board_is_cleared_as_a_whole_before_it_is_given_up() {
    let mut table = Table::new(config());
    table.see(1, empty(3));
    table.answer(1, 3);
    let half = sighting(3, &[0], BoardState::Partial);
    let mut asked = Vec::new();
    for _ in 0..20 {
        table.outcome(&outcome(3).with_profile(Profile::Slow));
        let actions = table.display(200, half.clone());
        match &actions[..] {
            [Action::Play(solved), ..] | [_, Action::Play(solved)] => {
                asked.push(solved.draw.clone());
            }
            _ => break,
        }
    }
    let cleared = asked.iter().filter(|it| **it == Draw::Clear(vec![0]));
    assert_eq!(cleared.count(), 1, "{asked:?}");
}

#[test]
fn what_is_drawn_after_a_new_start_is_progress() {
    let mut table = Table::new(config());
    table.see(1, empty(5));
    table.answer(1, 5);
    let mut see = |drawn: &[usize]| {
        table.outcome(&outcome(5).with_profile(Profile::Slow));
        table.display(200, sighting(5, drawn, BoardState::Partial))
    };
    let is_cleared = |actions: &[Action]| {
        let is_clear =
            |it: &Action| matches!(it, Action::Play(it) if matches!(it.draw, Draw::Clear(_)));
        actions.iter().any(is_clear)
    };
    // Three flows are taken, and no more.
    assert!((0..8).any(|_| is_cleared(&see(&[0, 1, 2]))));
    // One after the other is taken again.
    for drawn in [&[][..], &[0], &[0, 1], &[0, 1, 2], &[0, 1, 2, 3]] {
        assert_eq!(kinds(&see(drawn)), ["play"], "{drawn:?}");
    }
}
