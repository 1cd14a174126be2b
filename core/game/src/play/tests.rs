//! Each rule of dragging.

use flowpipe_puzzle::board::Description;
use flowpipe_puzzle::place::centre;
use flowpipe_puzzle::{Board, Terminal};

use super::*;
use crate::event::{Event, Reason};

/// A puzzle from rows of `.` (empty), `#` (hole), `+` (bridge) and letters, A for colour 0.
pub(super) fn puzzle(rows: &[&str], more: Description) -> Puzzle {
    let cells: Vec<char> = rows.concat().chars().collect();
    let find = |kind| {
        (0..cells.len())
            .filter(|&cell| cells[cell] == kind)
            .collect()
    };
    let description = Description {
        rows: rows.len(),
        cols: rows[0].len(),
        holes: find('#'),
        bridges: find('+'),
        ..more
    };
    let terminals = cells
        .iter()
        .enumerate()
        .filter(|(_, kind)| kind.is_ascii_uppercase());
    let terminals = terminals.map(|(cell, &kind)| Terminal {
        cell,
        colour: kind as Colour - 'A' as Colour,
    });
    let board = Board::new(description).expect("a board");
    Puzzle::new(board, terminals.collect(), Rules::default()).expect("a puzzle")
}

fn play(rows: &[&str]) -> Play {
    Play::new(puzzle(rows, Description::default()), Settings::default())
}

/// Presses in the first cell and drags through the centres of all.
pub(super) fn drag(play: &mut Play, cells: &[Cell]) -> Vec<Event> {
    let mut events = play.press(centre(play.puzzle.board(), cells[0]));
    for &cell in &cells[1..] {
        events.extend(play.move_to(centre(play.puzzle.board(), cell)));
    }
    events
}

pub(super) fn draw(play: &mut Play, cells: &[Cell]) -> Vec<Event> {
    let mut events = drag(play, cells);
    events.extend(play.release());
    events
}

pub(super) fn pipe(play: &Play, colour: Colour) -> Vec<Cell> {
    play.drawn()
        .into_iter()
        .find(|flow| flow.colour == colour)
        .map_or(vec![], |flow| flow.cells)
}

pub(super) const TWO: [&str; 3] = ["A..A", "B..B", "...."];

#[test]
fn a_flow_is_drawn_cell_by_cell_and_joined() {
    let mut play = play(&TWO);
    let events = draw(&mut play, &[0, 3]);
    assert_eq!(
        events,
        [
            Event::Pressed { colour: 0, cell: 0 },
            Event::Extended { colour: 0, cell: 1 },
            Event::Extended { colour: 0, cell: 2 },
            Event::Joined { colour: 0, cell: 3 },
            Event::Released { colour: 0 },
        ]
    );
    assert!(play.is_complete(0) && !play.is_complete(1) && !play.is_complete(9));
    assert_eq!((play.flows_joined(), play.moves()), (1, 1));
}

#[test]
fn a_press_elsewhere_does_nothing() {
    let mut play = play(&["A#A"]);
    for point in [[1.5, 0.5], [-0.5, 0.5], [9.0, 9.0], [f64::NAN, 0.0]] {
        let events = play.press(point);
        assert!(
            matches!(
                events[..],
                [Event::Refused {
                    reason: Reason::NothingThere,
                    ..
                }]
            ),
            "{events:?}"
        );
        assert_eq!(play.move_to([0.5, 0.5]), []);
        assert_eq!(play.release(), []);
    }
}

#[test]
fn a_press_on_a_terminal_restarts_its_flow() {
    for second in [0, 3] {
        let mut play = play(&TWO);
        draw(&mut play, &[0, 3]);
        drag(&mut play, &[second]);
        assert_eq!(pipe(&play, 0), [] as [Cell; 0]);
        assert_eq!(play.dragged(), Some(0));
        play.release();
        assert_eq!((play.drawn(), play.dragged()), (vec![], None));
    }
}

