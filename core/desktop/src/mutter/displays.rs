//! The monitors, by `org.gnome.Mutter.DisplayConfig`.

use std::collections::HashMap;

use zbus::zvariant::OwnedValue;

use super::lost;
use crate::bus::{Bus, Object};
use crate::error::Result;
use crate::monitor::Monitor;
use crate::rect::Rect;

/// A monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Display {
    pub monitor: Monitor,
    /// How many pixels a picture of it has, to the right and down.
    pub pixels: [u32; 2],
}

type Properties = HashMap<String, OwnedValue>;
/// Connector, vendor, product, serial number.
type Device = (String, String, String, String);
/// Id, width, height, refresh rate, preferred scale, scales.
type Mode = (String, i32, i32, f64, f64, Vec<f64>, Properties);
/// x, y, scale, transform, whether it is the main one, devices that show the same.
type Logical = (i32, i32, f64, u32, bool, Vec<Device>, Properties);
/// What Mutter answers. It begins with a number that changes with the rest.
type CurrentState = (
    u32,
    Vec<(Device, Vec<Mode>, Properties)>,
    Vec<Logical>,
    Properties,
);

const CONFIG: Object<'_> = Object::main(
    "org.gnome.Mutter.DisplayConfig",
    "/org/gnome/Mutter/DisplayConfig",
);
/// Of "layout-mode": places are in units that monitors of a scale have fewer of than pixels.
const LOGICAL_LAYOUT: u32 = 1;

/// The monitors as they are now, the main one first.
pub(crate) fn displays(bus: &Bus) -> Result<Vec<Display>> {
    let state: CurrentState = bus.call(CONFIG, "GetCurrentState", &()).map_err(lost)?;
    Ok(read(&state))
}

/// Leaves out what can't be.
fn read((_, devices, logical, properties): &CurrentState) -> Vec<Display> {
    let is_logical = number(properties, "layout-mode") == Some(LOGICAL_LAYOUT);
    let mut main_first: Vec<&Logical> = logical.iter().collect();
    main_first.sort_by_key(|(_, _, _, _, is_main, ..)| !is_main);
    let displays =
        main_first
            .into_iter()
            .filter_map(|&(x, y, scale, transform, _, ref shown, _)| {
                let device = shown.first()?;
                let (_, modes, _) = devices.iter().find(|(it, ..)| it == device)?;
                let (_, width, height, ..) = modes
                    .iter()
                    .find(|(.., properties)| is_set(properties, "is-current"))?;
                let mut pixels = [u32::try_from(*width).ok()?, u32::try_from(*height).ok()?];
                // By 90 or 270 degrees, mirrored or not.
                if transform % 2 == 1 {
                    pixels.reverse();
                }
                let scale = if is_logical { scale } else { 1.0 };
                let [width, height] = pixels.map(|it| (f64::from(it) / scale).round() as u32);
                let place = Rect {
                    x,
                    y,
                    width,
                    height,
                };
                let name = device.0.clone();
                let is_possible = scale.is_finite() && scale > 0.0 && width > 0 && height > 0;
                is_possible.then_some(Display {
                    monitor: Monitor { name, place },
                    pixels,
                })
            });
    displays.collect()
}

fn number(properties: &Properties, name: &str) -> Option<u32> {
    u32::try_from(properties.get(name)?).ok()
}

fn is_set(properties: &Properties, name: &str) -> bool {
    let value = properties.get(name).map(bool::try_from);
    matches!(value, Some(Ok(true)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(connector: &str) -> Device {
        let [vendor, product, serial] = ["v", "p", "0"].map(str::to_owned);
        (connector.to_owned(), vendor, product, serial)
    }

    fn mode(width: i32, height: i32, is_current: bool) -> Mode {
        let current = HashMap::from([("is-current".to_owned(), OwnedValue::from(is_current))]);
        (String::new(), width, height, 60.0, 1.0, vec![1.0], current)
    }

    fn state(mode: u32, modes: Vec<Mode>, logical: &[(i32, f64, u32, bool, &str)]) -> CurrentState {
        let devices = logical
            .iter()
            .map(|(.., name)| (device(name), modes.clone(), HashMap::new()));
        let logical = logical.iter().map(|&(x, scale, transform, is_main, name)| {
            let shown = vec![device(name)];
            (x, 0, scale, transform, is_main, shown, HashMap::new())
        });
        let properties = HashMap::from([("layout-mode".to_owned(), OwnedValue::from(mode))]);
        (7, devices.collect(), logical.collect(), properties)
    }

    fn found(state: &CurrentState) -> Vec<(String, [u32; 2], [u32; 2])> {
        let displays = read(state).into_iter();
        let size = |place: Rect| [place.width, place.height];
        let all = displays.map(|it| (it.monitor.name, size(it.monitor.place), it.pixels));
        all.collect()
    }

    #[test]
    fn places_are_in_units_of_the_layout() {
        let modes = vec![mode(640, 480, false), mode(2560, 1600, true)];
        let two = [(0, 1.25, 0, false, "A"), (2048, 2.0, 1, true, "B")];
        let logical = state(LOGICAL_LAYOUT, modes.clone(), &two);
        let name = str::to_owned;
        let (upright, turned) = ([2560, 1600], [1600, 2560]);
        assert_eq!(
            found(&logical),
            [
                (name("B"), [800, 1280], turned),
                (name("A"), [2048, 1280], upright)
            ]
        );
        let physical = state(2, modes, &two);
        assert_eq!(
            found(&physical),
            [(name("B"), turned, turned), (name("A"), upright, upright)]
        );
    }

    #[test]
    fn what_can_t_be_is_left_out() {
        let good = vec![mode(640, 480, true)];
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            let bad = state(LOGICAL_LAYOUT, good.clone(), &[(0, scale, 0, true, "A")]);
            assert_eq!(found(&bad), [], "scale {scale}");
        }
        for modes in [
            vec![],
            vec![mode(640, 480, false)],
            vec![mode(-1, 480, true)],
        ] {
            let bad = state(2, modes, &[(0, 1.0, 0, true, "A")]);
            assert_eq!(found(&bad), []);
        }
        let mut unknown = state(2, good, &[(0, 1.0, 0, true, "A")]);
        unknown.1.clear();
        assert_eq!(found(&unknown), []);
    }
}
