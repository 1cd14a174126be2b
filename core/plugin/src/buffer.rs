//! Buffers of any media type in the host's memory.

use flowpipe_abi as abi;
pub use flowpipe_abi::Element;

use crate::error::{Error, Result};
use crate::frame::Frame;

/// One reference to a buffer: elements of one type with a shape, such as audio, a tensor or text. Cloning adds a
/// reference and copies no elements.
///
/// It is a [`Frame`] whose bytes are no pixels; what is written there of references holds for it. A stage gets buffers
/// only from inputs that [carry](crate::Port::carrying) them.
///
/// ```
/// use flowpipe_plugin::{BufferPattern, Context, Element, Host, Input, Next, NoConfig, Port, Result, Stage};
/// use serde_json::json;
///
/// /// Halves the amplitude of audio.
/// struct Quieter;
///
/// fn port(name: &str) -> Port {
///     let sound = BufferPattern::of("audio/pcm").element(Element::F32);
///     Port::new(name, "example.sound/1").carrying([sound])
/// }
///
/// impl Stage for Quieter {
///     const NAME: &'static str = "quieter";
///     type Config = NoConfig;
///
///     fn inputs() -> Vec<Port> {
///         vec![port("in")]
///     }
///
///     fn outputs() -> Vec<Port> {
///         vec![port("out")]
///     }
///
///     fn new(_: NoConfig, _: &Host) -> Result<Self> {
///         Ok(Self)
///     }
///
///     fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
///         if let Input::Message(message) = input
///             && let Some(mut sound) = message.buffer()
///         {
///             // A copy, because the sender may use it too.
///             for sample in sound.as_mut_slice::<f32>()? {
///                 *sample /= 2.0;
///             }
///             context.emit_buffer(0, &json!({}), &sound, 0)?;
///         }
///         Ok(Next::More)
///     }
/// }
///
/// let mut harness = flowpipe_plugin::harness!(Quieter, json!({}))?;
/// let mut sound = harness.host().new_buffer("audio/pcm", Element::F32, &[2, 1])?;
/// sound.as_mut_slice()?.copy_from_slice(&[1.0_f32, -0.5]);
/// let emitted = harness.send_buffer(0, "example.sound/1", &json!({}), &sound)?;
/// let quieter = emitted[0].buffer().unwrap();
/// assert_eq!((quieter.shape(), quieter.as_slice::<f32>()?), (&[2, 1][..], &[0.5, -0.25][..]));
/// # Ok::<(), flowpipe_plugin::Error>(())
/// ```
#[derive(Clone)]
pub struct Buffer {
    frame: Frame,
    info: abi::BufferInfo,
}

mod sealed {
    /// Any bit pattern is a value, and there is no padding.
    pub trait Plain: Copy {}
}

/// A Rust type of a buffer's elements. There is none of [`Element::F16`]: read its [bytes](Buffer::bytes).
pub trait BufferElement: sealed::Plain {
    /// The element type.
    const ELEMENT: Element;
}

macro_rules! elements {
    ($($rust:ty = $element:ident),+) => {$(
        impl sealed::Plain for $rust {}
        impl BufferElement for $rust {
            const ELEMENT: Element = Element::$element;
        }
    )+};
}

elements!(
    u8 = U8,
    i8 = I8,
    u16 = U16,
    i16 = I16,
    u32 = U32,
    i32 = I32,
    u64 = U64,
    i64 = I64,
    f32 = F32,
    f64 = F64
);

impl Buffer {
    /// The buffer that a frame is. `None`: it is a picture.
    #[must_use]
    pub fn of(frame: Frame) -> Option<Self> {
        let info = frame.buffer_info()?.checked().ok()?;
        Some(Self { frame, info })
    }

    /// The media type, such as `audio/pcm`.
    #[must_use]
    pub fn media_type(&self) -> &str {
        self.info.media_type().unwrap_or_default()
    }

    /// The type of the elements.
    #[must_use]
    pub fn element(&self) -> Element {
        // It was checked when the buffer was created.
        self.info.element().unwrap_or(Element::U8)
    }

    /// The elements of each dimension; the last one varies fastest. Empty: one element.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        self.info.shape()
    }

    /// The elements as bytes, little-endian.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.frame.pixels()
    }

    /// The bytes, to write. If there are other references, this buffer becomes a copy first.
    ///
    /// # Errors
    /// When memory is short.
    pub fn bytes_mut(&mut self) -> Result<&mut [u8]> {
        self.frame.pixels_mut()
    }

    /// The elements.
    ///
    /// # Errors
    /// When they are of another type.
    pub fn as_slice<T: BufferElement>(&self) -> Result<&[T]> {
        self.check::<T>()?;
        // SAFETY: any bits are a value of a `Plain` type.
        match unsafe { self.bytes().align_to() } {
            ([], elements, []) => Ok(elements),
            _ => Err(unaligned()),
        }
    }

    /// The elements, to write. If there are other references, this buffer becomes a copy first.
    ///
    /// # Errors
    /// When they are of another type, or memory is short.
    pub fn as_mut_slice<T: BufferElement>(&mut self) -> Result<&mut [T]> {
        self.check::<T>()?;
        // SAFETY: any bits are a value of a `Plain` type, and its values are any bytes.
        match unsafe { self.bytes_mut()?.align_to_mut() } {
            ([], elements, []) => Ok(elements),
            _ => Err(unaligned()),
        }
    }

    /// The reference, for functions that take pictures and buffers.
    #[must_use]
    pub fn as_frame(&self) -> &Frame {
        &self.frame
    }

    fn check<T: BufferElement>(&self) -> Result<()> {
        if T::ELEMENT != self.element() {
            return Err(Error::bad_message(format!(
                "a buffer with elements {} where {} are expected",
                self.element(),
                T::ELEMENT
            )));
        }
        if cfg!(target_endian = "big") && T::ELEMENT.size() > 1 {
            return Err(Error::new(
                "elements of buffers are little-endian: read their bytes on this machine",
            ));
        }
        Ok(())
    }
}

