//! Boards that are gone after their last stroke.

use flowpipe_plugin::message::Rectangle;
use proptest::prelude::*;

use super::*;

/// A frame without a board, as a message of the game makes it.
pub fn refused() -> Sighting {
    Sighting::new(
        FrameNote::of("window").with_window(7),
        Reading::refused("find board", "no grid"),
    )
}

/// A board of three flows that was played, of which these were seen drawn meanwhile.
fn played(boards: Option<usize>, seen: Option<&[usize]>) -> Table {
    let mut table = Table::new(Config {
        boards,
        ..Config::default()
    });
    table.see(1, empty(3));
    assert_eq!(table.answer(1, 3), ["play"]);
    if let Some(drawn) = seen {
        let seen = sighting(3, drawn, BoardState::Partial);
        assert_eq!(table.see(10, seen), [""; 0]);
    }
    table.played(20, 3);
    table
}

/// What is done while the board is away, in steps of 100 ms.
fn away(table: &mut Table, steps: usize, seen: &Sighting) -> Vec<&'static str> {
    let done = (0..steps).flat_map(|_| table.see(100, seen.clone()));
    done.collect()
}

#[test]
fn a_board_under_a_message_after_its_last_stroke_was_solved() {
    let mut table = played(Some(1), Some(&[0, 1]));
    assert_eq!(away(&mut table, 10, &refused()), [""; 0]);
    assert_eq!(away(&mut table, 1, &refused()), ["solved", "end"]);
}

#[test]
fn what_was_seen_too_little_of_is_unknown_and_counts() {
    let mut table = played(Some(1), None);
    let actions: Vec<Action> = (0..31)
        .flat_map(|_| {
            table.now += 100 * MS;
            table.referee.sighting(refused(), table.now - MS, table.now)
        })
        .collect();
    let [Action::Report(result), Action::End(reason)] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert!(result.unknown && !result.solved);
    assert_eq!((result.attempts, result.strokes), (1, 3));
    let why = "it is gone, and 3 flows were not seen drawn";
    assert_eq!(result.reason.as_deref(), Some(why));
    assert_eq!(reason, "1 board played, 1 of them perhaps not solved");
}

#[test]
fn what_solved_a_board_that_is_gone_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let games = || Games::new(Some(folder.path().join("games.toml")));
    let kept = |profile, confidence| crate::games::GameEntry {
        profile: Some(profile),
        confidence,
        ..Default::default()
    };
    games().keep("window", &kept(Profile::Events, Some(0.5)));
    let mut table = Table::keeping(Config::default(), games());
    table.see(1, empty(3));
    table.answer(1, 3);
    table.see(10, sighting(3, &[0, 2], BoardState::Partial));
    table.now += 20 * MS;
    table.outcome(&outcome(3).with_profile(Profile::Events));
    assert_eq!(away(&mut table, 12, &refused()), ["solved"]);
    let won = crate::games::GameEntry {
        stroke_end: Some(StrokeEnd::BesideTerminal),
        ..kept(Profile::Events, Some(1.0))
    };
    assert_eq!(games().get("window"), Some(won.clone()));
    // Its rules are those of the game once another one has come.
    table.see(100, empty(2));
    let rules = Some(Rules::default());
    let known = games().get("window").unwrap();
    assert_eq!(known, crate::games::GameEntry { rules, ..won });
}

#[test]
fn the_next_board_is_played_after_a_message() {
    let mut table = played(Some(2), Some(&[0, 1]));
    assert_eq!(away(&mut table, 12, &refused()), ["solved"]);
    assert_eq!(table.see(100, empty(2)), ["ask"], "counted once");
    assert_eq!(table.answer(1, 2), ["play"]);
    table.played(20, 2);
    assert_eq!(
        table.see(9, sighting(2, &[0, 1], BoardState::Solved)),
        ["solved", "end"]
    );
    // Before the grace time is over.
    let mut table = played(None, Some(&[0, 1]));
    assert_eq!(away(&mut table, 3, &refused()), [""; 0]);
    assert_eq!(table.see(100, empty(2)), ["ask", "solved"]);
}

#[test]
fn a_board_that_comes_back_was_not_solved() {
    let mut table = played(None, Some(&[0, 1]));
    assert_eq!(away(&mut table, 9, &refused()), [""; 0]);
    let back = sighting(3, &[0, 1], BoardState::Partial);
    assert_eq!(table.see(50, back), ["play"], "the third is drawn again");
}

