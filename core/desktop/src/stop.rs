//! What ends a run that drives the mouse, in the same words and order on each desktop.

/// What a person has to end a run, where the desktop reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stop<'a> {
    /// The name of the hotkey.
    pub hotkey: Option<&'a str>,
    /// Whether a person who moves the mouse ends it.
    pub by_hand: bool,
    /// Whether the pointer in a corner of the screen ends it.
    pub corners: bool,
}

impl Stop<'_> {
    /// As the subject of "ends the run", such as `F12, Ctrl-C in the terminal or a hand on the mouse`.
    #[must_use]
    pub fn in_words(self) -> String {
        let hotkey = self.hotkey.map(str::to_owned);
        // A hand that moves the pointer into a corner has moved it.
        let hand = match (self.by_hand, self.corners) {
            (true, _) => Some("a hand on the mouse"),
            (false, true) => Some("the pointer in a corner of the screen"),
            (false, false) => None,
        };
        let ways = [
            hotkey,
            Some("Ctrl-C in the terminal".to_owned()),
            hand.map(str::to_owned),
        ];
        let ways: Vec<String> = ways.into_iter().flatten().collect();
        match ways.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => ways.concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_the_same() {
        let words = |hotkey, by_hand, corners| {
            let stop = Stop {
                hotkey,
                by_hand,
                corners,
            };
            stop.in_words()
        };
        let all = "F12, Ctrl-C in the terminal or a hand on the mouse";
        assert_eq!(words(Some("F12"), true, true), all);
        let sway = "F12 or Ctrl-C in the terminal";
        assert_eq!(words(Some("F12"), false, false), sway);
        let gnome = "Ctrl-C in the terminal or a hand on the mouse";
        assert_eq!(words(None, true, false), gnome);
        let corner = "Ctrl-C in the terminal or the pointer in a corner of the screen";
        assert_eq!(words(None, false, true), corner);
        assert_eq!(words(None, false, false), "Ctrl-C in the terminal");
    }
}
