//! Puzzle text of every format, spoiled or made up: no panic, no hang, and memory in proportion to the text.
#![allow(
    clippy::unwrap_used,
    reason = "what fails in a test's helper fails the test"
)]

#[path = "../../../tests/fuzz/bounds.rs"]
mod bounds;
#[path = "../../../tests/fuzz/spoil.rs"]
mod spoil;

use bounds::{MIB, within};
use flowpipe_puzzle::draw::{TextStyle, draw};
use flowpipe_puzzle::text::{self, Entry, Format};
use flowpipe_puzzle::{check, svg};
use proptest::prelude::*;

#[global_allocator]
static COUNTING: bounds::Counting = bounds::Counting;

const GOOD: &[&str] = &[
    "R.G\nR.G\n",
    "// a title\nrules: empty, touch\n7 - - 10\n. # + .\n10 . . 7\n\nAB\nAB\n",
    "3,0,1,2;0,1,2;3,4,5,8,7,6\n",
    "W_4:3+B,2,17,2,5,1_2,2|3:6|7;0,3,4,8;9,10,11",
    "X_4:3,0,1,1;0,1,2,3,7,11\n",
    "https://puzz.link/p?numlin/5/4/1h2i-10j3k1g2-10i3#rules=cover,no-touch\n",
    r#"{"board":{"rows":2,"cols":3},"terminals":[{"cell":0,"colour":0},{"cell":5,"colour":0}],"title":"x"}"#,
    r#"{"board":{"rows":3,"cols":4,"lattice":"hex","warps":true,"holes":[1],"bridges":[5],"walls":[[2,3]]},"terminals":[{"cell":0,"colour":0},{"cell":4,"colour":0}],"rules":{"cover":false,"touch":true},"solution":{"flows":[{"colour":0,"cells":[0,4]}]},"names":["a"],"level":{"pack":1,"number":2}}"#,
];

const WORDS: &[&str] = &[
    ";",
    ",",
    ":",
    "|",
    "_",
    "+",
    "#",
    "-",
    ".",
    "/",
    "%",
    "=",
    "*",
    "$",
    "z",
    "\n",
    "\n\n",
    "//",
    "W_",
    "X_",
    "rules:",
    "cover",
    "numlin/",
    "://",
    "{",
    "}",
    "[",
    "]",
    "\"board\":",
    "\"cells\":",
    "\\u",
    "null",
];

/// What everybody may do with an entry.
fn use_it(entry: &Entry, lines: usize) {
    assert!(entry.line >= 1 && entry.line <= lines.max(1));
    let sheet = match entry.sheet() {
        Ok(sheet) => sheet,
        Err(error) => {
            assert!(error.line >= entry.line && error.column >= 1, "{error}");
            let _ = format!("{error} {error:?}");
            return;
        }
    };
    for format in [Format::Grid, Format::Level, Format::Puzzlink, Format::Json] {
        if let Ok(text) = text::write_as(&sheet, format) {
            let back = text::read(&text);
            assert_eq!(back.len(), 1, "{text}");
            let back = back[0].sheet().unwrap();
            assert_eq!(back.puzzle.board(), sheet.puzzle.board(), "{text}");
        }
    }
    let flows = sheet.solution.map_or(&[][..], |solution| &solution.flows);
    if let Some(solution) = sheet.solution {
        let _ = check(sheet.puzzle, solution);
    }
    if sheet.puzzle.board().len() <= 1_000 {
        let style = TextStyle {
            names: &entry.names,
            ..TextStyle::default()
        };
        let _ = draw(sheet.puzzle, flows, style);
        let _ = svg::draw(sheet.puzzle, flows, svg::SvgStyle::default());
    }
}

