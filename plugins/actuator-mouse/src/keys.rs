//! The keys that gestures name.

use std::collections::HashMap;

use flowpipe_desktop::DesktopError;
use flowpipe_plugin::message::{Action, Gestures};
use flowpipe_plugin::{Error, Result};

/// The codes of keys, by their names.
#[derive(Debug, Default)]
pub struct Keys(HashMap<String, u8>);

impl Keys {
    /// Looks up the keys of some gestures, before anything is played.
    ///
    /// # Errors
    /// When there is no such key, or the system has no codes of keys.
    pub fn of(
        gestures: &Gestures,
        look_up: impl Fn(&str) -> std::result::Result<u8, DesktopError>,
    ) -> Result<Self> {
        let mut codes = HashMap::new();
        for action in gestures.actions() {
            let Action::Key { name, .. } = action else {
                continue;
            };
            if !codes.contains_key(name) {
                let code = look_up(name).map_err(|error| Error::bad_message(error.to_string()))?;
                codes.insert(name.clone(), code);
            }
        }
        Ok(Self(codes))
    }

    /// The code of one of these keys.
    ///
    /// # Errors
    /// When it was not looked up.
    pub fn code(&self, name: &str) -> Result<u8> {
        self.0
            .get(name)
            .copied()
            .ok_or_else(|| Error::bad_message(format!("the key {name:?} is not known")))
    }
}
