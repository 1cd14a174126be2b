//! The mode of a solver: one solution, a proof of uniqueness, a count, or all solutions. It is a key of its config.

use std::collections::BTreeSet;

use flowpipe_host::catalogue::Catalogue;
use serde_json::Value;
use toml::Table;

use crate::args::Solve;
use crate::exit::Failure;

/// The config keys of solvers with several modes.
const WANT: &str = "want";
const LIMIT: &str = "limit";

/// The default limit of `--all`.
const LISTED: u64 = 10_000;

/// The solver's config as TOML: the given one, with the mode of the flags. `None`: neither is given.
///
/// # Errors
/// When the solver does not support the mode. The message names the solvers that do.
pub fn config(args: &Solve, catalogue: &Catalogue) -> Result<Option<String>, Failure> {
    let asked = [
        (args.unique, "unique", "--unique"),
        (args.count, "count", "--count"),
        (args.all, "all", "--all"),
    ];
    let Some((_, word, flag)) = asked.into_iter().find(|(is_asked, ..)| *is_asked) else {
        return Ok(args.config.clone());
    };
    let given = args.config.as_deref().unwrap_or("{}");
    // Its errors are shown when the pipeline is read.
    let Ok(mut parsed) = toml::from_str::<Table>(&format!("config = {given}")) else {
        return Ok(args.config.clone());
    };
    let Some(toml::Value::Table(mut config)) = parsed.remove("config") else {
        return Ok(args.config.clone());
    };
    // A missing plugin is reported there too.
    let Some(found) = catalogue.find(&args.solver) else {
        return Ok(args.config.clone());
    };
    let schema = &found.manifest.config;
    if !words(schema).contains(word) {
        let able: Vec<&str> = catalogue
            .stages()
            .iter()
            .filter(|found| found.manifest.role == "solver")
            .filter(|found| words(&found.manifest.config).contains(word))
            .map(|found| &*found.manifest.name)
            .collect();
        let able = match able.as_slice() {
            [] => "no plugin found can".to_owned(),
            able => format!("these can: {}", able.join(", ")),
        };
        let solver = &args.solver;
        return Err(Failure::Config(format!("{solver} can't do {flag}; {able}")));
    }
    let limit = args.limit.or(args.all.then_some(LISTED));
    let takes_limit = schema.pointer("/properties/limit").is_some();
    if args.limit.is_some() && !takes_limit {
        let solver = &args.solver;
        return Err(Failure::Config(format!("{solver} takes no --limit")));
    }
    let word = toml::Value::from(word);
    let limit = limit
        .filter(|_| takes_limit)
        .map(|limit| toml::Value::from(i64::try_from(limit).unwrap_or(i64::MAX)));
    for (key, value) in [(WANT, Some(word)), (LIMIT, limit)] {
        let Some(value) = value else { continue };
        // A key of the config is kept, and conflicts with a flag.
        let by_flag = key == WANT || args.limit.is_some();
        if by_flag && config.contains_key(key) {
            return Err(Failure::Usage(format!(
                "`{key}` is set by --config and by a flag"
            )));
        }
        config.entry(key).or_insert(value);
    }
    Ok(Some(toml::Value::Table(config).to_string()))
}

/// The values of `want` that the schema of a solver's config allows.
fn words(schema: &Value) -> BTreeSet<&str> {
    let mut words = BTreeSet::new();
    if let Some(want) = schema.pointer("/properties/want") {
        gather(schema, want, 0, &mut words);
    }
    words
}

/// Collects the values that a part of a schema allows, following references.
fn gather<'a>(schema: &'a Value, part: &'a Value, depth: u32, words: &mut BTreeSet<&'a str>) {
    // References may be cyclic.
    if depth > 8 {
        return;
    }
    let reference = part.get("$ref").and_then(Value::as_str);
    let pointed = reference
        .and_then(|reference| reference.strip_prefix('#'))
        .and_then(|pointer| schema.pointer(pointer));
    let list = |key: &str| {
        part.get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    words.extend(part.get("const").and_then(Value::as_str));
    words.extend(list("enum").filter_map(Value::as_str));
    let parts = ["oneOf", "anyOf", "allOf"].into_iter().flat_map(list);
    for part in parts.chain(pointed) {
        gather(schema, part, depth + 1, words);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_found_in_every_form_of_schema() {
        let found = |want: Value| {
            let schema = json!({
                "properties": { "want": want },
                "$defs": {
                    "Want": { "oneOf": [{ "const": "one" }, { "const": "all" }] },
                    "Round": { "$ref": "#/$defs/Round" },
                },
            });
            words(&schema)
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            found(json!({ "enum": ["one", "unique"] })),
            ["one", "unique"]
        );
        assert_eq!(
            found(json!({ "$ref": "#/$defs/Want", "default": "one" })),
            ["all", "one"]
        );
        let optional = json!({ "anyOf": [{ "$ref": "#/$defs/Want" }, { "type": "null" }] });
        assert_eq!(found(optional), ["all", "one"]);
        assert!(found(json!({ "$ref": "#/$defs/Round" })).is_empty());
        assert!(words(&json!({})).is_empty());
    }
}
