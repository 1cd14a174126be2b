//! What pictures may look like, and what they look like then, in PipeWire's terms.

use pipewire::spa::param::ParamType;
use pipewire::spa::param::format::{FormatProperties, MediaSubtype, MediaType};
use pipewire::spa::param::format_utils::parse_format;
use pipewire::spa::param::video::{VideoFormat, VideoInfoRaw};
use pipewire::spa::pod::serialize::PodSerializer;
use pipewire::spa::pod::{
    ChoiceValue, Object, Pod, Property, PropertyFlags, Value, object, property,
};
#[cfg(feature = "input")]
use pipewire::spa::sys::SPA_PARAM_BUFFERS_buffers;
use pipewire::spa::sys::{
    SPA_CHOICE_Enum as ENUM, SPA_CHOICE_None as NONE, SPA_DATA_DmaBuf, SPA_DATA_MemFd,
    SPA_META_Header, SPA_META_VideoDamage, SPA_PARAM_BUFFERS_dataType, SPA_PARAM_META_size,
    SPA_PARAM_META_type, SPA_POD_PROP_FLAG_DONT_FIXATE, SPA_POD_PROP_FLAG_MANDATORY,
    SPA_TYPE_Choice as CHOICE, SPA_TYPE_Long as LONG, spa_meta_header, spa_meta_region,
};
use pipewire::spa::sys::{SPA_META_Cursor, spa_meta_bitmap, spa_meta_cursor};
use pipewire::spa::utils::{Choice, ChoiceEnum, ChoiceFlags, Fraction, Rectangle, SpaTypes};

use super::rows::Layout;

/// The longest side of a picture, in pixels.
const LONGEST: u32 = 1 << 15;

/// What rows of pixels without tiles and compression are called among the layouts of devices (`DRM_FORMAT_MOD_LINEAR`).
const LINEAR: i64 = 0;

/// What both sides have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    pub layout: Layout,
    /// Whether the pixels are in memory of a device, as rows.
    pub is_dma_buf: bool,
}

/// The formats that are read, the preferred one first. `most_a_second`: how many pictures are to come at most each second,
/// also of those that only say where the pointer is. `with_dma_buf`: also those in memory of a device. `None`: the library
/// can't write them.
///
/// Memory is preferred to that of a device, which is taken of a compositor that sends no other. PipeWire tries the formats
/// of the receiver in their order. A graphics card is fast at copying a picture to memory that the processor caches, while the
/// processor often reads the card's own memory without its caches and across a bus.
pub(super) fn offered(most_a_second: Option<u32>, with_dma_buf: bool) -> Option<Vec<Vec<u8>>> {
    let mut offered = vec![bytes(plain(most_a_second))?];
    if with_dma_buf {
        let mut linear = plain(most_a_second);
        // After what the format is, as PipeWire's own programs do.
        linear.properties.insert(3, modifier());
        offered.push(bytes(linear)?);
    }
    Some(offered)
}

/// The one layout of a device's memory that is read. A layout that only its driver knows (`DRM_FORMAT_MOD_INVALID`) is none:
/// nothing says that it has rows. As PipeWire demands, the other side then makes buffers to see which layouts they can have.
fn modifier() -> Property {
    let linear = ChoiceEnum::Enum {
        default: LINEAR,
        alternatives: vec![LINEAR],
    };
    Property {
        key: FormatProperties::VideoModifier.as_raw(),
        flags: PropertyFlags::from_bits_retain(
            SPA_POD_PROP_FLAG_MANDATORY | SPA_POD_PROP_FLAG_DONT_FIXATE,
        ),
        value: Value::Choice(ChoiceValue::Long(Choice(ChoiceFlags::empty(), linear))),
    }
}

fn plain(most_a_second: Option<u32>) -> Object {
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
    offered
}

