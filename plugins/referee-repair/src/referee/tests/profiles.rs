//! Games that need different things from the mouse, played until it is found out.

use super::*;

/// A game that takes what is drawn for some profiles and misses all else.
struct Picky<'a> {
    table: Table,
    takes: &'a [Profile],
    /// The planner's own profile; otherwise it does as it is asked.
    fixed: Option<Profile>,
    /// What the planner was asked for, by attempt.
    asked: Vec<Profile>,
    source: &'a str,
    window: Option<u64>,
    /// What was logged.
    warnings: Vec<String>,
}

impl<'a> Picky<'a> {
    fn new(games: Games, takes: &'a [Profile]) -> Self {
        Self {
            table: Table::keeping(Config::default(), games),
            takes,
            fixed: None,
            asked: Vec::new(),
            source: "a game",
            window: Some(7),
            warnings: Vec::new(),
        }
    }

    fn see(&mut self, rows: usize, drawn: &[usize], state: BoardState) -> Vec<Action> {
        self.table.now += 200 * MS;
        let mut sighting = sighting(rows, drawn, state);
        sighting.frame.source = self.source.to_owned();
        sighting.frame.window = self.window;
        let now = self.table.now;
        self.table.referee.sighting(sighting, now - MS, now)
    }

    /// Plays a board until it is solved or given up, and returns its result.
    fn board(&mut self, rows: usize) -> BoardResult {
        let mut actions = self.see(rows, &[], BoardState::Empty);
        actions.extend(self.table.referee.solved(
            answer(rows),
            self.table.captured,
            self.table.now,
        ));
        let mut state = BoardState::Empty;
        // The game gets more time after strokes that drew nothing: it is seen again until something is done.
        for _ in 0..10_000 {
            if actions.is_empty() {
                actions = self.see_all(rows, state);
            }
            for action in std::mem::take(&mut actions) {
                match action {
                    Action::Report(result) => return *result,
                    Action::Play(solved) => {
                        let asked = solved.profile.unwrap();
                        self.asked.push(asked);
                        let profile = self.fixed.unwrap_or(asked);
                        let played = outcome(rows).with_profile(profile);
                        self.table.now += 50 * MS;
                        self.table
                            .referee
                            .outcome(&played, self.table.captured, self.table.now);
                        state = match self.takes.contains(&profile) {
                            true => BoardState::Solved,
                            false => BoardState::Empty,
                        };
                        actions = self.see_all(rows, state);
                    }
                    Action::Warn(text) => self.warnings.push(text),
                    _ => {}
                }
            }
        }
        panic!("the board comes to no end");
    }

    /// The board with all flows drawn where it is solved, and none elsewhere.
    fn see_all(&mut self, rows: usize, state: BoardState) -> Vec<Action> {
        let is_solved = state == BoardState::Solved;
        let drawn: Vec<usize> = (0..rows).filter(|_| is_solved).collect();
        self.see(rows, &drawn, state)
    }
}

#[test]
fn what_the_game_needs_is_found_and_kept() {
    use Profile::{Cells, Events, Frames, Segments, Slow, Turns};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("games.toml");
    let games = || Games::new(Some(file.clone()));
    let mut first = Picky::new(games(), &[Cells, Slow]);
    let result = first.board(3);
    assert!(result.solved);
    assert_eq!((result.attempts, result.profile), (1, Some(Slow)));
    let known = games().get("a game").unwrap();
    assert_eq!((known.profile, known.searching), (Some(Slow), true));
    assert_eq!(known.stroke_end, Some(StrokeEnd::BesideTerminal));
    assert_eq!(
        (known.confidence, known.rules),
        (Some(1.0), Some(Rules::default()))
    );
    for _ in 0..5 {
        assert!(first.board(4).solved && first.board(3).solved);
    }
    let tried = [
        Slow, Segments, Slow, Events, Slow, Turns, Slow, Frames, Slow,
    ];
    assert_eq!(first.asked[..9], tried);
    assert_eq!(first.asked[9..], [Cells; 6]);
    first.board(4);
    // The next run begins with it; another game does not.
    let mut second = Picky::new(games(), &[Cells]);
    assert_eq!(second.board(3).attempts, 1);
    assert_eq!(second.asked, [Cells]);
    let mut other = Picky::new(games(), &[Events, Slow]);
    other.source = "another game";
    for _ in 0..7 {
        assert!(other.board(3).solved);
    }
    assert_eq!(other.asked[..4], [Slow, Segments, Slow, Events]);
    // What no window shows is not kept.
    let mut nowhere = Picky::new(games(), &[Slow]);
    (nowhere.source, nowhere.window) = ("monitor 1", None);
    assert!(nowhere.board(3).solved);
    let text = std::fs::read_to_string(&file).unwrap();
    let games: toml::Table = text.parse().unwrap();
    let expected = "[games.'a game']\nprofile = 'cells'\nstroke_end = 'in-terminal'\nconfidence = 1.0\nrules = 'strict'\n\
                    [games.'another game']\nprofile = 'events'\nstroke_end = 'in-terminal'\nconfidence = 1.0\nrules = 'strict'";
    assert_eq!(games, expected.parse().unwrap(), "{text}");
}

