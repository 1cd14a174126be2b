//! Games without a screen, by the rules of sgt-mines, on layouts that it made for each entry of its menu "Type". It makes
//! them so that nobody has to guess.

#![allow(
    clippy::unwrap_used,
    reason = "a test helper that can't go on should panic"
)]

use std::collections::BTreeMap;

use mines_game::chances::{certain, chances};
use mines_game::clicks::{Click, clicks};
use mines_game::field::{Cell, Field};

/// By `sgt-mines --generate 10 9x9n10#7` and so on, without the mask over the mines: columns, rows, the first cell
/// (column, row), and the mines row by row as bits.
const LAYOUTS: &str = include_str!("layouts.txt");

struct Game {
    mines: Vec<bool>,
    field: Field,
}

impl Game {
    /// A game whose first cell is open.
    fn of(line: &str) -> Self {
        let [cols, rows, x, y, mines] = line.split([':', 'x', ',']).collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        let [cols, rows, x, y] = [cols, rows, x, y].map(|number| number.parse::<usize>().unwrap());
        let digits = mines.chars().map(|digit| digit.to_digit(16).unwrap());
        let mines: Vec<bool> = digits
            .flat_map(|digit| [8, 4, 2, 1].map(|bit| digit & bit != 0))
            .collect();
        let mines = mines[..rows * cols].to_vec();
        let count = mines.iter().filter(|&&mine| mine).count();
        let field = Field::new(cols, count, vec![Cell::Covered; rows * cols]).unwrap();
        let mut game = Self { mines, field };
        game.open(y * cols + x);
        game
    }

    fn set(&mut self, cell: usize, to: Cell) {
        let mut cells = self.field.cells().to_vec();
        cells[cell] = to;
        self.field = Field::new(self.field.cols(), self.field.mines(), cells).unwrap();
    }

    fn open(&mut self, cell: usize) {
        assert!(
            !self.mines[cell],
            "a mine in cell {cell} of\n{}",
            self.field
        );
        let mut next = vec![cell];
        while let Some(cell) = next.pop() {
            if self.field.cells()[cell] == Cell::Covered {
                let around = self.field.around(cell).filter(|&it| self.mines[it]).count();
                self.set(cell, Cell::Open(around as u8));
                if around == 0 {
                    next.extend(self.field.around(cell));
                }
            }
        }
    }

    fn click(&mut self, click: Click) {
        let before = self.field.clone();
        let shown = |game: &Self, cell: usize| game.field.cells()[cell];
        match click {
            Click::Open(cell) if shown(self, cell) == Cell::Covered => self.open(cell),
            Click::Flag(cell) if shown(self, cell) == Cell::Covered => self.set(cell, Cell::Flag),
            Click::Chord(cell) => {
                let around: Vec<usize> = self.field.around(cell).collect();
                let flags = around
                    .iter()
                    .filter(|&&it| shown(self, it) == Cell::Flag)
                    .count();
                assert_eq!(shown(self, cell), Cell::Open(flags as u8));
                around
                    .into_iter()
                    .filter(|&it| before.cells()[it] == Cell::Covered)
                    .for_each(|it| self.open(it));
            }
            _ => {}
        }
        assert_ne!(
            before, self.field,
            "a click without an effect: {click:?} on\n{before}"
        );
    }

    /// Plays to the end: how many clicks it took.
    fn play(mut self) -> usize {
        // The first one has opened the first cell.
        let mut count = 1;
        while self
            .field
            .cells()
            .iter()
            .filter(|cell| cell.is_covered())
            .count()
            > self.field.mines()
        {
            let chances = chances(&self.field, &|| false).unwrap();
            let batch = clicks(
                &self.field,
                &certain(&chances, 0.0),
                &certain(&chances, 1.0),
            );
            assert!(!batch.is_empty(), "it would have to guess:\n{}", self.field);
            count += batch.len();
            batch.into_iter().for_each(|click| self.click(click));
        }
        count
    }
}

#[test]
fn every_game_is_won_without_a_guess_and_without_superfluous_clicks() {
    let mut played = BTreeMap::<_, Vec<(usize, usize)>>::new();
    for line in LAYOUTS.lines() {
        let game = Game::of(line);
        let kind = (game.mines.len(), game.field.mines());
        let single = game.mines.len() - game.field.mines();
        let count = game.play();
        assert!(count <= single, "{count} clicks for {single} cells");
        played.entry(kind).or_default().push((count, single));
    }
    assert_eq!(played.len(), 6, "each entry of the menu");
    for ((cells, mines), mut counts) in played {
        counts.sort_unstable();
        let (median, most) = (counts[counts.len() / 2].0, counts[counts.len() - 1].0);
        println!(
            "{cells} cells, {mines} mines: {} won, clicks: median {median}, most {most}",
            counts.len()
        );
    }
}
