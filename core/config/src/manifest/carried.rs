//! What the messages of a port carry besides their JSON: a picture, a buffer or nothing.

use std::fmt;

use flowpipe_abi::{BUFFER_MAX_RANK, BufferInfo, Element, is_media_type};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value, json};

/// The most alternatives of a port.
const MOST: usize = 16;

/// The word for a message without a picture and a buffer.
const NOTHING: &str = "nothing";
/// The word for a picture.
const PICTURE: &str = "picture";
/// The word for a dimension of any length.
const ANY: &str = "any";

/// What the messages of a port may carry: one of these. A port that declares nothing has [`Carried::default`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried(Vec<Alternative>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Alternative {
    Nothing,
    Picture,
    Buffer(BufferPattern),
}

/// The buffers that a port takes; an absent field matches any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct BufferPattern {
    /// A media type, or `TYPE/*`.
    media_type: Option<String>,
    element: Option<Element>,
    /// `None`: a dimension of any length.
    shape: Option<Vec<Option<u64>>>,
}

/// What one message carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Neither a picture nor a buffer.
    Nothing,
    /// A picture.
    Picture,
    /// A buffer.
    Buffer(&'a BufferInfo),
}

/// Messages with a picture and without one.
impl Default for Carried {
    fn default() -> Self {
        Self(vec![Alternative::Nothing, Alternative::Picture])
    }
}

impl Carried {
    /// Reads what a manifest or a config declares: a word, a pattern, or an array of them.
    ///
    /// # Errors
    /// What is wrong, as a sentence for users.
    pub fn read(written: &Value) -> Result<Self, String> {
        let one = std::slice::from_ref(written);
        let all = written.as_array().map_or(one, Vec::as_slice);
        if all.is_empty() || all.len() > MOST {
            return Err(format!(
                "`carries` has {} alternatives, and 1 to {MOST} are allowed",
                all.len()
            ));
        }
        let all = all.iter().map(Alternative::read);
        all.collect::<Result<_, _>>().map(Self)
    }

    /// Everything: for ports of which nothing is known.
    #[must_use]
    pub fn anything() -> Self {
        let buffers = Alternative::Buffer(BufferPattern::default());
        Self(vec![Alternative::Nothing, Alternative::Picture, buffers])
    }

    /// Whether it is what a port has that declares nothing.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a message may carry this.
    #[must_use]
    pub fn allows(&self, content: Content<'_>) -> bool {
        self.0.iter().any(|alternative| alternative.allows(content))
    }

    /// Whether both allow some message.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let meets = |one: &Alternative| other.0.iter().any(|other| one.meets(other));
        self.0.iter().any(meets)
    }

    /// What a message carries that joins several ones of these along the first dimension. Pictures are not joined.
    #[must_use]
    pub fn joined(&self) -> Self {
        let mut joined = Vec::new();
        for alternative in &self.0 {
            let one = match alternative {
                Alternative::Nothing | Alternative::Picture => Alternative::Nothing,
                Alternative::Buffer(pattern) => Alternative::Buffer(pattern.joined()),
            };
            if !joined.contains(&one) {
                joined.push(one);
            }
        }
        Self(joined)
    }

    /// The same, where the elements of buffers of which no type is declared have this one.
    #[must_use]
    pub fn with_element(&self, element: Element) -> Self {
        let one = |alternative: &Alternative| match alternative {
            Alternative::Buffer(pattern) => Alternative::Buffer(BufferPattern {
                element: pattern.element.or(Some(element)),
                ..pattern.clone()
            }),
            other => other.clone(),
        };
        Self(self.0.iter().map(one).collect())
    }

    /// The layout of some buffer that is allowed, of at most 1 MiB. `None`: there is none.
    #[must_use]
    pub fn example(&self) -> Option<BufferInfo> {
        /// The length of a dimension of any length.
        const LENGTH: u64 = 8;
        /// The most bytes.
        const LARGEST: u64 = 1 << 20;
        self.0.iter().find_map(|alternative| {
            let Alternative::Buffer(pattern) = alternative else {
                return None;
            };
            let media_type = match pattern.media_type.as_deref() {
                None => "application/octet-stream".to_owned(),
                Some("audio/*") => "audio/pcm".to_owned(),
                Some(media_type) => media_type.replace('*', "x-sample"),
            };
            let shape = pattern.shape.clone().unwrap_or_else(|| vec![None]);
            let shape: Vec<u64> = shape.iter().map(|it| it.unwrap_or(LENGTH)).collect();
            let element = pattern.element.unwrap_or(Element::U8);
            let info = BufferInfo::new(&media_type, element, &shape).ok()?;
            (info.size <= LARGEST && pattern.allows(&info)).then_some(info)
        })
    }

    fn written(&self) -> Value {
        match &*self.0 {
            [one] => one.written(),
            all => all.iter().map(Alternative::written).collect(),
        }
    }
}

