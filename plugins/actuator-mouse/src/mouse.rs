//! The mouse that is controlled.

use flowpipe_desktop::input::{InputDevice, LateReports, PlaceReports};
use flowpipe_desktop::{Desktop, Rect};
use flowpipe_guardian::{Guardian, GuardianError, Input};
use flowpipe_plugin::message::Button;
use flowpipe_plugin::{Error, Result, tracing};

use crate::config::Config;
use crate::shown::ScreenPixels;
use crate::unreported;

/// Moves the pointer, and presses buttons and keys. Places are in screen pixels.
pub trait Mouse: Send {
    /// Where the pointer is. `None`: the desktop can't be asked. Then a person who moves it is noticed by what the desktop
    /// reports later, or not at all.
    fn place(&mut self) -> Result<Option<[i32; 2]>>;
    /// The buttons that were down when [`Mouse::place`] was asked last, whoever has pressed them, by the numbers of
    /// [`Input::Button`]. Empty where the desktop does not report it.
    fn held_buttons(&self) -> Vec<u8> {
        Vec::new()
    }
    /// Puts the pointer somewhere.
    fn put(&mut self, at: [i32; 2]) -> Result<()>;
    /// Gets ready to press keys, which may take a moment. Before what decides whether a key may be pressed.
    fn prepare_keys(&mut self) -> Result<()> {
        Ok(())
    }
    /// Does what a press needs and may take seconds, and waits until the desktop answers. Right before what decides whether
    /// the press that follows comes too late.
    fn prepare_press(&mut self) -> Result<()> {
        Ok(())
    }
    /// Presses a button or a key. Returns why it was not pressed, if it may be planned again.
    fn press(&mut self, input: Input) -> Result<Option<String>>;
    /// Looks whether what is pressed may stay so. An error means that it has to be released now.
    fn check(&mut self) -> Result<()>;
    /// Releases a button or a key.
    fn release(&mut self, input: Input) -> Result<()>;
    /// Whether the desktop has passed on all that was sent.
    fn is_passed_on(&mut self) -> Result<bool> {
        Ok(true)
    }
    /// Whether pictures of the screen may contain the pointer.
    fn is_captured(&self) -> bool {
        false
    }
    /// The pixels of a part of the screen, where the desktop gives them at once.
    fn pixels(&mut self, _part: Rect) -> Option<Vec<u8>> {
        None
    }
}

/// The system's own mouse and keyboard, with a guardian that releases what is pressed when this process dies.
pub struct SystemMouse {
    device: Box<dyn InputDevice>,
    /// `None` on systems that have none.
    guardian: Option<Guardian>,
    /// Whether the guardian has to guard on another display server before a key is pressed.
    must_switch: bool,
    pixels: ScreenPixels,
}

impl SystemMouse {
    /// Takes hold of them. Returns also what the desktop reports later of where the pointer is, where that is asked for.
    ///
    /// # Errors
    /// When the system does not let this program move the mouse, reports less than the config accepts, or what is
    /// pressed would stay so when this process dies.
    pub fn new(desktop: &Desktop, config: &Config) -> Result<(Self, Option<Box<dyn LateReports>>)> {
        let mut device = match config.libei {
            true => desktop.input()?,
            false => desktop.input_without_libei()?,
        };
        if let Some(way) = device.way() {
            tracing::info!("the mouse acts through {way}");
        }
        let is_wanted = desktop.capabilities().pointer && (config.by_hand || config.corners);
        let reports = match is_wanted {
            true => device.place_reports()?,
            false => PlaceReports::OnDemand,
        };
        let reports = match reports {
            PlaceReports::OnDemand => None,
            PlaceReports::Later(reports) => Some(reports),
            PlaceReports::Never(why) => {
                unreported::pointer(&why, config)?;
                None
            }
        };
        let started = match device.display_server() {
            Some(server) => Guardian::start(server),
            None => Err(GuardianError::Unsupported),
        };
        let guardian = match started {
            Ok(guardian) => Some(guardian),
            Err(error @ GuardianError::Unsupported) => {
                tracing::warn!("{error}");
                None
            }
            Err(error) => return Err(unguarded(error)),
        };
        let mouse = Self {
            device,
            guardian,
            must_switch: false,
            pixels: ScreenPixels::of(desktop),
        };
        Ok((mouse, reports))
    }
}

