//! Games that join no pipe to its terminal by themselves.

use super::*;

fn needs(actions: &[Action]) -> (Profile, Option<StrokeEnd>) {
    match actions {
        [Action::Play(solved)] => (solved.profile.unwrap(), solved.stroke_end),
        _ => panic!("{actions:?}"),
    }
}

/// A board whose flows are drawn but for one of their terminals.
fn short(rows: usize) -> Sighting {
    let mut sighting = sighting(rows, &[], BoardState::Partial);
    if let Reading::Board(board) = &mut sighting.reading {
        board.drawn = flows(rows);
        for flow in &mut board.drawn {
            flow.cells.pop();
        }
    }
    sighting
}

#[test]
fn pipes_that_end_beside_their_terminals_are_drawn_into_them_with_the_same_profile() {
    let folder = tempfile::tempdir().unwrap();
    let games = || Games::new(Some(folder.path().join("games.toml")));
    let known = crate::games::GameEntry {
        profile: Some(Profile::Events),
        ..Default::default()
    };
    games().keep("window", &known);
    let mut table = Table::keeping(Config::default(), games());
    table.see(1, empty(3));
    let asked = table.referee.solved(answer(3), table.captured, table.now);
    assert_eq!(needs(&asked), (Profile::Events, None));
    table.now += 20 * MS;
    let played = || outcome(3).with_profile(Profile::Events);
    table.outcome(&played());
    let asked = table.display(200, short(3));
    let [Action::Play(solved)] = &asked[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(solved.draw, Draw::Clear(vec![0, 1, 2]));
    table.now += 20 * MS;
    table.outcome(&outcome(3).with_profile(Profile::Slow));
    let asked = table.display(200, empty(3));
    let into = Some(StrokeEnd::InTerminal);
    assert_eq!(
        needs(&asked),
        (Profile::Events, into),
        "the game takes the rest"
    );
    table.now += 20 * MS;
    table.outcome(&played());
    let all = sighting(3, &[0, 1, 2], BoardState::Solved);
    assert_eq!(table.see(200, all), ["solved"]);
    let known = games().get("window").unwrap();
    assert_eq!(
        (known.profile, known.stroke_end),
        (Some(Profile::Events), into)
    );

    // The next run begins with it.
    let mut table = Table::keeping(Config::default(), games());
    table.see(1, empty(3));
    let asked = table.referee.solved(answer(3), table.captured, table.now);
    assert_eq!(needs(&asked), (Profile::Events, into));
}

#[test]
fn a_pipe_that_ends_before_that_was_missed() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(3));
    table.answer(1, 3);
    table.now += 20 * MS;
    table.outcome(&outcome(3).with_profile(Profile::Slow));
    let asked = table.display(200, empty(3));
    assert_eq!(needs(&asked), (Profile::Frames, None));
}
