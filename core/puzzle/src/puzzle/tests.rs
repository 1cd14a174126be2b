use super::*;
use crate::board::Description;

fn make(terminals: &[(Cell, Colour)]) -> Result<Puzzle, PuzzleError> {
    let board = Description {
        rows: 3,
        cols: 3,
        holes: vec![8],
        bridges: vec![4],
        ..Default::default()
    };
    let terminals = terminals
        .iter()
        .map(|&(cell, colour)| Terminal { cell, colour })
        .collect();
    Puzzle::new(Board::new(board)?, terminals, Rules::default())
}

#[test]
fn terminals_are_kept_by_cell() {
    let puzzle = make(&[(7, 5), (0, 5), (6, 1), (2, 1), (1, 5), (3, 5)]).unwrap();
    let cells: Vec<Cell> = puzzle
        .terminals()
        .iter()
        .map(|terminal| terminal.cell)
        .collect();
    assert_eq!(cells, [0, 1, 2, 3, 6, 7]);
    assert_eq!((puzzle.colours(), puzzle.flow_count()), (vec![1, 5], 3));
    assert_eq!(
        (puzzle.terminal_at(2), puzzle.terminal_at(5)),
        (Some(1), None)
    );
    assert_eq!(puzzle.terminal_at(usize::MAX), None);
}

#[test]
fn what_cannot_be_a_puzzle_is_refused() {
    let refusals: Vec<String> = [
        vec![],
        vec![(9, 0), (0, 0)],
        vec![(8, 0), (0, 0)],
        vec![(4, 0), (0, 0)],
        vec![(2, 0), (2, 0)],
        vec![(2, 0), (2, 1), (3, 0), (3, 1)],
        vec![(0, 0), (1, 0), (5, 1)],
        vec![(0, 0), (1, 0), (5, 0)],
    ]
    .iter()
    .map(|terminals| make(terminals).unwrap_err().to_string())
    .collect();
    crate::snapshot::settings()
        .bind(|| insta::assert_snapshot!("bad_puzzles", refusals.join("\n")));
}

#[test]
fn json_reads_back_and_bad_puzzles_are_refused() {
    let puzzle = make(&[(0, 0), (2, 0)]).unwrap();
    let json = serde_json::to_string(&puzzle).unwrap();
    assert_eq!(
        json,
        r#"{"board":{"rows":3,"cols":3,"holes":[8],"bridges":[4]},"terminals":[{"cell":0,"colour":0},{"cell":2,"colour":0}]}"#
    );
    assert_eq!(serde_json::from_str::<Puzzle>(&json).unwrap(), puzzle);
    let loose = puzzle.with_rules(Rules {
        cover: false,
        touch: true,
    });
    let json = serde_json::to_string(&loose).unwrap();
    assert!(
        json.ends_with(r#""rules":{"cover":false,"touch":true}}"#),
        "{json}"
    );
    assert_eq!(serde_json::from_str::<Puzzle>(&json).unwrap(), loose);

    let odd = json.replace(
        r#","terminals":[{"cell":0,"colour":0}"#,
        r#","terminals":[{"cell":0,"colour":1}"#,
    );
    let error = serde_json::from_str::<Puzzle>(&odd)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("row 1, column 3: colour A has 1 terminal, it needs"),
        "{error}"
    );
    let unknown = json.replace("rules", "rulez");
    let error = serde_json::from_str::<Puzzle>(&unknown)
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("unknown field `rulez`"), "{error}");
}

#[test]
fn rules_permit_what_stricter_ones_permit() {
    let [strict, touch, empty, loose] =
        [(true, false), (true, true), (false, false), (false, true)]
            .map(|(cover, touch)| Rules::new(cover, touch));
    for rules in [strict, touch, empty, loose] {
        assert!(rules.are_within(rules) && strict.are_within(rules) && rules.are_within(loose));
        assert_eq!((rules.or(rules), rules.or(strict)), (rules, rules));
    }
    assert!(!touch.are_within(empty) && !empty.are_within(touch));
    assert!(!touch.are_within(strict) && !loose.are_within(touch));
    assert_eq!((touch.or(empty), empty.or(touch)), (loose, loose));
}
