//! What a person has chosen to be seen, as the portal describes it. What it says is not trusted.
//!
//! The portal does not say where a window is. So a window, and a monitor without a place, lies at [`NOWHERE`], beyond all
//! monitors: no mouse acts there, whichever monitor it was given.

#[cfg(any(feature = "input", test))]
use std::collections::HashMap;

use zbus::zvariant::{OwnedValue, Value};

use super::offer::{MONITOR, WINDOW};
use super::request::{Results, unreadable};
use crate::rect::Rect;

/// A monitor or a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChosenSource {
    /// PipeWire's number of its pictures.
    pub node: u32,
    pub kind: SourceKind,
    /// Where it is on the screen, in units of the compositor.
    pub position: Option<[i32; 2]>,
    /// How wide and high it is, in units of the compositor.
    pub size: Option<[u32; 2]>,
    /// The name of the region of emulated input that it is.
    pub mapping_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceKind {
    Monitor,
    Window,
    /// Another one, or it is not said.
    Unknown,
}

/// Where something lies of which it is not known.
pub(super) const NOWHERE: [i32; 2] = [1_000_000, 1_000_000];
/// No screen of today is wider or higher, or further away, in the compositor's units.
const FARTHEST: i32 = 1 << 17;

impl ChosenSource {
    /// The one that was chosen, out of the answer to Start. `asked`: what could be chosen, as the bits of `types`. What could
    /// not be is not believed: the portal of wlroots' compositors calls its monitors windows.
    ///
    /// # Errors
    /// When there is none, or it can't be read.
    pub(super) fn of(results: &Results, asked: u32) -> Result<Self, String> {
        let bad = || unreadable("streams");
        let Some(streams) = results.get("streams") else {
            return Err("the desktop portal sends no pictures: nothing was chosen".to_owned());
        };
        let Value::Array(streams) = &**streams else {
            return Err(bad());
        };
        let Some(stream) = streams.iter().next() else {
            return Err("the desktop portal sends no pictures: nothing was chosen".to_owned());
        };
        let stream = stream.try_to_owned().map_err(|_| bad())?;
        let (node, properties): (u32, Results) = stream.try_into().map_err(|_| bad())?;
        let pair = |name: &str| -> Result<Option<[i32; 2]>, String> {
            let Some(value) = properties.get(name) else {
                return Ok(None);
            };
            let value = value.try_clone().map_err(|_| bad())?;
            let (x, y): (i32, i32) = value.try_into().map_err(|_| bad())?;
            let is_possible = [x, y].iter().all(|it| (-FARTHEST..=FARTHEST).contains(it));
            is_possible.then_some(Some([x, y])).ok_or_else(bad)
        };
        let size = pair("size")?;
        if size.is_some_and(|size| size.iter().any(|&length| length < 1)) {
            return Err(bad());
        }
        let size = size.map(|size| size.map(i32::unsigned_abs));
        let kind = match properties.get("source_type").map(u32::try_from) {
            Some(Ok(_)) if asked == MONITOR => SourceKind::Monitor,
            Some(Ok(MONITOR)) => SourceKind::Monitor,
            Some(Ok(WINDOW)) => SourceKind::Window,
            Some(Err(_)) => return Err(bad()),
            _ => SourceKind::Unknown,
        };
        Ok(Self {
            node,
            kind,
            // Of a window it would be that of no monitor.
            position: pair("position")?.filter(|_| kind != SourceKind::Window),
            size,
            mapping_id: properties
                .get("mapping_id")
                .and_then(text)
                .map(str::to_owned),
        })
    }

    /// It in the portal's words, as [`Self::of`] reads them.
    #[cfg(feature = "input")]
    pub(super) fn results(&self) -> HashMap<&'static str, Value<'static>> {
        let kind = match self.kind {
            SourceKind::Monitor => Some(MONITOR),
            SourceKind::Window => Some(WINDOW),
            SourceKind::Unknown => None,
        };
        let size = self.size.map(|size| size.map(u32::cast_signed));
        let pair = |[x, y]: [i32; 2]| Value::new((x, y));
        let properties = [
            ("position", self.position.map(pair)),
            ("size", size.map(pair)),
            ("source_type", kind.map(Value::new)),
        ];
        let properties = properties.into_iter();
        let properties: HashMap<&str, Value<'static>> = properties
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        HashMap::from([("streams", Value::new(vec![(self.node, properties)]))])
    }

