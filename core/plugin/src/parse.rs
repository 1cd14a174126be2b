//! Messages as values of Rust types.

use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

/// Reads JSON as a type.
///
/// # Errors
/// What is wrong, after the place as a JSON pointer, unless that is the whole document: `at /metrics/2: missing field`.
pub fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    // The place is sought only where there is an error: keeping track of it takes time.
    serde_json::from_slice(json)
        .map_err(|error| located::<T>(json).unwrap_or_else(|| error.to_string()))
}

fn located<T: DeserializeOwned>(json: &[u8]) -> Option<String> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let error = serde_path_to_error::deserialize::<_, T>(&mut deserializer).err()?;
    let pointer = pointer(error.path());
    let error = error.into_inner();
    if error.is_syntax() || error.is_eof() || pointer.is_empty() {
        return None;
    }
    // A message is one line: the pointer says more than the column.
    let text = error.to_string();
    let column = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&column).unwrap_or(&text);
    Some(format!("at {pointer}: {text}"))
}

/// A path as a JSON pointer (RFC 6901), as far as it is known.
fn pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer += &format!("/{index}"),
            Segment::Map { key } => {
                pointer += &format!("/{}", key.replace('~', "~0").replace('/', "~1"));
            }
            // An enum is no level of the document's own.
            Segment::Enum { .. } => {}
            Segment::Unknown => break,
        }
    }
    pointer
}

#[cfg(test)]
mod tests {
    use flowpipe_message::{Metric, Metrics};
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_names_its_place() {
        let error =
            |body: &serde_json::Value| parse::<Metrics>(body.to_string().as_bytes()).unwrap_err();
        let good = json!(Metric::counter("a", 1));
        assert_eq!(
            error(&json!({ "metrics": [good, { "kind": "gauge", "name": "a" }] })),
            "at /metrics/1: missing field `value`"
        );
        assert_eq!(
            error(&json!({ "metrics": [{ "kind": "gauge", "name": "a", "value": "b" }] })),
            "at /metrics/0: invalid type: string \"b\", expected f64"
        );
        assert_eq!(
            error(&json!({ "metrics": 5 })),
            "at /metrics: invalid type: integer `5`, expected a sequence"
        );
        assert_eq!(
            error(&json!({})),
            "missing field `metrics` at line 1 column 2"
        );
        assert_eq!(
            parse::<Metrics>(b"{\"metrics\": [").unwrap_err(),
            "EOF while parsing a list at line 1 column 13"
        );
    }
}
