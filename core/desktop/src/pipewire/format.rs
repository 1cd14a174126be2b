//! What pictures may look like, and what they look like then, in PipeWire's terms.

use pipewire::spa::param::ParamType;
use pipewire::spa::param::format::{FormatProperties, MediaSubtype, MediaType};
use pipewire::spa::param::format_utils::parse_format;
use pipewire::spa::param::video::{VideoFormat, VideoInfoRaw};
use pipewire::spa::pod::serialize::PodSerializer;
use pipewire::spa::pod::{ChoiceValue, Object, Pod, Property, Value, object, property};
use pipewire::spa::sys::{
    SPA_DATA_MemFd, SPA_META_Header, SPA_PARAM_BUFFERS_dataType, SPA_PARAM_META_size,
    SPA_PARAM_META_type, spa_meta_header,
};
#[cfg(feature = "input")]
use pipewire::spa::sys::{
    SPA_META_Cursor, SPA_PARAM_BUFFERS_buffers, spa_meta_bitmap, spa_meta_cursor,
};
use pipewire::spa::utils::{Choice, ChoiceEnum, ChoiceFlags, Fraction, Rectangle, SpaTypes};

use super::rows::Layout;

/// The longest side of a picture, in pixels.
const LONGEST: u32 = 1 << 15;

/// The formats that are read. `most_a_second`: how many pictures are to come at most each second, also of those that only
/// say where the pointer is. `None`: the library can't write them.
pub(super) fn offered(most_a_second: Option<u32>) -> Option<Vec<u8>> {
    let mut offered = object!(
        SpaTypes::ObjectParamFormat,
        ParamType::EnumFormat,
        property!(FormatProperties::MediaType, Id, MediaType::Video),
        property!(FormatProperties::MediaSubtype, Id, MediaSubtype::Raw),
        property!(
            FormatProperties::VideoFormat,
            Choice,
            Enum,
            Id,
            VideoFormat::BGRx,
            VideoFormat::BGRx,
            VideoFormat::BGRA,
            VideoFormat::RGBx,
            VideoFormat::RGBA,
        ),
        property!(
            FormatProperties::VideoSize,
            Choice,
            Range,
            Rectangle,
            Rectangle {
                width: 1280,
                height: 800
            },
            Rectangle {
                width: 1,
                height: 1
            },
            Rectangle {
                width: LONGEST,
                height: LONGEST
            }
        ),
        // 0: a picture whenever something has changed.
        property!(
            FormatProperties::VideoFramerate,
            Choice,
            Range,
            Fraction,
            Fraction { num: 0, denom: 1 },
            Fraction { num: 0, denom: 1 },
            Fraction {
                num: 1000,
                denom: 1
            }
        ),
    );
    if let Some(num) = most_a_second {
        let most = Fraction { num, denom: 1 };
        let most = property!(FormatProperties::VideoMaxFramerate, Fraction, most);
        offered.properties.push(most);
    }
    bytes(offered)
}

/// The memory in which pictures are to come: such that this process can map. `None`: as before.
pub(super) fn mapped_memory() -> Option<Vec<u8>> {
    let kinds = ChoiceEnum::Flags {
        default: 1 << SPA_DATA_MemFd,
        flags: Vec::new(),
    };
    buffers(SPA_PARAM_BUFFERS_dataType, kinds)
}

/// As few buffers as can be: each is as large as a picture. `None`: as before.
#[cfg(feature = "input")]
pub(super) fn few_buffers() -> Option<Vec<u8>> {
    let count = ChoiceEnum::Range {
        default: 2,
        min: 2,
        max: 16,
    };
    buffers(SPA_PARAM_BUFFERS_buffers, count)
}

/// Where the pointer is, with each buffer. `None`: as before.
#[cfg(feature = "input")]
pub(super) fn cursor() -> Option<Vec<u8>> {
    // The pointer's picture, which compositors also send, has up to so many pixels to each side.
    let bytes_of = |side: usize| {
        let bytes = size_of::<spa_meta_cursor>() + size_of::<spa_meta_bitmap>() + side * side * 4;
        i32::try_from(bytes).unwrap_or(i32::MAX)
    };
    let size = ChoiceEnum::Range {
        default: bytes_of(64),
        min: bytes_of(0),
        max: bytes_of(1024),
    };
    metadata(SPA_META_Cursor, choice(size))
}