#[test]
fn a_press_on_a_pipe_goes_on_from_there() {
    let mut play = play(&["A...A", ".....", "B...B"]);
    draw(&mut play, &[0, 5, 8]);
    let events = draw(&mut play, &[6, 1]);
    assert_eq!(events[1], Event::Shortened { colour: 0, cell: 6 });
    assert_eq!(pipe(&play, 0), [0, 5, 6, 1]);
    // At its end nothing is lost.
    assert_eq!(
        drag(&mut play, &[1]),
        [Event::Pressed { colour: 0, cell: 1 }]
    );
}

#[test]
fn going_back_shortens_and_a_loop_is_cut_off() {
    let mut play = play(&["A..A", "....", "B..B"]);
    drag(&mut play, &[0, 2, 1]);
    assert_eq!(pipe(&play, 0), [0, 1]);
    play.move_to([2.5, 0.5]);
    play.move_to([2.5, 1.5]);
    play.move_to([1.5, 1.5]);
    assert_eq!(pipe(&play, 0), [0, 1, 2, 6, 5]);
    assert_eq!(
        play.move_to([1.5, 0.5]),
        [Event::Shortened { colour: 0, cell: 1 }]
    );
    assert_eq!(pipe(&play, 0), [0, 1]);
}

#[test]
fn crossing_cuts_going_back_restores_release_is_final() {
    let mut play = play(&["A.B.", "....", "A.B."]);
    draw(&mut play, &[0, 4, 7]);
    assert_eq!(pipe(&play, 0), [0, 4, 5, 6, 7]);
    let events = drag(&mut play, &[2, 6]);
    assert_eq!(
        events[1..],
        [
            Event::Cut { colour: 0, cell: 6 },
            Event::Extended { colour: 1, cell: 6 }
        ]
    );
    assert_eq!(pipe(&play, 0), [0, 4, 5]);
    assert_eq!(
        play.move_to([2.5, 0.5]),
        [
            Event::Shortened { colour: 1, cell: 2 },
            Event::Restored { colour: 0, cell: 7 }
        ]
    );
    assert_eq!(pipe(&play, 0), [0, 4, 5, 6, 7]);
    play.move_to([2.5, 1.5]);
    play.release();
    assert_eq!(
        (pipe(&play, 0), pipe(&play, 1)),
        (vec![0, 4, 5], vec![2, 6, 10])
    );
}

#[test]
fn a_pipe_cut_down_to_its_terminal_is_gone() {
    let mut play = play(&["A.B.", "..A.", "..B."]);
    draw(&mut play, &[0, 1]);
    draw(&mut play, &[2, 1, 5, 9, 10]);
    assert_eq!(pipe(&play, 0), [] as [Cell; 0]);
    assert!(play.is_complete(1));
}

#[test]
fn other_terminals_stop_the_drag_until_it_is_beside_the_end_again() {
    let mut play = play(&["AB.A", "...B"]);
    let events = drag(&mut play, &[0, 1, 2, 6]);
    let refused = |cell, reason| Event::Refused {
        cell: Some(cell),
        reason,
    };
    assert_eq!(
        events[1..],
        [
            refused(1, Reason::TerminalInTheWay),
            refused(2, Reason::NoPassage),
            refused(6, Reason::NoPassage)
        ]
    );
    play.move_to([0.5, 1.5]);
    assert_eq!(
        pipe(&play, 0),
        [0, 4],
        "through cell 5 it was not beside the end, at cell 4 it is"
    );
}

#[test]
fn a_joined_flow_goes_no_further_but_back() {
    let mut play = play(&["A.A.", "B..B"]);
    let events = drag(&mut play, &[0, 2, 3]);
    assert_eq!(
        events.last(),
        Some(&Event::Refused {
            cell: Some(3),
            reason: Reason::AlreadyJoined
        })
    );
    play.move_to([1.5, 0.5]);
    assert_eq!(pipe(&play, 0), [0, 1]);
}

