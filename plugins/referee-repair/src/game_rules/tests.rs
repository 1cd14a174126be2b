use super::*;

const STRICT: Rules = Rules::new(true, false);
const TOUCH: Rules = Rules::new(true, true);
const LOOSE: Rules = Rules::new(false, true);

/// A file of games in a folder of its own.
struct Kept(tempfile::TempDir);

impl Kept {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn games(&self) -> Games {
        Games::new(Some(self.0.path().join("games.toml")))
    }

    /// A record that meets the game in a window.
    fn record(&self) -> (RuleRecord, Option<Rules>) {
        let mut record = RuleRecord::default();
        let known = record.meet(&frame(), &self.games());
        (record, known.map(|known| known.rules))
    }

    fn rules(&self) -> Option<Rules> {
        self.games().rules("a game")
    }

    /// Wins boards, and returns what vision is to know after each.
    fn win(&self, record: &mut RuleRecord, boards: &[Rules]) -> Vec<Option<Rules>> {
        let games = self.games();
        let won = |rules: &Rules| record.won(*rules, &games).map(|known| known.rules);
        boards.iter().map(won).collect()
    }
}

fn frame() -> FrameNote {
    FrameNote::of("a game").with_window(7)
}

#[test]
fn looser_rules_are_kept_once_a_board_is_won_by_them() {
    let kept = Kept::new();
    let (mut record, known) = kept.record();
    assert_eq!((known, kept.rules()), (None, None));
    let known = kept.win(&mut record, &[STRICT, TOUCH, TOUCH, LOOSE, STRICT]);
    assert_eq!(known, [None, Some(TOUCH), None, Some(LOOSE), None]);
    assert_eq!(kept.rules(), Some(LOOSE));
    // The next run begins with them, and reports them once.
    let (mut record, known) = kept.record();
    assert_eq!(known, Some(LOOSE));
    assert_eq!(record.meet(&frame(), &kept.games()), None);
}

#[test]
fn looser_rules_that_boards_need_no_more_are_forgotten() {
    let kept = Kept::new();
    kept.games().keep_rules("a game", LOOSE);
    let (mut record, _) = kept.record();
    let four = [STRICT; FORGOTTEN_AFTER - 1];
    assert!(kept.win(&mut record, &four).iter().all(Option::is_none));
    assert_eq!(kept.win(&mut record, &[LOOSE]), [None]);
    assert!(kept.win(&mut record, &four).iter().all(Option::is_none));
    assert_eq!(kept.rules(), Some(LOOSE), "a board needed them between");
    assert_eq!(
        kept.win(&mut record, &[TOUCH]),
        [Some(TOUCH)],
        "the loosest of the five"
    );
    assert!(kept.win(&mut record, &four).iter().all(Option::is_none));
    assert_eq!(kept.win(&mut record, &[STRICT]), [Some(STRICT)]);
    assert_eq!(kept.rules(), Some(STRICT));
    assert_eq!(kept.record().1, None, "vision knows strict rules");
}

#[test]
fn a_game_of_strict_boards_gets_no_entry_of_its_own() {
    let kept = Kept::new();
    let (mut record, _) = kept.record();
    kept.win(&mut record, &[STRICT; 9]);
    assert_eq!((record.rules(), kept.rules()), (Some(STRICT), None));
}

#[test]
fn what_no_window_shows_has_no_rules() {
    let kept = Kept::new();
    let mut record = RuleRecord::default();
    assert_eq!(
        record.meet(&FrameNote::of("monitor 1"), &kept.games()),
        None
    );
    assert_eq!(kept.win(&mut record, &[TOUCH]), [None]);
    assert!(!kept.0.path().join("games.toml").exists());
}

#[test]
fn another_game_has_rules_of_its_own() {
    let kept = Kept::new();
    let (mut record, _) = kept.record();
    kept.win(&mut record, &[TOUCH]);
    let other = FrameNote::of("another game").with_window(8);
    assert_eq!(record.meet(&other, &kept.games()), None);
    assert_eq!(record.rules(), None);
    let again = record.meet(&frame(), &kept.games()).unwrap();
    assert_eq!(again, GameRules::new("a game", TOUCH));
}
