//! Windows by their titles.

/// The system's number of a window (X11: its id).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowId(pub u64);

/// A window that is to be seen, with its title.
#[derive(Clone, Debug)]
pub(crate) struct Titled {
    pub window: WindowId,
    pub title: String,
}

/// The window that is meant by a title, of windows sorted from front to back: one of just that title, else one whose
/// title contains it, both in capitals or not.
pub(crate) fn find(windows: &[Titled], title: &str) -> Option<WindowId> {
    let wanted = title.to_lowercase();
    let exact = windows
        .iter()
        .find(|window| window.title.to_lowercase() == wanted);
    let similar = || {
        let mut windows = windows.iter();
        windows.find(|window| window.title.to_lowercase().contains(&wanted))
    };
    exact.or_else(similar).map(|found| found.window)
}

/// Reports that there is no window of a title, which there are, and which one may be meant.
#[must_use]
pub fn missing(title: &str, titles: &[String]) -> String {
    /// Below it two titles have nothing in common but letters (from 0 to 1).
    const SIMILAR: f64 = 0.7;
    if titles.is_empty() {
        return format!("no window is titled {title:?}, and no other has a title");
    }
    let wanted = title.to_lowercase();
    let likeness = |other: &String| strsim::jaro_winkler(&wanted, &other.to_lowercase());
    let near = titles
        .iter()
        .map(|other| (likeness(other), other))
        .filter(|(likeness, _)| *likeness > SIMILAR)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    let hint = near.map_or_else(String::new, |(_, near)| {
        format!(" (did you mean {near:?}?)")
    });
    let list: Vec<String> = titles.iter().map(|title| format!("{title:?}")).collect();
    format!(
        "no window is titled {title:?}{hint}; there are: {}",
        list.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(titles: &[&str]) -> Vec<Titled> {
        (1..)
            .zip(titles)
            .map(|(number, title)| Titled {
                window: WindowId(number),
                title: (*title).to_owned(),
            })
            .collect()
    }

    #[test]
    fn an_exact_title_goes_before_a_similar_one_and_the_front_before_the_back() {
        let all = windows(&["My flow free", "Flow Free", "Flow Free", "other"]);
        assert_eq!(find(&all, "Flow Free"), Some(WindowId(2)));
        assert_eq!(find(&all, "FLOW"), Some(WindowId(1)));
        assert_eq!(find(&all, "Flow Free 2"), None);
    }

    #[test]
    fn reports_what_there_is_and_what_may_be_meant() {
        let titles = ["Terminal", "Flow Free"].map(str::to_owned);
        assert_eq!(
            missing("flow fre", &titles),
            "no window is titled \"flow fre\" (did you mean \"Flow Free\"?); there are: \"Terminal\", \"Flow Free\""
        );
        assert_eq!(
            missing("xyz", &titles),
            "no window is titled \"xyz\"; there are: \"Terminal\", \"Flow Free\""
        );
        assert_eq!(
            missing("xyz", &[]),
            "no window is titled \"xyz\", and no other has a title"
        );
    }
}