#[test]
fn a_board_that_comes_back_after_it_was_counted_is_played_on() {
    let mut table = played(Some(2), Some(&[0]));
    assert_eq!(away(&mut table, 32, &refused()), ["unknown"]);
    let back = sighting(3, &[0], BoardState::Partial);
    assert_eq!(table.see(100, back), ["play"], "what is missing");
    table.played(20, 2);
    let done = || sighting(3, &[0, 1, 2], BoardState::Solved);
    assert_eq!(table.see(100, done()), ["solved"], "the first of two");
    assert_eq!(table.see(100, done()), [""; 0]);

    // One that is solved when it comes back is no longer unknown.
    let mut table = played(Some(1), None);
    table.referee.session.run.boards = None;
    assert_eq!(away(&mut table, 32, &refused()), ["unknown"]);
    assert_eq!(table.see(100, done()), ["solved"]);
    assert_eq!(
        (
            table.referee.session.run.solved,
            table.referee.session.run.unknown
        ),
        (1, 0)
    );

    // One that counted as solved, too.
    let mut table = played(None, Some(&[0, 1]));
    assert_eq!(away(&mut table, 12, &refused()), ["solved"]);
    assert_eq!(table.see(100, done()), [""; 0]);
    let half = sighting(3, &[0, 1], BoardState::Partial);
    assert_eq!(table.see(200, half), ["play"]);
    assert_eq!(table.referee.session.run.solved, 0);
}

#[test]
fn a_board_that_was_seen_unsolved_before_it_went_was_not_solved() {
    let mut table = played(None, Some(&[0]));
    // The game gets 150 ms to show what was drawn.
    table.referee.answers = Default::default();
    table.see(1, empty(3));
    let mut stale = sighting(3, &[0], BoardState::Partial);
    stale.frame.origin = [1.0, 1.0];
    table.now += 200 * MS;
    table.referee.answers.answer(
        &puzzle(3),
        crate::answers::Answer {
            solver: "solver".to_owned(),
            verdict: answer(3).answer,
        },
    );
    table.see(1, stale);
    assert_eq!(away(&mut table, 40, &refused()), [""; 0]);
}

#[test]
fn a_board_that_is_covered_by_another_program_was_not_solved() {
    let mut table = played(None, Some(&[0, 1]));
    let mut covered = refused();
    covered.frame.covered = vec![Rectangle::new(20.0, 5.0, 100.0, 100.0)];
    assert_eq!(away(&mut table, 40, &covered), [""; 0]);
    // What lies beside the board covers nothing of it.
    let mut table = played(None, Some(&[0, 1]));
    covered.frame.covered = vec![Rectangle::new(31.0, 0.0, 100.0, 100.0)];
    assert_eq!(away(&mut table, 12, &covered), ["solved"]);
}

#[test]
fn a_board_whose_window_was_closed_was_not_solved() {
    let mut table = played(None, Some(&[0, 1]));
    let mut elsewhere = refused();
    elsewhere.frame.window = Some(8);
    assert_eq!(away(&mut table, 40, &elsewhere), [""; 0]);
}

#[test]
fn a_board_that_goes_while_it_is_played_was_not_solved() {
    // Two of the three strokes were left out.
    let mut table = Table::new(Config::default());
    table.see(1, empty(3));
    table.answer(1, 3);
    table.outcome(&outcome(1).with_refused("covered"));
    assert_eq!(away(&mut table, 40, &refused()), [""; 0]);
    // The message came over the last one.
    let mut table = Table::new(Config::default());
    table.see(1, empty(3));
    table.answer(1, 3);
    table.see(10, sighting(3, &[0, 1], BoardState::Partial));
    table.now += 10 * MS;
    table.outcome(&outcome(2).with_refused("covered"));
    assert_eq!(away(&mut table, 12, &refused()), ["solved"]);
    // Nothing was played.
    let mut table = Table::new(Config::default());
    table.see(1, empty(3));
    table.answer(1, 3);
    assert_eq!(away(&mut table, 40, &refused()), [""; 0]);
}

#[test]
fn a_board_that_goes_long_after_its_last_stroke_was_not_solved() {
    let mut table = played(None, Some(&[0, 1]));
    table.now += 5_000 * MS;
    assert_eq!(away(&mut table, 40, &refused()), [""; 0]);
}

