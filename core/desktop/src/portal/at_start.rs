//! Whether the compositor's monitors are as they were when the mouse began. The portal takes places on a monitor in the units
//! and with the size of its start, and does not report that they have changed.

use super::layout::CompositorMonitor;
use crate::error::{DesktopError, Result};
use crate::wlroots::{Outputs, follow_outputs_of_session};

/// How the compositor describes them.
trait Descriptions: Send {
    /// As far as it has reported until now.
    fn known(&mut self) -> Result<Vec<CompositorMonitor>>;
    /// Waits for an answer.
    fn ask(&mut self) -> Result<()>;
}

impl Descriptions for Outputs {
    fn known(&mut self) -> Result<Vec<CompositorMonitor>> {
        let outputs = Self::known(self)?.into_iter();
        Ok(outputs.map(CompositorMonitor::from).collect())
    }

    fn ask(&mut self) -> Result<()> {
        self.all().map(drop)
    }
}

/// The monitors at the start.
pub(super) struct MonitorsAtStart {
    compositor: Box<dyn Descriptions>,
    monitors: Vec<CompositorMonitor>,
}

impl MonitorsAtStart {
    /// Those of the compositor of the session that this program runs in. `None`: it does not describe them.
    pub(super) fn of_session() -> Option<Self> {
        let mut outputs = follow_outputs_of_session().ok()??;
        outputs.all().ok()?;
        Self::of(outputs)
    }

    fn of(mut compositor: impl Descriptions + 'static) -> Option<Self> {
        Some(Self {
            monitors: compositor.known().ok()?,
            compositor: Box::new(compositor),
        })
    }

    /// Waits until the compositor answers.
    ///
    /// # Errors
    /// When it does not.
    pub(super) fn ask(&mut self) -> Result<()> {
        self.compositor.ask()
    }

    /// Checks that they are the same.
    ///
    /// # Errors
    /// When they have changed, and when the compositor does not answer any more.
    pub(super) fn check(&mut self) -> Result<()> {
        match self.compositor.known()? == self.monitors {
            true => Ok(()),
            false => Err(DesktopError::Input(
                "the monitors have changed since the desktop portal has allowed the mouse: start the run again"
                    .to_owned(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::rect::Rect;

    struct Shown(Arc<Mutex<Vec<CompositorMonitor>>>);

    impl Descriptions for Shown {
        fn known(&mut self) -> Result<Vec<CompositorMonitor>> {
            Ok(self.0.lock().unwrap().clone())
        }

        fn ask(&mut self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn another_place_size_or_number_of_monitors_is_a_change() {
        let first = CompositorMonitor {
            name: "DP-1".to_owned(),
            place: Rect {
                x: 0,
                y: 0,
                width: 1280,
                height: 800,
            },
            pixels: [1280, 800],
        };
        let scaled = CompositorMonitor {
            place: Rect {
                width: 1024,
                height: 640,
                ..first.place
            },
            ..first.clone()
        };
        let moved = CompositorMonitor {
            place: Rect {
                x: 1280,
                ..first.place
            },
            ..first.clone()
        };
        let shown = Arc::new(Mutex::new(vec![first.clone()]));
        let mut at_start = MonitorsAtStart::of(Shown(Arc::clone(&shown))).unwrap();
        assert!(at_start.check().is_ok());
        for changed in [
            vec![scaled],
            vec![moved.clone()],
            vec![first.clone(), moved],
            vec![],
        ] {
            *shown.lock().unwrap() = changed;
            let error = at_start.check().unwrap_err().to_string();
            assert!(error.contains("the monitors have changed"), "{error}");
        }
        *shown.lock().unwrap() = vec![first];
        assert!(at_start.check().is_ok());
    }
}
