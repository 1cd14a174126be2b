use super::*;
use crate::level;
use crate::puzzle::Rules;

/// Three flows on 4 by 4: A along the top and back one cell, B around the left, C the rest.
const PLAIN: &str = "4,0,1,3;0,1,2,3,7,11;4,5,6,10;8,9,13,12";

fn refusals(line: &str, flows: &[(Colour, &[Cell])], rules: Rules) -> Vec<Refusal> {
    let puzzle = level::parse(line).unwrap().puzzle.with_rules(rules);
    let flows = flows
        .iter()
        .map(|&(colour, cells)| Flow {
            colour,
            cells: cells.to_vec(),
        })
        .collect();
    check(&puzzle, &Solution { flows })
        .err()
        .unwrap_or_default()
}

/// Rules and cells of the refusals, without regard to cover.
fn breaches(line: &str, flows: &[(Colour, &[Cell])]) -> Vec<(Rule, Option<Cell>)> {
    let all = refusals(
        line,
        flows,
        Rules {
            cover: false,
            touch: false,
        },
    );
    all.iter()
        .map(|refusal| (refusal.rule, refusal.cell))
        .collect()
}

const A: (Colour, &[Cell]) = (0, &[0, 1, 2, 3, 7, 11]);
const B: (Colour, &[Cell]) = (1, &[4, 5, 6, 10]);
const C: (Colour, &[Cell]) = (2, &[8, 9, 13, 12]);

#[test]
fn right_flows_pass_in_any_order_and_direction() {
    assert_eq!(
        breaches(PLAIN, &[(0, &[11, 7, 3, 2, 1, 0]), (2, &[8, 9, 13, 12]), B]),
        [(Rule::TouchesItself, Some(12))]
    );
    let straight: (Colour, &[Cell]) = (2, &[12, 8]);
    assert_eq!(
        breaches(PLAIN, &[(0, &[11, 7, 3, 2, 1, 0]), straight, B]),
        []
    );
}

#[test]
fn each_rule_is_refused_at_its_cell() {
    use Rule::{
        Apart, CellTwice, EmptyFlow, End, OffBoard, PassesForeignTerminal, PassesTerminal,
        TerminalTwice, TerminalWithoutFlow, TouchesItself, UnknownColour,
    };
    let c: (Colour, &[Cell]) = (2, &[8, 12]);
    let without_a = [
        (TerminalWithoutFlow, Some(0)),
        (TerminalWithoutFlow, Some(11)),
    ];
    let with = |first: &[(Rule, Option<Cell>)]| [first, &without_a].concat();

    assert_eq!(breaches(PLAIN, &[B, c]), without_a);
    assert_eq!(
        breaches(PLAIN, &[(0, &[]), B, c]),
        with(&[(EmptyFlow, None)])
    );
    assert_eq!(
        breaches(PLAIN, &[A, B, c, (7, &[14, 15])]),
        [(UnknownColour, Some(14)), (End, Some(14)), (End, Some(15))]
    );
    assert_eq!(
        breaches(PLAIN, &[(0, &[0, 1, 2, 3, 99, 11]), B, c]),
        [(OffBoard, Some(99))]
    );
    assert_eq!(
        breaches(PLAIN, &[(0, &[0, 1, 3, 7, 11]), B, c]),
        [(Apart, Some(3))]
    );
    assert_eq!(
        breaches(PLAIN, &[(0, &[1, 2, 3, 7, 11]), B, c]),
        [(End, Some(1)), (TerminalWithoutFlow, Some(0))]
    );
    assert_eq!(
        breaches(PLAIN, &[A, (1, &[4, 5, 6, 10, 14]), c]),
        [
            (PassesTerminal, Some(10)),
            (End, Some(14)),
            (TerminalWithoutFlow, Some(10))
        ]
    );
    assert_eq!(
        breaches(PLAIN, &[A, (1, &[4, 8, 9, 10]), (2, &[12, 8])]),
        [(PassesForeignTerminal, Some(8)), (CellTwice, Some(8))]
    );
    assert_eq!(
        breaches(PLAIN, &[A, B, c, A]).last(),
        Some(&(TerminalTwice, Some(11)))
    );
    assert_eq!(
        breaches(PLAIN, &[(0, &[0]), B, c]),
        [(TerminalTwice, Some(0)), (TerminalWithoutFlow, Some(11))]
    );
    assert_eq!(
        breaches(PLAIN, &[(0, &[0, 1, 2, 1, 2, 3, 7, 11]), B, c]),
        [(CellTwice, Some(1)), (CellTwice, Some(2))]
    );
    assert_eq!(
        breaches(PLAIN, &[A, (1, &[4, 5, 9, 13, 14, 10]), c]),
        [(TouchesItself, Some(10))]
    );
}

#[test]
fn cover_and_touch_are_checked_only_where_the_rules_ask() {
    let flows = [A, B, C];
    let rules = |cover, touch| {
        let all = refusals(PLAIN, &flows, Rules { cover, touch });
        all.iter()
            .map(|refusal| (refusal.rule, refusal.cell))
            .collect::<Vec<_>>()
    };
    assert_eq!(rules(false, true), []);
    assert_eq!(rules(false, false), [(Rule::TouchesItself, Some(12))]);
    assert_eq!(
        rules(true, true),
        [(Rule::Uncovered, Some(14)), (Rule::Uncovered, Some(15))]
    );
}

