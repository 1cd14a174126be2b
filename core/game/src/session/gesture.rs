//! What presses, moves and releases mean to the board: most games take them as they are, some want a
//! nudge before a drag begins, some want clicks, and some fill in only straight jumps.

use flowpipe_puzzle::place::{cell_at, lowered};
use flowpipe_puzzle::{Board, Lattice, Point};

use super::input::{Input, Pointer};

/// Turns what the pointer does into drags.
#[derive(Clone, Debug)]
pub(super) struct Gestures {
    input: Input,
    /// How far the pointer has to move inside of the cell that it pressed, in pixels.
    nudge: f64,
    /// The side of a cell in pixels; a board without a place has none.
    cell: f64,
    /// Where the button went down: what that does is not decided yet.
    pressed: Option<Point>,
    /// Where the pointer was seen last.
    at: Option<Point>,
}

impl Gestures {
    pub(super) fn new(input: Input, nudge: f64) -> Self {
        Self {
            input,
            nudge,
            cell: 0.0,
            pressed: None,
            at: None,
        }
    }

    /// The side of a cell is so many pixels now.
    pub(super) fn lay_out(&mut self, cell: f64) {
        self.cell = cell;
    }

    /// Another board: what was pressed on the one before means nothing.
    pub(super) fn forget(&mut self) {
        self.pressed = None;
        self.at = None;
    }

    /// What an event means, as a press, moves and a release that draw. `is_dragging`: whether a pipe is
    /// picked up.
    pub(super) fn read(
        &mut self,
        pointer: Pointer,
        board: &Board,
        is_dragging: bool,
    ) -> Vec<Pointer> {
        let (Pointer::Press(to) | Pointer::Move(to) | Pointer::Release(to)) = pointer;
        let from = self.at.replace(to);
        if self.input == Input::Clicks {
            return self
                .click(pointer, board, is_dragging)
                .into_iter()
                .collect();
        }
        if self.nudge > 0.0 {
            match (pointer, self.pressed) {
                (Pointer::Press(_), _) => {
                    self.pressed = Some(to);
                    return Vec::new();
                }
                (Pointer::Move(_), Some(pressed)) => return self.nudged(pressed, to, board),
                (Pointer::Release(_), Some(_)) => {
                    self.pressed = None;
                    return Vec::new();
                }
                (_, None) => {}
            }
        }
        let is_press = matches!(pointer, Pointer::Press(_));
        let mut meant = match from {
            Some(from) if self.input == Input::Straight && !is_press => between(board, from, to),
            _ => Vec::new(),
        };
        meant.push(pointer);
        meant
    }

    /// A press and a release in one cell are a click: the first takes a pipe up, the next puts it down,
    /// and between them the pointer draws without a button. What moves with the button down does
    /// nothing.
    fn click(&mut self, pointer: Pointer, board: &Board, is_dragging: bool) -> Option<Pointer> {
        match pointer {
            Pointer::Press(at) => {
                self.pressed = Some(at);
                None
            }
            Pointer::Move(_) => self.pressed.is_none().then_some(pointer),
            Pointer::Release(at) => {
                let pressed = self.pressed.take()?;
                let is_click = cell_at(board, pressed) == cell_at(board, at);
                let meant = if is_dragging {
                    pointer
                } else {
                    Pointer::Press(at)
                };
                is_click.then_some(meant)
            }
        }
    }

    /// The drag begins once the pointer is far enough from where it was pressed; not any more once it
    /// has left the cell.
    fn nudged(&mut self, pressed: Point, to: Point, board: &Board) -> Vec<Pointer> {
        if cell_at(board, pressed) != cell_at(board, to) {
            self.pressed = None;
            return Vec::new();
        }
        let far = (to[0] - pressed[0]).hypot(to[1] - pressed[1]);
        if far * self.cell < self.nudge {
            return Vec::new();
        }
        self.pressed = None;
        vec![Pointer::Press(pressed), Pointer::Move(to)]
    }
}