#[test]
fn a_release_beside_the_other_terminal_joins() {
    let mut play = play(&TWO);
    let events = draw(&mut play, &[0, 2]);
    assert_eq!(
        events[3..],
        [
            Event::Joined { colour: 0, cell: 3 },
            Event::Released { colour: 0 }
        ]
    );
    // A press alone draws no pipe, even beside the other terminal.
    let mut play = self::play(&["AA", "B.", "B."]);
    draw(&mut play, &[0]);
    assert_eq!(play.drawn(), []);
}

#[test]
fn walls_and_holes_stop_the_drag() {
    let walled = puzzle(
        &["A..A", "B..B"],
        Description {
            walls: vec![(0, 1)],
            ..Description::default()
        },
    );
    let mut play = Play::new(walled, Settings::default());
    drag(&mut play, &[0, 2]);
    assert_eq!(pipe(&play, 0), [] as [Cell; 0]);
    let mut play = self::play(&["A.#A", "B..B"]);
    drag(&mut play, &[0, 3]);
    assert_eq!(pipe(&play, 0), [0, 1]);
}

#[test]
fn a_cell_counts_only_when_entered_beyond_the_margin() {
    let mut play = play(&TWO);
    play.press([0.5, 0.5]);
    assert_eq!(play.move_to([1.09, 0.5]), []);
    assert_eq!(
        play.move_to([1.11, 0.5]),
        [Event::Extended { colour: 0, cell: 1 }]
    );
    // Along the border between the rows nothing counts, neither here nor there.
    assert_eq!(play.move_to([1.5, 0.95]), []);
    assert_eq!(play.move_to([2.5, 0.95]), []);
    assert_eq!(
        play.move_to([2.5, 0.85]),
        [Event::Extended { colour: 0, cell: 2 }]
    );
}

#[test]
fn a_diagonal_needs_one_of_the_cells_beside_it() {
    let mut play = play(&["A...", "....", "B.AB"]);
    let events = drag(&mut play, &[0, 5]);
    assert_eq!(
        events[1..],
        [Event::Refused {
            cell: Some(5),
            reason: Reason::NoPassage
        }]
    );
    play.release();
    play.press([0.7, 0.3]);
    play.move_to([1.7, 1.3]);
    assert_eq!(pipe(&play, 0), [0, 1, 5]);
}

#[test]
fn without_filling_a_jump_loses_the_cells_between() {
    let settings = Settings {
        fill: false,
        ..Settings::default()
    };
    let mut play = Play::new(puzzle(&TWO, Description::default()), settings);
    drag(&mut play, &[0, 2]);
    assert_eq!(pipe(&play, 0), [] as [Cell; 0]);
    drag(&mut play, &[0, 1, 2, 3]);
    assert!(play.is_complete(0));
}

#[test]
fn bridges_are_crossed_straight_by_two_flows() {
    let mut play = play(&["#A#", "B+B", "#A#"]);
    draw(&mut play, &[1, 7]);
    draw(&mut play, &[3, 5]);
    assert_eq!(
        (pipe(&play, 0), pipe(&play, 1)),
        (vec![1, 4, 7], vec![3, 4, 5])
    );
    assert_eq!(play.pipe_percent(), 100);
    // Not around a corner.
    let events = drag(&mut play, &[1, 4, 3]);
    assert_eq!(
        events.last(),
        Some(&Event::Refused {
            cell: Some(3),
            reason: Reason::NoPassage
        })
    );
}

#[test]
fn a_warp_goes_on_at_the_opposite_edge() {
    let warped = puzzle(
        &["A..A", "B..B"],
        Description {
            warps: true,
            ..Description::default()
        },
    );
    let mut play = Play::new(warped, Settings::default());
    play.press([0.5, 0.5]);
    assert_eq!(
        play.move_to([-0.5, 0.5]),
        [Event::Joined { colour: 0, cell: 3 }]
    );
}

