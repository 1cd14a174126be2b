//! Windows by their titles.

/// The system's number of a window (X11: its id).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WindowId(pub u64);

/// A window that is to be seen, with its title.
#[derive(Clone, Debug)]
pub(crate) struct Titled {
    pub window: WindowId,
    pub title: String,
    /// Whether this program, or one that it was started by, has opened it: it is never captured.
    pub is_own: bool,
}

/// A window that is there, and not to be seen.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "sway alone reports them")]
pub(crate) struct Hidden {
    pub title: String,
    /// As [`Titled::is_own`].
    pub is_own: bool,
    /// Why it is not to be seen, such as `on workspace "2", which no monitor shows`.
    pub why: String,
}

/// The window that is meant by a title, of windows sorted from front to back: one of just that title, else one whose
/// title contains it, both in capitals or not. Own windows are skipped: the title of a terminal may be the command that was
/// typed in it, which contains the title.
pub(crate) fn find(windows: &[Titled], title: &str) -> Option<WindowId> {
    let wanted = title.to_lowercase();
    let others = || windows.iter().filter(|window| !window.is_own);
    let exact = others().find(|window| window.title.to_lowercase() == wanted);
    let similar = || others().find(|window| window.title.to_lowercase().contains(&wanted));
    exact.or_else(similar).map(|found| found.window)
}

/// Reports that there is no window of a title that is to be seen, which there are, and which one may be meant.
pub(crate) fn missing(title: &str, windows: &[Titled], hidden: &[Hidden]) -> String {
    /// Below it two titles have nothing in common but letters (from 0 to 1).
    const SIMILAR: f64 = 0.7;
    let wanted = title.to_lowercase();
    let hidden = hidden
        .iter()
        .find(|window| !window.is_own && window.title.to_lowercase().contains(&wanted));
    if let Some(Hidden { title, why, .. }) = hidden {
        return format!("the window {title:?} is not shown: it is {why}: show it");
    }
    let own = windows
        .iter()
        .find(|window| window.is_own && window.title.to_lowercase().contains(&wanted));
    let skipped = own.map_or_else(String::new, |own| {
        format!(
            " (skipped: {:?}, the window of a program that started this one)",
            own.title
        )
    });
    let others = windows.iter().filter(|window| !window.is_own);
    let titles: Vec<&String> = others.map(|window| &window.title).collect();
    if titles.is_empty() {
        return format!("no window is titled {title:?}{skipped}, and no other has a title");
    }
    let likeness = |other: &str| strsim::jaro_winkler(&wanted, &other.to_lowercase());
    let near = titles
        .iter()
        .map(|&other| (likeness(other), other))
        .filter(|(likeness, _)| *likeness > SIMILAR)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    let hint = near.map_or_else(String::new, |(_, near)| {
        format!(" (did you mean {near:?}?)")
    });
    let list: Vec<String> = titles.iter().map(|title| format!("{title:?}")).collect();
    format!(
        "no window is titled {title:?}{hint}{skipped}; there are: {}",
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
                is_own: false,
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
    fn the_terminal_s_window_is_never_meant() {
        let mut all = windows(&["flowpipe run live --window flow", "My flow free", "flow"]);
        all[0].is_own = true;
        assert_eq!(find(&all, "--window"), None);
        assert_eq!(find(&all, "flow f"), Some(WindowId(2)));
        all[2].is_own = true;
        assert_eq!(find(&all, "flow"), Some(WindowId(2)));
        let text = missing("--window", &all, &[]);
        assert!(
            text.contains("(skipped: \"flowpipe run live --window flow\", the window of a program"),
            "{text}"
        );
        assert!(text.ends_with("there are: \"My flow free\""), "{text}");
    }

    #[test]
    fn reports_what_there_is_and_what_may_be_meant() {
        let titles = windows(&["Terminal", "Flow Free"]);
        assert_eq!(
            missing("flow fre", &titles, &[]),
            "no window is titled \"flow fre\" (did you mean \"Flow Free\"?); there are: \"Terminal\", \"Flow Free\""
        );
        assert_eq!(
            missing("xyz", &titles, &[]),
            "no window is titled \"xyz\"; there are: \"Terminal\", \"Flow Free\""
        );
        assert_eq!(
            missing("xyz", &[], &[]),
            "no window is titled \"xyz\", and no other has a title"
        );
    }
    #[test]
    fn a_window_that_is_hidden_is_not_missing() {
        let there = windows(&["Terminal"]);
        let mut hidden = Hidden {
            title: "Flow Free".to_owned(),
            is_own: false,
            why: "on workspace \"2\", which no monitor shows".to_owned(),
        };
        let all = [hidden.clone()];
        assert_eq!(
            missing("flow", &there, &all),
            "the window \"Flow Free\" is not shown: it is on workspace \"2\", which no monitor shows: show it"
        );
        assert!(missing("xyz", &there, &all).starts_with("no window is titled"));
        hidden.is_own = true;
        assert!(missing("flow", &there, &[hidden]).starts_with("no window is titled"));
    }
}
