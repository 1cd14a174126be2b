//! Rules as words, for formats and configs that are text: `cover` or `empty`, and `touch` or `no-touch`; in short
//! `strict` for Flow Free's, and otherwise what they permit beyond those.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::puzzle::Rules;
use crate::text::excerpt::excerpt;

/// A word that is no rule.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("expected {EXPECTED}, found {word:?}")]
pub struct RulesError {
    /// The word.
    pub word: String,
}

/// Words with commas or blanks between: `cover` or `empty`, and `touch` or `no-touch`. What no word speaks of is as in
/// Flow Free.
impl FromStr for Rules {
    type Err = RulesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        read(text, Self::default()).map_err(|(_, word)| RulesError {
            word: excerpt(word),
        })
    }
}

/// Both rules in words, as they are read.
impl fmt::Display for Rules {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&write(*self))
    }
}

const COVER: &str = "cover";
const EMPTY: &str = "empty";
const TOUCH: &str = "touch";
const NO_TOUCH: &str = "no-touch";

impl Rules {
    /// The words of rules in puzzle files.
    pub const WORDS: [&'static str; 4] = [COVER, EMPTY, TOUCH, NO_TOUCH];
    /// The word for Flow Free's rules in short.
    pub const STRICT: &'static str = "strict";

    /// The rules in short: `strict` for Flow Free's, otherwise what they permit beyond those, as `empty, touch`.
    #[must_use]
    pub fn in_short(self) -> String {
        match (self.cover, self.touch) {
            (true, false) => Self::STRICT.to_owned(),
            (true, true) => TOUCH.to_owned(),
            (false, false) => EMPTY.to_owned(),
            (false, true) => format!("{EMPTY}, {TOUCH}"),
        }
    }

    /// Reads rules in short, or in the words of puzzle files.
    ///
    /// # Errors
    /// The first word that is no rule.
    pub fn from_short(text: &str) -> Result<Self, RulesError> {
        match text.trim() {
            Self::STRICT => Ok(Self::default()),
            words => words.parse(),
        }
    }
}

/// What is expected of a word.
pub(crate) const EXPECTED: &str = "`cover` or `empty`, and `touch` or `no-touch`";

/// Rules of words with commas or blanks between. What no word speaks of is as `otherwise`.
///
/// # Errors
/// The first word that is no rule, with the byte where it begins.
pub(crate) fn read(text: &str, otherwise: Rules) -> Result<Rules, (usize, &str)> {
    let mut rules = otherwise;
    for word in text.split(|it: char| it == ',' || it.is_whitespace()) {
        match word {
            "" => {}
            COVER => rules.cover = true,
            EMPTY => rules.cover = false,
            TOUCH => rules.touch = true,
            NO_TOUCH => rules.touch = false,
            _ => {
                // Where the word begins: separators may be longer than a byte.
                return Err((word.as_ptr() as usize - text.as_ptr() as usize, word));
            }
        }
    }
    Ok(rules)
}

/// Both rules in words.
pub(crate) fn write(rules: Rules) -> String {
    let cover = if rules.cover { COVER } else { EMPTY };
    let touch = if rules.touch { TOUCH } else { NO_TOUCH };
    format!("{cover}, {touch}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_express_the_rules() {
        let flow_free = Rules::default();
        for cover in [false, true] {
            for touch in [false, true] {
                let rules = Rules { cover, touch };
                assert_eq!(read(&write(rules), flow_free), Ok(rules));
                assert_eq!(Rules::from_short(&rules.in_short()), Ok(rules));
                assert_eq!(Rules::from_short(&write(rules)), Ok(rules));
            }
        }
        assert_eq!(read(" , ", flow_free), Ok(flow_free));
        assert_eq!(read("touch,\u{a0}empti", flow_free), Err((8, "empti")));
        assert_eq!("touch".parse(), Ok(Rules::new(true, true)));
        assert_eq!(Rules::new(false, true).to_string(), "empty, touch");
        assert_eq!(Rules::from_short(" strict\n"), Ok(flow_free));
        assert_eq!(flow_free.in_short(), "strict");
        assert_eq!(Rules::new(true, true).in_short(), "touch");
        let error = Rules::from_short("strict touch").unwrap_err();
        assert_eq!(error.word, "strict");
        let error = "touchy".parse::<Rules>().unwrap_err();
        assert!(error.to_string().ends_with("found \"touchy\""), "{error}");
    }
}
