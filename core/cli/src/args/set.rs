//! The value of `flowpipe run --set`.

use serde_json::{Map, Number, Value};

/// The most keys in a path.
const MOST_KEYS: usize = 64;

/// The value of `--set`.
#[derive(Clone, Debug, PartialEq)]
pub struct SetArgument {
    /// As it was given.
    pub text: String,
    /// The stage.
    pub stage: String,
    /// The path of the key.
    pub keys: Vec<String>,
    /// The value, as pipeline files have it.
    pub value: Value,
}

/// Reads `STAGE.KEY=VALUE`.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<SetArgument, String> {
    let form = "write STAGE.KEY=VALUE, such as screen.rate=30";
    let (path, value) = text.split_once('=').ok_or(form)?;
    let mut keys = path.split('.').map(|key| key.trim().to_owned());
    let stage = keys.next().unwrap_or_default();
    let keys: Vec<_> = keys.collect();
    if stage.is_empty() || keys.is_empty() || keys.iter().any(String::is_empty) {
        return Err(form.to_owned());
    }
    if keys.len() > MOST_KEYS {
        return Err(format!("its path has more than {MOST_KEYS} keys"));
    }
    Ok(SetArgument {
        text: text.to_owned(),
        stage,
        keys,
        value: parse_value(value.trim())?,
    })
}

/// A TOML value; what is none is a string, unless it begins as one of the others.
fn parse_value(text: &str) -> Result<Value, String> {
    if text.is_empty() {
        return Err("the value is missing; \"\" is an empty string".to_owned());
    }
    match toml::from_str::<toml::Table>(&format!("value = {text}")) {
        Ok(mut table) if table.len() == 1 => table.remove("value").map_or(Ok(Value::Null), json),
        Err(error) if text.starts_with(['"', '\'', '[', '{']) => {
            Err(format!("the value is not TOML: {}", error.message()))
        }
        _ => Ok(Value::String(text.to_owned())),
    }
}

/// A TOML value as JSON, as pipeline files have it.
fn json(value: toml::Value) -> Result<Value, String> {
    Ok(match value {
        toml::Value::String(text) if text.contains('\0') => {
            return Err(
                "a string can't hold a NUL character: nothing is named with one".to_owned(),
            );
        }
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => match Number::from_f64(number) {
            Some(number) => Value::Number(number),
            None => return Err(format!("{number} is no value that a plugin can be given")),
        },
        toml::Value::Boolean(truth) => truth.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(json).collect::<Result<_, _>>()?,
        toml::Value::Table(table) => {
            let entries = table.into_iter();
            let entries = entries.map(|(key, value)| Ok((key, json(value)?)));
            Value::Object(entries.collect::<Result<Map<_, _>, String>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_toml_or_a_bare_word() {
        let value = |text: &str| parse(&format!("a.b={text}")).unwrap().value;
        assert_eq!(value("3"), json!(3));
        assert_eq!(value("2.5"), json!(2.5));
        assert_eq!(value("true"), json!(true));
        assert_eq!(value("\"3\""), json!("3"));
        assert_eq!(value("auto"), json!("auto"));
        assert_eq!(value("Flow Free"), json!("Flow Free"));
        assert_eq!(value("a=b"), json!("a=b"));
        assert_eq!(value("[1, { x = 'y' }]"), json!([1, { "x": "y" }]));
        assert_eq!(value("2026-01-02"), json!("2026-01-02"));
        assert_eq!(value("1\nother = 2"), json!("1\nother = 2"));
    }

    #[test]
    fn a_path_has_a_stage_and_keys() {
        let set = parse("mouse.pace.dwell_ms=3").unwrap();
        assert_eq!(
            (set.stage.as_str(), set.keys.join("/")),
            ("mouse", "pace/dwell_ms".to_owned())
        );
        for text in [
            "",
            "a",
            "a=3",
            "a.=3",
            ".b=3",
            "a.b",
            "a.b=",
            "a.b=[",
            "a.b=\"x",
            "a.b=nan",
            "a.b='x\0'",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&format!("a{}=1", ".b".repeat(64))).is_ok());
        assert!(parse(&format!("a{}=1", ".b".repeat(40_000))).is_err());
        let nul = parse("a.b=\"x\\u0000\"").unwrap_err();
        assert!(nul.contains("NUL"), "{nul}");
    }
}
