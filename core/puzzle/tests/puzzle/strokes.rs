//! Rules that hold for the strokes of all flows, on boards of every kind.

use crate::support::legs::{Leg, legs};
use crate::support::strategies::board;
use flowpipe_puzzle::message::Stroke;
use flowpipe_puzzle::stroke_check::{StrokeProblem, check_strokes};
use flowpipe_puzzle::{Flow, Lattice, Point, Puzzle, Rules, Solution, Terminal, place};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// One flow on a board of any kind: a walk that enters no node twice, and so passes bridges straight.
/// The rest of the board stays empty.
fn flow() -> impl Strategy<Value = (Puzzle, Flow)> {
    let choices = prop::collection::vec(any::<u16>(), 2..40);
    (board(), choices).prop_filter_map("no room for a flow", |(board, choices)| {
        let graph = board.graph();
        let mut walk = vec![usize::from(choices[0]).checked_rem(graph.len())?];
        for choice in &choices[1..] {
            let links = graph.links(walk[walk.len() - 1]).iter();
            let free: Vec<usize> = links
                .map(|link| link.node)
                .filter(|node| !walk.contains(node))
                .collect();
            let Some(at) = usize::from(*choice).checked_rem(free.len()) else {
                break;
            };
            walk.push(free[at]);
        }
        let mut cells: Vec<usize> = walk.iter().map(|&node| graph.cell_of(node)).collect();
        let on_bridge = |cell: Option<&usize>| cell.is_some_and(|&cell| board.is_bridge(cell));
        while on_bridge(cells.last()) {
            cells.pop();
        }
        while on_bridge(cells.first()) {
            cells.remove(0);
        }
        let [first, .., last] = cells[..] else {
            return None;
        };
        let ends = [first, last].map(|cell| Terminal { cell, colour: 0 });
        let rules = Rules {
            cover: false,
            touch: true,
        };
        let puzzle = Puzzle::new(board, ends.to_vec(), rules).ok()?;
        Some((puzzle, Flow { colour: 0, cells }))
    })
}

fn problem(
    puzzle: &Puzzle,
    flow: &Flow,
    cells: &[usize],
    way: Vec<Point>,
) -> Option<StrokeProblem> {
    let solution = Solution {
        flows: vec![flow.clone()],
    };
    let stroke = Stroke::new(flow.colour, cells.to_vec(), way);
    let refusals = check_strokes(puzzle, &solution, &[stroke]).err()?;
    Some(refusals[0].problem.clone())
}

/// The point of a leg's cell that lies so far, in parts of a side, from its square's upper left corner.
fn within(leg: &Leg, at: usize, [x, y]: Point) -> Point {
    let [middle_x, middle_y] = leg.centres[at];
    [middle_x - 0.5 + x, middle_y - 0.5 + y]
}

/// How near a segment comes to a corner of squares, which on hexes lie half a unit apart.
fn nearest_corner(segment: &[Point]) -> f64 {
    let (from, to) = (segment[0], segment[1]);
    let along = [to[0] - from[0], to[1] - from[1]];
    let length = (along[0] * along[0] + along[1] * along[1]).sqrt();
    let corners = (-1..10).flat_map(|x| (-2..20).map(move |y| [f64::from(x), f64::from(y) / 2.0]));
    corners
        .map(|[x, y]| {
            let away = [x - from[0], y - from[1]];
            (away[0] * along[1] - away[1] * along[0]).abs() / length
        })
        .fold(f64::INFINITY, f64::min)
}

/// The result of sampling the pointer in a thousand places of each segment.
#[derive(PartialEq)]
enum Seen {
    /// It is in each of the cells, in their order.
    Stays,
    /// It was not seen in one of the cells, but in the one behind it.
    Skips,
    /// It is in another cell, or in none.
    Leaves,
}

