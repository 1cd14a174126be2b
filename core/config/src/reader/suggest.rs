//! "Did you mean": the known name that was probably meant.

use std::cmp::Ordering;

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

/// The known name closest to the word, if any is close enough.
#[must_use]
pub fn closest<'a, S: AsRef<str>>(word: &str, known: &'a [S]) -> Option<&'a str> {
    known
        .iter()
        .map(AsRef::as_ref)
        .filter_map(|name| likeness(word, name).map(|likeness| (likeness, name)))
        .max_by(|a, b| {
            a.0.partial_cmp(&b.0)
                .unwrap_or(Ordering::Equal)
                .then(b.1.cmp(a.1))
        })
        .map(|(_, name)| name)
}

/// Names in backticks, with commas.
pub(super) fn list<S: AsRef<str>>(names: &[S]) -> String {
    names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect::<Vec<_>>()
        .join(", ")
}

/// From 0 to 1; `None` if the two have too little in common.
fn likeness(word: &str, name: &str) -> Option<f64> {
    // Names that long are not typed by hand.
    if word.is_empty() || name.is_empty() || word.len().max(name.len()) > 100 {
        return None;
    }
    let (word, name) = (plain(word), plain(name));
    let longer = word.chars().count().max(name.chars().count());
    if word == name {
        return Some(1.0);
    }
    let changes = strsim::damerau_levenshtein(&word, &name);
    if changes <= (longer / 3).max(1) && changes < longer {
        return Some(1.0 - changes as f64 / longer as f64);
    }
    // "opencv" means vision-opencv.
    let part = name.split('-').any(|part| part == word) || word.split('-').any(|part| part == name);
    part.then_some(0.5)
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
    fn lists_the_names_when_none_is_close() {
        assert_eq!(
            help("zzz", "ports", &["in", "out"]).as_deref(),
            Some("ports: `in`, `out`")
        );
        assert_eq!(help::<&str>("zzz", "ports", &[]), None);
    }
}