#[test]
fn walls_and_holes_stop_a_flow() {
    assert_eq!(
        breaches("2,0,1,1,,,0|1;0,2,3,1", &[(0, &[0, 1])]),
        [(Rule::Apart, Some(1))]
    );
    // Behind a wall cells do not touch.
    assert_eq!(breaches("2,0,1,1,,,0|1;0,2,3,1", &[(0, &[0, 2, 3, 1])]), []);
    assert_eq!(
        breaches("3:1,0,1,1,,1;0,2", &[(0, &[0, 1, 2])]),
        [(Rule::OffBoard, Some(1))]
    );
}

#[test]
fn bridges_are_crossed_straight_once_each_way() {
    const BRIDGE: &str = "3,0,1,2,4,0:2:6:8;1,4,7;3,4,5";
    assert_eq!(
        refusals(
            BRIDGE,
            &[(0, &[1, 4, 7]), (1, &[3, 4, 5])],
            Rules::default()
        ),
        []
    );
    assert_eq!(
        breaches(BRIDGE, &[(0, &[1, 4, 3]), (1, &[3, 4, 5])]),
        [
            (Rule::BridgeTurn, Some(4)),
            (Rule::End, Some(3)),
            (Rule::CellTwice, Some(3)),
            (Rule::TerminalTwice, Some(3)),
            (Rule::TerminalWithoutFlow, Some(7)),
        ]
    );
    assert_eq!(
        breaches(BRIDGE, &[(0, &[1, 4]), (1, &[3, 4, 5])]),
        [
            (Rule::BridgeEnd, Some(4)),
            (Rule::TerminalWithoutFlow, Some(7))
        ]
    );
    let half = refusals(
        "3,0,1,1,4,0:2:6:8:3:5;1,4,7",
        &[(0, &[1, 4, 7])],
        Rules::default(),
    );
    assert_eq!(half.len(), 1);
    assert_eq!((half[0].rule, half[0].cell), (Rule::Uncovered, Some(4)));
    // One flow may cross itself, and does not touch itself there.
    const LOOP: &str = "4,0,1,1,5;1,5,9,10,6,5,4";
    assert_eq!(breaches(LOOP, &[(0, &[1, 5, 9, 10, 6, 5, 4])]), []);
}

#[test]
fn warps_join_opposite_edges() {
    const WARPS: &str = "W_3,0,1,3;1,0,2;5,3,4;8,7,6";
    // Around a ring of three, the ends touch.
    let flows: [(Colour, &[Cell]); 3] = [(0, &[1, 0, 2]), (1, &[5, 3, 4]), (2, &[8, 7, 6])];
    assert_eq!(
        breaches(WARPS, &flows),
        [
            (Rule::TouchesItself, Some(2)),
            (Rule::TouchesItself, Some(4)),
            (Rule::TouchesItself, Some(6))
        ]
    );
    const CUT: &str = "W_3,0,1,3,,,1|2:4|5:7|8;1,0,2;4,3,5;7,6,8";
    let flows: [(Colour, &[Cell]); 3] = [(0, &[1, 0, 2]), (1, &[4, 3, 5]), (2, &[7, 6, 8])];
    assert_eq!(breaches(CUT, &flows), []);
}

#[test]
fn hexes_touch_six_ways() {
    // Cell (0, 0) touches (1, 1) and (1, 0); cell (1, 0) does not touch (0, 1).
    assert_eq!(breaches("X_2,0,1,1;0,3", &[(0, &[0, 3])]), []);
    assert_eq!(
        breaches("X_2,0,1,1;1,2", &[(0, &[1, 2])]),
        [(Rule::Apart, Some(2))]
    );
}

#[test]
fn a_colour_of_several_pairs_takes_any_pairing() {
    let entry = &crate::text::read("AA\nAA\n")[0];
    let puzzle = &entry.puzzle.as_ref().unwrap().0;
    for flows in [[vec![0, 1], vec![2, 3]], [vec![0, 2], vec![3, 1]]] {
        let flows = flows.map(|cells| Flow { colour: 0, cells }).to_vec();
        assert_eq!(check(puzzle, &Solution { flows }), Ok(()));
    }
    let flows = vec![Flow {
        colour: 0,
        cells: vec![0, 1],
    }];
    assert_eq!(check(puzzle, &Solution { flows }).unwrap_err().len(), 4);
}

#[test]
fn refusals_read_as_sentences() {
    let flows: [(Colour, &[Cell]); 9] = [
        (27, &[]),
        (0, &[0, 99, 2, 7]),
        (0, &[11, 10, 15]),
        (1, &[4, 5, 6, 10, 14, 13]),
        (2, &[8, 12]),
        (2, &[8, 9, 13, 12]),
        (1, &[15, 11, 7]),
        (0, &[3]),
        (1, &[4, 4]),
    ];
    let mut sentences: Vec<String> = refusals(PLAIN, &flows, Rules::default())
        .iter()
        .map(Refusal::to_string)
        .collect();
    let bridge = refusals(
        "3,0,1,2,4,0:2:6:8;1,4,7;3,4,5",
        &[(0, &[1, 4, 5]), (1, &[3, 4])],
        Rules::default(),
    );
    sentences.extend(bridge.iter().map(Refusal::to_string));
    crate::snapshot::settings().bind(|| insta::assert_snapshot!("refusals", sentences.join("\n")));
}
