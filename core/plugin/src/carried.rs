//! What the messages of a port carry besides their JSON.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::buffer::Element;

/// One of the things that the messages of a port may carry: see [`Port::carrying`](crate::Port::carrying).
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// Neither a picture nor a buffer.
    Nothing,
    /// A picture.
    Picture,
    /// A buffer that fits a pattern.
    Buffer(BufferPattern),
}

/// The buffers that a port takes or gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BufferPattern {
    media_type: Option<String>,
    element: Option<Element>,
    shape: Option<Vec<Option<u64>>>,
}

impl Carried {
    /// Everything: for stages that forward or ignore what messages carry.
    pub const ANYTHING: [Self; 3] = [
        Self::Nothing,
        Self::Picture,
        Self::Buffer(BufferPattern::any()),
    ];
}

impl BufferPattern {
    /// Buffers of this media type, such as `audio/pcm`, or of all that start alike: `audio/*`.
    #[must_use]
    pub fn of(media_type: &str) -> Self {
        Self {
            media_type: Some(media_type.to_owned()),
            ..Self::default()
        }
    }

    /// All buffers.
    #[must_use]
    pub const fn any() -> Self {
        Self {
            media_type: None,
            element: None,
            shape: None,
        }
    }

    /// Those of them with this type of elements.
    #[must_use]
    pub fn element(mut self, element: Element) -> Self {
        self.element = Some(element);
        self
    }

    /// Those of them with these dimensions. `None`: of any length.
    #[must_use]
    pub fn shape(mut self, dimensions: &[Option<u64>]) -> Self {
        self.shape = Some(dimensions.to_vec());
        self
    }
}

impl From<BufferPattern> for Carried {
    fn from(pattern: BufferPattern) -> Self {
        Self::Buffer(pattern)
    }
}

impl Serialize for Carried {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.serialize_str("nothing"),
            Self::Picture => serializer.serialize_str("picture"),
            Self::Buffer(pattern) => pattern.serialize(serializer),
        }
    }
}

impl Serialize for BufferPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(media_type) = &self.media_type {
            map.serialize_entry("media_type", media_type)?;
        }
        if let Some(element) = self.element {
            map.serialize_entry("element", element.as_str())?;
        }
        if let Some(shape) = &self.shape {
            let dimension = |count: &Option<u64>| match count {
                Some(count) => serde_json::json!(count),
                None => serde_json::json!("any"),
            };
            let shape: Vec<_> = shape.iter().map(dimension).collect();
            map.serialize_entry("shape", &shape)?;
        }
        map.end()
    }
}