#[test]
fn moves_count_changes_of_flow() {
    let mut play = play(&TWO);
    let mut after = |cells: &[Cell]| {
        draw(&mut play, cells);
        play.moves()
    };
    assert_eq!(after(&[4]), 0, "nothing changed");
    assert_eq!(after(&[0, 1]), 1);
    assert_eq!(after(&[1, 3]), 1, "the same flow goes on");
    assert_eq!(after(&[4, 7]), 2);
    assert_eq!(after(&[0, 3]), 2, "drawn again as it was");
    assert_eq!(after(&[0]), 3, "taken off the board");
    play.restart();
    assert_eq!((play.moves(), play.drawn()), (0, vec![]));
}

#[test]
fn the_pipe_percentage_is_that_of_the_real_game() {
    // The real game shows 25 % for a flow of 6 cells on a 5 by 5 board with 5 flows.
    let mut play = play(&["A.BCD", ".....", ".....", ".....", ".ABCD"]);
    assert_eq!(play.puzzle().flow_count(), 4);
    draw(&mut play, &[0, 20, 21]);
    assert_eq!(play.pipe_percent(), 100 * 5 / 21);
}

#[test]
fn a_board_is_solved_when_joined_and_covered() {
    let mut play = play(&["A..A", "B..B"]);
    draw(&mut play, &[0, 3]);
    assert!(!play.is_solved());
    draw(&mut play, &[4, 7]);
    assert!(play.is_solved());
}

#[test]
fn a_board_that_is_not_covered_is_not_solved() {
    let mut play = play(&TWO);
    draw(&mut play, &[0, 3]);
    draw(&mut play, &[4, 7]);
    assert_eq!(play.flows_joined(), 2);
    assert!(!play.is_solved());
    // Covered by a pipe that touches itself: the real game takes it.
    draw(&mut play, &[4, 8, 9, 5, 6, 10, 11, 7]);
    assert!(play.is_solved());
}

#[test]
fn four_terminals_of_a_colour_make_two_pipes() {
    let mut play = play(&["A.A", "A.A"]);
    draw(&mut play, &[0, 2]);
    draw(&mut play, &[3, 5]);
    assert!(play.is_solved());
    let events = drag(&mut play, &[0, 3]);
    assert_eq!(
        events.last(),
        Some(&Event::Refused {
            cell: Some(3),
            reason: Reason::TerminalInTheWay
        })
    );
}

#[test]
fn drawn_pipes_are_resumed_or_refused() {
    let resume = |flows: &[(Colour, &[Cell])]| {
        let flows: Vec<_> = flows
            .iter()
            .map(|&(colour, cells)| Flow {
                colour,
                cells: cells.to_vec(),
            })
            .collect();
        Play::resume(
            puzzle(&TWO, Description::default()),
            Settings::default(),
            &flows,
        )
        .map(|play| play.drawn())
    };
    let flows = [
        Flow {
            colour: 0,
            cells: vec![0, 1],
        },
        Flow {
            colour: 1,
            cells: vec![7, 6],
        },
    ];
    assert_eq!(resume(&[(0, &[0, 1]), (1, &[7, 6])]), Ok(flows.to_vec()));
    assert_eq!(resume(&[(0, &[])]), Err(ResumeError::Start { colour: 0 }));
    assert_eq!(
        resume(&[(0, &[1, 2])]),
        Err(ResumeError::Start { colour: 0 })
    );
    assert_eq!(resume(&[(0, &[99])]), Err(ResumeError::Start { colour: 0 }));
    assert_eq!(
        resume(&[(0, &[0, 1]), (0, &[3, 2])]),
        Err(ResumeError::Start { colour: 0 })
    );
    let step = |from, to| {
        Err(ResumeError::Step {
            colour: 0,
            from,
            to,
        })
    };
    assert_eq!(resume(&[(0, &[0, 2])]), step(0, 2));
    assert_eq!(resume(&[(0, &[0, 4])]), step(0, 4));
    assert_eq!(resume(&[(0, &[0, 1, 2, 3, 7])]), step(3, 7));
}