/// A place in each cell between two places in one column, or on squares in one row. Between others:
/// none.
fn between(board: &Board, from: Point, to: Point) -> Vec<Pointer> {
    // Farther than this is on no board.
    const FARTHEST: f64 = 1e3;
    let place = |[x, y]: Point| [x.floor(), (y - lowered(board, x.floor() as i64)).floor()];
    let (start, end) = (place(from), place(to));
    let is_row = start[1] == end[1] && board.description().lattice == Lattice::Square;
    let cells = (end[0] - start[0]).abs().max((end[1] - start[1]).abs());
    if !(is_row || start[0] == end[0]) || cells > FARTHEST {
        return Vec::new();
    }
    let share = |part: u32| f64::from(part) / cells;
    let at = |share: f64| [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * share);
    (1..cells as u32)
        .map(|part| Pointer::Move(at(share(part))))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Pointer::{Move, Press, Release};
    use super::*;

    fn board() -> Board {
        Board::rectangle(5, 5).expect("a board")
    }

    /// What some events mean, in their order. A pipe is picked up by every press that draws.
    fn read(mut gestures: Gestures, events: &[Pointer]) -> Vec<Pointer> {
        gestures.lay_out(100.0);
        let mut is_dragging = false;
        let mut all = Vec::new();
        for &event in events {
            for meant in gestures.read(event, &board(), is_dragging) {
                match meant {
                    Press(_) => is_dragging = true,
                    Release(_) => is_dragging = false,
                    Move(_) => {}
                }
                all.push(meant);
            }
        }
        all
    }

    const A: Point = [0.5, 0.5];
    const B: Point = [1.5, 0.5];

    #[test]
    fn most_games_take_events_as_they_are() {
        let events = [Press(A), Move(B), Move([3.5, 3.5]), Release(A)];
        for input in [Input::Events, Input::Frames] {
            assert_eq!(read(Gestures::new(input, 0.0), &events), events);
        }
    }

    #[test]
    fn straight_jumps_are_filled_and_others_lost() {
        let gestures = || Gestures::new(Input::Straight, 0.0);
        let meant = read(
            gestures(),
            &[Press(A), Move([3.5, 0.6]), Release([3.4, 3.9])],
        );
        let [
            Press(A),
            Move(one),
            Move(two),
            Move(_),
            Move(three),
            Move(four),
            Release(_),
        ] = meant[..]
        else {
            panic!("{meant:?}")
        };
        assert_eq!(
            [one, two, three, four].map(|at| cell_at(&board(), at)),
            [Some(1), Some(2), Some(8), Some(13)]
        );
        let diagonal = [Press(A), Move([2.5, 1.5]), Move([0.5, 2.5])];
        assert_eq!(read(gestures(), &diagonal), diagonal);
        // From where the last stroke ended to where the next one begins nothing is drawn.
        let two = [Press(A), Release(A), Press([4.5, 0.5])];
        assert_eq!(read(gestures(), &two), two);
    }

    #[test]
    fn a_drag_begins_after_a_nudge_in_its_first_cell() {
        let gestures = || Gestures::new(Input::Events, 30.0);
        let (small, enough) = ([0.6, 0.5], [0.8, 0.5]);
        let events = [Press(A), Move(small), Move(enough), Move(B), Release(B)];
        assert_eq!(
            read(gestures(), &events),
            [Press(A), Move(enough), Move(B), Release(B)]
        );
        // Out of the cell without one, the press does nothing until the next.
        let events = [Press(A), Move(small), Move(B), Release(B)];
        assert_eq!(read(gestures(), &events), [Move(B), Release(B)][1..]);
        let events = [Press(A), Release(A), Press(B), Release(A)];
        assert_eq!(read(gestures(), &events), []);
        // A board without a place is too small for any nudge.
        let mut nowhere = gestures();
        for event in [Press(A), Move(enough)] {
            assert_eq!(nowhere.read(event, &board(), false), []);
        }
    }

    #[test]
    fn clicks_press_and_release() {
        let gestures = || Gestures::new(Input::Clicks, 0.0);
        let near = [1.6, 0.6];
        let events = [
            Press(A),
            Release(A),
            Move(B),
            Press(B),
            Move(near),
            Release(near),
        ];
        assert_eq!(
            read(gestures(), &events),
            [Press(A), Move(B), Release(near)]
        );
        // A drag is no click.
        let events = [Press(A), Move(B), Release(B)];
        assert_eq!(read(gestures(), &events), []);
    }

    proptest! {
        /// Each place between is in a cell of its own, beside the one before.
        #[test]
        fn between_is_every_cell(
            row in 0..5u8, from in 0.0..5.0f64, to in 0.0..5.0f64,
            off in prop::array::uniform2(0.0..1.0f64), turned: bool,
        ) {
            let turn = |[x, y]: Point| if turned { [y, x] } else { [x, y] };
            let place = |along: f64, off: f64| turn([along, f64::from(row) + off]);
            let (from, to) = (place(from, off[0]), place(to, off[1]));
            let all = between(&board(), from, to).into_iter().map(|it| match it {
                Move(at) => at,
                other => panic!("{other:?}"),
            });
            let cells: Vec<_> = std::iter::once(from)
                .chain(all)
                .chain([to])
                .map(|at| cell_at(&board(), at).expect("a cell"))
                .collect();
            for pair in cells.windows(2) {
                prop_assert!(pair[0] == pair[1] || board().touch(pair[0], pair[1]), "{cells:?}");
            }
            prop_assert!(cells.len() < 3 || cells.windows(2).all(|pair| pair[0] != pair[1]));
        }
    }
}
