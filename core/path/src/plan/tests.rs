use flowpipe_puzzle::level;

use super::*;

fn strokes(line: &str, method: Method, config: &Config, profile: Profile) -> Vec<Stroke> {
    let level = level::parse(line).expect("a level");
    plan(
        &level.puzzle,
        &level.solution.flows,
        method,
        config,
        profile,
    )
}

fn in_order() -> Config {
    Config {
        order: false,
        ..Config::default()
    }
}

/// 3 x 3: one flow round the outside to the left, the other one down the right side.
const PLAIN: &str = "3,0,1,2;0,1,4,3,6;2,5,8,7";
/// 3 x 3 that warps: the first flow goes over the left edge.
const WARPED: &str = "W_3,0,1,2;0,2,5,3;1,4,7,6,8";

#[test]
fn grid_ways_stay_as_the_solution_has_them() {
    let config = Config {
        skip_last_terminal: false,
        ..in_order()
    };
    let strokes = strokes(PLAIN, Method::Turns, &config, Profile::Segments);
    assert_eq!(strokes[0].cells, [0, 1, 4, 3, 6]);
    assert_eq!(strokes[1].points, [[2.5, 0.5], [2.5, 2.5], [1.5, 2.5]]);
}

#[test]
fn a_planner_does_what_the_game_needs() {
    let count = |method, profile| {
        let strokes = strokes(PLAIN, method, &in_order(), profile);
        let points = strokes.iter().map(|stroke| stroke.points.len());
        (points.sum::<usize>(), strokes[0].cells.len())
    };
    // Without the last terminal, unless the game needs stops that it was not asked for.
    assert_eq!(count(Method::Cells, Profile::Segments), (4 + 3, 4));
    assert_eq!(count(Method::Turns, Profile::Cells), (4 + 3, 4));
    assert_eq!(count(Method::Corners, Profile::Cells), (5 + 4, 5));
    assert_eq!(count(Method::FewestSegments, Profile::Slow), (5 + 4, 5));
    assert_eq!(count(Method::FewestSegments, Profile::Turns), (5 + 3, 5));
    assert_eq!(count(Method::Cells, Profile::Turns), (4 + 3, 4));
}

#[test]
fn the_end_that_needs_fewer_segments_is_begun_at() {
    // From the left end three turns are dragged, from the right end two.
    let line = "4:2,0,1,2;0,4,5,6,7;1,2,3";
    let strokes = strokes(line, Method::FewestSegments, &in_order(), Profile::Segments);
    assert_eq!(strokes[0].points.len(), 2);
    assert_eq!(strokes[0].cells.len(), 4);
}

#[test]
fn over_an_edge_the_button_stays_down_where_asked_for() {
    for warps in [Warps::NewPress, Warps::GoOn] {
        let config = Config {
            warps,
            ..in_order()
        };
        let strokes = strokes(WARPED, Method::FewestSegments, &config, Profile::Segments);
        let colours: Vec<_> = strokes.iter().map(|stroke| stroke.colour).collect();
        assert!(colours.is_sorted() && strokes.len() > 2);
        for pair in strokes.windows(2) {
            let same = pair[0].colour == pair[1].colour;
            assert_eq!(pair[0].held, same && warps == Warps::GoOn);
            if same {
                assert_eq!(pair[0].cells.last(), pair[1].cells.first());
            }
        }
    }
}

#[test]
fn no_stop_beside_another_terminal_of_the_colour() {
    use flowpipe_puzzle::{Board, Rules, Terminal};
    // Two pairs of one colour, side by side.
    let board = Board::rectangle(2, 3).expect("a board");
    let terminal = |cell| Terminal { cell, colour: 0 };
    let terminals = [0, 2, 3, 5].map(terminal).to_vec();
    let puzzle = Puzzle::new(board, terminals, Rules::default()).expect("a puzzle");
    let flow = |cells: [Cell; 3]| Flow {
        colour: 0,
        cells: cells.to_vec(),
    };
    let flows = [flow([0, 1, 2]), flow([3, 4, 5])];
    let config = in_order();
    let strokes = plan(
        &puzzle,
        &flows,
        Method::FewestSegments,
        &config,
        Profile::Segments,
    );
    // The middle cells touch no terminal but their own.
    assert_eq!(strokes[0].cells, [0, 1]);
    let board = Board::rectangle(2, 3).expect("a board");
    let terminals = [0, 2, 4, 5].map(terminal).to_vec();
    let puzzle = Puzzle::new(board, terminals, Rules::default()).expect("a puzzle");
    let strokes = plan(
        &puzzle,
        &flows[..1],
        Method::FewestSegments,
        &config,
        Profile::Segments,
    );
    assert_eq!(strokes[0].cells, [0, 1, 2]);
}

#[test]
fn broken_solutions_are_planned_without_panic() {
    let level = level::parse(PLAIN).expect("a level");
    for cells in [
        vec![],
        vec![3],
        vec![0, 8],
        vec![0, 1, 8, 7],
        vec![0, 99],
        vec![99, 98],
    ] {
        let flows = [Flow { colour: 0, cells }];
        for method in Method::ALL {
            for profile in Profile::ALL {
                let strokes = plan(&level.puzzle, &flows, method, &Config::default(), profile);
                assert!(strokes.iter().all(|stroke| !stroke.points.is_empty()));
            }
        }
    }
}