/// Shows a board of three flows of which this is drawn, after what was played, and returns what is asked for.
pub(super) fn asked_for(table: &mut Table, drawn: Vec<Flow>) -> Draw {
    let mut seen = sighting(3, &[], BoardState::Partial);
    let Reading::Board(board) = &mut seen.reading else {
        panic!("no board");
    };
    board.drawn = drawn;
    let actions = table.display(200, seen);
    let [Action::Play(solved)] = &actions[..] else {
        panic!("{actions:?}");
    };
    solved.draw.clone()
}

#[test]
fn a_board_that_goes_while_it_is_cleared_was_not_solved() {
    let mut table = played(Some(1), None);
    let mut drawn = flows(3);
    drawn[2].cells.truncate(2);
    // The third flow is missing, and what is drawn of it is cleared first.
    assert_eq!(asked_for(&mut table, drawn), Draw::Clear(vec![2]));
    table.played(20, 4);
    assert_eq!(away(&mut table, 29, &refused()), [""; 0]);
    assert_eq!(away(&mut table, 2, &refused()), ["unknown", "end"]);
}

#[test]
fn a_board_that_goes_while_some_flows_are_drawn_was_not_solved() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(3));
    table.answer(1, 3);
    // Strokes that draw one flow of three make the game one that is played carefully, some flows at a time.
    table.outcome(&outcome(3).with_profile(Profile::Slow));
    let one = flows(3)[..1].to_vec();
    let draw = loop {
        match asked_for(&mut table, one.clone()) {
            Draw::All => table.outcome(&outcome(2).with_profile(Profile::Slow)),
            draw => break draw,
        };
    };
    let Draw::Only(asked) = draw else {
        panic!("{draw:?}");
    };
    assert_eq!(asked.len(), 1);
    // It is drawn, and seen, and the board goes before the last one is asked for.
    let seen = sighting(3, &[0, usize::from(asked[0])], BoardState::Partial);
    assert_eq!(table.see(10, seen), [""; 0]);
    table.played(20, 1);
    assert_eq!(away(&mut table, 29, &refused()), [""; 0]);
    assert_eq!(away(&mut table, 2, &refused()), ["unknown"]);
}

/// What a frame shows.
#[derive(Clone, Debug)]
enum Seen {
    Nothing { window: u64 },
    Board { drawn: Vec<usize> },
    Other,
    Outcome { strokes: usize, refused: bool },
}

fn seen() -> impl Strategy<Value = (i64, Seen)> {
    let what = prop_oneof![
        3 => prop::sample::select(vec![7, 7, 7, 8]).prop_map(|window| Seen::Nothing { window }),
        3 => prop::sample::subsequence(vec![0, 1, 2], 0..=3).prop_map(|drawn| Seen::Board { drawn }),
        1 => Just(Seen::Other),
        1 => (0..4_usize, any::<bool>()).prop_map(|(strokes, refused)| Seen::Outcome { strokes, refused }),
    ];
    (0..1_500_i64, what)
}

proptest! {
    /// Whatever is seen and played in whatever order: each board is reported once, one that nothing was played on never
    /// counts, and after the end nothing is asked for.
    #[test]
    fn no_board_is_counted_twice_or_without_a_stroke(steps in prop::collection::vec(seen(), 1..60)) {
        let mut table = Table::new(Config { boards: Some(1), ..Config::default() });
        table.see(1, empty(3));
        table.answer(1, 3);
        let (mut reported, mut ended, mut played) = (0, false, false);
        for (after_ms, seen) in steps {
            let done = match seen {
                Seen::Nothing { window } => {
                    let mut sighting = refused();
                    sighting.frame.window = Some(window);
                    table.see(after_ms, sighting)
                }
                Seen::Board { drawn } => {
                    let state = match drawn.len() {
                        0 => BoardState::Empty,
                        3 => BoardState::Solved,
                        _ => BoardState::Partial,
                    };
                    table.see(after_ms, sighting(3, &drawn, state))
                }
                Seen::Other => table.see(after_ms, empty(2)),
                Seen::Outcome { strokes, refused } => {
                    table.now += after_ms * MS;
                    let mut outcome = outcome(strokes);
                    if refused {
                        outcome = outcome.with_refused("covered").with_act_ns(10 * MS * i64::from(strokes > 0));
                    }
                    played |= outcome.act_ns > 0;
                    table.outcome(&outcome)
                }
            };
            prop_assert!(!ended || done.is_empty(), "{:?}", done);
            let counts = done.iter().filter(|it| ["solved", "unknown"].contains(*it)).count();
            reported += counts;
            ended |= done.contains(&"end");
            prop_assert!(reported <= 1 && (counts == 0 || ended));
            let is_by_itself = matches!(done[..], ["solved", ..]) && !played;
            // A board that is seen solved was solved, whoever did it.
            prop_assert!(!is_by_itself || table.referee.latest.is_some());
            prop_assert!(!done.contains(&"unknown") || played);
        }
    }
}

