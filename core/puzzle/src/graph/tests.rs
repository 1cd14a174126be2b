use std::collections::HashSet;

use super::*;
use crate::board::Board;

fn neighbours(board: &Board, row: usize, col: usize) -> HashSet<(usize, usize)> {
    let cell = row * board.cols() + col;
    let nodes = board.graph().nodes_of(cell);
    let links = nodes.iter().flat_map(|&node| board.graph().links(node));
    links
        .map(|link| board.row_col(board.graph().cell_of(link.node)))
        .collect()
}

fn board(description: Description) -> Board {
    Board::new(description).unwrap()
}

#[test]
fn hexes_touch_as_in_flow_free() {
    // (x, y) touches (x, y±1), (x±1, y), and (x±1, y+1) for even x, (x±1, y−1) for odd x.
    let hexes = board(Description {
        rows: 5,
        cols: 5,
        lattice: Lattice::Hex,
        ..Default::default()
    });
    let even = [(1, 2), (3, 2), (2, 1), (2, 3), (3, 1), (3, 3)];
    assert_eq!(neighbours(&hexes, 2, 2), even.into());
    let odd = [(1, 3), (3, 3), (2, 2), (2, 4), (1, 2), (1, 4)];
    assert_eq!(neighbours(&hexes, 2, 3), odd.into());
    assert_eq!(neighbours(&hexes, 0, 0), [(1, 0), (0, 1), (1, 1)].into());
    assert_eq!(neighbours(&hexes, 0, 1), [(1, 1), (0, 0), (0, 2)].into());
}

#[test]
fn warps_wrap_both_ways_but_not_along_short_sides() {
    let warps = |rows, cols| {
        board(Description {
            rows,
            cols,
            warps: true,
            ..Default::default()
        })
    };
    assert_eq!(
        neighbours(&warps(3, 4), 0, 0),
        [(2, 0), (1, 0), (0, 1), (0, 3)].into()
    );
    assert_eq!(
        neighbours(&warps(2, 3), 0, 0),
        [(1, 0), (0, 1), (0, 2)].into()
    );
    assert_eq!(neighbours(&warps(1, 3), 0, 0), [(0, 1), (0, 2)].into());
    assert_eq!(neighbours(&warps(1, 1), 0, 0), [].into());
    let cut = Description {
        rows: 3,
        cols: 3,
        warps: true,
        walls: vec![(0, 2)],
        ..Default::default()
    };
    assert_eq!(
        neighbours(&board(cut), 0, 0),
        [(1, 0), (2, 0), (0, 1)].into()
    );
}

#[test]
fn a_bridge_is_one_node_for_each_way_across() {
    let bridge = board(Description {
        rows: 3,
        cols: 3,
        bridges: vec![4],
        ..Default::default()
    });
    let ways: Vec<Vec<Cell>> = bridge
        .graph()
        .nodes_of(4)
        .iter()
        .map(|&node| {
            let links = bridge.graph().links(node).iter();
            links
                .map(|link| bridge.graph().cell_of(link.node))
                .collect()
        })
        .collect();
    assert_eq!(ways, [[1, 7], [5, 3]]);
    let hexes = Description {
        rows: 3,
        cols: 3,
        lattice: Lattice::Hex,
        bridges: vec![4],
        ..Default::default()
    };
    assert_eq!(board(hexes).graph().nodes_of(4).len(), 3);
}

#[test]
fn a_step_from_nowhere_or_in_no_direction_leads_nowhere() {
    let rectangle = Description {
        rows: 2,
        cols: 2,
        ..Default::default()
    };
    assert_eq!(step(&rectangle, 0, Direction(1)), Some(1));
    assert_eq!(step(&rectangle, 0, Direction(4)), None);
    assert_eq!(step(&rectangle, 4, Direction(0)), None);
    assert_eq!(step(&rectangle, usize::MAX, Direction(0)), None);
    assert_eq!(step(&Description::default(), 0, Direction(0)), None);
}

#[test]
fn boards_of_rows_and_columns_share_their_graph() {
    let graph = |description: &Description| Graph::of(description).unwrap();
    let plain = Description::grid(3, 4);
    // Other tests may replace what is kept, now and then.
    let is_shared = || Arc::ptr_eq(&graph(&plain), &graph(&plain));
    assert!((0..100).any(|_| is_shared()));
    let mut holed = plain.clone();
    holed.holes = vec![5];
    let warped = Description {
        warps: true,
        ..plain.clone()
    };
    assert_eq!(graph(&holed).len(), 11);
    assert_eq!(graph(&warped).links(0).len(), 4);
    assert_eq!(graph(&plain).links(0).len(), 2);
    // No more graphs are kept than a few, and no large ones.
    for rows in 1..=2 * MOST_KEPT {
        graph(&Description::grid(rows, 2));
    }
    let large = Description::grid(MOST_CELLS, 2);
    assert!(!Arc::ptr_eq(&graph(&large), &graph(&large)));
    assert!(KEPT.lock().len() <= MOST_KEPT);
}
