use flowpipe_plugin::message::FrameNote;
use flowpipe_plugin::puzzle::{Board, Rules, Terminal};
use proptest::prelude::*;

use super::*;

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;

fn navigator() -> Navigator {
    let config = Config {
        presses: 3,
        patience: 5.0,
        ..Config::default()
    };
    Navigator::new(&config, 2)
}

/// A board of three cells and so many more in a row.
fn board(more: usize) -> SeenBoard {
    let terminals = vec![Terminal::new(0, 0), Terminal::new(2 + more, 0)];
    let puzzle = Puzzle::new(
        Board::rectangle(1, 3 + more).unwrap(),
        terminals,
        Rules::default(),
    );
    SeenBoard::untouched(puzzle.unwrap(), 40.0)
}

/// A click was played.
fn clicked() -> GestureOutcome {
    GestureOutcome::new("mouse", FrameNote::of("window"), 1).with_act_ns(60 * MS)
}

/// The mouse stopped so many nanoseconds after it pressed the button. 0: it pressed nothing.
fn refused(act_ns: i64) -> GestureOutcome {
    let outcome = GestureOutcome::new("mouse", FrameNote::of("window"), 0);
    outcome.with_act_ns(act_ns).with_refused("it is covered")
}

/// Whether a frame that vision read at once is searched.
fn searched(navigator: &mut Navigator, seen: Seen<'_>, at: i64) -> bool {
    matches!(navigator.sighting(seen, at, at), Decision::Search { .. })
}

