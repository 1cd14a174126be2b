//! What a plugin or a pipeline may be called.

use crate::args::Language;

/// Names reserved by Rust: keywords, and crates of the standard library.
const TAKEN: &str = "abstract alloc as async await become box break const continue core crate do dyn else enum extern \
    false final fn for gen if impl in let loop macro match mod move mut override priv proc-macro pub ref return self \
    static std struct super test trait true try type typeof union unsafe unsized use virtual where while yield";

/// The dependencies of a plugin in Rust. With the name of one of flowpipe's own, Cargo can't write a lock file; with
/// the name of another, `cargo -p` is ambiguous.
const BUILT_ON: &str = "flowpipe-abi flowpipe-plugin flowpipe-puzzle schemars serde serde-json";

/// The maximum length of a name.
const LONGEST: usize = 60;

/// Why a name can't be used; `None`: it can. `what`: a plugin or a pipeline.
pub fn refusal(name: &str, what: &str, language: Language) -> Option<String> {
    let well_formed = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !name.ends_with('-')
        && !name.contains("--");
    if !well_formed {
        return Some(format!(
            "a {what} can't be called {name:?}: its name consists of lower case letters, digits and single hyphens, and starts \
             with a letter, such as `solver-mine`"
        ));
    }
    if name.len() > LONGEST {
        return Some(format!(
            "a {what}'s name has at most {LONGEST} characters, this one has {}",
            name.len()
        ));
    }
    // In C and in Python only files have its name.
    if language != Language::Rust {
        return None;
    }
    let is_one_of = |words: &str| words.split_ascii_whitespace().any(|word| word == name);
    if is_one_of(TAKEN) {
        return Some(format!(
            "a plugin can't be called {name}: the name is reserved in Rust"
        ));
    }
    is_one_of(BUILT_ON).then(|| {
        format!(
            "a plugin in Rust can't be called {name}: it depends on a crate of that name; use `solver-{name}`, for example"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_and_invalid_names() {
        for name in ["a", "solver-mine", "solver-7", "matching"] {
            assert_eq!(refusal(name, "plugin", Language::Rust), None);
        }
        let long = "a".repeat(61);
        for name in [
            "", "Solver", "7up", "a_b", "-a", "a-", "a--b", "a b", "a/b", "..", "ä", "match",
            "test", &long,
        ] {
            assert!(refusal(name, "plugin", Language::Rust).is_some(), "{name}");
        }
        for language in [Language::C, Language::Python] {
            assert_eq!(refusal("match", "plugin", language), None);
            assert!(refusal("a/b", "plugin", language).is_some());
        }
    }

    #[test]
    fn the_names_of_dependencies_are_refused() {
        let manifest = include_str!("templates/rust/Cargo.toml").replace("FLOWPIPE_PLUGIN", "'1'");
        let manifest: toml::Table = toml::from_str(&manifest).unwrap();
        for section in ["dependencies", "dev-dependencies"] {
            for name in manifest[section].as_table().unwrap().keys() {
                let refused = refusal(&name.replace('_', "-"), "plugin", Language::Rust).unwrap();
                assert!(
                    refused.contains("depends on a crate of that name"),
                    "{refused}"
                );
            }
        }
    }
}
