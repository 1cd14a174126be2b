//! Compares what a page shows with what was printed.

/// Whether the shown output is a part of what was printed. `…` stands for any text of a line, and on a line of its own
/// for any lines. Times and shares differ from run to run, so that any of them is the same.
pub fn is_shown(shown: &str, printed: &str) -> bool {
    let shown: Vec<String> = shown.lines().map(unmeasured).collect();
    let printed: Vec<String> = printed.lines().map(unmeasured).collect();
    (0..=printed.len()).any(|start| begins_with(&printed[start..], &shown))
}

fn begins_with(printed: &[String], shown: &[String]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, _) => true,
        (Some((line, rest)), _) if line == "…" => {
            (0..=printed.len()).any(|start| begins_with(&printed[start..], rest))
        }
        (Some((line, rest)), Some((is, others))) => is_line(line, is) && begins_with(others, rest),
        (Some(_), None) => false,
    }
}

fn is_line(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A line with `#` in place of each time and share. Blanks before them align columns, so that such a line keeps one of
/// each row of blanks.
fn unmeasured(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut kept = Vec::new();
    let mut is_measured = false;
    let mut index = 0;
    while index < words.len() {
        let unit = words.get(index + 1).and_then(|next| after_unit(next));
        let number = words[index].trim_start_matches('(');
        match unit {
            Some(after) if number.parse::<f64>().is_ok() => {
                let before = &words[index][..words[index].len() - number.len()];
                kept.push(format!("{before}#{after}"));
                is_measured = true;
                index += 2;
            }
            _ => {
                kept.push(words[index].to_owned());
                index += 1;
            }
        }
    }
    match is_measured {
        true => kept.join(" "),
        false => line.trim_end().to_owned(),
    }
}

/// What follows a unit in a word that is one.
fn after_unit(word: &str) -> Option<&str> {
    let unit = word.trim_end_matches([',', ')', ':', ';', '.']);
    let is_unit = ["ns", "µs", "ms", "s", "%"].contains(&unit);
    is_unit.then(|| &word[unit.len()..])
}

#[test]
fn only_what_is_printed_is_shown() {
    let printed = "a 1\nsolved in 3.1 ms, 7 nodes\n│ x  11   12.5 ms │\nend\n";
    for shown in [
        "a 1\n…\nend",
        "solved in …, 7 nodes",
        "solved in 99 µs, 7 nodes",
        "│ x 11 1 s │\nend",
        "…\n…",
    ] {
        assert!(is_shown(shown, printed), "{shown}");
    }
    for shown in [
        "a 2",
        "a 1\nend",
        "solved in …, 8 nodes",
        "│ x 12 1 s │",
        "solved",
        "end\n…\na 1",
    ] {
        assert!(!is_shown(shown, printed), "{shown}");
    }
}