/// For users: `nothing, a picture or a buffer {"media_type":"audio/*"}`.
impl fmt::Display for Carried {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, alternative) in self.0.iter().enumerate() {
            let separator = match index {
                0 => "",
                _ if index + 1 == self.0.len() => " or ",
                _ => ", ",
            };
            formatter.write_str(separator)?;
            match alternative {
                Alternative::Nothing => formatter.write_str(NOTHING)?,
                Alternative::Picture => formatter.write_str("a picture")?,
                Alternative::Buffer(pattern) if *pattern == BufferPattern::default() => {
                    formatter.write_str("any buffer")?;
                }
                Alternative::Buffer(_) => write!(formatter, "a buffer {}", alternative.written())?,
            }
        }
        Ok(())
    }
}

/// For users: `a buffer audio/pcm f32 [480, 2]`.
impl fmt::Display for Content<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => formatter.write_str(NOTHING),
            Self::Picture => formatter.write_str("a picture"),
            Self::Buffer(info) => write!(formatter, "a buffer {info}"),
        }
    }
}

impl Serialize for Carried {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.written().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Carried {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&Value::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl Alternative {
    fn read(written: &Value) -> Result<Self, String> {
        match written {
            Value::String(word) if word == NOTHING => Ok(Self::Nothing),
            Value::String(word) if word == PICTURE => Ok(Self::Picture),
            Value::Object(pattern) => BufferPattern::read(pattern).map(Self::Buffer),
            other => Err(format!(
                "`carries` has {other}, which is neither \"{NOTHING}\" nor \"{PICTURE}\" nor a pattern of buffers \
                 like {{\"media_type\": \"audio/*\"}}"
            )),
        }
    }

    fn written(&self) -> Value {
        match self {
            Self::Nothing => NOTHING.into(),
            Self::Picture => PICTURE.into(),
            Self::Buffer(pattern) => pattern.written(),
        }
    }

    fn allows(&self, content: Content<'_>) -> bool {
        match (self, content) {
            (Self::Nothing, Content::Nothing) | (Self::Picture, Content::Picture) => true,
            (Self::Buffer(pattern), Content::Buffer(info)) => pattern.allows(info),
            _ => false,
        }
    }

    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nothing, Self::Nothing) | (Self::Picture, Self::Picture) => true,
            (Self::Buffer(one), Self::Buffer(other)) => one.meets(other),
            _ => false,
        }
    }
}

impl BufferPattern {
    fn read(written: &Map<String, Value>) -> Result<Self, String> {
        let mut pattern = Self::default();
        for (key, value) in written {
            match (key.as_str(), value) {
                ("media_type", Value::String(text)) => {
                    let example = text.strip_suffix("/*").map(|group| format!("{group}/x"));
                    if !is_media_type(example.as_ref().unwrap_or(text)) {
                        return Err(format!(
                            "the media type {text:?} is not like \"audio/pcm\" or \"audio/*\": lower case, no \
                             parameters, at most 63 bytes"
                        ));
                    }
                    pattern.media_type = Some(text.clone());
                }
                ("element", Value::String(name)) => {
                    let element = name.parse();
                    let element = element
                        .map_err(|known| format!("the element {name:?} is unknown: {known}"))?;
                    pattern.element = Some(element);
                }
                ("shape", Value::Array(shape)) if shape.len() <= BUFFER_MAX_RANK => {
                    let shape = shape.iter().map(dimension).collect::<Result<_, _>>()?;
                    pattern.shape = Some(shape);
                }
                ("shape", Value::Array(shape)) => {
                    let rank = shape.len();
                    return Err(format!(
                        "a shape has {rank} dimensions, and a buffer has at most {BUFFER_MAX_RANK}"
                    ));
                }
                _ => {
                    return Err(format!(
                        "a pattern of buffers has \"{key}\": {value}, and may have \"media_type\": a text, \
                         \"element\": a text, and \"shape\": an array"
                    ));
                }
            }
        }
        Ok(pattern)
    }

    fn written(&self) -> Value {
        let mut written = Map::new();
        if let Some(media_type) = &self.media_type {
            written.insert("media_type".to_owned(), json!(media_type));
        }
        if let Some(element) = self.element {
            written.insert("element".to_owned(), json!(element.as_str()));
        }
        if let Some(shape) = &self.shape {
            let dimension = |it: &Option<u64>| it.map_or_else(|| json!(ANY), |count| json!(count));
            written.insert("shape".to_owned(), shape.iter().map(dimension).collect());
        }
        Value::Object(written)
    }

