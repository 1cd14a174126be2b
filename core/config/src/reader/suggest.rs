//! "Did you mean": the known name that was probably meant.

/// The most known names that are listed when none is close.
const LIST_AT_MOST: usize = 12;

/// A help text: the closest known name, or all of them where they are few.
///
/// `what` names them in the plural: "plugins", "keys".
pub(super) fn help<S: AsRef<str>>(word: &str, what: &str, known: &[S]) -> Option<String> {
    if let Some(close) = closest(word, known) {
        return Some(format!("did you mean `{close}`?"));
    }
    (1..=LIST_AT_MOST)
        .contains(&known.len())
        .then(|| format!("{what}: {}", list(known)))
}

/// The known name closest to the word, if any is close enough: one that a typing mistake may have become, or the only
/// one of which the word is a part.
#[must_use]
pub fn closest<'a, S: AsRef<str>>(word: &str, known: &'a [S]) -> Option<&'a str> {
    let names = || known.iter().map(AsRef::as_ref);
    let distances = names().filter_map(|name| distance(word, name).map(|it| (it, name)));
    // Of equally close names, the first of the alphabet.
    if let Some((_, nearest)) = distances.min() {
        return Some(nearest);
    }
    let mut whole = names().filter(|name| is_part(word, name));
    match (whole.next(), whole.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// Names in backticks, with commas.
pub(super) fn list<S: AsRef<str>>(names: &[S]) -> String {
    names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The longest names that are compared, in bytes: longer ones are not typed by hand.
const LONGEST: usize = 100;

/// The shortest word that stands for a name of which it is a part, in bytes.
const SHORTEST_PART: usize = 3;

/// The typing mistakes between two names; `None` if there are too many: more than a third of the letters, or more than
/// half of those in the parts that differ. `solver-dfs` is not `solver-sat`.
fn distance(word: &str, name: &str) -> Option<usize> {
    if word.is_empty() || name.is_empty() || word.len().max(name.len()) > LONGEST {
        return None;
    }
    let (word, name) = (plain(word), plain(name));
    let mistakes = strsim::damerau_levenshtein(&word, &name);
    let longer = |a: &str, b: &str| a.chars().count().max(b.chars().count());
    let (own, other) = without_common_parts(&word, &name);
    let is_close = 3 * mistakes <= longer(&word, &name) && 2 * mistakes <= longer(own, other);
    is_close.then_some(mistakes)
}

/// Two names without the parts with which both start, and those with which both end. Hyphens and dots separate parts.
fn without_common_parts<'a>(mut a: &'a str, mut b: &'a str) -> (&'a str, &'a str) {
    const SEPARATORS: [char; 2] = ['-', '.'];
    while let (Some((first, rest)), Some((other, other_rest))) =
        (a.split_once(SEPARATORS), b.split_once(SEPARATORS))
        && first == other
    {
        (a, b) = (rest, other_rest);
    }
    while let (Some((rest, last)), Some((other_rest, other))) =
        (a.rsplit_once(SEPARATORS), b.rsplit_once(SEPARATORS))
        && last == other
    {
        (a, b) = (rest, other_rest);
    }
    (a, b)
}

/// Whether one name is a part of the other: "opencv" means vision-opencv.
fn is_part(word: &str, name: &str) -> bool {
    let (word, name) = (plain(word), plain(name));
    let is_within = |part: &str, whole: &str| {
        part.len() >= SHORTEST_PART && whole.split('-').any(|it| it == part)
    };
    is_within(&word, &name) || is_within(&name, &word)
}

fn plain(word: &str) -> String {
    word.to_lowercase().replace(['_', ' '], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        let known = [
            "vision-opencv",
            "capture-files",
            "capture-screen",
            "when_full",
            "in",
        ];
        assert_eq!(closest(word, &known), expected);
    }

    #[test]
    fn finds_the_closest_name() {
        check("vision-opncv", Some("vision-opencv"));
        check("opencv", Some("vision-opencv"));
        check("Vision_OpenCV", Some("vision-opencv"));
        check("capture-screens", Some("capture-screen"));
        check("whenfull", Some("when_full"));
        check("x", None);
        check("", None);
        check("solver", None);
    }

    #[test]
    fn a_suggestion_is_close() {
        for (word, name) in [
            ("queu", "queue"),
            ("fro", "from"),
            ("solver-serach", "solver-search"),
            ("solver-sta", "solver-sat"),
            ("solver", "solver-sat"),
            ("vision-opencv", "vision"),
            ("phone-1.png", "phone-01.png"),
            ("replai.toml", "replay.toml"),
            ("Cargo.tml", "Cargo.toml"),
        ] {
            assert_eq!(closest(word, &[name]), Some(name), "{word}");
        }
        for (word, name) in [
            ("in", "on"),
            ("a", "b"),
            ("out", "in"),
            ("solver-dfs", "solver-sat"),
            ("solver-mine", "solver-splr"),
            ("capture-a", "capture-b"),
            ("my-solver", "my-planner"),
            ("a.txt", "b.txt"),
            ("cat.png", "dog.png"),
            ("log-in", "in"),
            ("colour", "count"),
        ] {
            assert_eq!(closest(word, &[name]), None, "{word}");
        }
        // Of which it is a part, there are two.
        assert_eq!(
            closest("capture", &["capture-files", "capture-screen"]),
            None
        );
    }

    #[test]
    fn lists_the_names_when_none_is_close() {
        assert_eq!(
            help("zzz", "ports", &["in", "out"]).as_deref(),
            Some("ports: `in`, `out`")
        );
        assert_eq!(help::<&str>("zzz", "ports", &[]), None);
    }
}
