//! Rules as words, for formats that are text: `cover` or `empty`, and `touch` or `no-touch`.

use crate::puzzle::Rules;

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
    }
}