    fn allows(&self, info: &BufferInfo) -> bool {
        let media_type = info.media_type().unwrap_or_default();
        let pattern = self.media_type.as_deref();
        pattern.is_none_or(|pattern| media_types_meet(pattern, media_type))
            && self.element.is_none_or(|it| Some(it) == info.element())
            && self.shape.as_ref().is_none_or(|shape| {
                let found = info.shape();
                let is = |(allowed, found): (&Option<u64>, &u64)| {
                    allowed.is_none_or(|allowed| allowed == *found)
                };
                shape.len() == found.len() && shape.iter().zip(found).all(is)
            })
    }

    /// Those that join several of these: the first dimension has any length, and a buffer without dimensions gets one.
    fn joined(&self) -> Self {
        let shape = self.shape.as_ref().map(|shape| {
            let others = shape.iter().skip(1).copied();
            std::iter::once(None).chain(others).collect()
        });
        Self {
            shape,
            ..self.clone()
        }
    }

    fn meets(&self, other: &Self) -> bool {
        let media_types = self.media_type.as_deref().zip(other.media_type.as_deref());
        let elements = self.element.zip(other.element);
        let shapes = self.shape.as_ref().zip(other.shape.as_ref());
        media_types.is_none_or(|(one, other)| media_types_meet(one, other))
            && elements.is_none_or(|(one, other)| one == other)
            && shapes.is_none_or(|(one, other)| {
                let meets = |(one, other): (&Option<u64>, &Option<u64>)| {
                    one.zip(*other).is_none_or(|(one, other)| one == other)
                };
                one.len() == other.len() && one.iter().zip(other).all(meets)
            })
    }
}

fn dimension(written: &Value) -> Result<Option<u64>, String> {
    match written {
        Value::String(word) if word == ANY => Ok(None),
        count => match count.as_u64() {
            Some(count) if count > 0 => Ok(Some(count)),
            _ => Err(format!(
                "a shape has {written}, which is neither \"{ANY}\" nor an integer of at least 1"
            )),
        },
    }
}

