//! Plugins of no more use: ended as soon as that can be, while the control thread waits for nobody.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::plugin::instance::Instance;
use crate::run::control::Control;
use crate::run::stage::Stage;

/// How soon to look again whether plugins can be called: another thread makes or ends some.
pub(crate) const BUSY: Duration = Duration::from_millis(5);

impl Control {
    /// Keeps the instances of a stage whose thread has ended, until the run has.
    pub(crate) fn keep(&mut self, stage: &Stage, instances: Vec<Instance>) {
        match stage.leaves.load(Ordering::SeqCst) {
            true => self.leaving.extend(instances),
            false => self.ended.extend(instances),
        }
    }

    /// Whether plugins can be made and ended now.
    pub(crate) fn can_call_plugins(&self) -> bool {
        self.leaving.is_empty() && self.plan.shared.try_control_calls().is_some()
    }

    /// Ends those that leave, as far as that can be done now; returns how soon to try again.
    pub(crate) fn destroy_those_that_leave(&mut self) -> Duration {
        if self.leaving.is_empty() {
            return Duration::MAX;
        }
        let here = self.destroy_apart();
        let shared = self.plan.shared.clone();
        match shared.try_control_calls() {
            Some(_calls) => here.into_iter().for_each(Instance::destroy),
            None => self.leaving = here,
        }
        match self.leaving.is_empty() {
            true => Duration::MAX,
            false => BUSY,
        }
    }

    /// At the end of a run: ends all that are left.
    pub(crate) fn destroy_ended(&mut self) {
        let mut left = std::mem::take(&mut self.ended);
        left.append(&mut self.leaving);
        self.leaving = left;
        let here = self.destroy_apart();
        if !here.is_empty() {
            let calls = self.plan.shared.control_calls();
            for instance in here {
                match &calls {
                    Some(_) => instance.destroy(),
                    None => std::mem::forget(instance),
                }
            }
        }
        for helper in self.helpers.drain(..) {
            // What it destroys is not of this run any more, also where that panics.
            let _ = helper.join();
        }
    }

    /// Ends those that have processes of their own: each may take its time. Returns the others.
    fn destroy_apart(&mut self) -> Vec<Instance> {
        let leaving = std::mem::take(&mut self.leaving).into_iter();
        let (apart, here): (Vec<_>, Vec<_>) = leaving.partition(|it| it.lifeline().is_some());
        for instance in apart {
            self.help("flowpipe-destroy", move || instance.destroy());
        }
        here
    }
}
