use super::*;
use crate::BoardError;

fn snapshot(name: &str, text: &str) {
    let shown: Vec<String> = read(text)
        .iter()
        .map(|entry| {
            let title = entry.title.as_deref().unwrap_or("-");
            match &entry.puzzle {
                Ok((puzzle, solution)) => format!(
                    "line {}, {title}, {}, solution: {}, level: {}\n{}",
                    entry.line,
                    entry.names.join(" "),
                    solution.is_some(),
                    entry.tag.is_some(),
                    write(puzzle)
                ),
                Err(error) => format!("line {}, {title}\n{error}\n", entry.line),
            }
        })
        .collect();
    crate::snapshot::settings().bind(|| insta::assert_snapshot!(name, shown.join("\n")));
}

#[test]
fn reads_all_formats_from_one_text() {
    snapshot(
        "formats",
        "\u{feff}// A file\n// of puzzles\n\n// Two lines,\n// one title\nR.G\r\nR.G\r\n\r\n\
         7 - - 10\n- - # -\n7 _ . 10\n// After a comment\n1é\n1é\n\
         3,0,1,3;0,1,2;3,4,5;6,7,8\n\
         {\"board\":{\"rows\":1,\"cols\":3},\"terminals\":[{\"cell\":0,\"colour\":2},{\"cell\":2,\"colour\":2}]}\n\
         .A.\nB+B\n.A.\n\
         https://puzz.link/p?numlin/3/2/1g1-10g-10\n\
         http://pzv.jp/p.html?numlin/v:/2/1/11#rules=cover,no-touch\n\
         rules: empty, touch\nA.\n.A\nrules:cover\nAA\n\
         {\"title\":\"Its own\",\"board\":{\"rows\":1,\"cols\":3},\"terminals\":[{\"cell\":0,\"colour\":2},{\"cell\":2,\"colour\":2}],\
         \"rules\":{\"cover\":true,\"touch\":true},\"names\":[\"a\",\"b\",\"c\"],\
         \"solution\":{\"flows\":[{\"colour\":2,\"cells\":[0,1,2]}]},\"level\":{\"pack\":3,\"number\":4}}\n",
    );
}

#[test]
fn one_bad_puzzle_spoils_no_other() {
    snapshot(
        "text_errors",
        "R.G\nR.G.\n\nR.G\nR?G\n\n R.G\n r.G\n\n1 2 3\n1 2\n\n1 -- 1\n\nAAA\n\n+A\nA.\n\n...\n\n###\n\n\
         3,0,1,3;0,1,2;3,4,5;6,7,9\n{\"board\":3}\n{\"board\":{\"rows\":0,\"cols\":3},\"terminals\":[]}\n\
         {\"é\n\nR\u{0}R\n\nhello world\n\nAA\n\n\
             rules: empty\n\nrules: touch emty\nAA\n\n  rules:\n\n\
             {\"board\":{\"rows\":1,\"cols\":3},\"terminals\":[{\"cell\":0,\"colour\":2}]}\n\
             {\"board\":{\"rows\":1,\"cols\":3},\"terminals\":[{\"cell\":0,\"colour\":2},{\"cell\":5,\"colour\":2}]}\n\
             {\"board\":{\"rows\":1,\"cols\":2},\"terminals\":[],\"colour\":1}\n\
             https://puzz.link/p?slither/5/5/g\nnumlin/2/2/12k\nnumlin/2/2/12h",
    );
}

#[test]
fn a_text_without_puzzles_is_an_empty_list() {
    assert_eq!(read(""), []);
    assert_eq!(read("\u{feff}\r\n  \n// only a comment\n"), []);
}

#[test]
fn what_a_grid_cannot_express_is_written_as_json() {
    for line in ["W_3,0,1,3;1,0,2;5,3,4;8,7,6", "X_2:3,0,1,3;0,1;2,3;4,5"] {
        let puzzle = level::parse(line).unwrap().puzzle;
        let text = write(&puzzle);
        assert!(text.starts_with('{'), "{text}");
        assert_eq!(read(&text)[0].puzzle, Ok((puzzle, None)));
    }
}

#[test]
fn too_large_a_grid_is_refused() {
    let text = format!("A{}A\n", ".".repeat(1000)).repeat(200);
    let error = read(&text)[0].puzzle.clone().unwrap_err();
    assert_eq!(
        error.problem,
        TextProblem::from(BoardError::TooLarge {
            rows: 200,
            cols: 1002
        })
    );
}

/// A puzzle of four bytes takes a kilobyte and more.
#[test]
fn so_many_puzzles_are_kept_as_the_text_is_long() {
    let text = "AA\n\n".repeat(200_000);
    assert_eq!(entries(&text).count(), 200_000);
    let kept = read(&text);
    assert_eq!(kept.len(), PUZZLES + 800_000 / BYTES_PER_PUZZLE + 1);
    let (last, others) = kept.split_last().unwrap();
    assert!(others.iter().all(|it| it.puzzle.is_ok()));
    let error = last.puzzle.as_ref().unwrap_err();
    assert_eq!(error.problem, TextProblem::TooMany);
}