/// Those take no drag, and the referee finds no profile that they need.
#[test]
fn a_game_that_shows_no_strokes_gets_a_hint_to_clicks() {
    let mut game = Picky::new(Games::none(), &[Profile::Clicks]);
    assert!(!game.board(3).solved);
    assert!(!game.board(4).solved);
    let [hint] = &game.warnings[..] else {
        panic!("not one hint: {:?}", game.warnings);
    };
    assert!(hint.contains("use --profile clicks"), "{hint}");
    // The planner has a profile that is too fast.
    let mut game = Picky::new(Games::none(), &[Profile::Slow]);
    game.fixed = Some(Profile::Events);
    assert!(!game.board(3).solved);
    assert!(
        game.warnings[0].contains("--profile slow"),
        "{:?}",
        game.warnings
    );
    // Strokes without effect on one board say nothing of those on the next.
    let mut game = Picky::new(Games::none(), &[Profile::Cells]);
    assert!(game.board(3).solved);
    game.table.now += 10_000 * MS;
    game.source = "another game";
    game.window = Some(8);
    assert!(game.board(4).solved);
    assert!(game.warnings.is_empty(), "{:?}", game.warnings);
}

#[test]
fn a_game_that_takes_more_than_it_did_is_played_faster_again() {
    use Profile::{Segments, Turns};
    let folder = tempfile::tempdir().unwrap();
    let games = Games::new(Some(folder.path().join("games.toml")));
    let known = crate::games::GameEntry {
        profile: Some(Turns),
        ..Default::default()
    };
    games.keep("a game", &known);
    let mut game = Picky::new(games, &[Segments, Turns]);
    // Boards of two and three flows alternating, 125 flows in all.
    assert!(game.board(2).solved && game.board(3).solved);
    // Something that was missed and drawn again has shown that a trial does no harm.
    game.table.referee.session.calibration.note_repair();
    for _ in 1..25 {
        assert!(game.board(2).solved && game.board(3).solved);
    }
    assert_eq!(game.asked[..12], [Turns; 12]);
    assert_eq!(game.asked[12..30], [Segments; 18]);
    // It does not take what is faster still: that is tried again only after longer.
    assert_eq!(game.asked[30], Profile::Events);
    assert_eq!(game.asked[31..], [Segments; 20]);
    let games = Games::new(Some(folder.path().join("games.toml")));
    let known = games.get("a game").unwrap();
    assert_eq!(known.profile, Some(Segments));
}

#[test]
fn what_was_found_stays_while_the_search_begins_again() {
    use Profile::{Slow, Turns};
    let folder = tempfile::tempdir().unwrap();
    let games = || Games::new(Some(folder.path().join("games.toml")));
    let found = crate::games::GameEntry {
        profile: Some(Turns),
        confidence: Some(0.9),
        ..Default::default()
    };
    games().keep("a game", &found);
    // It has become slower, or the machine is busy.
    let mut game = Picky::new(games(), &[Slow]);
    assert!(game.board(3).solved);
    assert_eq!(game.asked, [Turns, Slow]);
    let known = games().get("a game").unwrap();
    let expected = crate::games::GameEntry {
        stroke_end: Some(StrokeEnd::BesideTerminal),
        rules: Some(Rules::default()),
        ..found
    };
    assert_eq!(known, expected);
}

#[test]
fn a_planner_with_a_profile_of_its_own_teaches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("games.toml");
    for fixed in Profile::ALL {
        let mut game = Picky::new(Games::new(Some(file.clone())), &[]);
        game.fixed = Some(fixed);
        let result = game.board(3);
        assert_eq!((result.solved, result.profile), (false, Some(fixed)));
        game.takes = &Profile::ALL;
        assert!(game.board(4).solved);
    }
    assert!(!file.exists());
}

#[test]
fn what_was_not_played_to_its_end_was_not_missed() {
    let mut table = Table::new(Config::default());
    table.see(1, empty(4));
    let asked = |actions: &[Action]| match actions {
        [Action::Play(solved)] => solved.profile,
        _ => panic!("{actions:?}"),
    };
    let mut actions = table.referee.solved(answer(4), table.captured, table.now);
    for _ in 0..5 {
        assert_eq!(asked(&actions), Some(Profile::Slow));
        let covered = outcome(1)
            .with_refused("covered")
            .with_profile(Profile::Slow);
        table.now += 20 * MS;
        table.outcome(&covered);
        actions = table.display(200, empty(4));
    }
}