fn look(puzzle: &Puzzle, cells: &[usize], way: &[Point]) -> Seen {
    let (mut step, mut seen) = (0, Seen::Stays);
    for segment in way.windows(2) {
        for part in 0..=1000 {
            let t = f64::from(part) / 1000.0;
            let at = [0, 1].map(|axis| segment[0][axis] * (1.0 - t) + segment[1][axis] * t);
            let cell = place::cell_at(puzzle.board(), at);
            let ahead = cells[step..].iter().position(|&it| Some(it) == cell);
            match ahead {
                None => return Seen::Leaves,
                Some(0 | 1) => {}
                Some(_) => seen = Seen::Skips,
            }
            step += ahead.unwrap_or(0);
        }
    }
    if step + 1 < cells.len() {
        Seen::Leaves
    } else {
        seen
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        cases: 512,
        ..ProptestConfig::default()
    })]

    #[test]
    fn from_centre_to_centre_is_accepted((puzzle, flow) in flow()) {
        let mut back = flow.clone();
        back.cells.reverse();
        for flow in [&flow, &back] {
            let legs = legs(puzzle.board(), &flow.cells);
            let passed: usize = legs.iter().map(|leg| leg.cells.len() - 1).sum();
            prop_assert_eq!(passed, flow.cells.len() - 1);
            for leg in legs {
                prop_assert_eq!(problem(&puzzle, flow, &leg.cells, leg.centres.clone()), None, "{:?}", leg);
            }
        }
    }

    /// From one border to the next, through the middle of what cells share.
    #[test]
    fn from_border_to_border_is_accepted((puzzle, flow) in flow()) {
        for leg in legs(puzzle.board(), &flow.cells) {
            let (first, last) = (leg.centres[0], leg.centres[leg.centres.len() - 1]);
            let gates = leg.centres.windows(2);
            let gates = gates.map(|pair| [0, 1].map(|axis| f64::midpoint(pair[0][axis], pair[1][axis])));
            // Two gates of a hexagon may lie on one line; then the way goes through its middle.
            let mut way = vec![first];
            for (gate, centre) in gates.zip(&leg.centres) {
                if way[way.len() - 1][0] == gate[0] {
                    way.push(*centre);
                }
                way.push(gate);
            }
            way.push(last);
            prop_assert_eq!(problem(&puzzle, &flow, &leg.cells, way.clone()), None, "{:?}", way);
            way.pop();
            let refused = problem(&puzzle, &flow, &leg.cells, way);
            let short = matches!(refused, Some(StrokeProblem::TooShort { .. }));
            prop_assert!(short, "{:?}", refused);
        }
    }

    /// What lies over an edge is another stroke's.
    #[test]
    fn nothing_goes_on_beyond_an_edge((puzzle, flow) in flow()) {
        let legs = legs(puzzle.board(), &flow.cells);
        for pair in legs.windows(2) {
            let cells = [&pair[0].cells[..], &pair[1].cells[1..]].concat();
            let cell = pair[1].cells[0];
            let beyond = Some(StrokeProblem::Beyond { cell });
            prop_assert_eq!(problem(&puzzle, &flow, &cells, pair[0].centres.clone()), beyond);
            // Pressed where the last stroke was let go, beyond the edge.
            let away = pair[0].centres[pair[0].centres.len() - 1];
            let refused = problem(&puzzle, &flow, &[cell], vec![away]);
            let press = matches!(refused, Some(StrokeProblem::Press { .. }));
            prop_assert!(press, "{:?}", refused);
        }
    }

    /// A way whose point lies in none of its cells is refused at that point, or, when it is the press,
    /// at once. A way that has been moved as a whole has a press beside its cell.
    #[test]
    fn a_way_moved_out_of_its_cells_is_refused(
        (puzzle, flow) in flow(),
        (which, at) in any::<(u16, u16)>(),
        (x, y) in (-1..9_i32, -2..20_i32),
        (by_x, by_y) in (-1.0..1.0_f64, -1.0..1.0_f64),
    ) {
        let legs = legs(puzzle.board(), &flow.cells);
        let leg = &legs[usize::from(which) % legs.len()];
        let at = usize::from(at) % leg.centres.len();
        let to = [f64::from(x) + 0.5, f64::from(y) / 2.0 + 0.5];
        // Nor on the border of one, where a way may turn.
        let is_in = |centre: &Point| (0..2).all(|axis| (centre[axis] - to[axis]).abs() <= 0.5);
        if !leg.centres.iter().any(is_in) {
            let mut way = leg.centres.clone();
            way[at] = to;
            let refused = problem(&puzzle, &flow, &leg.cells, way);
            let expected = match refused {
                Some(StrokeProblem::Press { .. }) => at == 0,
                Some(StrokeProblem::Leaves { point, .. }) => at == point,
                _ => false,
            };
            prop_assert!(expected, "{:?}, point {} of {:?} at {:?}", refused, at, leg, to);
        }
        let moved = |[x, y]: &Point| [x + by_x, y + by_y];
        let refused = problem(&puzzle, &flow, &leg.cells, leg.centres.iter().map(moved).collect());
        let leaves = by_x.abs() >= 0.5 || by_y.abs() >= 0.5;
        // On hexes the way may leave its cells later, through the other half of a side.
        if leaves || puzzle.board().description().lattice == Lattice::Square {
            prop_assert_eq!(refused.is_some(), leaves);
        }
    }

    /// Wherever the mouse is in an accepted stroke, it is in the cells named, and in their order.
    #[test]
    fn accepted_strokes_stay_in_their_cells(
        (puzzle, flow) in flow(),
        which in any::<u16>(),
        points in prop::collection::vec((any::<u16>(), 0.02..0.98_f64, 0.02..0.98_f64), 2..6),
        near in any::<bool>(),
        fine in any::<bool>(),
    ) {
        let legs = legs(puzzle.board(), &flow.cells);
        let leg = &legs[usize::from(which) % legs.len()];
        // Points far apart cut many corners, points in cells near each other few.
        let reach = if near { leg.cells.len().min(4) } else { leg.cells.len() };
        let mut points: Vec<(usize, f64, f64)> =
            points.iter().map(|&(at, x, y)| (usize::from(at) % reach, x, y)).collect();
        points.sort_by_key(|point| point.0);
        let (first, last) = (points[0].0, points[points.len() - 1].0);
        let way: Vec<Point> = points
            .into_iter()
            .map(|(at, x, y)| {
                // Half of the points lie on a coarse lattice, so that many ways go through corners.
                let on = |value: f64| if fine { value } else { (value * 3.9).floor() / 4.0 + 0.125 };
                within(leg, at, [on(x), on(y)])
            })
            .collect();
        let cells = &leg.cells[first..=last];
        // What begins beyond the edge has no first cell there.
        let pressed = place::centre(puzzle.board(), cells[0]) == leg.centres[first];
        let accepted = problem(&puzzle, &flow, cells, way.clone()).is_none();

        let seen = look(&puzzle, cells, &way);
        let corner = way.windows(2).map(nearest_corner).fold(f64::INFINITY, f64::min);
        // What is seen outside is never accepted. A cell may be passed between two samples, and what is
        // refused may be too near to a corner to be seen, but only there.
        if accepted {
            prop_assert!(pressed && seen != Seen::Leaves, "{way:?} leaves {cells:?}");
            prop_assert!(seen == Seen::Stays || corner < 0.02, "{way:?} skips one of {cells:?}");
        } else if pressed && seen == Seen::Stays {
            prop_assert!(corner < 1e-3, "{way:?} stays in {cells:?}");
        }
    }
}
