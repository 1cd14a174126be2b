use super::*;
use crate::stroke_check::check_strokes;
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

fn solved(line: &str, style: SvgStyle) -> String {
    let level = level::parse(line).unwrap();
    draw(&level.puzzle, &level.solution.flows, style)
}

#[test]
fn every_kind_of_board() {
    crate::snapshot::settings().bind(|| {
        for (name, line) in BOARDS {
            let style = SvgStyle {
                title: name,
                letters: name == "plain",
                ..SvgStyle::default()
            };
            insta::assert_snapshot!(name, solved(line, style));
        }
    });
}

/// What is drawn on each of the boards: the cells of a flow, or of its part before an edge, and where
/// the mouse goes.
fn strokes(name: &str) -> Vec<Stroke> {
    let strokes: &[(Colour, &[Cell], &[Point])] = match name {
        "plain" => &[
            (
                0,
                &[0, 1, 2, 3, 7, 6],
                &[[0.4, 0.6], [3.3, 0.4], [3.4, 1.5], [2.5, 1.6]],
            ),
            (
                1,
                &[4, 5, 9, 8],
                &[[0.5, 1.5], [1.5, 1.6], [1.4, 2.4], [0.6, 2.6]],
            ),
        ],
        "bridge" => &[
            (0, &[1, 4, 7], &[[1.5, 0.3], [1.4, 2.5]]),
            (1, &[3, 4, 5], &[[0.5, 1.5], [2.4, 1.5]]),
        ],
        "walls" => &[(1, &[3, 4, 5], &[[0.5, 1.3], [2.5, 1.7]])],
        // Up over the edge, and on from below.
        "warps" => &[
            (0, &[0, 6], &[[0.5, 0.5], [0.4, -0.6]]),
            (0, &[6, 3], &[[0.5, 2.5], [0.5, 1.5]]),
        ],
        "hexes" => &[(0, &[0, 3, 6], &[[0.5, 1.2], [0.4, 3.0]])],
        "hex_warps" => &[
            (0, &[0, 3], &[[0.5, 0.9], [-0.6, 0.6]]),
            (1, &[7], &[[3.5, 1.5]]),
        ],
        _ => &[],
    };
    let stroke = |&(colour, cells, points): &(Colour, &[Cell], &[Point])| {
        Stroke::new(colour, cells.to_vec(), points.to_vec())
    };
    strokes.iter().map(stroke).collect()
}

#[test]
fn strokes_over_every_kind_of_board() {
    crate::snapshot::settings().bind(|| {
        for (name, line) in BOARDS {
            let strokes = strokes(name);
            let level = level::parse(line).unwrap();
            let checked = check_strokes(&level.puzzle, &level.solution, &strokes);
            assert_eq!(checked, Ok(()), "{name}");
            // The inner squares of the flow's first two cells, one of them the other way round.
            let square =
                |left: f64, right: f64| vec![[left, 0.2], [right, 0.2], [right, 0.8], [left, 0.8]];
            let corridor = [square(0.2, 0.8), square(1.8, 0.2)];
            let style = SvgStyle {
                letters: name == "plain",
                strokes: &strokes,
                corridor: if name == "plain" { &corridor } else { &[] },
                ..SvgStyle::default()
            };
            insta::assert_snapshot!(format!("strokes_{name}"), solved(line, style));
        }
    });
}

#[test]
fn a_button_that_stays_down_is_not_drawn_as_let_go() {
    let ends = |held: bool| {
        let mut strokes = strokes("warps");
        strokes[0].held = held;
        let style = SvgStyle {
            strokes: &strokes,
            ..SvgStyle::default()
        };
        let svg = solved(BOARDS[3].1, style);
        // The picture's ground is a rectangle too; only rings are hollow.
        (
            svg.matches("<rect ").count() - 1,
            svg.matches("fill=\"none\" stroke=\"#fff\"").count(),
        )
    };
    let ((squares, hollow), (squares_held, hollow_held)) = (ends(false), ends(true));
    assert_eq!((squares, squares_held), (2, 1));
    assert_eq!(hollow - hollow_held, 1);
}

#[test]
fn the_picture_has_room_for_what_lies_beyond_the_edge() {
    let frame = |points: &[Point]| {
        let strokes = [Stroke::new(0, vec![0], points.to_vec())];
        let style = SvgStyle {
            strokes: &strokes,
            ..SvgStyle::default()
        };
        let svg = solved(BOARDS[3].1, style);
        let (_, after) = svg.split_once("viewBox=\"").unwrap();
        after.split_once('"').unwrap().0.to_owned()
    };
    assert_eq!(frame(&[[0.5, 0.5]]), "-24 -24 192 192");
    assert_eq!(frame(&[[0.5, -0.5]]), "-36 -36 216 216");
    // As far as strokes go, and no farther.
    assert_eq!(frame(&[[1e300, 0.5]]), "-60 -60 264 264");
    assert_eq!(
        frame(&[[f64::NAN, 0.5], [0.5, f64::INFINITY]]),
        "-60 -60 264 264"
    );
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
fn malformed_and_odd_names_give_a_whole_picture() {
    let entry = text::read("ab cd ab\ncd . .").remove(0);
    let (puzzle, _) = entry.puzzle.as_ref().unwrap();
    let flows = [Flow {
        colour: 900,
        cells: vec![1, 99, usize::MAX, 2, 5],
    }];
    let names = ["<&>".to_owned(), "\u{0}\"".to_owned()];
    let style = SvgStyle {
        letters: true,
        names: &names,
        title: "a < b",
        palette: &[[1, 2, 3]],
        strokes: &[
            Stroke::new(7, vec![99], vec![[f64::NAN, 0.0], [1.0, 1.0]]),
            Stroke::new(0, Vec::new(), Vec::new()),
        ],
        corridor: &[vec![[0.0, f64::INFINITY]], Vec::new()],
    };
    let svg = draw(puzzle, &flows, style);
    assert!(is_well_formed(&svg), "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    assert!(
        svg.contains("&lt;&amp;&gt;") && svg.contains("#010203"),
        "{svg}"
    );
    assert!(
        BOARDS
            .iter()
            .all(|(_, line)| is_well_formed(&solved(line, SvgStyle::default())))
    );
    assert!(!is_well_formed("<a><b></a></b>"));
}

#[test]
fn numbers_are_short() {
    let shown = [1.0, -0.001, 1.0 / 3.0, -2.5].map(number);
    assert_eq!(shown, ["1", "0", "0.33", "-2.5"]);
}