/// A picture of which vision made out nearly all, in the window of the board.
fn made_out() -> Sighting {
    let refusal = "row 1, column 1: something covers a line beside it";
    let mut sighting = refused();
    sighting.reading = Reading::refused("cells", refusal).with_confidence(0.69);
    sighting
}

/// Shows pictures until something is asked for, and returns what the last one led to.
fn until_asked(table: &mut Table, sighting: &Sighting) -> Vec<Action> {
    for _ in 0..100 {
        table.now += 100 * MS;
        table.captured = table.now - MS;
        let actions = table
            .referee
            .sighting(sighting.clone(), table.captured, table.now);
        if !actions.is_empty() {
            return actions;
        }
    }
    panic!("nothing is asked for");
}

#[test]
fn a_board_that_cant_be_read_after_strokes_is_cleared_and_drawn_more_slowly() {
    let folder = tempfile::tempdir().unwrap();
    let games = Games::new(Some(folder.path().join("games.toml")));
    let known = crate::games::GameEntry {
        profile: Some(Profile::Events),
        ..Default::default()
    };
    games.keep("window", &known);
    let mut table = Table::keeping(Config::default(), games);
    table.see(1, empty(3));
    let first = table.referee.solved(answer(3), table.captured, table.now);
    let [Action::Play(first)] = &first[..] else {
        panic!("{first:?}");
    };
    assert_eq!(first.draw, Draw::All);
    table.now += 20 * MS;
    table.outcome(&outcome(3).with_profile(first.profile.unwrap()));
    let actions = until_asked(&mut table, &made_out());
    let [Action::Play(clear)] = &actions[..] else {
        panic!("{actions:?}");
    };
    assert_eq!(clear.draw, Draw::Clear(vec![0, 1, 2]));
    assert_eq!(clear.sighting.frame, made_out().frame);
    assert_eq!(clear.sighting.board().unwrap().puzzle, puzzle(3));
    table.now += 20 * MS;
    table.outcome(&outcome(12).with_profile(Profile::Slow));
    let again = until_asked(&mut table, &empty(3));
    let [Action::Play(again)] = &again[..] else {
        panic!("{again:?}");
    };
    assert_eq!(again.draw, Draw::All);
    assert_eq!(first.profile, Some(Profile::Events));
    assert_eq!(again.profile, Some(Profile::Segments));
}

#[test]
fn a_board_that_is_never_read_again_is_given_up_as_unknown() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(3));
    table.answer(1, 3);
    let mut clears = 0;
    table.outcome(&outcome(3));
    loop {
        let actions = until_asked(&mut table, &made_out());
        match &actions[..] {
            [Action::Play(solved)] if solved.draw == Draw::Clear(vec![0, 1, 2]) => clears += 1,
            [Action::Report(result)] => break assert!(result.unknown),
            _ => panic!("{actions:?}"),
        }
        table.now += 20 * MS;
        table.outcome(&outcome(12));
    }
    assert_eq!(clears, 3);
}

#[test]
fn a_board_that_cant_be_cleared_is_given_up_as_unknown() {
    // The next one was seen while it moved.
    let mut table = played(Some(1), None);
    let next = sighting(2, &[], BoardState::Moving);
    assert_eq!(table.see(100, next), ["ask"]);
    assert_eq!(away(&mut table, 30, &made_out()), [""; 0]);
    assert_eq!(away(&mut table, 1, &made_out()), ["unknown", "end"]);
    // The window has another size, and the board is elsewhere.
    let mut table = played(Some(1), None);
    let mut resized = made_out();
    resized.frame.size = Some([999, 999]);
    assert_eq!(away(&mut table, 31, &resized), ["unknown", "end"]);
}

#[test]
fn nothing_is_clicked_in_a_game_whose_partly_drawn_boards_are_read() {
    let mut table = played(None, None);
    table.referee.session.calibration.note_partial();
    let actions = until_asked(&mut table, &made_out());
    assert!(matches!(&actions[..], [Action::Play(again)] if again.draw == Draw::All));
    // Nor where nothing of a board is made out.
    let mut table = played(None, None);
    let actions = until_asked(&mut table, &refused());
    assert!(matches!(&actions[..], [Action::Report(result)] if result.unknown));
}