/// Whether a picture is of use, with each buffer. `None`: as before.
pub(super) fn header() -> Option<Vec<u8>> {
    let bytes = i32::try_from(size_of::<spa_meta_header>()).ok()?;
    metadata(SPA_META_Header, Value::Int(bytes))
}

fn metadata(kind: u32, size: Value) -> Option<Vec<u8>> {
    bytes(Object {
        type_: SpaTypes::ObjectParamMeta.as_raw(),
        id: ParamType::Meta.as_raw(),
        properties: vec![
            Property::new(
                SPA_PARAM_META_type,
                Value::Id(pipewire::spa::utils::Id(kind)),
            ),
            Property::new(SPA_PARAM_META_size, size),
        ],
    })
}

fn buffers(key: u32, value: ChoiceEnum<i32>) -> Option<Vec<u8>> {
    bytes(Object {
        type_: SpaTypes::ObjectParamBuffers.as_raw(),
        id: ParamType::Buffers.as_raw(),
        properties: vec![Property::new(key, choice(value))],
    })
}

fn choice(of: ChoiceEnum<i32>) -> Value {
    Value::Choice(ChoiceValue::Int(Choice(ChoiceFlags::empty(), of)))
}

fn bytes(object: Object) -> Option<Vec<u8>> {
    let to = std::io::Cursor::new(Vec::new());
    let written = PodSerializer::serialize(to, &Value::Object(object));
    written.ok().map(|(cursor, _)| cursor.into_inner())
}

/// The format that both sides have agreed on.
///
/// # Errors
/// Why it is not one that is read.
pub(super) fn agreed(format: &Pod) -> Result<Layout, String> {
    let raw = (MediaType::Video, MediaSubtype::Raw);
    if parse_format(format).ok() != Some(raw) {
        return Err("the compositor sends no plain pictures".to_owned());
    }
    let mut info = VideoInfoRaw::new();
    info.parse(format)
        .map_err(|error| format!("the compositor's format can't be read: {error}"))?;
    let is_red_first = match info.format() {
        VideoFormat::BGRx | VideoFormat::BGRA => false,
        VideoFormat::RGBx | VideoFormat::RGBA => true,
        format => return Err(format!("the compositor sends pixels as {format:?}")),
    };
    let Rectangle { width, height } = info.size();
    Layout::new(width, height, is_red_first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(format: VideoFormat, width: u32, height: u32) -> Vec<u8> {
        bytes(object!(
            SpaTypes::ObjectParamFormat,
            ParamType::Format,
            property!(FormatProperties::MediaType, Id, MediaType::Video),
            property!(FormatProperties::MediaSubtype, Id, MediaSubtype::Raw),
            property!(FormatProperties::VideoFormat, Id, format),
            property!(
                FormatProperties::VideoSize,
                Rectangle,
                Rectangle { width, height }
            ),
        ))
        .unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Layout, String> {
        agreed(Pod::from_bytes(bytes).unwrap())
    }

    #[test]
    fn four_formats_are_read() {
        for (name, is_red_first) in [
            (VideoFormat::BGRx, false),
            (VideoFormat::BGRA, false),
            (VideoFormat::RGBx, true),
            (VideoFormat::RGBA, true),
        ] {
            let read = read(&format(name, 30, 20));
            assert_eq!(read, Layout::new(30, 20, is_red_first), "{name:?}");
        }
        for (bad, words) in [
            (format(VideoFormat::NV12, 30, 20), "pixels as"),
            (format(VideoFormat::BGRx, 0, 20), "0 x 20"),
            (format(VideoFormat::BGRx, u32::MAX, u32::MAX), "pixels"),
            (mapped_memory().unwrap(), "no plain pictures"),
            (offered(None).unwrap(), "pixels as"),
        ] {
            let error = read(&bad).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
