//! Buffers in files: their elements lie in one, as the pixels of a picture do.

use std::io::Read as _;
use std::path::PathBuf;

use flowpipe_plugin::abi::BufferInfo;
use flowpipe_plugin::{Buffer, Element, Error, Host, Result};
use serde::{Deserialize, Serialize};

use crate::pixels::FrameFile;

/// A buffer in a file: `{"file": "/dev/shm/…", "media_type": "audio/pcm", "element": "f32", "shape": [480, 2]}`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct BufferFile {
    /// The file with its elements, little-endian, without gaps.
    pub file: PathBuf,
    /// The media type, in lower case and without parameters.
    pub media_type: String,
    /// The type of the elements: `u8`, `f32`, …
    pub element: String,
    /// The elements of each dimension; the last one varies fastest.
    pub shape: Vec<u64>,
}

impl BufferFile {
    /// Writes a buffer to the stage's file. Its elements stay there until the next call.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn of(buffer: &Buffer, files: &mut FrameFile) -> Result<Self> {
        Ok(Self {
            file: files.write(buffer.bytes())?,
            media_type: buffer.media_type().to_owned(),
            element: buffer.element().to_string(),
            shape: buffer.shape().to_vec(),
        })
    }

    /// Reads the elements into a buffer of the host.
    ///
    /// # Errors
    /// When its layout is invalid, or the file can't be read or does not hold that much.
    pub fn load(&self, host: Host) -> Result<Buffer> {
        let named = |error: Error| error.context(format!("the buffer in {}", self.file.display()));
        self.read(host).map_err(named)
    }

    /// The bytes of the buffer that [`Self::load`] creates. 0: its layout is invalid, and none is created.
    pub fn bytes(&self) -> u64 {
        self.layout().map_or(0, |(_, info)| info.size)
    }

    /// The type of the elements, and the layout with its size.
    fn layout(&self) -> Result<(Element, BufferInfo)> {
        let element = self.element.parse();
        let element = element
            .map_err(|known| Error::new(format!("the element {:?}: {known}", self.element)))?;
        let info = BufferInfo::new(&self.media_type, element, &self.shape);
        let info =
            info.map_err(|error| Error::new(format!("this is no layout of a buffer: {error}")))?;
        Ok((element, info))
    }

    fn read(&self, host: Host) -> Result<Buffer> {
        let (element, info) = self.layout()?;
        let mut file = flowpipe_output::open_regular(&self.file)?;
        let (needed, there) = (info.size, file.metadata()?.len());
        if there < needed {
            return Err(Error::new(format!(
                "it needs {needed} bytes, the file has {there}"
            )));
        }
        let mut buffer = host.new_buffer(&self.media_type, element, &self.shape)?;
        file.read_exact(buffer.bytes_mut()?)?;
        Ok(buffer)
    }
}
