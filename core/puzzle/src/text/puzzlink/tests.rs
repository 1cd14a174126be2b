use super::*;

fn read_one(url: &str) -> Result<(Puzzle, Vec<String>), TextError> {
    read(1, url)
}

/// Numbers of a URL's cells row by row, 0 for empty.
fn numbers(url: &str) -> Vec<u32> {
    let (puzzle, names) = read_one(url).unwrap();
    let number = |cell| {
        let colour = puzzle.terminal_at(cell)?;
        names[usize::from(colour)].parse().ok()
    };
    (0..puzzle.board().len())
        .map(|cell| number(cell).unwrap_or(0))
        .collect()
}

#[test]
fn reads_a_real_url_under_its_own_rules() {
    let expected = [
        1, 0, 0, 0, 0, 2, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 3,
    ];
    for url in [
        "https://puzz.link/p?numlin/5/5/1j2h3m1h2j3",
        "http://pzv.jp/p.html?numlin/5/5/1j2h3m1h2j3",
        "  http://pzprxs.vercel.app/p?numlin_edit/v:/5/5/1j2h3m1h2j3/ ",
        "numlin/5/5/1j2h3m1h2j3#fragment",
    ] {
        assert_eq!(numbers(url), expected, "{url}");
        assert_eq!(read_one(url).unwrap().0.rules(), RULES);
    }
}

#[test]
fn reads_and_writes_every_length_of_number() {
    let row = "1f-10-ff+100+fff=000=fff%000%fcf*0000*ffff$00000$fffff";
    let url = format!("{ADDRESS}/13/2/{row}{row}\n");
    let expected = [
        1, 15, 16, 255, 256, 4095, 4096, 8191, 8192, 12_239, 12_240, 77_775, 77_776,
    ];
    let short = format!("{ADDRESS}/14/2/{row}{row}");
    assert_eq!(numbers(&short)[..13], expected);
    let (puzzle, names) = read_one(&short).unwrap();
    assert_eq!(write(&puzzle, &names).unwrap().trim_end(), short);
    // One more than the largest.
    assert_eq!(number(&"1126352".to_owned()), None);
    assert!(url.ends_with('\n'));
}

#[test]
fn runs_of_empty_cells_are_as_long_as_they_can_be() {
    let (puzzle, names) = read_one("numlin/50/1/1zzn1").unwrap();
    assert_eq!(puzzle.terminals()[1].cell, 49);
    assert_eq!(
        write(&puzzle, &names).unwrap(),
        "https://puzz.link/p?numlin/50/1/1zzn1\n"
    );
    // Letters are no numbers: they are counted from 1.
    let letters = ["A".to_owned()];
    assert_eq!(write(&puzzle, &letters), write(&puzzle, &names));
}

#[test]
fn reports_where_and_what() {
    let errors: Vec<String> = [
        "https://puzz.link/p?slither/5/5/g",
        "https://example.org/",
        "numlin/",
        "numlin/3",
        "numlin/3/x/11g",
        "numlin/0/1/",
        "numlin/99999/99999/1",
        "numlin/3/1/11",
        "numlin/3/1/1gg1",
        "numlin/3/1/1j1",
        "numlin/3/1/11i",
        "numlin/3/2/11.1gg",
        "numlin/3/2/11G1gg",
        "numlin/3/2/11\u{e9}1gg",
        "numlin/3/2/11-1",
        "numlin/3/2/11-1zg",
        "numlin/3/2/1111i/more",
        "numlin/3/2/1112h",
        "numlin/3/2/l",
        "numlin/3/1/1g1#rules=cover,tuch",
    ]
    .iter()
    .map(|url| format!("{url:>36}  {}", read_one(url).unwrap_err()))
    .collect();
    crate::snapshot::settings().bind(|| insta::assert_snapshot!("link_errors", errors.join("\n")));
}