fn written(entry: &Entry, format: Format) -> String {
    match write_as(&entry.sheet().unwrap(), format) {
        Ok(text) => text,
        Err(error) => format!("{error}\n"),
    }
}

#[test]
fn every_format_is_written_or_refuses_with_a_reason() {
    let text = "// Plain\n3,2,1,3;0,1,2;3,4,5;6,7,8\n3+B,0,1,2,,8;0,1,2,5;3,4,7,6\n\
        // Bridge\n3,0,1,2,4,0:2:6:8;1,4,7;3,4,5\n3,0,1,3,,,0|3:4|7;0,1,2;3,4,5;6,7,8\n\
        W_3,0,1,3,,4,0|2;0,1;2,5,8;3,6,7\nX_3,0,1,3,,8;0,3,6;1,4,7;2,5\n\
        // Two pairs, names\nrules: empty\n7 . 7\n7 100 7\n. . 100\n\n\
        // A wrong solution\n2,0,1,1;0,1,3,2\n\
        {\"board\":{\"rows\":2,\"cols\":1},\"terminals\":[{\"cell\":0,\"colour\":30},{\"cell\":1,\"colour\":30}]}\n\
        numlin/3/2/0i0g\n";
    let shown: Vec<String> = read(text)
        .iter()
        .map(|entry| {
            let formats = [Format::Grid, Format::Level, Format::Puzzlink, Format::Json];
            formats.map(|format| written(entry, format)).concat()
        })
        .collect();
    crate::snapshot::settings().bind(|| insta::assert_snapshot!("written", shown.join("\n")));
}

#[test]
fn a_title_is_one_line_without_blanks_around_it() {
    let titles = |text: &str| -> Vec<Option<String>> {
        read(text).into_iter().map(|entry| entry.title).collect()
    };
    let json = |title: &str| {
        format!(
            r#"{{"title":"{title}","board":{{"rows":1,"cols":2}},"terminals":[{{"cell":0,"colour":0}},{{"cell":1,"colour":0}}]}}"#
        )
    };
    for (text, title) in [
        (
            "// \t two   words \u{a0}\n//\n//  more\nAA".to_owned(),
            Some("two words more"),
        ),
        ("//   \nAA".to_owned(), None),
        (json(r"  two\n\t words "), Some("two words")),
        (json(" "), None),
        (format!("// comment\n{}", json("")), Some("comment")),
    ] {
        assert_eq!(titles(&text), [title.map(str::to_owned)], "{text}");
    }
}

#[test]
fn a_title_stays_one_comment() {
    let mut entry = read("AA").remove(0);
    entry.title = Some(" two\nlines ".to_owned());
    let text = written(&entry, Format::Grid);
    assert_eq!(text, "// two lines\nAA\n");
    assert_eq!(read(&text)[0].title.as_deref(), Some("two lines"));
}

#[test]
fn an_error_shows_the_start_of_a_long_text() {
    let long = "x".repeat(1 << 20);
    for text in [
        format!("https://puzz.link/p?numlin/3/2/1g1-10g-10/{long}"),
        format!("https://puzz.link/p?{long}/3/2/1g1-10g-10"),
        format!("5,0,1,2;{long};3,4"),
        format!("rules {long}\nA.A"),
        format!("A {long} A"),
    ] {
        for entry in crate::text::read(&text) {
            let error = entry.puzzle.err().map(|it| it.to_string());
            let length = error.map_or(0, |it| it.chars().count());
            assert!(length < 500, "{length}");
        }
    }
}

#[test]
fn a_line_that_is_longer_than_a_puzzle_s_text_is_not_read() {
    let link = "https://puzz.link/p?numlin/2/1/11";
    let json = r#"{"board":{"rows":1,"cols":2},"terminals":[{"cell":0,"colour":0},{"cell":1,"colour":0}]}"#;
    for line in ["BB", "1:2,0,0,1;0,1", json, link, "// a title"] {
        let read_with = |length: usize| {
            let blanks = " ".repeat(length - line.len());
            let text = format!("AA\n{blanks}{line}\nCC\n");
            let entries = entries(&text).map(|it| (it.line, it.puzzle.map_err(|it| it.problem)));
            let found = entries.map(|(line, puzzle)| (line, puzzle.err()));
            found.collect::<Vec<_>>()
        };
        let not_read = (2, Some(TextProblem::TooLong));
        let expected = [(1, None), not_read.clone(), (3, None)];
        assert_eq!(read_with(MAX_TEXT + 1), expected, "{line}");
        let longest = read_with(MAX_TEXT);
        assert!(!longest.contains(&not_read), "{line}: {longest:?}");
    }
}
