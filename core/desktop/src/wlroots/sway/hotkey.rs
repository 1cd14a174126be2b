//! A key that sway reports, whichever window has the keyboard: a binding of sway's, as long as the key is watched.
//!
//! Two bindings are the same for sway only if their flags and layouts are. Few configs have one of a key with these flags
//! and a layout, which would be replaced. Others of the same key have no effect meanwhile, unless they name an input device
//! or a layout: these may take effect in place of this one. Nobody can ask sway whether there are such bindings.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;

use super::Sway;
use super::events::{Event, Events};
#[cfg(feature = "input")]
use super::{RUN_COMMAND, SEND_TICK};
use crate::error::{DesktopError, Result};
use crate::hotkey::Hotkey;
use crate::key::Key;

/// A key that sway reports.
pub struct SwayHotkey {
    sway: Arc<Sway>,
    key: Key,
    events: Events,
    /// The binding modes in which the key is bound. Each mode of sway's has bindings of its own.
    modes: BTreeSet<String>,
}

/// Kinds of events, by `sway-ipc(7)`.
const KINDS: &str = r#"["workspace", "mode", "binding", "tick"]"#;
const WORKSPACE: u32 = 0x8000_0000;
const MODE: u32 = 0x8000_0002;
const BINDING: u32 = 0x8000_0005;
const TICK: u32 = 0x8000_0007;

/// Also while the screen is locked, and while a window gets the keys of bindings.
const FLAGS: &str = "--locked --inhibited";
/// Sway binds a key in one layout of the keyboard, and with just these modifiers.
const LAYOUTS: [&str; 4] = ["Group1", "Group2", "Group3", "Group4"];
const LOCKS: [&str; 4] = ["", "Lock+", "Mod2+", "Lock+Mod2+"];
/// The most modes in which the key is bound.
const MOST_MODES: usize = 100;
/// The most events that are read at once.
const MOST_EVENTS: usize = 100;

/// What is read of events.
#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    change: String,
    binding: Option<Binding>,
    #[serde(default)]
    payload: String,
}

#[derive(Deserialize)]
struct Binding {
    command: String,
}

impl SwayHotkey {
    /// Binds a key.
    ///
    /// # Errors
    /// [`DesktopError::NoHotkey`] when sway does not bind it; [`DesktopError::Lost`].
    pub(crate) fn new(sway: Arc<Sway>, key: Key) -> Result<Self> {
        // Before the key is bound, so that no press is missed.
        let events = sway.subscribe(KINDS)?;
        let mut hotkey = Self {
            sway,
            key,
            events,
            modes: BTreeSet::new(),
        };
        hotkey.bind()?;
        Ok(hotkey)
    }

    /// Binds the key in the mode that is active.
    fn bind(&mut self) -> Result<()> {
        let mode = self.sway.binding_mode()?;
        if self.modes.len() >= MOST_MODES && !self.modes.contains(&mode) {
            return Ok(());
        }
        // What was bound before one failed is removed, too.
        self.modes.insert(mode);
        let bound = self.sway.run(&self.commands("bindsym", &self.command()))?;
        bound.map_err(|reason| DesktopError::NoHotkey { reason })
    }

    /// The messages that remove the key's bindings from the mode that is active then, for the death of this program.
    #[cfg(feature = "input")]
    pub(crate) fn clean_up(&self) -> Result<flowpipe_guardian::CleanUp> {
        let unbind = self.commands("unbindsym", "");
        self.sway
            .prepare([(RUN_COMMAND, &unbind), (SEND_TICK, &self.command())])
    }

    /// Removes the key's bindings from all modes.
    fn unbind(&self) -> Result<()> {
        let unbind = self.commands("unbindsym", "");
        let active = self.sway.binding_mode()?;
        let mut stays = None;
        for mode in &self.modes {
            // What is bound no more is no error.
            if *mode == active {
                drop(self.sway.run(&unbind)?);
            } else if [mode, &active].into_iter().all(|it| can_be_quoted(it)) {
                let there = format!("mode \"{mode}\"; {unbind} mode \"{active}\"");
                drop(self.sway.run(&there)?);
            } else {
                stays = Some(mode);
            }
        }
        // Another run, or this stage after a reload, may have bound the same key.
        self.sway.send_tick(&self.command())?;
        stays.map_or(Ok(()), |mode| {
            let why = format!("the name of a binding mode can't be written in a command: {mode:?}");
            Err(DesktopError::Lost(why))
        })
    }

    /// What sway runs when the key is pressed: nothing. It names the key in the event.
    fn command(&self) -> String {
        format!("nop flowpipe {:#x}", self.key.symbol)
    }

    /// A command for each binding.
    fn commands(&self, name: &str, rest: &str) -> String {
        let mut commands = String::new();
        for layout in LAYOUTS {
            for locks in LOCKS {
                let key = self.key.symbol;
                // Writing to a string does not fail.
                let _ = write!(commands, "{name} {FLAGS} {layout}+{locks}{key:#x} {rest}; ");
            }
        }
        commands
    }

    /// Whether an event reports the key. Binds it again where it is bound no more.
    fn take(&mut self, event: &Event) -> Result<bool> {
        let content: Content = super::read(&event.text)?;
        match event.kind {
            BINDING => {
                let command = content.binding.map(|binding| binding.command);
                return Ok(command == Some(self.command()));
            }
            MODE => self.bind()?,
            TICK if content.payload == self.command() => self.bind()?,
            // Sway has read its config again.
            WORKSPACE if content.change == "reload" => {
                self.modes.clear();
                self.bind()?;
            }
            _ => {}
        }
        Ok(false)
    }
}

/// Whether a mode can be named in a command.
fn can_be_quoted(mode: &str) -> bool {
    !mode.contains(['"', '\\']) && !mode.contains(char::is_control)
}

impl Hotkey for SwayHotkey {
    fn is_pressed(&mut self) -> Result<bool> {
        for _ in 0..MOST_EVENTS {
            let event = self.events.next();
            let event = event.map_err(|error| match self.sway.has_ended() {
                true => DesktopError::Ended,
                false => DesktopError::Lost(format!("sway: {error}")),
            })?;
            match event {
                Some(event) if self.take(&event)? => return Ok(true),
                Some(_) => {}
                None => break,
            }
        }
        Ok(false)
    }
}

impl Drop for SwayHotkey {
    fn drop(&mut self) {
        if let Err(error) = self.unbind()
            && !self.sway.has_ended()
        {
            tracing::warn!(
                "{error}: sway keeps the binding of the hotkey, so that programs do not get the key, until its config \
                 is read again: `swaymsg reload`"
            );
        }
    }
}
