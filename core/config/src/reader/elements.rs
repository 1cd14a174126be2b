//! Elements of buffers as numbers: in a pipeline file, and in what is printed of them.

use flowpipe_abi::Element;
use serde_json::{Number, Value, json};

/// The bytes of elements: little-endian, as in a buffer.
///
/// # Errors
/// When a number is no element of the type, as a sentence for users. `f16` has no numbers.
pub fn encode(element: Element, values: &[Number]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(values.len() * element.size());
    for value in values {
        let encoded = encode_one(element, value);
        bytes.extend(encoded.ok_or_else(|| match element {
            Element::F16 => "elements of f16 can't be written as numbers: use a file".to_owned(),
            _ => format!("{value} is no {element}"),
        })?);
    }
    Ok(bytes)
}

/// The element that starts at these bytes, as a number, or as a text if JSON has no number for it. `f16` is the integer
/// of its bits. Null: the bytes are too few.
#[must_use]
pub fn decode(element: Element, bytes: &[u8]) -> Value {
    fn array<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
        bytes.first_chunk().copied()
    }
    fn float(value: f64) -> Value {
        Number::from_f64(value).map_or_else(|| json!(value.to_string()), Value::Number)
    }
    let value = match element {
        Element::U8 => array(bytes).map(|it| json!(u8::from_le_bytes(it))),
        Element::I8 => array(bytes).map(|it| json!(i8::from_le_bytes(it))),
        Element::U16 | Element::F16 => array(bytes).map(|it| json!(u16::from_le_bytes(it))),
        Element::I16 => array(bytes).map(|it| json!(i16::from_le_bytes(it))),
        Element::U32 => array(bytes).map(|it| json!(u32::from_le_bytes(it))),
        Element::I32 => array(bytes).map(|it| json!(i32::from_le_bytes(it))),
        Element::U64 => array(bytes).map(|it| json!(u64::from_le_bytes(it))),
        Element::I64 => array(bytes).map(|it| json!(i64::from_le_bytes(it))),
        Element::F32 => array(bytes).map(|it| {
            // As it is written: 0.1, not the f64 that is nearest to that f32.
            let value = f32::from_le_bytes(it);
            float(value.to_string().parse().unwrap_or(f64::from(value)))
        }),
        Element::F64 => array(bytes).map(|it| float(f64::from_le_bytes(it))),
        _ => None,
    };
    value.unwrap_or_default()
}

fn encode_one(element: Element, value: &Number) -> Option<Vec<u8>> {
    let (signed, unsigned) = (value.as_i64(), value.as_u64());
    Some(match element {
        Element::U8 => u8::try_from(unsigned?).ok()?.to_le_bytes().to_vec(),
        Element::I8 => i8::try_from(signed?).ok()?.to_le_bytes().to_vec(),
        Element::U16 => u16::try_from(unsigned?).ok()?.to_le_bytes().to_vec(),
        Element::I16 => i16::try_from(signed?).ok()?.to_le_bytes().to_vec(),
        Element::U32 => u32::try_from(unsigned?).ok()?.to_le_bytes().to_vec(),
        Element::I32 => i32::try_from(signed?).ok()?.to_le_bytes().to_vec(),
        Element::U64 => unsigned?.to_le_bytes().to_vec(),
        Element::I64 => signed?.to_le_bytes().to_vec(),
        Element::F32 => {
            let value = value.as_f64()? as f32;
            value.is_finite().then_some(value)?.to_le_bytes().to_vec()
        }
        Element::F64 => value.as_f64()?.to_le_bytes().to_vec(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(values: &[Value]) -> Vec<Number> {
        let number = |value: &Value| value.as_number().cloned();
        values.iter().filter_map(number).collect()
    }

    #[test]
    fn what_is_written_is_read_again() {
        for element in Element::ALL {
            let values = match element {
                Element::F16 => continue,
                Element::F32 | Element::F64 => vec![json!(0.1), json!(-2.0), json!(1e9)],
                Element::U8 | Element::U16 | Element::U32 | Element::U64 => {
                    vec![json!(0), json!(1), json!(255)]
                }
                _ => vec![json!(0), json!(-128), json!(127)],
            };
            let bytes = encode(element, &numbers(&values)).unwrap();
            let chunks = bytes.chunks(element.size());
            let read: Vec<_> = chunks.map(|it| decode(element, it)).collect();
            assert_eq!(read, values, "{element}");
        }
        assert_eq!(
            encode(Element::I16, &numbers(&[json!(-2)])).unwrap(),
            [0xfe, 0xff]
        );
    }

    #[test]
    fn what_is_no_element_is_refused() {
        let refused = |element, value: Value| encode(element, &numbers(&[value])).unwrap_err();
        assert_eq!(refused(Element::U8, json!(256)), "256 is no u8");
        assert_eq!(refused(Element::U8, json!(-1)), "-1 is no u8");
        assert_eq!(refused(Element::I8, json!(1.0)), "1.0 is no i8");
        assert!(refused(Element::F32, json!(1e39)).ends_with("is no f32"));
        assert!(refused(Element::F16, json!(1)).contains("use a file"));
    }

    #[test]
    fn what_json_has_no_number_for_is_a_text() {
        let nan = f32::NAN.to_le_bytes();
        assert_eq!(decode(Element::F32, &nan), json!("NaN"));
        assert_eq!(decode(Element::F64, &[0; 4]), Value::Null);
    }
}
