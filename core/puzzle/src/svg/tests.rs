use super::*;
use crate::{level, text};

/// One board of each kind, solved.
const BOARDS: [(&str, &str); 6] = [
    ("plain", "4,0,1,3;0,1,2,3,7,6;4,5,9,8,12;13,14,10,11,15"),
    ("bridge", "3,0,1,2,4,0:2:6:8;1,4,7;3,4,5"),
    ("walls", "3,0,1,3,,,0|3:4|7;0,1,2;3,4,5;6,7,8"),
    ("warps", "W_3,0,1,3,,,1|7:4|7;0,6,3;1,4,5;7,8,2"),
    ("hexes", "X_3,0,1,3,,8,0|1:2|4;0,3,6;1,4,7;2,5"),
    ("hex_warps", "W_X_4:3,0,1,3;1,0,3,2;4,7,6,5;8,11,10,9"),
];

fn solved(line: &str, style: Style) -> String {
    let level = level::parse(line).unwrap();
    draw(&level.puzzle, &level.solution.flows, style)
}

#[test]
fn every_kind_of_board() {
    crate::snapshot::settings().bind(|| {
        for (name, line) in BOARDS {
            let style = Style {
                title: name,
                letters: name == "plain",
                ..Style::default()
            };
            insta::assert_snapshot!(name, solved(line, style));
        }
    });
}

/// Every tag is closed by its own, in order.
fn is_well_formed(svg: &str) -> bool {
    let mut open = Vec::new();
    let mut rest = svg;
    while let Some((_, after)) = rest.split_once('<') {
        let Some((tag, after)) = after.split_once('>') else {
            return false;
        };
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return false;
            }
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap_or_default());
        }
    }
    open.is_empty()
}

#[test]
fn rubbish_and_odd_names_give_a_whole_picture() {
    let entry = text::read("ab cd ab\ncd . .").remove(0);
    let (puzzle, _) = entry.puzzle.as_ref().unwrap();
    let flows = [Flow {
        colour: 900,
        cells: vec![1, 99, usize::MAX, 2, 5],
    }];
    let names = ["<&>".to_owned(), "\u{0}\"".to_owned()];
    let style = Style {
        letters: true,
        names: &names,
        title: "a < b",
        palette: &[[1, 2, 3]],
    };
    let svg = draw(puzzle, &flows, style);
    assert!(is_well_formed(&svg), "{svg}");
    assert!(
        svg.contains("&lt;&amp;&gt;") && svg.contains("#010203"),
        "{svg}"
    );
    assert!(
        BOARDS
            .iter()
            .all(|(_, line)| is_well_formed(&solved(line, Style::default())))
    );
    assert!(!is_well_formed("<a><b></a></b>"));
}

#[test]
fn numbers_are_short() {
    let shown = [1.0, -0.001, 1.0 / 3.0, -2.5].map(number);
    assert_eq!(shown, ["1", "0", "0.33", "-2.5"]);
}