    /// Its place, with a width and height in units of the compositor.
    pub(super) fn place(&self, [width, height]: [u32; 2]) -> Rect {
        let [x, y] = self.position.unwrap_or(NOWHERE);
        Rect {
            x,
            y,
            width,
            height,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self.kind {
            SourceKind::Monitor => "the chosen monitor",
            SourceKind::Window => "the chosen window",
            SourceKind::Unknown => "what was chosen",
        }
    }
}

/// The text of a value.
pub(super) fn text(value: &OwnedValue) -> Option<&str> {
    match &**value {
        Value::Str(text) => Some(text.as_str()),
        Value::ObjectPath(path) => Some(path.as_str()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Properties = Vec<(&'static str, Value<'static>)>;

    fn read(streams: Value<'static>) -> Result<ChosenSource, String> {
        let streams = OwnedValue::try_from(streams).unwrap();
        ChosenSource::of(
            &HashMap::from([("streams".to_owned(), streams)]),
            MONITOR | WINDOW,
        )
    }

    fn one(properties: Properties) -> Result<ChosenSource, String> {
        let properties: HashMap<&str, Value<'static>> = properties.into_iter().collect();
        read(Value::new(vec![(7_u32, properties)]))
    }

    #[test]
    fn a_monitor_has_its_place_and_a_window_none() {
        let place = || {
            vec![
                ("position", Value::new((-1920, 40))),
                ("size", Value::new((1280, 800))),
            ]
        };
        let of = |kind: u32| {
            let mut properties = place();
            properties.push(("source_type", Value::new(kind)));
            one(properties).unwrap()
        };
        let monitor = of(MONITOR);
        assert_eq!((monitor.node, monitor.kind), (7, SourceKind::Monitor));
        assert_eq!(monitor.position, Some([-1920, 40]));
        let size = monitor.size.unwrap();
        let Rect { x, width, .. } = monitor.place(size);
        assert_eq!((x, width), (-1920, 1280));
        let window = of(WINDOW);
        assert_eq!(window.position, None);
        assert_eq!(window.place(size).x, NOWHERE[0]);
        assert_eq!(one(vec![]).unwrap().place([5, 6]).y, NOWHERE[1]);
    }

    #[cfg(feature = "input")]
    #[test]
    fn its_own_words_are_read_again() {
        let size = || ("size", Value::new((640, 480)));
        let position = || ("position", Value::new((-7, 9)));
        for properties in [
            vec![],
            vec![position(), size(), ("source_type", Value::new(MONITOR))],
            vec![size(), ("source_type", Value::new(WINDOW))],
        ] {
            let source = one(properties).unwrap();
            let words = source.results().into_iter();
            let words = words.map(|(name, value)| {
                let value = OwnedValue::try_from(value).unwrap();
                (name.to_owned(), value)
            });
            let again = ChosenSource::of(&words.collect(), MONITOR | WINDOW);
            assert_eq!(again.unwrap(), source);
        }
    }

    #[test]
    fn what_can_t_be_is_refused() {
        for (name, value) in [
            ("position", Value::new("far")),
            ("position", Value::new((i32::MAX, 0))),
            ("position", Value::new((0, i32::MIN))),
            ("size", Value::new((0, 5))),
            ("size", Value::new((5, -5))),
            ("size", Value::new((1 << 20, 5))),
            ("size", Value::new((5_u32, 5_u32))),
            ("source_type", Value::new("window")),
        ] {
            let shown = format!("{name} {value:?}");
            assert!(one(vec![(name, value)]).is_err(), "{shown}");
        }
        for streams in [
            Value::new(5_u32),
            Value::new("streams"),
            Value::new(vec![1_u32]),
            Value::new(vec!["a"]),
            Value::new(Vec::<(u32, HashMap<String, Value<'static>>)>::new()),
        ] {
            let shown = format!("{streams:?}");
            assert!(read(streams).is_err(), "{shown}");
        }
        assert!(
            ChosenSource::of(&HashMap::new(), MONITOR)
                .unwrap_err()
                .contains("nothing was chosen")
        );
    }
}
