//! The rules that a config asks for.

use flowpipe_plugin::puzzle::Rules;
use schemars::JsonSchema;
use serde::Deserialize;

/// By which rules boards are played: `"strict"`, `"auto"`, or words as in puzzle files, such as `"empty, touch"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String", extend("pattern" = RuleSetting::pattern()))]
pub enum RuleSetting {
    /// Flow Free's; for boards of numbers those of puzzles on paper.
    #[default]
    Strict,
    /// The same, and looser ones where a board has no solution by them.
    Auto,
    /// These, for all boards.
    Fixed(Rules),
}

/// The word for [`RuleSetting::Auto`].
const AUTO: &str = "auto";

impl RuleSetting {
    /// What each text that is a setting matches, for the schema of the config.
    fn pattern() -> String {
        let (strict, words) = (Rules::STRICT, Rules::WORDS.join("|"));
        format!(r"^\s*({strict}|{AUTO}|(({words})[\s,]*)+)$")
    }
}

impl TryFrom<String> for RuleSetting {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.trim() {
            Rules::STRICT => Ok(Self::Strict),
            AUTO => Ok(Self::Auto),
            words => words.parse().map(Self::Fixed).map_err(|error| {
                let strict = Rules::STRICT;
                format!(
                    "rules: expected \"{strict}\", \"{AUTO}\" or rules as in puzzle files: {error}"
                )
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<RuleSetting, String> {
        RuleSetting::try_from(text.to_owned())
    }

    #[test]
    fn words_are_those_of_puzzle_files() {
        assert_eq!(read("strict"), Ok(RuleSetting::Strict));
        assert_eq!(read(" auto "), Ok(RuleSetting::Auto));
        let loose = Rules::new(false, true);
        assert_eq!(read("empty, touch"), Ok(RuleSetting::Fixed(loose)));
        let error = read("loose").unwrap_err();
        assert!(
            error.contains("\"auto\"") && error.contains("\"loose\""),
            "{error}"
        );
    }
}
