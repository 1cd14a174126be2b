//! The buffers of a test: those that enter, and those that are expected.

use flowpipe_abi::Element;
use serde_json::{Map, Number, Value, json};
use toml::Spanned;
use toml::de::DeValue;

use super::placed;
use crate::manifest::Carried;
use crate::reader::error::Findings;
use crate::reader::pipeline_test::{BufferElements, ExpectedBuffer, Placed, TestBuffer};
use crate::reader::problem::Problem;
use crate::reader::source::Span;
use crate::reader::values::wrong_type;
use crate::reader::written::test_buffer::WrittenBuffer;
use crate::reader::{elements, json};

/// A buffer that enters. `None`: it is reported what is wrong.
pub(super) fn entering(
    written: &WrittenBuffer<'_, '_>,
    findings: &mut Findings,
) -> Option<TestBuffer> {
    let before = findings.count();
    let Some(media_type) = &written.media_type else {
        let example = "media_type = \"audio/pcm\"";
        return missing(&written.span, "media type", example, findings);
    };
    let element = match &written.element {
        Some(name) => element(name, findings)?,
        None => Element::U8,
    };
    let shape = written.shape.map(|shape| dimensions(shape, findings));
    let Some(elements) = elements(written, findings) else {
        return match findings.count() > before {
            true => None,
            false => missing(
                &written.span,
                "elements",
                "values = [1, 2] or file",
                findings,
            ),
        };
    };
    let buffer = TestBuffer {
        media_type: media_type.get_ref().clone(),
        element,
        shape: match shape {
            Some(shape) => Some(shape?),
            None => None,
        },
        elements,
    };
    // The bytes of a file are not read yet.
    let checked = match &buffer.elements {
        BufferElements::Values(values) => elements::encode(element, values)
            .and_then(|bytes| buffer.info(bytes.len()))
            .map(drop),
        BufferElements::File(_) => {
            let shape = buffer.shape.clone().unwrap_or_default();
            let info = flowpipe_abi::BufferInfo::new(&buffer.media_type, element, &shape);
            info.map(drop).map_err(|error| error.to_string())
        }
    };
    reported(checked, &written.span, findings)?;
    Some(buffer)
}

/// A buffer that is expected. `None`: it is reported what is wrong.
pub(super) fn expected(
    written: &WrittenBuffer<'_, '_>,
    findings: &mut Findings,
) -> Option<Placed<ExpectedBuffer>> {
    let before = findings.count();
    let mut pattern = Map::new();
    for (key, text) in [
        ("media_type", &written.media_type),
        ("element", &written.element),
    ] {
        if let Some(text) = text {
            pattern.insert(key.to_owned(), json!(text.get_ref()));
        }
    }
    if let Some(shape) = written.shape {
        pattern.insert("shape".to_owned(), json::from_toml(shape, findings));
    }
    let layout = Carried::read(&Value::Object(pattern));
    let layout = reported(layout, &written.span, findings)?;
    let elements = elements(written, findings);
    if let (Some(BufferElements::Values(values)), Some(name)) = (&elements, &written.element) {
        let element = element(name, findings)?;
        let encoded = elements::encode(element, values);
        reported(encoded, &written.span, findings)?;
    }
    let buffer = ExpectedBuffer { layout, elements };
    (findings.count() == before).then(|| placed(buffer, &written.span, findings))
}

fn element(name: &Spanned<String>, findings: &mut Findings) -> Option<Element> {
    let known: Result<Element, _> = name.get_ref().parse();
    let known = known.map_err(|error: flowpipe_abi::UnknownElement| {
        format!("{:?} is no type of elements: {error}", name.get_ref())
    });
    reported(known, &name.span(), findings)
}

fn dimensions(written: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Option<Vec<u64>> {
    let shape = json::from_toml(written, findings);
    let shape = serde_json::from_value(shape)
        .map_err(|_| "a shape is a list of integers of at least 1".to_owned());
    reported(shape, &written.span(), findings)
}

/// Its elements. `None`: none are given, or it is reported what is wrong.
fn elements(written: &WrittenBuffer<'_, '_>, findings: &mut Findings) -> Option<BufferElements> {
    match (written.values, &written.file) {
        (Some(values), None) => {
            let numbers = match json::from_toml(values, findings) {
                Value::Array(items) => {
                    let number = |item: Value| match item {
                        Value::Number(number) => Some(number),
                        _ => None,
                    };
                    items
                        .into_iter()
                        .map(number)
                        .collect::<Option<Vec<Number>>>()
                }
                _ => None,
            };
            if numbers.is_none() {
                wrong_type("values", values, "a list of numbers", None, findings);
            }
            numbers.map(BufferElements::Values)
        }
        (None, Some(file)) => Some(BufferElements::File(file.get_ref().clone())),
        (Some(_), Some(_)) => {
            let both = Err("it has `values` and `file`: leave out one of them".to_owned());
            reported(both, &written.span, findings)
        }
        (None, None) => None,
    }
}

fn missing<T>(span: &Span, what: &str, example: &str, findings: &mut Findings) -> Option<T> {
    let message = format!("this buffer has no {what}");
    let hint = Some(format!("add {example}"));
    findings.report(span, Problem::Missing { message, hint });
    None
}

fn reported<T>(result: Result<T, String>, span: &Span, findings: &mut Findings) -> Option<T> {
    result
        .map_err(|reason| findings.report(span, Problem::BadBuffer { reason }))
        .ok()
}