/// A button, as display servers count.
pub fn button(button: Button) -> Input {
    Input::Button(match button {
        Button::Left => 1,
        Button::Middle => 2,
        Button::Right => 3,
    })
}

fn unguarded(error: GuardianError) -> Error {
    Error::new(format!("nothing is pressed: {error}"))
}

impl Mouse for SystemMouse {
    fn place(&mut self) -> Result<Option<[i32; 2]>> {
        Ok(self.device.place()?)
    }

    fn held_buttons(&self) -> Vec<u8> {
        self.device.held_buttons()
    }

    fn put(&mut self, at: [i32; 2]) -> Result<()> {
        Ok(self.device.put(at)?)
    }

    fn prepare_keys(&mut self) -> Result<()> {
        self.device.check()?;
        // The device reports it once, and the guardian may fail.
        self.must_switch |= self.device.prepare_keys()?;
        if self.must_switch
            && let (Some(guardian), Some(server)) =
                (&mut self.guardian, self.device.display_server())
        {
            guardian.switch_to(server).map_err(unguarded)?;
        }
        self.must_switch = false;
        Ok(())
    }

    fn prepare_press(&mut self) -> Result<()> {
        // With the device, the guardian ends too, and can't say why.
        self.device.check()?;
        if let Some(guardian) = &mut self.guardian {
            guardian.restart_if_dead().map_err(unguarded)?;
        }
        Ok(self.device.wait_for_answer()?)
    }

    fn press(&mut self, input: Input) -> Result<Option<String>> {
        self.device.check()?;
        if let Some(guardian) = &mut self.guardian {
            match guardian.pressed(input) {
                // It is restarted before the next press, which takes too long here.
                Err(killed @ GuardianError::Killed) => return Ok(Some(killed.to_string())),
                recorded => recorded.map_err(unguarded)?,
            }
        }
        match self.device.press(input) {
            Err(refused) if refused.is_refused_press() => {
                if let Some(guardian) = &mut self.guardian {
                    guardian.released(input);
                }
                Ok(Some(refused.to_string()))
            }
            pressed => Ok(pressed.map(|()| None)?),
        }
    }

    fn check(&mut self) -> Result<()> {
        self.device.check()?;
        match &mut self.guardian {
            Some(guardian) => guardian.check().map_err(|error| {
                Error::new(format!(
                    "the gesture ends, and what is pressed is released: {error}"
                ))
            }),
            None => Ok(()),
        }
    }

    fn release(&mut self, input: Input) -> Result<()> {
        // It comes back when the display server has done it.
        self.device.release(input)?;
        if let Some(guardian) = &mut self.guardian {
            guardian.released(input);
        }
        Ok(())
    }

    fn is_passed_on(&mut self) -> Result<bool> {
        Ok(self.device.is_passed_on()?)
    }

    fn is_captured(&self) -> bool {
        self.device.is_captured()
    }

