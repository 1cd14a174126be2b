use super::*;
use crate::level;
use crate::solution::Flow;

/// A goes along the top and down the right side, B fills the rest, touching itself.
const LINE: &str = "3,0,1,2;0,1,2,5,8;3,4,7,6";

fn problem(line: &str, colour: Colour, cells: &[Cell], points: &[Point]) -> Option<StrokeProblem> {
    let level = level::parse(line).unwrap();
    let stroke = Stroke::new(colour, cells.to_vec(), points.to_vec());
    let refusals = check_strokes(&level.puzzle, &level.solution, &[stroke]).err()?;
    Some(refusals[0].problem.clone())
}

#[test]
fn strokes_inside_their_cells_pass() {
    let all = [0, 1, 2, 5, 8];
    for points in [
        // Every cell's centre, turns only, a cut corner, and many points in one cell.
        vec![[0.5, 0.5], [1.5, 0.5], [2.5, 0.5], [2.5, 1.5], [2.5, 2.5]],
        vec![[0.5, 0.5], [2.5, 0.5], [2.5, 2.5]],
        vec![[0.1, 0.9], [1.9, 0.9], [2.1, 0.95], [2.2, 2.01]],
        vec![
            [0.5, 0.5],
            [0.5, 0.5],
            [0.2, 0.3],
            [2.5, 0.9],
            [2.1, 1.1],
            [2.9, 2.9],
        ],
    ] {
        assert_eq!(problem(LINE, 0, &all, &points), None, "{points:?}");
        let (mut cells, mut points) = (all.to_vec(), points);
        cells.reverse();
        points.reverse();
        assert_eq!(problem(LINE, 0, &cells, &points), None, "{points:?}");
    }
    // Without the last terminal, from the middle, a press only.
    assert_eq!(
        problem(
            LINE,
            0,
            &[0, 1, 2, 5],
            &[[0.5, 0.5], [2.5, 0.5], [2.5, 1.5]]
        ),
        None
    );
    assert_eq!(problem(LINE, 0, &[5, 2], &[[2.5, 1.5], [2.5, 0.5]]), None);
    assert_eq!(problem(LINE, 0, &[1], &[[1.5, 0.5]]), None);
}

#[test]
fn a_diagonal_passes_on_one_side_of_a_corner_only() {
    // From cell 1 over 2 to 5: above and to the right of the corner (2, 1).
    let cells = [1, 2, 5];
    assert_eq!(problem(LINE, 0, &cells, &[[1.5, 0.4], [2.6, 1.5]]), None);
    let leaves = Some(StrokeProblem::Leaves {
        point: 1,
        row: 1,
        col: 2,
    });
    assert_eq!(
        problem(LINE, 0, &cells, &[[1.5, 0.5], [2.5, 1.5]]),
        leaves,
        "through the corner"
    );
    assert_eq!(
        problem(LINE, 0, &cells, &[[1.4, 0.5], [2.4, 1.5]]),
        leaves,
        "below it"
    );
    // A hair above it is enough, except for the smallest difference of numbers.
    assert_eq!(
        problem(LINE, 0, &cells, &[[1.5, 0.5], [2.5, 1.5 - 1e-15]]),
        None
    );
    let least = [2.5, 1.5_f64.next_down()];
    assert_eq!(problem(LINE, 0, &cells, &[[1.5, 0.5], least]), leaves);
    let corner = [[1.9, 0.9], [2.0 + 0.1, 1.1]];
    assert_eq!(
        problem(LINE, 0, &cells, &corner),
        leaves,
        "nearer than rounding"
    );
}

#[test]
fn borders_and_other_cells_are_left_alone() {
    let leaves = |row, col| Some(StrokeProblem::Leaves { point: 1, row, col });
    // Onto a border from aside, out of the board, back, and into the flow's own cells out of order.
    assert_eq!(
        problem(LINE, 0, &[0, 1], &[[0.5, 0.5], [1.5, 1.0]]),
        leaves(1, 2)
    );
    assert_eq!(
        problem(LINE, 0, &[0], &[[0.5, 0.5], [0.5, -0.5]]),
        leaves(1, 1)
    );
    assert_eq!(
        problem(LINE, 0, &[0], &[[0.5, 0.5], [f64::MAX, f64::MAX]]),
        leaves(1, 1)
    );
    assert_eq!(
        problem(LINE, 1, &[4, 7, 6], &[[1.5, 1.5], [0.5, 1.5]]),
        leaves(2, 2)
    );
    assert_eq!(
        problem(LINE, 0, &[0, 1], &[[0.5, 0.5], [1.5, 0.5], [0.5, 0.5]]),
        Some(StrokeProblem::Leaves {
            point: 2,
            row: 1,
            col: 2
        })
    );
    assert_eq!(
        problem(LINE, 0, &[0, 1], &[[0.0, 0.5], [1.5, 0.5]]),
        Some(StrokeProblem::Press {
            point: [0.0, 0.5],
            row: 1,
            col: 1
        })
    );
}

