//! Which clicks come next, and whether the last ones have had their effect.

use std::collections::BTreeMap;

use mines_game::clicks::{Click, clicks};
use mines_game::field::Cell;
use mines_game::message::Moves;

/// Plays one batch of clicks at a time.
#[derive(Default)]
pub struct Player {
    /// Cells that clicks will change, with what they showed before. A frame may be older than the clicks: until all of
    /// these have changed, nothing else is clicked.
    unchanged: BTreeMap<usize, Cell>,
    /// When the last change was captured.
    since_ns: i64,
    /// How many clicks were planned that open cells.
    pub opening: usize,
    /// How many were planned for flags.
    pub flags: usize,
}

impl Player {
    /// The next clicks on a field that was captured at a time. None: the last ones still need their time.
    pub fn next(
        &mut self,
        moves: &Moves,
        captured_ns: i64,
        patience_ns: i64,
        most: usize,
    ) -> Vec<Click> {
        let cells = moves.seen.field.cells();
        let before = self.unchanged.len();
        self.unchanged
            .retain(|&cell, shown| cells.get(cell) == Some(shown));
        if self.unchanged.len() < before {
            self.since_ns = captured_ns;
        }
        if !self.unchanged.is_empty() {
            if captured_ns.saturating_sub(self.since_ns) < patience_ns {
                return Vec::new();
            }
            let count = self.unchanged.len();
            flowpipe_plugin::tracing::warn!(
                "{count} cells show no effect of clicks: clicking again"
            );
        }
        let mut next = clicks(&moves.seen.field, &moves.safe, &moves.mines);
        // Each beginning of them makes sense without the rest.
        next.truncate(most);
        next.extend(moves.guess.map(|guess| Click::Open(guess.cell)));
        self.unchanged = next
            .iter()
            .flat_map(|&click| changed(moves, click))
            .collect();
        self.since_ns = captured_ns;
        let flags = next
            .iter()
            .filter(|click| matches!(click, Click::Flag(_)))
            .count();
        self.flags += flags;
        self.opening += next.len() - flags;
        next
    }
}

/// The cells that a click changes, with what they show before.
fn changed(moves: &Moves, click: Click) -> Vec<(usize, Cell)> {
    let field = &moves.seen.field;
    let shown = |cell: usize| (cell, field.cells()[cell]);
    match click {
        Click::Open(cell) | Click::Flag(cell) => vec![shown(cell)],
        Click::Chord(cell) => field
            .around(cell)
            .map(shown)
            .filter(|it| it.1 == Cell::Covered)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use mines_game::field::Field;
    use mines_game::message::{Grid, SeenField};

    use super::*;

    const PATIENCE: i64 = 500;

    fn moves(rows: &str, safe: &[usize], mines: &[usize]) -> Moves {
        let field = Field::parse(mines.len(), rows).unwrap();
        let set = |cells: &[usize]| cells.iter().copied().collect::<BTreeSet<_>>();
        let grid = Grid {
            left: 0,
            top: 0,
            side: 20,
        };
        let seen = SeenField {
            state: field.state(),
            field,
            grid,
        };
        Moves {
            frame: serde_json::Value::Null,
            seen,
            safe: set(safe),
            mines: set(mines),
            guess: None,
        }
    }

    #[test]
    fn nothing_is_clicked_until_all_clicks_show_their_effect() {
        let mut player = Player::default();
        let mut next =
            |rows, safe: &[usize], at| player.next(&moves(rows, safe, &[0]), at, PATIENCE, 20);
        let clicks = next("#1##\n11##", &[2], 10);
        assert_eq!(clicks, [Click::Open(2)]);
        // An older frame, then one with the effect.
        assert_eq!(next("#1##\n11##", &[2], 20), []);
        assert_eq!(next("#11#\n11##", &[6], 30), [Click::Open(6)]);
    }

    #[test]
    fn a_chord_has_to_open_all_of_its_cells() {
        let mut player = Player::default();
        let mut next =
            |rows, safe: &[usize], at| player.next(&moves(rows, safe, &[8]), at, PATIENCE, 20);
        assert_eq!(next("###\n#1#\n###", &[0, 1, 2, 3, 5, 6, 7], 0).len(), 2);
        assert_eq!(next("000\n01#\n#1F", &[5, 6], 400), []);
        // What changes takes its time.
        assert_eq!(next("000\n011\n#1F", &[6], 800), []);
        assert_eq!(next("000\n011\n#1F", &[6], 1299), []);
        assert_eq!(next("000\n011\n#1F", &[6], 1300), [Click::Chord(4)], "lost");
    }

    #[test]
    fn a_batch_has_a_length() {
        let rows = "###\n#6#\n###";
        let clicks =
            Player::default().next(&moves(rows, &[0, 8], &[1, 2, 3, 5, 6, 7]), 0, PATIENCE, 1);
        assert_eq!(clicks, [Click::Open(0)]);
    }
}
