//! The rules of a game: what boards are won by, and what is kept of that.

use super::*;

const TOUCH: Rules = Rules::new(true, true);
const LOOSE: Rules = Rules::new(false, true);

/// The sighting, played by other rules.
fn by(mut sighting: Sighting, rules: Rules) -> Sighting {
    let Reading::Board(seen) = &mut sighting.reading else {
        panic!("no board");
    };
    seen.puzzle = seen.puzzle.clone().with_rules(rules);
    sighting
}

/// A referee that keeps what it finds in a file.
struct Game {
    table: Table,
    folder: tempfile::TempDir,
}

impl Game {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let games = Games::new(Some(folder.path().join("games.toml")));
        let table = Table::keeping(Config::default(), games);
        Self { table, folder }
    }

    fn kept(&self) -> Option<Rules> {
        Games::new(Some(self.folder.path().join("games.toml"))).rules("window")
    }

    /// A board comes and all of its strokes are played.
    fn draw(&mut self, rows: usize, rules: Rules) {
        let mut both = self.table.see(20, by(empty(rows), rules));
        let mut solved = answer(rows);
        solved.sighting = by(solved.sighting, rules);
        self.table.now += MS;
        let (captured, now) = (self.table.captured, self.table.now);
        let actions = self.table.referee.solved(solved, captured, now);
        both.extend(kinds(&actions));
        assert!(both.contains(&"play"), "{both:?}");
        self.table.played(10, rows);
    }

    /// All is seen drawn.
    fn see_solved(&mut self, rows: usize, rules: Rules) -> Vec<&'static str> {
        let drawn: Vec<usize> = (0..rows).collect();
        let solved = sighting(rows, &drawn, BoardState::Solved);
        self.table.see(500, by(solved, rules))
    }
}

#[test]
fn a_board_that_is_won_confirms_its_rules() {
    let mut game = Game::new();
    game.draw(2, TOUCH);
    assert_eq!(game.kept(), None, "it is not won yet");
    assert_eq!(game.see_solved(2, TOUCH), ["rules", "solved"]);
    assert_eq!(game.kept(), Some(TOUCH));
    // Reported again with each new board, as vision may have been restarted, and once to the next referee.
    assert_eq!(
        game.table.see(20, by(empty(3), TOUCH)),
        ["ask", "rules"],
        "a new board"
    );
    assert_eq!(game.table.see(20, by(empty(3), TOUCH)), [""; 0]);
    let games = Games::new(Some(game.folder.path().join("games.toml")));
    let mut next = Table::keeping(Config::default(), games);
    let unread = || {
        let refused = Reading::refused("solvability", "no solution");
        Sighting::new(FrameNote::of("window").with_window(9), refused)
    };
    assert_eq!(next.see(1, unread()), ["rules"], "before any board is read");
    assert_eq!(next.see(1, unread()), [""; 0]);
}

#[test]
fn where_cells_may_stay_empty_the_game_has_to_go_on() {
    let mut game = Game::new();
    game.draw(2, LOOSE);
    assert_eq!(game.see_solved(2, LOOSE), ["solved"]);
    assert_eq!(game.kept(), None, "only vision holds it for solved");
    // It is restarted: the game has not gone on.
    game.draw(2, LOOSE);
    assert_eq!(game.see_solved(2, LOOSE), ["solved"]);
    // The same board, read otherwise.
    let partial = sighting(3, &[0], BoardState::Partial);
    assert_eq!(game.table.see(20, by(partial, LOOSE)), ["ask"]);
    assert_eq!(game.kept(), None);
    // The next board comes.
    let mut game = Game::new();
    game.draw(2, LOOSE);
    game.see_solved(2, LOOSE);
    assert_eq!(game.table.see(20, by(empty(3), LOOSE)), ["ask", "rules"]);
    assert_eq!(game.kept(), Some(LOOSE));
}

#[test]
fn a_board_that_is_not_won_confirms_nothing() {
    let mut game = Game::new();
    // One that somebody else has solved.
    assert_eq!(game.see_solved(2, TOUCH), ["ask"]);
    // One that makes way for another before all was drawn.
    game.draw(3, TOUCH);
    game.table
        .see(500, by(sighting(3, &[0], BoardState::Partial), TOUCH));
    game.table.see(20, by(empty(2), Rules::default()));
    assert_eq!(game.kept(), None);
}

#[test]
fn boards_of_numbers_confirm_nothing_and_count_for_nothing() {
    let inked = |game: &mut Game, rows, rules| {
        game.draw(rows, rules);
        let board = game.table.referee.session.board.as_mut().unwrap();
        // Black on white, as coloured ones are not: what counts is what vision says of it.
        let palette = vec![[0; 3]; 3];
        let seen = SeenBoard::new(
            board.puzzle.clone(),
            board.geometry.clone().unwrap(),
            palette,
        );
        let frame = FrameNote::of("window").with_window(7);
        assert!(!Board::new(&seen, &frame, 0).is_of_numbers);
        *board = Board {
            attempts: board.attempts,
            ..Board::new(&seen.with_numbers(true), &frame, 0)
        };
        assert!(board.is_of_numbers);
        game.see_solved(rows, rules);
    };
    let mut game = Game::new();
    inked(&mut game, 2, LOOSE);
    assert_eq!(game.table.see(20, by(empty(3), LOOSE)), ["ask"]);
    assert_eq!(game.kept(), None);
    // Nor do they make looser rules be forgotten.
    let mut game = Game::new();
    game.draw(2, TOUCH);
    assert_eq!(game.see_solved(2, TOUCH), ["rules", "solved"]);
    for _ in 0..3 {
        inked(&mut game, 3, Rules::default());
        inked(&mut game, 2, Rules::default());
    }
    assert_eq!(game.kept(), Some(TOUCH));
}

#[test]
fn a_file_that_makes_no_sense_reports_no_rules() {
    let game = Game::new();
    let file = game.folder.path().join("games.toml");
    std::fs::write(&file, "[games.window]\nrules = \"sloppy\"\n").unwrap();
    let mut table = Table::keeping(Config::default(), Games::new(Some(file.clone())));
    assert_eq!(table.see(1, empty(2)), ["ask"]);
}