#[test]
fn a_way_may_turn_on_a_border_that_it_crosses() {
    let leaves = |point, row, col| Some(StrokeProblem::Leaves { point, row, col });
    let at = |points: &[Point]| problem(LINE, 0, &[0, 1, 2], points);
    assert_eq!(at(&[[0.5, 0.5], [1.0, 0.2], [2.5, 0.5]]), None);
    assert_eq!(
        at(&[[0.5, 0.5], [1.0, 0.2], [1.0, 0.2], [2.0, 0.9], [2.5, 0.5]]),
        None
    );
    // Back again, along it, from corner to corner, on from it in the wrong direction.
    assert_eq!(at(&[[0.5, 0.5], [1.0, 0.2], [0.5, 0.5]]), leaves(2, 1, 2));
    assert_eq!(at(&[[0.5, 0.5], [1.0, 0.2], [1.0, 0.8]]), leaves(2, 1, 2));
    assert_eq!(at(&[[0.5, 0.5], [1.0, 0.0]]), leaves(1, 1, 1));
    assert_eq!(at(&[[0.5, 0.5], [1.0, 1.0]]), leaves(1, 1, 1));
    assert_eq!(at(&[[0.5, 0.5], [1.0, 0.5], [1.5, 1.5]]), leaves(2, 1, 2));
    // Who ends on it has not entered.
    assert_eq!(
        at(&[[0.5, 0.5], [2.0, 0.5]]),
        Some(StrokeProblem::TooShort { row: 1, col: 2 })
    );
    // On hexes a side has two gates, and none leads along it from the one to the other.
    let along = [[0.5, 0.75], [1.0, 0.9], [1.0, 1.1], [0.5, 1.75]];
    assert_eq!(problem(HEXES, 0, &[0, 1, 3, 2], &along), leaves(2, 1, 2));
    let along = [[1.5, 0.5], [1.5, 1.2], [1.0, 1.1], [1.0, 0.9], [1.5, 0.5]];
    assert_eq!(problem(HEXES, 0, &[1, 3, 2], &along), leaves(2, 2, 2));
    let hook = [[0.5, 0.75], [1.0, 0.9], [1.1, 1.0], [1.0, 1.6], [0.5, 2.0]];
    assert_eq!(problem(HEXES, 0, &[0, 1, 3, 2], &hook), None);
}

#[test]
fn the_rest_is_refused_with_its_reason() {
    let points = [[0.5, 0.5], [1.5, 0.5]];
    assert_eq!(
        problem(LINE, 0, &[0, 1], &[]),
        Some(StrokeProblem::NoPoints)
    );
    assert_eq!(problem(LINE, 0, &[], &points), Some(StrokeProblem::NoCells));
    assert_eq!(
        problem(LINE, 0, &[0, 1], &[[0.5, 0.5], [f64::NAN, 0.5]]),
        Some(StrokeProblem::NotFinite { point: 1 })
    );
    let not_in_flow = |colour| Some(StrokeProblem::NotInFlow { colour });
    assert_eq!(problem(LINE, 1, &[0, 1], &points), not_in_flow(1));
    assert_eq!(problem(LINE, 9, &[0, 1], &points), not_in_flow(9));
    assert_eq!(problem(LINE, 0, &[0, 2], &points), not_in_flow(0));
    assert_eq!(
        problem(LINE, 0, &[0, 1, 2], &points),
        Some(StrokeProblem::TooShort { row: 1, col: 2 })
    );
}

/// Two by two, the left column half a cell lower: the flow goes up and down again, clockwise.
///
/// ```text
///      1
///   0     3
///   2
/// ```
const HEXES: &str = "X_2,0,1,1;0,1,3,2";