/// Whether some media type fits both; each is one, or `TYPE/*`.
fn media_types_meet(one: &str, other: &str) -> bool {
    match (one.split_once('/'), other.split_once('/')) {
        (Some((one_group, one)), Some((other_group, other))) => {
            one_group == other_group && (one == other || one == "*" || other == "*")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn carried(written: Value) -> Carried {
        Carried::read(&written).unwrap()
    }

    fn audio() -> BufferInfo {
        BufferInfo::new("audio/pcm", Element::F32, &[480, 2]).unwrap()
    }

    #[test]
    fn a_pattern_allows_the_buffers_that_fit() {
        let info = audio();
        let allows = |written: Value| carried(written).allows(Content::Buffer(&info));
        for fits in [
            json!({}),
            json!({ "media_type": "audio/*" }),
            json!({ "media_type": "audio/pcm", "element": "f32", "shape": ["any", 2] }),
            json!(["nothing", { "shape": [480, 2] }]),
        ] {
            assert!(allows(fits.clone()), "{fits}");
        }
        for differs in [
            json!("picture"),
            json!("nothing"),
            json!(["nothing", "picture"]),
            json!({ "media_type": "audio/wav" }),
            json!({ "media_type": "video/*" }),
            json!({ "element": "f64" }),
            json!({ "shape": ["any"] }),
            json!({ "shape": ["any", 1] }),
        ] {
            assert!(!allows(differs.clone()), "{differs}");
        }
        assert!(Carried::default().allows(Content::Nothing));
        assert!(Carried::default().allows(Content::Picture));
        assert!(!carried(json!({})).allows(Content::Nothing));
    }

    #[test]
    fn two_ends_meet_if_a_message_fits_both() {
        let meet = |one: Value, other: Value| {
            let (one, other) = (carried(one), carried(other));
            assert_eq!(one.meets(&other), other.meets(&one));
            one.meets(&other)
        };
        assert!(meet(json!(["nothing", "picture"]), json!("picture")));
        assert!(!meet(json!("nothing"), json!("picture")));
        assert!(!meet(json!({}), json!(["nothing", "picture"])));
        assert!(meet(
            json!({ "media_type": "audio/*", "shape": ["any", 2] }),
            json!({ "element": "f32", "shape": [480, "any"] })
        ));
        assert!(!meet(
            json!({ "shape": [1, 2] }),
            json!({ "shape": ["any"] })
        ));
        assert!(!meet(json!({ "shape": [1] }), json!({ "shape": [2] })));
        assert!(!meet(
            json!({ "element": "u8" }),
            json!({ "element": "i8" })
        ));
        assert!(!meet(
            json!({ "media_type": "audio/*" }),
            json!({ "media_type": "audiobook/pcm" })
        ));
    }

    #[test]
    fn joined_buffers_have_a_first_dimension_of_any_length() {
        for (written, joined) in [
            (
                json!({ "media_type": "audio/pcm", "element": "f32", "shape": [480, 2] }),
                json!({ "media_type": "audio/pcm", "element": "f32", "shape": ["any", 2] }),
            ),
            (json!({ "shape": [] }), json!({ "shape": ["any"] })),
            (json!({}), json!({})),
            (json!(["nothing", "picture"]), json!("nothing")),
            (
                json!(["picture", { "shape": [1] }, { "shape": [2] }]),
                json!(["nothing", { "shape": ["any"] }]),
            ),
        ] {
            assert_eq!(
                carried(written.clone()).joined(),
                carried(joined),
                "{written}"
            );
        }
    }

    #[test]
    fn a_type_of_elements_is_added_where_none_is_declared() {
        let written = json!(["nothing", { "media_type": "audio/pcm" }, { "element": "u8" }]);
        assert_eq!(
            carried(written).with_element(Element::I16),
            carried(
                json!(["nothing", { "media_type": "audio/pcm", "element": "i16" }, { "element": "u8" }])
            )
        );
    }

    #[test]
    fn an_example_is_allowed() {
        for (written, expected) in [
            (json!({}), Some("application/octet-stream u8 [8]")),
            (
                json!(["nothing", { "media_type": "audio/*", "element": "f32", "shape": ["any", 2] }]),
                Some("audio/pcm f32 [8, 2]"),
            ),
            (
                json!({ "media_type": "video/*" }),
                Some("video/x-sample u8 [8]"),
            ),
            (
                json!({ "shape": [] }),
                Some("application/octet-stream u8 []"),
            ),
            (json!({ "shape": [1 << 20, 2] }), None),
            (json!(["nothing", "picture"]), None),
        ] {
            let carried = carried(written);
            let found = carried.example();
            assert_eq!(found.map(|it| it.to_string()).as_deref(), expected);
            assert!(found.is_none_or(|it| carried.allows(Content::Buffer(&it))));
        }
    }

    #[test]
    fn wrong_declarations_are_refused_with_the_reason() {
        let reason = |written: Value| Carried::read(&written).unwrap_err();
        assert!(reason(json!([])).contains("0 alternatives"));
        assert!(reason(json!(vec!["picture"; 17])).contains("17 alternatives"));
        assert!(reason(json!("pictures")).contains("neither \"nothing\" nor \"picture\""));
        assert!(reason(json!(3)).contains("has 3"));
        assert!(reason(json!([["picture"]])).contains("neither"));
        assert!(reason(json!({ "media_type": "*/*" })).contains("not like"));
        assert!(reason(json!({ "media_type": "Audio/pcm" })).contains("not like"));
        assert!(reason(json!({ "element": "float" })).contains("u8, i8"));
        assert!(reason(json!({ "shape": vec![1; 9] })).contains("9 dimensions"));
        assert!(reason(json!({ "shape": [0] })).contains("has 0"));
        assert!(reason(json!({ "shape": [1.5] })).contains("has 1.5"));
        assert!(reason(json!({ "type": "audio/*" })).contains("\"type\""));
    }

    #[test]
    fn a_declaration_reads_as_it_was_written() {
        for written in [
            json!("picture"),
            json!(["nothing", { "media_type": "audio/*", "element": "f32", "shape": ["any", 2] }]),
            json!({}),
        ] {
            let text = serde_json::to_value(carried(written.clone())).unwrap();
            assert_eq!(text, written);
        }
        let all = carried(json!(["nothing", "picture", {}, { "element": "u8" }]));
        let expected = "nothing, a picture, any buffer or a buffer {\"element\":\"u8\"}";
        assert_eq!(all.to_string(), expected);
    }

    proptest! {
        /// Two patterns that allow one buffer meet.
        #[test]
        fn patterns_that_allow_a_buffer_meet(
            shape in proptest::collection::vec(1_u64..4, 0..4),
            others in proptest::collection::vec(proptest::collection::vec(0_u64..4, 0..4), 2),
        ) {
            let info = BufferInfo::new("audio/pcm", Element::U8, &shape).unwrap();
            let pattern = |shape: &[u64]| {
                let dimension = |it: &u64| if *it == 0 { json!("any") } else { json!(it) };
                carried(json!({ "shape": shape.iter().map(dimension).collect::<Value>() }))
            };
            let (one, other) = (pattern(&others[0]), pattern(&others[1]));
            let content = Content::Buffer(&info);
            if one.allows(content) && other.allows(content) {
                prop_assert!(one.meets(&other));
            }
            prop_assert!(pattern(&shape).allows(content));
        }
    }
}
