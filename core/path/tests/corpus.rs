//! Real levels, where they are there: every way lies inside its corridor.

use std::path::PathBuf;

use flowpipe_path::{Corridor, End, Inner, Minlink, legs, lies_inside};
use flowpipe_puzzle::level;

#[test]
fn ways_of_real_levels() {
    let folder = std::env::var_os("FLOWPIPE_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let Ok(text) = std::fs::read_to_string(folder.join("puzzles/flowfree-levels.txt")) else {
        println!("skipped: no flowfree-levels.txt in {}", folder.display());
        return;
    };
    let mut minlink = Minlink::default();
    let (mut boards, mut legs_seen, mut cells, mut turns, mut fewest, mut better) =
        (0, 0, 0, 0, 0, 0);
    let slack = (-40f64).exp2();
    for level in text.lines().flat_map(level::parse) {
        boards += 1;
        let board = level.puzzle.board();
        for flow in &level.solution.flows {
            let mut back = flow.cells.clone();
            back.reverse();
            let mut both = [0, 0];
            for (direction, run) in [&flow.cells, &back].into_iter().enumerate() {
                for leg in legs(board, run, End::BesideTerminal) {
                    let corridor = Corridor::of(board, &leg, Inner::default());
                    let way = minlink.fewest(&corridor);
                    lies_inside(&corridor, &way.points, slack)
                        .unwrap_or_else(|why| panic!("{why}: {leg:?} {way:?}"));
                    assert_eq!(way.segments(), minlink.count(&corridor));
                    both[direction] += way.segments();
                    if direction == 0 {
                        legs_seen += 1;
                        cells += leg.dragged().len() - 1;
                        turns += corridor.turns();
                    }
                }
            }
            fewest += both[0];
            better += both[0].min(both[1]);
        }
    }
    println!(
        "{boards} boards, {legs_seen} legs: {cells} cells, {turns} turns, {fewest} fewest, {better} with the better direction"
    );
}