    fn pixels(&mut self, part: Rect) -> Option<Vec<u8>> {
        self.pixels.read(part)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::cell::Cell;
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use flowpipe_desktop::DesktopError;
    use flowpipe_desktop::input::DisplayServer;
    use flowpipe_guardian::PreparedReleases;

    use super::*;

    type DesktopResult<T> = std::result::Result<T, DesktopError>;

    /// A device whose keyboard is new the first time. On its display server nobody can guard at first.
    struct NewKeyboard {
        is_new: bool,
        failures: Cell<u32>,
        /// Why the next press is refused.
        refusal: Option<DesktopError>,
        presses: Arc<AtomicU32>,
    }

    impl InputDevice for NewKeyboard {
        fn place(&mut self) -> DesktopResult<Option<[i32; 2]>> {
            Ok(None)
        }

        fn put(&mut self, _: [i32; 2]) -> DesktopResult<()> {
            Ok(())
        }

        fn prepare_keys(&mut self) -> DesktopResult<bool> {
            Ok(std::mem::take(&mut self.is_new))
        }

        fn press(&mut self, _: Input) -> DesktopResult<()> {
            if let Some(refusal) = self.refusal.take() {
                return Err(refusal);
            }
            self.presses.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }

        fn release(&mut self, _: Input) -> DesktopResult<()> {
            Ok(())
        }

        fn display_server(&self) -> Option<DisplayServer> {
            let failures = self.failures.get();
            self.failures.set(failures.saturating_sub(1));
            Some(match failures {
                0 => server(),
                _ => DisplayServer::X11 {
                    display: "nowhere".to_owned(),
                },
            })
        }
    }

    #[expect(
        clippy::unwrap_used,
        reason = "a test helper that can't go on should panic"
    )]
    fn server() -> DisplayServer {
        let (socket, other_end) = UnixStream::pair().unwrap();
        // Without it, the guardian ends. It stays open as long as this process.
        std::mem::forget(other_end);
        DisplayServer::Shared(Arc::new(PreparedReleases {
            socket,
            releases: Vec::new(),
            time_from_end: None,
        }))
    }

    #[test]
    fn no_key_is_prepared_before_the_guardian_guards_its_keyboard() {
        let device = NewKeyboard {
            is_new: true,
            failures: Cell::new(2),
            refusal: None,
            presses: Arc::default(),
        };
        let guardian = Guardian::start(server()).unwrap();
        let before = guardian.id();
        let mut mouse = SystemMouse {
            device: Box::new(device),
            guardian: Some(guardian),
            must_switch: false,
            pixels: ScreenPixels::Unavailable,
        };
        for _ in 0..2 {
            let error = mouse.prepare_keys().unwrap_err().to_string();
            assert!(error.contains("nothing is pressed"), "{error}");
        }
        mouse.prepare_keys().unwrap();
        let guards = |mouse: &SystemMouse| mouse.guardian.as_ref().map(Guardian::id);
        let after = guards(&mouse);
        assert_ne!(after, Some(before));
        mouse.prepare_keys().unwrap();
        assert_eq!(guards(&mouse), after, "once");
    }

    /// The restart of a guardian may take seconds, and a press must follow what has decided on it.
    #[test]
    fn a_press_does_not_wait_for_a_guardian_that_was_killed() {
        let guardian = Guardian::start(server()).unwrap();
        let id = guardian.id();
        let presses = Arc::<AtomicU32>::default();
        let device = NewKeyboard {
            is_new: false,
            failures: Cell::new(0),
            refusal: None,
            presses: Arc::clone(&presses),
        };
        let mut mouse = SystemMouse {
            device: Box::new(device),
            guardian: Some(guardian),
            must_switch: false,
            pixels: ScreenPixels::Unavailable,
        };
        let kill = format!("kill -KILL {id}");
        let killed = Command::new("sh").args(["-c", &kill]).status().unwrap();
        assert!(killed.success());
        while !std::fs::read_to_string(format!("/proc/{id}/stat"))
            .unwrap()
            .contains(") Z ")
        {
            std::thread::yield_now();
        }
        let refused = mouse.press(Input::Button(1)).unwrap().unwrap();
        assert!(refused.contains("was killed or stopped"), "{refused}");
        assert_eq!(presses.load(Ordering::Relaxed), 0);
        mouse.prepare_press().unwrap();
        assert_ne!(mouse.guardian.as_ref().map(Guardian::id), Some(id));
        assert_eq!(mouse.press(Input::Button(1)).unwrap(), None);
        assert_eq!(presses.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_the_desktop_refuses_to_press_may_be_planned_again() {
        let device = NewKeyboard {
            is_new: false,
            failures: Cell::new(0),
            refusal: Some(DesktopError::MonitorsChanged),
            presses: Arc::default(),
        };
        let mut mouse = SystemMouse {
            device: Box::new(device),
            guardian: Some(Guardian::start(server()).unwrap()),
            must_switch: false,
            pixels: ScreenPixels::Unavailable,
        };
        let refused = mouse.press(Input::Button(1)).unwrap().unwrap();
        assert!(refused.contains("the monitors have changed"), "{refused}");
        assert_eq!(mouse.press(Input::Button(1)).unwrap(), None);
    }
}
