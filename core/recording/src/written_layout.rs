//! The layout of a buffer, in names and numbers.

use flowpipe_abi::{BufferInfo, Element, InvalidBuffer};
use serde::{Deserialize, Serialize};

/// The layout of a buffer as it is written: `{"media_type": "audio/pcm", "element": "f32", "shape": [480, 2]}`. One that
/// was read may be invalid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenLayout {
    /// The media type.
    pub media_type: String,
    /// The type of the elements.
    pub element: String,
    /// The elements of each dimension.
    pub shape: Vec<u64>,
}

impl WrittenLayout {
    /// The layout of a buffer.
    #[must_use]
    pub fn of(info: &BufferInfo) -> Self {
        Self {
            media_type: info.media_type().unwrap_or_default().to_owned(),
            element: info.element().map_or("", Element::as_str).to_owned(),
            shape: info.shape().to_vec(),
        }
    }

    /// The layout with its size.
    ///
    /// # Errors
    /// When it is none of a buffer.
    pub fn info(&self) -> Result<BufferInfo, InvalidBuffer> {
        // No element has the number 0.
        let element = self.element.parse();
        let element = element.map_err(|_| InvalidBuffer::Element(0))?;
        BufferInfo::new(&self.media_type, element, &self.shape)
    }
}
