//! The monitors as they were described last: a question to Mutter takes longer than a capture. Mutter reports changes by the
//! signal `MonitorsChanged` of `org.gnome.Mutter.DisplayConfig`.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zbus::message::Message;

use super::displays::{self, Display};
use crate::bus::Bus;
use crate::error::Result;

/// What is heard on the bus.
const RULE: &str = "type='signal',sender='org.gnome.Mutter.DisplayConfig',interface='org.gnome.Mutter.DisplayConfig',\
                    member='MonitorsChanged'";

pub(super) struct KnownDisplays {
    known: Arc<Mutex<Known>>,
    /// Whether changes are not heard any more. `None`: they never were.
    is_deaf: Option<Arc<AtomicBool>>,
}

#[derive(Default)]
struct Known {
    displays: Option<Vec<Display>>,
    /// How many changes were heard.
    changes: u64,
}

impl KnownDisplays {
    /// Begins to hear of changes, until the connection ends.
    pub(super) fn listen(bus: &Bus) -> Self {
        let known = Arc::<Mutex<Known>>::default();
        let heard = Arc::clone(&known);
        let listening = bus.listen("mutter-monitors", &[RULE], || {
            Ok(move |_: &Message| {
                lock(&heard).change();
                ControlFlow::Continue(())
            })
        });
        Self {
            known,
            is_deaf: listening.ok(),
        }
    }

    /// Asks Mutter for the monitors as they are now.
    pub(super) fn ask(&self, bus: &Bus) -> Result<Vec<Display>> {
        let before = self.changes();
        let displays = displays::displays(bus)?;
        lock(&self.known).learn(&displays, before);
        Ok(displays)
    }

    /// The monitors as they were before a change that may just be on its way.
    pub(super) fn last(&self, bus: &Bus) -> Result<Vec<Display>> {
        let known = lock(&self.known).displays.clone();
        match known.filter(|_| self.are_changes_heard()) {
            Some(displays) => Ok(displays),
            None => self.ask(bus),
        }
    }

    /// Whether a change was heard since these monitors were described. Asks nothing.
    #[cfg(feature = "input")]
    pub(super) fn have_changed_since(&self, displays: &[Display]) -> bool {
        let known = lock(&self.known);
        self.are_changes_heard() && known.displays.as_deref() != Some(displays)
    }

    fn are_changes_heard(&self) -> bool {
        let is_deaf = self.is_deaf.as_ref();
        is_deaf.is_some_and(|is_deaf| !is_deaf.load(Ordering::Acquire))
    }

    /// How many changes were heard.
    pub(super) fn changes(&self) -> u64 {
        lock(&self.known).changes
    }
}

impl Known {
    /// The monitors have changed.
    fn change(&mut self) {
        self.changes += 1;
        self.displays = None;
    }

    /// Mutter has described them, when it was asked after so many changes.
    fn learn(&mut self, displays: &[Display], changes: u64) {
        if self.changes == changes {
            self.displays = Some(displays.to_vec());
        }
    }
}

fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    // Nothing in it can be left half done.
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_programs_report_no_changes() {
        let rule = zbus::MatchRule::try_from(RULE).unwrap();
        let sender = rule.sender().map(ToString::to_string);
        assert_eq!(sender.as_deref(), Some("org.gnome.Mutter.DisplayConfig"));
    }

    #[cfg(feature = "input")]
    #[test]
    fn a_change_counts_until_mutter_has_described_the_monitors() {
        let heard = |is_heard: bool| KnownDisplays {
            known: Arc::default(),
            is_deaf: Some(Arc::new(AtomicBool::new(!is_heard))),
        };
        let (displays, deaf) = (heard(true), heard(false));
        lock(&displays.known).learn(&[], 0);
        assert!(!displays.have_changed_since(&[]));
        lock(&displays.known).change();
        assert!(displays.have_changed_since(&[]));
        assert!(!deaf.have_changed_since(&[]), "nobody reports it");
    }

    #[test]
    fn what_was_asked_before_a_change_is_not_kept() {
        let mut known = Known::default();
        known.learn(&[], 0);
        assert!(known.displays.is_some());
        known.change();
        assert!(known.displays.is_none());
        known.learn(&[], 0);
        assert!(known.displays.is_none());
        known.learn(&[], 1);
        assert!(known.displays.is_some());
    }
}
