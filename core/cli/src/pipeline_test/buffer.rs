//! Buffers that enter a test, and those that are expected.

use flowpipe_abi::{BUFFER_MAX_SIZE, Element};
use flowpipe_config::manifest::Content;
use flowpipe_config::reader::elements;
use flowpipe_config::reader::pipeline_test::{BufferElements, ExpectedBuffer, Placed, TestBuffer};
use flowpipe_host::frame::pool::Pool;
use flowpipe_host::frame::{BufferLayout, Frame};
use flowpipe_host::message::Message;
use serde_json::json;

use super::inputs::{Folder, regular};
use super::judgement::TestFailure;

/// The frame of a message that enters.
///
/// # Errors
/// Why there is none.
pub fn frame(buffer: &TestBuffer, folder: &Folder) -> Result<Frame, String> {
    let bytes = bytes(&buffer.elements, buffer.element, folder)?;
    let info = buffer.info(bytes.len())?;
    let layout = BufferLayout::new(&info).map_err(|error| error.to_string())?;
    let frame = Frame::from_bytes(&Pool::new(1), layout, 0, &bytes);
    frame.ok_or_else(|| format!("there is no memory for the buffer {info}"))
}

/// How the buffer of a message differs from what is expected.
pub fn difference(
    expected: &Placed<ExpectedBuffer>,
    message: &Message,
    what: &str,
    folder: &Folder,
) -> Option<TestFailure> {
    let failure = |text: String| TestFailure::new(expected.at, format!("{what}: {text}"));
    let ExpectedBuffer { layout, elements } = &expected.value;
    let content = message.content();
    let (Content::Buffer(info), Some(frame)) = (content, message.frame()) else {
        return Some(failure(format!(
            "it carries {content}, and a buffer was expected"
        )));
    };
    let element = info.element()?;
    if !layout.allows(content) {
        let found = json!(flowpipe_recording::WrittenLayout::of(info));
        return Some(TestFailure {
            expected: Some(json!(layout)),
            found: Some(found),
            ..failure("the layout of its buffer differs".to_owned())
        });
    }
    let wanted = match bytes(elements.as_ref()?, element, folder) {
        Ok(wanted) => wanted,
        Err(reason) => return Some(failure(reason)),
    };
    let found = frame.bytes();
    if found.len() != wanted.len() {
        let (found, wanted) = (found.len() / element.size(), wanted.len() / element.size());
        return Some(TestFailure {
            expected: Some(wanted.into()),
            found: Some(found.into()),
            ..failure("the number of elements in its buffer differs".to_owned())
        });
    }
    let mut pairs = found.iter().zip(&wanted);
    let index = pairs.position(|(found, wanted)| found != wanted)? / element.size();
    let value = |bytes: &[u8]| {
        let bytes = bytes.get(index * element.size()..).unwrap_or_default();
        Some(elements::decode(element, bytes))
    };
    Some(TestFailure {
        expected: value(&wanted),
        found: value(found),
        ..failure(format!("element {index} of its buffer differs"))
    })
}

/// The bytes of elements of a type.
fn bytes(elements: &BufferElements, element: Element, folder: &Folder) -> Result<Vec<u8>, String> {
    match elements {
        BufferElements::Values(values) => elements::encode(element, values),
        BufferElements::File(file) => {
            let path = regular(folder.path(file))?;
            let failed = |error: std::io::Error| format!("{path}: {error}");
            let size = std::fs::metadata(&path).map_err(failed)?.len();
            if size > BUFFER_MAX_SIZE {
                return Err(format!(
                    "{path}: it has {size} bytes, and a buffer has at most {BUFFER_MAX_SIZE}"
                ));
            }
            std::fs::read(&path).map_err(failed)
        }
    }
}