/// The memory in which pictures are to come: such that this process can map. `None`: as before.
pub(super) fn mapped_memory(is_dma_buf: bool) -> Option<Vec<u8>> {
    let kind = match is_dma_buf {
        true => SPA_DATA_DmaBuf,
        false => SPA_DATA_MemFd,
    };
    let kinds = ChoiceEnum::Flags {
        default: 1 << kind,
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

/// What the buffers of pictures are to be like. `with_cursor`: whether another stream reads from them where the pointer is.
pub(super) fn pictures(agreed: &Agreed, with_cursor: bool) -> Vec<Option<Vec<u8>>> {
    let cursor = with_cursor.then(cursor).flatten();
    vec![mapped_memory(agreed.is_dma_buf), header(), cursor]
}

/// Whether a picture is of use, with each buffer. `None`: as before.
pub(super) fn header() -> Option<Vec<u8>> {
    let bytes = i32::try_from(size_of::<spa_meta_header>()).ok()?;
    metadata(SPA_META_Header, Value::Int(bytes))
}

/// Which regions have changed, with each buffer. `None`: as before.
pub(super) fn regions() -> Option<Vec<u8>> {
    let bytes_of = |count: usize| i32::try_from(count * size_of::<spa_meta_region>());
    // As Mutter offers it.
    let size = ChoiceEnum::Range {
        default: bytes_of(32).ok()?,
        min: bytes_of(1).ok()?,
        max: bytes_of(32).ok()?,
    };
    metadata(SPA_META_VideoDamage, choice(size))
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
pub(super) fn agreed(format: &Pod) -> Result<Agreed, String> {
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
        format => {
            let name = format!("{format:?}");
            let name = name.strip_prefix("VideoFormat::").unwrap_or(&name);
            return Err(format!(
                "the compositor sends pixels as {name}, which is not read here"
            ));
        }
    };
    let Rectangle { width, height } = info.size();
    Ok(Agreed {
        layout: Layout::new(width, height, is_red_first)?,
        is_dma_buf: is_linear(format)?,
    })
}

/// Whether the pixels are rows in memory of a device. PipeWire also agrees on formats that were not offered, such as that of
/// another receiver.
///
/// # Errors
/// When they are in such memory, but may not be rows.
fn is_linear(format: &Pod) -> Result<bool, String> {
    let key = pipewire::spa::utils::Id(FormatProperties::VideoModifier.as_raw());
    let object = format.as_object();
    let object =
        object.map_err(|error| format!("the compositor's format can't be read: {error}"))?;
    let Some(modifier) = object.find_prop(key) else {
        return Ok(false);
    };
    let are_all_linear = modifiers(modifier.value().as_bytes())
        .is_some_and(|them| them.iter().all(|it| *it == LINEAR));
    match are_all_linear {
        true => Ok(true),
        false => Err("the compositor sends pictures as DMA-BUF that may not be rows".to_owned()),
    }
}

/// The modifiers of a value: one, or those that the other side chooses from before it has made a buffer. `None`: it is another
/// value. The crate's own reader panics at malformed ones.
fn modifiers(value: &[u8]) -> Option<Vec<i64>> {
    let number =
        |bytes: &[u8], at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let size = usize::try_from(number(value, 0)?).ok()?;
    let content = value.get(8..)?.get(..size)?;
    let longs = match number(value, 4)? {
        LONG => content.get(..8)?,
        CHOICE => {
            let [kind, _, size, of] = [0, 4, 8, 12].map(|at| number(content, at));
            let longs = content.get(16..)?;
            match (size?, of?, kind?) {
                (8, LONG, NONE) => longs.get(..8)?,
                (8, LONG, ENUM) => longs,
                _ => return None,
            }
        }
        _ => return None,
    };
    let (longs, rest) = longs.as_chunks();
    let is_whole = rest.is_empty() && !longs.is_empty();
    is_whole.then(|| longs.iter().map(|it| i64::from_ne_bytes(*it)).collect())
}

#[cfg(test)]
mod tests {
    use pipewire::spa::sys::{SPA_TYPE_Int, SPA_TYPE_Pointer, SPA_TYPE_String};

    use super::*;

    fn format(format: VideoFormat, width: u32, height: u32) -> Vec<u8> {
        bytes(object(format, width, height)).unwrap()
    }

    fn object(format: VideoFormat, width: u32, height: u32) -> Object {
        object!(
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
        )
    }

    fn read(bytes: &[u8]) -> Result<Agreed, String> {
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
            let layout = Layout::new(30, 20, is_red_first).unwrap();
            let is_dma_buf = false;
            let wanted = Agreed { layout, is_dma_buf };
            assert_eq!(read, Ok(wanted), "{name:?}");
        }
        for (bad, words) in [
            (format(VideoFormat::NV12, 30, 20), "pixels as"),
            (format(VideoFormat::BGRx, 0, 20), "0 x 20"),
            (format(VideoFormat::BGRx, u32::MAX, u32::MAX), "pixels"),
            (mapped_memory(false).unwrap(), "no plain pictures"),
            (offered(None, false).unwrap().remove(0), "pixels as"),
        ] {
            let error = read(&bad).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    /// A format with a modifier.
    fn with_modifier(value: Value) -> Vec<u8> {
        let mut format = object(VideoFormat::BGRx, 30, 20);
        let key = FormatProperties::VideoModifier.as_raw();
        format.properties.insert(3, Property::new(key, value));
        bytes(format).unwrap()
    }

    #[test]
    fn only_rows_are_read_of_a_device() {
        let choice = |of| Value::Choice(ChoiceValue::Long(Choice(ChoiceFlags::empty(), of)));
        let any = |default, alternatives: &[i64]| {
            choice(ChoiceEnum::Enum {
                default,
                alternatives: alternatives.to_vec(),
            })
        };
        // Intel's tiles of kind X, and what only a driver knows.
        let (tiles, implicit) = (1 << 56 | 1, (1 << 56) - 1);
        for linear in [Value::Long(0), any(0, &[0]), any(0, &[])] {
            let read = read(&with_modifier(linear.clone()));
            assert!(read.unwrap().is_dma_buf, "{linear:?}");
        }
        for other in [
            Value::Long(tiles),
            Value::Long(implicit),
            any(0, &[0, tiles]),
            any(implicit, &[0]),
            choice(ChoiceEnum::Range {
                default: 0,
                min: 0,
                max: 0,
            }),
            Value::Int(0),
        ] {
            let error = read(&with_modifier(other.clone())).unwrap_err();
            assert!(error.contains("may not be rows"), "{other:?}: {error}");
        }
        // As no library writes them: the size, the type, and what follows.
        let long = |it: i64| it.to_ne_bytes().to_vec();
        let numbers = |them: &[u32]| {
            them.iter()
                .flat_map(|it| it.to_ne_bytes())
                .collect::<Vec<_>>()
        };
        let (of_longs, any) = (LONG, ENUM);
        for (kind, content) in [
            (LONG, numbers(&[0])),
            (LONG, Vec::new()),
            (SPA_TYPE_String, Vec::new()),
            (SPA_TYPE_Pointer, vec![0; 24]),
            (CHOICE, numbers(&[any, 0])),
            (CHOICE, numbers(&[any, 0, 0, of_longs])),
            (CHOICE, numbers(&[any, 0, 8, of_longs])),
            (CHOICE, numbers(&[any, 0, 4, SPA_TYPE_Int, 0])),
            (
                CHOICE,
                [numbers(&[any, 0, 8, of_longs]), long(0), vec![0]].concat(),
            ),
        ] {
            let header = numbers(&[content.len() as u32, kind]);
            assert_eq!(modifiers(&[header, content].concat()), None, "{kind}");
        }
        let cut_off = numbers(&[8, LONG, 0]);
        assert_eq!(modifiers(&cut_off), None);
        assert_eq!(offered(None, false).unwrap().len(), 1);
        let offered = offered(None, true).unwrap();
        let with_modifier: Vec<bool> = offered
            .iter()
            .map(|it| is_linear(Pod::from_bytes(it).unwrap()).unwrap())
            .collect();
        assert_eq!(with_modifier, [false, true], "memory is preferred");
    }
}