/// Reads and uses a text. As much memory as one largest board takes, written and read again, and some for each byte.
fn try_text(text: &str) -> Vec<Entry> {
    let most = 100 * MIB + 200 * text.len();
    within(most, text.as_bytes(), || {
        let entries = text::read(text);
        let lines = text.lines().count();
        entries
            .iter()
            .take(20)
            .for_each(|entry| use_it(entry, lines));
        entries
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spoiled_texts(text in spoil::spoiled_text(GOOD, WORDS)) {
        try_text(&text);
    }

    #[test]
    fn any_text(text in "\\PC{0,100}|[0-9A-Da-z;:,|/_.#+\\-\\n {}\\[\\]\"]{0,200}") {
        try_text(&text);
    }

    #[test]
    fn any_level_line(line in "(W_|X_)?[0-9]{1,6}(:[0-9]{1,6})?,[0-9],[0-9],[0-3](,[0-9:]{0,5}){0,2}(,[0-9|:]{0,9})?(;[0-9,]{1,9}){0,3}") {
        try_text(&line);
    }
}

#[test]
fn sizes_that_are_not_there() {
    let huge = [
        "1000000:1000000,0,1,1;0,1",
        "4294967296:4294967296,0,1,1;0,1",
        "18446744073709551615:2,0,1,1;0,1",
        "99999999999999999999,0,1,1;0,1",
        "https://puzz.link/p?numlin/999999/999999/zzz",
        "https://puzz.link/p?numlin/4294967296/4294967296/zzz",
        r#"{"board":{"rows":4000000000,"cols":4000000000},"terminals":[]}"#,
        r#"{"board":{"rows":65535,"cols":65535},"terminals":[]}"#,
        r#"{"board":{"rows":18446744073709551615,"cols":18446744073709551615},"terminals":[]}"#,
    ];
    for text in huge {
        let entries = within(MIB, text.as_bytes(), || text::read(text));
        assert!(entries[0].puzzle.is_err(), "{text}");
    }
}

#[test]
fn lists_by_the_million() {
    let walls = "0|1:".repeat(1_000_000);
    let level = format!("2,0,1,1,,,{walls}1|0;0,2");
    assert!(try_text(&level)[0].puzzle.is_ok());
    let holes = "7,".repeat(1_000_000);
    let json = format!(r#"{{"board":{{"rows":1,"cols":3,"holes":[{holes}7]}},"terminals":[]}}"#);
    assert!(try_text(&json)[0].puzzle.is_err());
    let flows = ";0,1".repeat(1_000_000);
    assert!(
        try_text(&format!("2,0,1,1000000{flows}"))[0]
            .puzzle
            .is_err()
    );
}

#[test]
fn few_bytes_with_many_cells_each_time() {
    let level = "131072:1,0,1,1;0,1\n".repeat(5_000);
    let json = "{\"board\":{\"rows\":1,\"cols\":131072},\"terminals\":[{\"cell\":0,\"colour\":0},{\"cell\":1,\"colour\":0}]}\n"
        .repeat(1_000);
    for text in [level, json] {
        let entries = within(1_000 * MIB, text.as_bytes(), || text::read(&text));
        assert_eq!(entries.len(), text.lines().count());
        assert!(entries[0].puzzle.is_ok());
        let last = entries.last().unwrap().puzzle.as_ref().unwrap_err();
        assert!(last.to_string().contains("split it"), "{last}");
    }
}

#[test]
fn a_grid_that_does_not_end() {
    let rows = format!("{}\n", ".".repeat(1_000)).repeat(10_000);
    let column = ".\n".repeat(5_000_000);
    let row = ". ".repeat(5_000_000);
    let ragged = format!(".\n{}", ".".repeat(10_000_000));
    for text in [rows, column, row, ragged] {
        let entries = within(200 * MIB, text.as_bytes(), || text::read(&text));
        let error = entries[0].puzzle.as_ref().unwrap_err();
        assert!(error.to_string().contains("too large"), "{error}");
    }
}

#[test]
fn a_url_with_a_long_address() {
    let address = "é".repeat(2_000_000);
    let cells = "1".repeat(300 * 300);
    let text = format!("https://{address}?numlin/300/300/{cells}");
    let entries = within(200 * MIB, b"a long address", || text::read(&text));
    assert!(entries[0].puzzle.is_ok());
    let text = format!("https://{address}?numlin/300/300/{}?", "1".repeat(9));
    let error = text::read(&text).remove(0).puzzle.unwrap_err();
    assert_eq!(
        error.column,
        "https://?numlin/300/300/".len() + 2_000_000 + 9 + 1
    );
}