fn unaligned() -> Error {
    Error::new("the elements of a buffer are not aligned: read its bytes")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        BufferPattern, Carried, Context, Format, Host, Input, Next, NoConfig, Port, Stage,
    };

    /// Emits what it gets.
    struct Echo;

    impl Stage for Echo {
        const NAME: &'static str = "echo";
        type Config = NoConfig;

        fn inputs() -> Vec<Port> {
            let sound = BufferPattern::of("audio/*").element(Element::I16);
            let sound = sound.shape(&[None, Some(2)]);
            vec![Port::new("in", "x.a/1").carrying([Carried::Nothing, sound.into()])]
        }

        fn outputs() -> Vec<Port> {
            vec![Port::new("out", "x.a/1").carrying(Carried::ANYTHING)]
        }

        fn new(_: NoConfig, _: &Host) -> Result<Self> {
            Ok(Self)
        }

        fn process(&mut self, input: Input<'_>, context: &mut Context<'_>) -> Result<Next> {
            if let Input::Message(message) = input {
                let frame = message.frame();
                context.emit_document(0, c"x.a/1", message.json(), frame.as_ref(), 0)?;
            }
            Ok(Next::More)
        }
    }

    #[test]
    fn a_manifest_has_what_its_ports_carry() {
        let manifest: serde_json::Value =
            serde_json::from_str(&crate::manifest::manifest::<Echo>("1")).unwrap();
        assert_eq!(
            manifest["inputs"][0]["carries"],
            json!(["nothing", { "media_type": "audio/*", "element": "i16", "shape": ["any", 2] }])
        );
        assert_eq!(
            manifest["outputs"][0]["carries"],
            json!(["nothing", "picture", {}])
        );
        let plain = serde_json::to_value(Port::new("in", "*")).unwrap();
        assert_eq!(plain.get("carries"), None);
    }

    #[test]
    fn buffers_are_shared_and_copied_when_written() {
        let mut harness = crate::harness!(Echo, json!({})).unwrap();
        let mut buffer = harness
            .host()
            .new_buffer("audio/pcm", Element::I16, &[3, 2]);
        let buffer = buffer.as_mut().unwrap();
        let samples = [1_i16, -2, 3, -4, 5, -6];
        buffer.as_mut_slice().unwrap().copy_from_slice(&samples);
        assert_eq!(buffer.bytes()[..4], [1, 0, 254, 255]);
        let emitted = harness.send_buffer(0, "x.a/1", &json!({}), buffer).unwrap();
        let mut other = emitted[0].buffer().unwrap();
        assert_eq!(other.bytes().as_ptr(), buffer.bytes().as_ptr());
        other.bytes_mut().unwrap().fill(0);
        assert_eq!(buffer.as_slice::<i16>().unwrap(), samples);
        assert_eq!(
            (other.media_type(), other.element()),
            ("audio/pcm", Element::I16)
        );
        assert_eq!(other.as_slice::<i16>().unwrap(), [0; 6]);
        // Of another type.
        let error = other.as_slice::<f32>().unwrap_err().to_string();
        assert_eq!(error, "a buffer with elements i16 where f32 are expected");
        assert!(other.as_mut_slice::<u16>().is_err());
        // It is no picture, and a picture is no buffer.
        let error = other.as_frame().info().unwrap_err().to_string();
        assert_eq!(error, "a buffer where a picture is expected");
        let picture = harness.host().new_frame(Format::Grey8, 2, 2).unwrap();
        assert!(Buffer::of(picture).is_none());
    }

    #[test]
    fn a_wrong_layout_is_named() {
        let harness = crate::harness!(Echo, json!({})).unwrap();
        let refused = |media_type: &str, shape: &[u64]| {
            let buffer = harness.host().new_buffer(media_type, Element::F64, shape);
            buffer.err().unwrap().to_string()
        };
        assert!(refused("audio", &[1]).contains("media type"));
        assert!(refused("a/b", &[3, 0]).contains("dimension 1 of its shape is 0"));
        assert!(refused("a/b", &[1 << 30]).contains("more than 1 GiB"));
        assert!(refused("a/b", &[1; 9]).contains("9 dimensions"));
    }

    #[test]
    fn a_buffer_outlives_its_host() {
        let harness = crate::harness!(Echo, json!({})).unwrap();
        let host = harness.host();
        let mut buffer = host.new_buffer("text/plain", Element::U8, &[2]).unwrap();
        buffer.bytes_mut().unwrap().copy_from_slice(b"hi");
        drop(harness);
        let other = buffer.clone();
        buffer.bytes_mut().unwrap()[1] = b'o';
        assert_eq!((buffer.bytes(), other.bytes()), (&b"ho"[..], &b"hi"[..]));
        assert_eq!(Buffer::of(other.as_frame().clone()).unwrap().shape(), [2]);
        assert!(host.new_buffer("text/plain", Element::U8, &[2]).is_err());
    }
}
