use super::*;
use crate::level;
use crate::solution::Flow;

/// A goes along the top and down the right side, B fills the rest, touching itself.
const LINE: &str = "3,0,1,2;0,1,2,5,8;3,4,7,6";

fn problem(line: &str, colour: Colour, cells: &[Cell], points: &[Point]) -> Option<StrokeProblem> {
    let level = level::parse(line).unwrap();
    let stroke = Stroke {
        colour,
        cells: cells.to_vec(),
        points: points.to_vec(),
    };
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
    // A hair above it is enough, but for the very least that numbers can tell.
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
    // Onto a border, along a border, out of the board, back, and into the flow's own cells out of order.
    assert_eq!(
        problem(LINE, 0, &[0, 1], &[[0.5, 0.5], [1.0, 0.5], [1.5, 0.5]]),
        leaves(1, 1)
    );
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
    let unsupported = |kind| Some(StrokeProblem::Unsupported { kind });
    assert_eq!(
        problem("X_2,0,1,1;0,1", 0, &[0, 1], &points),
        unsupported("hexes")
    );
    assert_eq!(
        problem("W_3,0,1,1;0,1", 0, &[0, 1], &points),
        unsupported("a board that warps")
    );
}

#[test]
fn a_wrong_solution_leads_no_stroke_astray() {
    let puzzle = level::parse("3,0,1,1,,8,0|1;0,3").unwrap().puzzle;
    let refused = |cells: &[Cell]| {
        let flow = Flow {
            colour: 0,
            cells: cells.to_vec(),
        };
        let stroke = Stroke {
            colour: 0,
            cells: cells.to_vec(),
            points: vec![[0.5, 0.5], [1.5, 0.5]],
        };
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
    let stroke = |points: &[Point]| Stroke {
        colour: 0,
        cells: vec![0, 1],
        points: points.to_vec(),
    };
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
