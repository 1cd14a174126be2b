//! Rules in the file of known games: in short, as in the config of vision.

use flowpipe_plugin::puzzle::Rules;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

/// For serde: writes rules in short.
///
/// # Errors
/// The serializer's.
pub fn serialize<S: Serializer>(rules: &Option<Rules>, serializer: S) -> Result<S::Ok, S::Error> {
    match rules {
        Some(rules) => serializer.serialize_str(&rules.in_short()),
        None => serializer.serialize_none(),
    }
}

/// For serde: reads what [`serialize`] writes, and rules in the words of puzzle files.
///
/// # Errors
/// What is expected.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rules>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let rules = Rules::from_short(&text).map_err(|error| {
        let strict = Rules::STRICT;
        D::Error::custom(format!(
            "rules: expected \"{strict}\" or rules as in puzzle files: {error}"
        ))
    });
    rules.map(Some)
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
