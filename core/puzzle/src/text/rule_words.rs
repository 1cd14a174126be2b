//! Rules as words, for formats that are text: `cover` or `empty`, and `touch` or `no-touch`.

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
            "cover" => rules.cover = true,
            "empty" => rules.cover = false,
            "touch" => rules.touch = true,
            "no-touch" => rules.touch = false,
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
    let cover = if rules.cover { "cover" } else { "empty" };
    let touch = if rules.touch { "touch" } else { "no-touch" };
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
            }
        }
        assert_eq!(read(" , ", flow_free), Ok(flow_free));
        assert_eq!(read("touch,\u{a0}empti", flow_free), Err((8, "empti")));
        assert_eq!("touch".parse(), Ok(Rules::new(true, true)));
        assert_eq!(Rules::new(false, true).to_string(), "empty, touch");
        let error = "touchy".parse::<Rules>().unwrap_err();
        assert!(error.to_string().ends_with("found \"touchy\""), "{error}");
    }
}
