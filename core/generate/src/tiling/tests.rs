//! Steps keep what a tiling promises.

use flowpipe_puzzle::Board;
use flowpipe_puzzle::board::Description;

use super::*;
use crate::kind::Kind;
use crate::shape::shape;
use crate::size::Size;

/// What is kept beside the paths agrees with them.
fn assert_consistent(tiling: &Tiling, net: &Net) {
    assert!(tiling.is_apart(net));
    let paths: Vec<Vec<Node>> = tiling.paths().collect();
    assert_eq!(paths.len(), tiling.count());
    let mut nodes = paths.concat();
    nodes.sort_unstable();
    assert!(nodes.iter().copied().eq(0..net.len() as Node));
    for path in &paths {
        let id = tiling.path_of[path[0] as usize] as usize;
        assert_eq!(tiling.length[id] as usize, path.len());
        assert_eq!(tiling.ends[id], [path[0], path[path.len() - 1]]);
        assert!(
            path.iter()
                .all(|&node| tiling.path_of[node as usize] as usize == id)
        );
        assert!(!net.is_bridge(path[0]) && !net.is_bridge(path[path.len() - 1]));
    }
    let short = paths.iter().filter(|path| path.len() < SHORTEST).count();
    assert_eq!(tiling.short(), short);
}

#[test]
fn no_step_breaks_a_tiling() {
    for (kind, seed) in Kind::ALL.into_iter().zip(0..) {
        let mut random = Random::new(seed);
        let size = Size::new(7, 6).expect("a size");
        let board = shape(size, &[kind], &mut random).expect("a board");
        let net = Net::new(&board);
        let mut tiling = Tiling::default();
        // Twice, for what the first walk leaves behind.
        for _ in 0..2 {
            assert!(tiling.reset(&net), "{kind}");
            assert_consistent(&tiling, &net);
            let mut made = 0;
            for _ in 0..3000 {
                if tiling.step(&net, &mut random, 1.0) {
                    made += 1;
                    assert_consistent(&tiling, &net);
                }
            }
            assert!(made > 100, "{kind}: {made} steps");
        }
    }
}

#[test]
fn cold_walks_come_down_to_few_paths() {
    let board = Board::rectangle(9, 9).expect("a board");
    let net = Net::new(&board);
    let mut tiling = Tiling::default();
    assert!(tiling.reset(&net));
    let mut random = Random::new(1);
    for _ in 0..5000 {
        tiling.step(&net, &mut random, 0.1);
    }
    assert!(tiling.count() < 9 && tiling.short() == 0);
}

#[test]
fn bridges_that_admit_no_tiling_are_refused() {
    let reset = |bridges: &[usize]| {
        let board = Board::new(Description {
            rows: 4,
            cols: 4,
            warps: true,
            bridges: bridges.to_vec(),
            walls: (0..4).map(|col| (col, col + 12)).collect(),
            ..Description::default()
        });
        Tiling::default().reset(&Net::new(&board.expect("a board")))
    };
    assert!(reset(&[5]));
    // A way over it ends at the edge.
    assert!(!reset(&[1]));
    // Their ways close a loop around the board.
    assert!(!reset(&[5, 7]));
}
