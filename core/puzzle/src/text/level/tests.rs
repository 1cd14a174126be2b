use super::*;

#[test]
fn reads_and_writes_every_kind_of_board() {
    for line in [
        "3,0,1,3;0,1,2;3,4,5;6,7,8",
        "4:2,7,12,2;0,1,2,3;4,5,6,7",
        "3+B:I,0,1,2,,8;0,1,2,5;3,4,7,6",
        "5,0,1,2,12;2,7,12,17,22;10,11,12,13,14",
        "3,0,1,3,,,0|3:4|7;0,1,2;3,4,5;6,7,8",
        "W_3,0,1,3,,4,0|2;0,1;2,5,8;3,6,7",
        "X_3,0,1,3,,8;0,3,6;1,4,7;2,5",
    ] {
        let level = parse(line).unwrap();
        assert_eq!(level.to_string(), line);
        assert_eq!(parse(&level.to_string()).unwrap(), level);
    }
}

#[test]
fn passes_over_suffixes_of_holes_space_and_a_last_semicolon() {
    let level = parse("  2:3,0,1,2,,5_0B:4_11;0,1;2,3; ").unwrap();
    assert_eq!(level.puzzle.board().description().holes, [4, 5]);
    assert_eq!(level.to_string(), "2:3,0,1,2,,4:5;0,1;2,3");
}

#[test]
fn reports_where_and_what() {
    let errors: Vec<String> = [
        "",
        "3",
        "3,0,x,1;0,1",
        "3:4:5,0,1,1;0,1",
        "Z_3,0,1,1;0,1",
        "3,0,1,2;0,1",
        "3,0,1,1;0,+1",
        "3,0,1,1;0,1,9",
        "3,0,1,1,,,1|2|3;0,1",
        "3,0,1,1,,,0|8;0,1",
        "3,0,1,1,4:,5;0,1",
        "3,0,1,1,,,,9;0,1",
        "0,0,1,1;0,1",
        "99999999999,0,1,1;0,1",
        "3,0,1,1;4",
        "3,0,1,1,,0;0,1",
        "3,0,1,0",
        "é,0,1,1;0,é",
    ]
    .iter()
    .map(|line| format!("{line:>24}  {}", parse(line).unwrap_err()))
    .collect();
    crate::snapshot::settings().bind(|| insta::assert_snapshot!("level_errors", errors.join("\n")));
}

#[test]
fn a_level_is_made_of_a_puzzle_and_its_solution() {
    let line = "4+B:2,7,12,2;0,1,2,3;4,5,6,7";
    let level = parse("4:2+B,7,12,2;0,1,2,3;4,5,6,7").unwrap();
    let again = Level::new(level.tag(), &level.puzzle, &level.solution).unwrap();
    assert_eq!(again, level, "{line}");
    // Colours that are not 0 and 1 are numbered in their order.
    let recoloured = |terminal: &Terminal| Terminal {
        colour: terminal.colour * 5 + 3,
        ..*terminal
    };
    let terminals = level.puzzle.terminals().iter().map(recoloured).collect();
    let puzzle = Puzzle::new(level.puzzle.board().clone(), terminals, Rules::default()).unwrap();
    let mut solution = level.solution.clone();
    for flow in &mut solution.flows {
        flow.colour = flow.colour * 5 + 3;
    }
    assert_eq!(Level::new(level.tag(), &puzzle, &solution), Ok(again));
    let tag = Tag {
        flags: "B;".to_owned(),
        ..Tag::default()
    };
    let error = Level::new(tag, &puzzle, &solution).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a level line can't express the flags \"B;\""
    );
}
