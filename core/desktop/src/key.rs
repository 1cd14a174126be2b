//! Keys by their names.

use crate::error::DesktopError;

/// A key, by X11's number for what is on it (its *keysym*, which is the same on every system that has
/// keysyms).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    #[cfg_attr(
        not(all(unix, not(target_os = "macos"))),
        allow(dead_code, reason = "only X11 and Wayland are asked about keys")
    )]
    pub(crate) symbol: u32,
}

/// Names, in lower case and without `_`, `-` and spaces, and their symbols. Letters, digits and
/// function keys are added.
const NAMES: &[(&str, u32)] = &[
    ("escape", 0xff1b),
    ("esc", 0xff1b),
    ("pause", 0xff13),
    ("scrolllock", 0xff14),
    ("print", 0xff61),
    ("insert", 0xff63),
    ("delete", 0xffff),
    ("home", 0xff50),
    ("end", 0xff57),
    ("pageup", 0xff55),
    ("pagedown", 0xff56),
    ("left", 0xff51),
    ("up", 0xff52),
    ("right", 0xff53),
    ("down", 0xff54),
    ("tab", 0xff09),
    ("return", 0xff0d),
    ("enter", 0xff0d),
    ("backspace", 0xff08),
    ("space", 0x20),
    ("menu", 0xff67),
    ("shiftl", 0xffe1),
    ("shiftr", 0xffe2),
    ("controll", 0xffe3),
    ("controlr", 0xffe4),
    ("altl", 0xffe9),
    ("altr", 0xffea),
];

/// The symbol of F1; those of F2 to F24 follow it.
const F1: u32 = 0xffbe;

impl Key {
    /// A key by its name: `Escape`, `Pause`, `F12`, `Page_Up`, `Control_L`, `a`; in capitals or not.
    ///
    /// # Errors
    /// [`DesktopError::UnknownKey`].
    pub fn named(name: &str) -> Result<Self, DesktopError> {
        let plain: String = name
            .chars()
            .filter(|character| !matches!(character, '_' | '-' | ' '))
            .collect::<String>()
            .to_lowercase();
        let listed = NAMES.iter().find(|(known, _)| *known == plain);
        let symbol = listed
            .map(|(_, symbol)| *symbol)
            .or_else(|| function_key(&plain))
            .or_else(|| character_key(&plain));
        symbol
            .map(|symbol| Self { symbol })
            .ok_or_else(|| DesktopError::UnknownKey {
                name: name.to_owned(),
                suggestion: suggestion(&plain),
            })
    }
}

fn function_key(name: &str) -> Option<u32> {
    let number: u32 = name.strip_prefix('f')?.parse().ok()?;
    (1..=24).contains(&number).then(|| F1 + number - 1)
}

/// The symbols of letters and digits are their ASCII codes, of letters those of the small ones.
fn character_key(name: &str) -> Option<u32> {
    let mut characters = name.chars();
    let only = characters.next().filter(char::is_ascii_alphanumeric)?;
    characters.next().is_none().then_some(u32::from(only))
}

fn suggestion(name: &str) -> String {
    /// Below it two names have nothing in common but letters (from 0 to 1).
    const SIMILAR: f64 = 0.75;
    NAMES
        .iter()
        .map(|(known, _)| (strsim::jaro_winkler(name, known), *known))
        .filter(|(likeness, _)| *likeness > SIMILAR)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map_or_else(String::new, |(_, near)| format!(", did you mean {near:?}?"))
}

/// All names, each key by one of them.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = String> {
    let characters = ('a'..='z').chain('0'..='9').map(String::from);
    let function_keys = (1..=24).map(|number| format!("F{number}"));
    let listed = NAMES.iter().map(|(name, _)| (*name).to_owned());
    characters.chain(function_keys).chain(listed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_by_many_spellings() {
        for (name, symbol) in [
            ("Escape", 0xff1b),
            ("Page_Up", 0xff55),
            ("page up", 0xff55),
            ("F1", 0xffbe),
            ("f12", 0xffc9),
            ("F", 0x66),
            ("7", 0x37),
        ] {
            assert_eq!(Key::named(name).unwrap().symbol, symbol, "{name}");
        }
    }

    #[test]
    fn others_are_refused_with_a_suggestion() {
        let error = |name| Key::named(name).unwrap_err().to_string();
        assert!(error("Escpe").contains("\"Escpe\", did you mean \"escape\"?"));
        assert!(error("F25").starts_with("there is no key named \"F25\""));
        assert!(error("").starts_with("there is no key named \"\""));
    }
}