#[test]
fn hexes_share_half_a_side() {
    let leaves = |row, col| Some(StrokeProblem::Leaves { point: 1, row, col });
    let step = |from: Point, to: Point| problem(HEXES, 0, &[0, 1], &[from, to]);
    assert_eq!(step([0.5, 1.0], [1.5, 0.5]), None);
    // What the two share goes from 0.5 to 1 down.
    assert_eq!(step([0.2, 0.6], [1.9, 0.6]), None);
    assert_eq!(step([0.5, 1.25], [1.5, 0.75 - 1e-9]), None);
    assert_eq!(
        step([0.5, 1.25], [1.5, 0.75]),
        leaves(1, 1),
        "its lower end"
    );
    assert_eq!(step([0.5, 1.25], [1.5, 0.8]), leaves(1, 1), "into cell 3");
    assert_eq!(
        step([0.5, 0.75], [1.5, 0.25]),
        leaves(1, 1),
        "its upper end"
    );
    assert_eq!(step([0.5, 1.4], [1.5, 1.2]), leaves(1, 1));
    // Squares, not hexagons: this point lies outside the hexagon.
    assert_eq!(step([0.05, 0.55], [1.5, 0.6]), None);
    assert_eq!(
        step([0.5, 0.4], [1.5, 0.5]),
        Some(StrokeProblem::Press {
            point: [0.5, 0.4],
            row: 1,
            col: 1
        })
    );
    let all = [0, 1, 3, 2];
    let centres = [[0.5, 1.0], [1.5, 0.5], [1.5, 1.5], [0.5, 2.0]];
    assert_eq!(problem(HEXES, 0, &all, &centres), None);
    // Along the border from cell 1 to cell 3 and back: both halves of one side, but never both at once.
    let hook = [[0.9, 0.9], [1.1, 0.9], [1.1, 1.6], [0.9, 1.6]];
    assert_eq!(problem(HEXES, 0, &all, &hook), None);
    assert_eq!(
        problem(HEXES, 0, &[0, 1, 3], &[[0.9, 0.9], [0.9, 1.1]]),
        Some(StrokeProblem::TooShort { row: 1, col: 1 })
    );
}

/// Around the edge to the right and on downwards, then around the lower edge.
const WARPS: &str = "W_3,0,1,1;1,2,0,3,6,8,2";

#[test]
fn one_cell_beyond_the_edge_and_no_more() {
    let level = level::parse("W_3,0,1,1;1,2,0,3,6").unwrap();
    assert!(level.puzzle.board().touch(2, 0));
    let leaves = |row, col| Some(StrokeProblem::Leaves { point: 1, row, col });
    let right = [[1.5, 0.5], [3.5, 0.5]];
    assert_eq!(problem(WARPS, 0, &[1, 2, 0], &right), None);
    assert_eq!(
        problem(WARPS, 0, &[1, 2, 0], &[[1.5, 0.5], [3.1, 0.9]]),
        None
    );
    // Too far, aside, and not over the edge at all.
    assert_eq!(
        problem(WARPS, 0, &[1, 2, 0], &[[1.5, 0.5], [4.1, 0.5]]),
        leaves(1, 1)
    );
    assert_eq!(
        problem(WARPS, 0, &[1, 2, 0], &[[1.5, 0.5], [3.0, 0.5]]),
        Some(StrokeProblem::TooShort { row: 1, col: 3 })
    );
    assert_eq!(
        problem(WARPS, 0, &[2, 0], &[[2.5, 0.5], [0.5, 0.5]]),
        leaves(1, 3)
    );
    assert_eq!(
        problem(WARPS, 0, &[1, 2], &right),
        leaves(1, 3),
        "into a cell that is not named"
    );
    // On the other side it starts again, where the cell lies.
    assert_eq!(
        problem(WARPS, 0, &[0, 3, 6], &[[0.5, 0.5], [0.5, 2.5]]),
        None
    );
    assert_eq!(
        problem(WARPS, 0, &[0, 3], &[[3.5, 0.5], [3.5, 1.5]]),
        Some(StrokeProblem::Press {
            point: [3.5, 0.5],
            row: 1,
            col: 1
        })
    );
    assert_eq!(
        problem(
            WARPS,
            0,
            &[1, 2, 0, 3],
            &[[1.5, 0.5], [3.5, 0.5], [3.5, 1.5]]
        ),
        Some(StrokeProblem::Beyond { cell: 0 })
    );
    // To the left, and up.
    assert_eq!(problem(WARPS, 0, &[6, 8], &[[0.5, 2.5], [-0.5, 2.5]]), None);
    assert_eq!(problem(WARPS, 0, &[2, 8], &[[2.5, 0.5], [2.5, -0.5]]), None);
    // On a board that does not warp there is nothing beyond.
    assert_eq!(
        problem("3,0,1,1;1,2,0,3", 0, &[1, 2, 0], &right),
        Some(StrokeProblem::Apart { from: 2, to: 0 })
    );
    // Hexes: the column beyond the right edge is lowered like the first.
    let hexes = "W_X_4:3,0,1,1;2,3,0";
    assert_eq!(problem(hexes, 0, &[3, 0], &[[3.5, 0.5], [4.5, 1.0]]), None);
    assert_eq!(
        problem(hexes, 0, &[3, 0], &[[3.5, 0.5], [4.5, 0.4]]),
        leaves(1, 4)
    );
}

