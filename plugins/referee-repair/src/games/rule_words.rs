//! Rules in the file of known games: the words that the config of vision has for them.

use flowpipe_plugin::puzzle::Rules;
use flowpipe_plugin::puzzle::text::RulesError;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

/// The word for Flow Free's rules.
const STRICT: &str = "strict";

/// Rules in words, as they are kept: `strict`, or what is permitted beyond that.
pub fn in_words(rules: Rules) -> &'static str {
    match (rules.cover, rules.touch) {
        (true, false) => STRICT,
        (true, true) => "touch",
        (false, false) => "empty",
        (false, true) => "empty, touch",
    }
}

/// For serde: writes rules in words.
///
/// # Errors
/// The serializer's.
pub fn serialize<S: Serializer>(rules: &Option<Rules>, serializer: S) -> Result<S::Ok, S::Error> {
    match rules {
        Some(rules) => serializer.serialize_str(in_words(*rules)),
        None => serializer.serialize_none(),
    }
}

/// For serde: reads what [`serialize`] writes, and rules in the words of puzzle files.
///
/// # Errors
/// What is expected.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rules>, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.trim() {
        STRICT => Ok(Some(Rules::default())),
        words => words.parse().map(Some).map_err(|error: RulesError| {
            let expected = "expected \"strict\", \"touch\", \"empty\" or \"empty, touch\"";
            D::Error::custom(format!("rules: {expected}, found \"{}\"", error.word))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
    struct Kept {
        #[serde(with = "super")]
        rules: Option<Rules>,
    }

    #[test]
    fn words_read_back_as_the_same_rules() {
        for cover in [false, true] {
            for touch in [false, true] {
                let rules = Some(Rules::new(cover, touch));
                let text = toml::to_string(&Kept { rules }).unwrap();
                assert_eq!(toml::from_str(&text), Ok(Kept { rules }), "{text}");
            }
        }
        let spaced: Kept = toml::from_str("rules = ' touch empty '").unwrap();
        assert_eq!(spaced.rules, Some(Rules::new(false, true)));
    }

    #[test]
    fn an_error_names_the_word_its_place_and_what_is_expected() {
        let error = toml::from_str::<Kept>("\nrules = \"loose\"")
            .unwrap_err()
            .to_string();
        for part in ["line 2", "expected \"strict\"", "found \"loose\""] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
