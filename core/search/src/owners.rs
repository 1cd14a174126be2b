//! Which terminals belong together.

use flowpipe_puzzle::Puzzle;

use crate::state::Owner;

/// The owners of a puzzle's terminals.
///
/// Where a colour has one pair, both ends have one owner. Where it has more, which ends a flow joins
/// is not known before they meet: each end is an owner of its own.
#[derive(Default)]
pub struct Owners {
    /// By terminal, in the puzzle's order.
    pub of_terminal: Vec<Owner>,
    /// Colour by owner, where some colour has several pairs; else empty.
    pub groups: Vec<u32>,
    /// By colour: terminals counted, then the owner.
    by_colour: Vec<(u32, Owner)>,
}

impl Owners {
    /// Reads a puzzle.
    pub fn read(&mut self, puzzle: &Puzzle) {
        self.of_terminal.clear();
        self.groups.clear();
        self.by_colour.clear();
        let mut several = false;
        for terminal in puzzle.terminals() {
            let colour = usize::from(terminal.colour);
            if colour >= self.by_colour.len() {
                self.by_colour.resize(colour + 1, (0, 0));
            }
            let count = &mut self.by_colour[colour].0;
            *count += 1;
            several |= *count > 2;
        }
        let mut last = 0;
        for terminal in puzzle.terminals() {
            let (count, known) = &mut self.by_colour[usize::from(terminal.colour)];
            if *count > 2 || *known == 0 {
                last += 1;
                *known = last;
            }
            self.of_terminal.push(*known);
        }
        if several {
            self.groups.resize(last as usize + 1, 0);
            for (&owner, terminal) in self.of_terminal.iter().zip(puzzle.terminals()) {
                self.groups[owner as usize] = u32::from(terminal.colour) + 1;
            }
        }
    }
}
