//! What a plugin may be called.

/// What Rust has taken: its keywords, and crates that are always there.
const TAKEN: &str = "abstract alloc as async await become box break const continue core crate do dyn else enum extern \
    false final fn for gen if impl in let loop macro match mod move mut override priv proc-macro pub ref return self \
    static std struct super test trait true try type typeof union unsafe unsized use virtual where while yield";

/// The longest name.
const LONGEST: usize = 60;

/// Why a name can't be used; `None`: it can.
pub fn refusal(name: &str) -> Option<String> {
    let well_formed = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !name.ends_with('-')
        && !name.contains("--");
    if !well_formed {
        return Some(format!(
            "a plugin can't be called {name:?}: its name is made of lower case letters, digits and single hyphens, a letter \
             first, such as `solver-mine`"
        ));
    }
    if name.len() > LONGEST {
        return Some(format!(
            "a plugin's name has at most {LONGEST} characters, this one has {}",
            name.len()
        ));
    }
    let is_taken = TAKEN.split_ascii_whitespace().any(|word| word == name);
    is_taken.then(|| format!("a plugin can't be called {name}: that word means something in Rust"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_and_that_do_not() {
        for name in ["a", "solver-mine", "solver-7", "matching"] {
            assert_eq!(refusal(name), None);
        }
        let long = "a".repeat(61);
        for name in [
            "", "Solver", "7up", "a_b", "-a", "a-", "a--b", "a b", "a/b", "..", "ä", "match",
            "test", &long,
        ] {
            assert!(refusal(name).is_some(), "{name}");
        }
    }
}