fn reason(decision: Decision) -> String {
    match decision {
        Decision::GiveUp(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn nothing_is_pressed_while_a_board_is_played() {
    let mut navigator = navigator();
    for step in 0..100 {
        assert!(!searched(
            &mut navigator,
            Seen::Board(None),
            step * 200 * MS
        ));
        assert!(!navigator.is_between_boards());
    }
    assert!(!searched(&mut navigator, Seen::Moving, 21 * S));
    // A frame in which the board was not made out does not count as a pause.
    assert!(!searched(&mut navigator, Seen::Nothing, 22 * S));
    assert!(!searched(
        &mut navigator,
        Seen::Board(None),
        22 * S + 300 * MS
    ));
    assert!(!searched(&mut navigator, Seen::Nothing, 22 * S + 600 * MS));
    assert!(!searched(&mut navigator, Seen::Nothing, 22 * S + 900 * MS));
    assert!(searched(&mut navigator, Seen::Nothing, 22 * S + 1_000 * MS));
}

#[test]
fn what_leads_on_after_a_win_is_pressed_only_after_one() {
    for (first, expected) in [(Seen::Solved, true), (Seen::Nothing, false)] {
        let mut navigator = navigator();
        navigator.sighting(first, 0, 0);
        let decision = navigator.sighting(Seen::Nothing, S, S);
        let after_win = expected;
        assert_eq!(decision, Decision::Search { after_win }, "{first:?}");
    }
    // The referee knows of a win too, but not of one that is over.
    let mut navigator = navigator();
    navigator.result(board(0).puzzle, None, 0);
    navigator.sighting(Seen::Nothing, 0, 0);
    let without = Decision::Search { after_win: false };
    assert_eq!(navigator.sighting(Seen::Nothing, S, S), without);
    navigator.result(board(0).puzzle, None, S);
    let with = Decision::Search { after_win: true };
    assert_eq!(navigator.sighting(Seen::Nothing, 2 * S, 2 * S), with);
}

#[test]
fn the_game_gets_time_to_react() {
    let mut navigator = navigator();
    navigator.sighting(Seen::Solved, 0, 0);
    assert!(searched(&mut navigator, Seen::Solved, S));
    navigator.press(0, S);
    // Until the outcome is there.
    assert!(!searched(&mut navigator, Seen::Solved, 2 * S));
    navigator.outcome(&clicked(), 2 * S);
    assert!(!searched(&mut navigator, Seen::Solved, 2 * S + 700 * MS));
    // What was captured too early, and read late.
    let late = navigator.sighting(Seen::Solved, 2 * S + 700 * MS, 3 * S);
    assert_eq!(late, Decision::Wait);
    assert!(searched(&mut navigator, Seen::Solved, 2 * S + 800 * MS));
    // An outcome that does not come counts as a press.
    navigator.press(0, 3 * S);
    assert!(!searched(&mut navigator, Seen::Solved, 8 * S));
    assert!(!searched(&mut navigator, Seen::Solved, 8 * S + MS));
    assert!(searched(&mut navigator, Seen::Solved, 9 * S));
}

#[test]
fn frames_are_searched_ten_times_a_second_at_most() {
    let mut navigator = navigator();
    navigator.sighting(Seen::Nothing, 0, 0);
    let times = (0..200).filter(|step| {
        let at = S + step * 5 * MS;
        searched(&mut navigator, Seen::Nothing, at)
    });
    assert_eq!(times.count(), 10);
}

#[test]
fn presses_are_counted_and_what_had_no_effect_comes_last() {
    let mut navigator = navigator();
    navigator.sighting(Seen::Solved, 0, 0);
    let mut now = S;
    let mut pressed = Vec::new();
    for _ in 0..3 {
        assert!(searched(&mut navigator, Seen::Solved, now));
        let target = navigator.choose(&[0, 1]).unwrap();
        pressed.push(target);
        navigator.press(target, now);
        navigator.outcome(&clicked(), now);
        now += S;
    }
    assert_eq!(pressed, [0, 1, 0]);
    assert_eq!(navigator.choose(&[]), None);
    assert!(!searched(&mut navigator, Seen::Solved, now));
    let reason = reason(navigator.sighting(Seen::Solved, now + 5 * S, now + 5 * S));
    let expected = "nothing leads on to the next board: none was seen for 6 s after 3 presses";
    assert!(reason.starts_with(expected), "{reason}");
    // The next pause begins with no presses.
    navigator.sighting(Seen::Board(None), now + 6 * S, now + 6 * S);
    navigator.sighting(Seen::Solved, now + 7 * S, now + 7 * S);
    assert!(searched(&mut navigator, Seen::Solved, now + 8 * S));
}

#[test]
fn what_was_refused_does_not_count_as_a_press() {
    let mut navigator = navigator();
    navigator.sighting(Seen::Nothing, 0, 0);
    let mut now = S;
    for _ in 0..20 {
        assert!(searched(&mut navigator, Seen::Nothing, now));
        navigator.press(0, now);
        navigator.outcome(&refused(0), now);
        now += 200 * MS;
    }
    let reason = reason(navigator.sighting(Seen::Nothing, 6 * S, 6 * S));
    assert!(reason.contains("because it is covered"), "{reason}");
    // An outcome that nothing was pressed for changes nothing.
    navigator.outcome(&clicked(), 7 * S);
    assert!(matches!(
        navigator.sighting(Seen::Nothing, 7 * S, 7 * S),
        Decision::GiveUp(_)
    ));
}

/// The button goes up, and the game takes it as a click. A second one would lead past a board.
#[test]
fn what_was_stopped_in_the_middle_counts_as_a_press() {
    let mut navigator = navigator();
    navigator.sighting(Seen::Solved, 0, 0);
    assert!(searched(&mut navigator, Seen::Solved, S));
    navigator.press(0, S);
    navigator.outcome(&refused(60 * MS), 2 * S);
    assert!(!searched(&mut navigator, Seen::Solved, 2 * S + 700 * MS));
    assert!(searched(&mut navigator, Seen::Solved, 2 * S + 800 * MS));
    assert_eq!(navigator.choose(&[0, 1]), Some(1));
}

#[test]
fn the_run_ends_when_nothing_leads_on() {
    let mut navigator = navigator();
    for step in 0..=50 {
        let at = step * 100 * MS;
        let decision = navigator.sighting(Seen::Nothing, at, at);
        assert!(!matches!(decision, Decision::GiveUp(_)), "{step}");
        navigator.miss("there is nothing like next.png".to_owned());
    }
    let reason = reason(navigator.sighting(Seen::Nothing, 5_100 * MS, 5_100 * MS));
    assert_eq!(
        reason,
        "nothing leads on to the next board: none was seen for 5 s: there is nothing like next.png"
    );
}

#[test]
fn a_board_that_moves_is_on_its_way() {
    let mut navigator = navigator();
    navigator.sighting(Seen::Solved, 0, 0);
    for step in 0..100 {
        assert!(!searched(&mut navigator, Seen::Moving, step * 100 * MS));
    }
    assert!(!matches!(
        navigator.sighting(Seen::Solved, 11 * S, 11 * S),
        Decision::GiveUp(_)
    ));
}

/// A navigator that sees a board which is given up at the beginning, for a flow is missing.
fn given_up(seen: &SeenBoard) -> Navigator {
    let mut navigator = navigator();
    navigator.sighting(Seen::Board(Some(seen)), 0, 0);
    navigator.result(seen.puzzle.clone(), Some("1 flow is missing".to_owned()), 0);
    navigator
}

/// What the navigator decides about some sightings, one each second from the first one on.
fn decisions(navigator: &mut Navigator, seen: &[Seen<'_>]) -> Vec<Decision> {
    let seconds = (1..).map(|second| second * S);
    let seen = seen.iter().zip(seconds);
    seen.map(|(seen, at)| navigator.sighting(*seen, at, at))
        .collect()
}

#[test]
fn a_board_that_was_given_up_ends_the_run_unless_another_follows() {
    let (first, second) = (board(0), board(1));
    let (same, other) = (Seen::Board(Some(&first)), Seen::Board(Some(&second)));
    let seen = decisions(&mut given_up(&first), &[same; 6]);
    assert_eq!(seen[..5], vec![Decision::Wait; 5]);
    let ended = reason(seen[5].clone());
    assert!(ended.contains("(1 flow is missing)"), "{ended}");
    let seen = decisions(
        &mut given_up(&first),
        &[[same; 5], [other; 5], [same; 5]].concat(),
    );
    assert_eq!(seen, vec![Decision::Wait; 15]);
}

#[test]
fn a_board_that_was_given_up_is_the_same_after_frames_without_it() {
    let first = board(0);
    let same = Seen::Board(Some(&first));
    for unread in [Seen::Nothing, Seen::Solved, Seen::Moving, Seen::Board(None)] {
        let seen = decisions(
            &mut given_up(&first),
            &[same, unread, same, same, same, same],
        );
        let ended = reason(seen[5].clone());
        assert!(
            ended.contains("no other board followed"),
            "{unread:?}: {ended}"
        );
    }
    // It is given up just then.
    let mut navigator = navigator();
    navigator.sighting(Seen::Nothing, 0, 0);
    navigator.result(
        first.puzzle.clone(),
        Some("1 flow is missing".to_owned()),
        0,
    );
    reason(decisions(&mut navigator, &[same; 6])[5].clone());
    // Vision finds out by which rules it is played.
    let mut by_others = first.clone();
    by_others.puzzle = by_others.puzzle.with_rules(Rules::new(false, true));
    let same = Seen::Board(Some(&by_others));
    reason(decisions(&mut given_up(&first), &[same; 6])[5].clone());
}

#[test]
fn a_board_that_was_given_up_gets_its_time_again_when_it_is_restarted() {
    let empty = board(0);
    let partial = empty.clone().with_drawn(Vec::new(), BoardState::Partial);
    let (empty, partial) = (Seen::Board(Some(&empty)), Seen::Board(Some(&partial)));
    let seen = [partial, empty, empty, empty, empty, empty, empty];
    assert_eq!(
        decisions(&mut given_up(&board(0)), &seen),
        vec![Decision::Wait; 7]
    );
    // By the navigator itself.
    let mut pressed = given_up(&board(0));
    pressed.sighting(Seen::Nothing, 0, 0);
    pressed.press(0, S);
    pressed.outcome(&clicked(), S);
    assert_eq!(
        decisions(&mut pressed, &[empty; 7]),
        vec![Decision::Wait; 7]
    );
    // It is won after all.
    let mut won = given_up(&board(0));
    won.result(board(0).puzzle, None, S);
    assert_eq!(decisions(&mut won, &[empty; 7]), vec![Decision::Wait; 7]);
}

#[test]
fn each_pause_searches_all_snippets_before_it_counts_them_as_missing() {
    let board = board(0);
    let mut navigator = navigator();
    let is_in_vain = |navigator: &mut Navigator| navigator.sweep().map(|it| it.is_in_vain(2));
    assert_eq!(is_in_vain(&mut navigator), None);
    for pause in 0..3 {
        let at = pause * 10 * S;
        navigator.sighting(Seen::Solved, at, at);
        assert_eq!(is_in_vain(&mut navigator), Some(false), "{pause}");
        let sweep = navigator.sweep().unwrap();
        assert_eq!(sweep.order(2).collect::<Vec<_>>(), [0, 1], "{pause}");
        sweep.note(false);
        sweep.stop_before(1);
        assert_eq!(is_in_vain(&mut navigator), Some(false), "{pause}");
        let sweep = navigator.sweep().unwrap();
        assert_eq!(sweep.order(2).collect::<Vec<_>>(), [1, 0], "{pause}");
        sweep.note(false);
        assert_eq!(is_in_vain(&mut navigator), Some(true), "{pause}");
        if pause == 1 {
            navigator.press(0, at);
            assert_eq!(is_in_vain(&mut navigator), Some(false));
        }
        navigator.sighting(Seen::Board(Some(&board)), at + S, at + S);
        assert_eq!(is_in_vain(&mut navigator), None);
    }
}

proptest! {
    /// Whatever is seen and whenever: no frame with a board is searched, no more is pressed than is allowed, and no time
    /// overflows.
    #[test]
    fn no_order_of_events_leads_to_a_stray_press(events in prop::collection::vec((0..7_u8, any::<i64>()), 0..200)) {
        let mut navigator = navigator();
        let seen_board = board(0);
        let kinds = [Seen::Board(Some(&seen_board)), Seen::Solved, Seen::Moving, Seen::Nothing];
        let mut presses = 0;
        for (event, time) in events {
            match event {
                0..=3 => {
                    let seen = kinds[usize::from(event)];
                    let decision = navigator.sighting(seen, time, time.saturating_add(5));
                    if matches!(seen, Seen::Board(_)) {
                        presses = 0;
                    }
                    if let Decision::Search { .. } = decision {
                        prop_assert!(matches!(seen, Seen::Solved | Seen::Nothing));
                        if let Some(target) = navigator.choose(&[1, 0, 99]) {
                            navigator.press(target, time);
                            presses += 1;
                        }
                    }
                    prop_assert!(presses <= 3);
                }
                4 => navigator.outcome(&clicked(), time),
                5 => navigator.result(board(0).puzzle, None, time),
                _ => navigator.result(board(0).puzzle, Some("tired".to_owned()), time),
            }
        }
    }
}
