//! Whom the data is of, and values of attributes.

use opentelemetry_proto::tonic::common::v1::{
    AnyValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;

use super::endpoint::Endpoint;

/// The most bytes of a text. Errors of plugins may be longer.
const LONGEST_TEXT: usize = 4096;

/// Whom the data is of: the run.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The run as a service.
    pub resource: Resource,
    /// The program.
    pub scope: InstrumentationScope,
}

impl Origin {
    /// A run of this pipeline. `machine`: this one, if the run has several.
    pub fn new(endpoint: &Endpoint, pipeline: &str, machine: Option<&str>, run: u128) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let mut attributes = vec![
            text("service.name", &endpoint.service),
            text("service.version", version),
            text("service.instance.id", &format!("{run:032x}")),
            text("flowpipe.pipeline", pipeline),
        ];
        attributes.extend(machine.map(|it| text("flowpipe.machine", it)));
        for (name, value) in &endpoint.attributes {
            if !attributes.iter().any(|it| it.key == *name) {
                attributes.push(text(name, value));
            }
        }
        Self {
            resource: Resource {
                attributes,
                ..Resource::default()
            },
            scope: InstrumentationScope {
                name: "flowpipe".to_owned(),
                version: version.to_owned(),
                ..InstrumentationScope::default()
            },
        }
    }
}

/// An attribute that is a text, or the beginning of it.
pub fn text(key: &str, value: &str) -> KeyValue {
    with_value(key, Value::StringValue(bounded(value)))
}

/// An attribute that is a number.
pub fn number(key: &str, value: u64) -> KeyValue {
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    with_value(key, Value::IntValue(value))
}

/// A text, or the beginning of it.
pub fn bounded(text: &str) -> String {
    match text.len() <= LONGEST_TEXT {
        true => text.to_owned(),
        false => format!("{}…", &text[..text.floor_char_boundary(LONGEST_TEXT)]),
    }
}

fn with_value(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_bounded_at_a_character() {
        assert_eq!(bounded("é"), "é");
        let long = bounded(&"é".repeat(LONGEST_TEXT));
        assert_eq!(long.chars().count(), LONGEST_TEXT / 2 + 1);
    }

    #[test]
    fn the_attributes_of_the_run_are_not_replaced() {
        let variable = |name: &str| match name {
            "OTEL_EXPORTER_OTLP_ENDPOINT" => Some("http://collector".to_owned()),
            "OTEL_RESOURCE_ATTRIBUTES" => Some("flowpipe.pipeline=x,a=b,a=c".to_owned()),
            _ => None,
        };
        let endpoint = Endpoint::read("env", variable).unwrap();
        let origin = Origin::new(&endpoint, "mine", Some("left"), 5);
        let of = |key: &str| -> Vec<String> {
            let all = origin.resource.attributes.iter();
            let values = all.filter(|it| it.key == key).map(|it| it.value.clone());
            values
                .map(|it| match it.unwrap().value.unwrap() {
                    Value::StringValue(text) => text,
                    other => panic!("{other:?}"),
                })
                .collect()
        };
        assert_eq!(of("flowpipe.pipeline"), ["mine"]);
        assert_eq!(of("flowpipe.machine"), ["left"]);
        assert_eq!(of("a"), ["b"]);
        assert_eq!(of("service.instance.id")[0].len(), 32);
    }
}