#[test]
fn walls_close_edges_too() {
    let walled = "W_3,0,1,1,,,0|2;1,2,0";
    assert_eq!(
        problem(walled, 0, &[2, 0], &[[2.5, 0.5], [3.5, 0.5]]),
        Some(StrokeProblem::Apart { from: 2, to: 0 })
    );
}

/// A loop that crosses itself: along the second row, around and down the second column.
const LOOP: &str = "4,0,1,1,5;4,5,6,2,1,5,9";

#[test]
fn a_bridge_may_be_passed_twice() {
    let all = [4, 5, 6, 2, 1, 5, 9];
    let way = [[0.5, 1.5], [2.5, 1.5], [2.5, 0.5], [1.5, 0.5], [1.5, 2.5]];
    assert_eq!(problem(LOOP, 0, &all, &way), None);
    // Not straight down the first time.
    let short = [[0.5, 1.5], [1.5, 1.5], [1.5, 2.5]];
    assert_eq!(
        problem(LOOP, 0, &all, &short),
        Some(StrokeProblem::Leaves {
            point: 2,
            row: 2,
            col: 2
        })
    );
    assert_eq!(
        problem(LOOP, 0, &[4, 5, 9], &short),
        Some(StrokeProblem::NotInFlow { colour: 0 })
    );
}

#[test]
fn a_stroke_that_is_held_goes_on() {
    let level = level::parse(WARPS).unwrap();
    let mut strokes = [
        Stroke::new(0, vec![1, 2, 0], vec![[1.5, 0.5], [3.5, 0.5]]),
        Stroke::new(0, vec![0, 3], vec![[0.5, 0.5], [0.5, 1.5]]),
        Stroke::new(0, vec![2, 8], vec![[2.5, 0.5], [2.5, -0.5]]),
    ];
    let checked = |strokes: &[Stroke]| check_strokes(&level.puzzle, &level.solution, strokes);
    strokes[0].held = true;
    assert_eq!(checked(&strokes), Ok(()));
    strokes[1].held = true;
    strokes[2].held = true;
    let held = |stroke| StrokeRefusal {
        stroke,
        problem: StrokeProblem::HeldForNothing,
    };
    assert_eq!(checked(&strokes), Err(vec![held(1), held(2)]));
}

#[test]
fn a_wrong_solution_leads_no_stroke_astray() {
    let puzzle = level::parse("3,0,1,1,,8,0|1;0,3").unwrap().puzzle;
    let refused = |cells: &[Cell]| {
        let flow = Flow {
            colour: 0,
            cells: cells.to_vec(),
        };
        let stroke = Stroke::new(0, cells.to_vec(), vec![[0.5, 0.5], [1.5, 0.5]]);
        let solution = Solution { flows: vec![flow] };
        check_strokes(&puzzle, &solution, &[stroke]).unwrap_err()[0].to_string()
    };
    assert_eq!(
        refused(&[0, 1]),
        "stroke 1: there is no passage from cell 0 to cell 1"
    );
    assert_eq!(refused(&[5, 8]), "stroke 1: cell 8 is not on the board");
    assert_eq!(
        refused(&[0, usize::MAX]),
        format!("stroke 1: cell {} is not on the board", usize::MAX)
    );
}

#[test]
fn every_bad_stroke_is_named() {
    let level = level::parse(LINE).unwrap();
    let stroke = |points: &[Point]| Stroke::new(0, vec![0, 1], points.to_vec());
    let strokes = [
        stroke(&[[0.5, 0.5], [2.5, 0.5]]),
        stroke(&[[0.5, 0.5], [1.5, 0.5]]),
        stroke(&[[1.5, 0.5]]),
        stroke(&[[0.5, 0.5]]),
    ];
    let refusals = check_strokes(&level.puzzle, &level.solution, &strokes).unwrap_err();
    let sentences: Vec<String> = refusals.iter().map(StrokeRefusal::to_string).collect();
    assert_eq!(
        sentences,
        [
            "stroke 1: the way to point 2 leaves row 1, column 2 otherwise than into the next cell",
            "stroke 3: the press at 1.5, 0.5 is not inside its first cell, row 1, column 1",
            "stroke 4: it ends in row 1, column 1, before its last cell",
        ]
    );
}
