use super::*;

fn error(description: Description) -> BoardError {
    Board::new(description).unwrap_err()
}

fn square(side: usize) -> Description {
    Description {
        rows: side,
        cols: side,
        ..Description::default()
    }
}

#[test]
fn what_cannot_be_a_board_is_refused() {
    assert_eq!(error(square(0)), BoardError::Empty { rows: 0, cols: 0 });
    let large = square(usize::MAX);
    assert_eq!(
        error(large),
        BoardError::TooLarge {
            rows: usize::MAX,
            cols: usize::MAX
        }
    );
    assert!(Board::rectangle(300, 300).is_ok());
    assert_eq!(
        error(Description {
            holes: vec![9],
            ..square(3)
        }),
        BoardError::OutOfRange {
            what: "a hole",
            cell: 9,
            last: 8
        }
    );
    assert_eq!(
        error(Description {
            bridges: vec![9],
            ..square(3)
        }),
        BoardError::OutOfRange {
            what: "a bridge",
            cell: 9,
            last: 8
        }
    );
    assert_eq!(
        error(Description {
            walls: vec![(0, 9)],
            ..square(3)
        }),
        BoardError::OutOfRange {
            what: "a wall",
            cell: 9,
            last: 8
        }
    );
    assert_eq!(
        error(Description {
            walls: vec![(4, 0)],
            ..square(3)
        }),
        BoardError::WallApart { a: 0, b: 4 }
    );
    assert_eq!(
        error(Description {
            walls: vec![(0, 0)],
            ..square(3)
        }),
        BoardError::WallApart { a: 0, b: 0 }
    );
    assert_eq!(
        error(Description {
            holes: vec![4],
            bridges: vec![4],
            ..square(3)
        }),
        BoardError::BridgeInHole(4)
    );
    let hexes = Description {
        lattice: Lattice::Hex,
        warps: true,
        ..square(3)
    };
    assert_eq!(error(hexes), BoardError::HexWarps { rows: 3, cols: 3 });
}

#[test]
fn lists_are_kept_sorted_and_without_repeats() {
    let board = Board::new(Description {
        holes: vec![8, 0, 8],
        bridges: vec![4, 4],
        walls: vec![(5, 2), (2, 1), (2, 5)],
        ..square(3)
    })
    .unwrap();
    assert_eq!(board.description().holes, [0, 8]);
    assert_eq!(board.description().bridges, [4]);
    assert_eq!(board.description().walls, [(1, 2), (2, 5)]);
}

#[test]
fn cells_holes_and_touching() {
    let board = Board::new(Description {
        holes: vec![0],
        walls: vec![(1, 2)],
        ..square(3)
    })
    .unwrap();
    assert_eq!(board.cells().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert!(!board.exists(0) && !board.exists(9) && !board.exists(usize::MAX));
    assert_eq!(
        (board.cell(0, 0), board.cell(1, 2), board.cell(1, 3)),
        (None, Some(5), None)
    );
    assert_eq!(board.cell(usize::MAX, usize::MAX), None);
    assert!(board.touch(1, 4) && board.touch(4, 1));
    assert!(!board.touch(1, 2) && !board.touch(0, 1) && !board.touch(2, 3) && !board.touch(99, 1));
    assert!(!board.is_plain_rectangle() && Board::rectangle(2, 3).unwrap().is_plain_rectangle());
}

#[test]
fn json_is_short_and_bad_boards_are_refused() {
    let board = Board::rectangle(2, 3).unwrap();
    assert_eq!(
        serde_json::to_string(&board).unwrap(),
        r#"{"rows":2,"cols":3}"#
    );
    let refusal = |json: &str| serde_json::from_str::<Board>(json).unwrap_err().to_string();
    let refusals: Vec<String> = [
        r#"{"rows":2}"#,
        r#"{"rows":2,"cols":3,"color":1}"#,
        r#"{"rows":2,"cols":-3}"#,
        r#"{"rows":2,"cols":3,"lattice":"triangle"}"#,
        r#"{"rows":1000,"cols":1000}"#,
        r#"{"rows":2,"cols":3,"walls":[[0,5]]}"#,
        r#"{"rows":2,"cols":3,"holes":[6]}"#,
    ]
    .map(refusal)
    .into();
    crate::snapshot::settings().bind(|| insta::assert_snapshot!("bad_boards", refusals.join("\n")));
}
