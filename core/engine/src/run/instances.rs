//! Instances without a thread: those that wait, and those that are being created and destroyed.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use flowpipe_host::instance::Instance;
use flowpipe_sync::lock;

use crate::run::event::ControlEvent;
use crate::run::shared::Shared;
use crate::supervisor::Slot;

/// The instances that the control thread owns. Those in this process are created and destroyed by one thread at a time
/// (see [`Shared::control_calls`]). Those with a process of their own are created and destroyed on helper threads.
pub(crate) struct Instances {
    shared: Arc<Shared>,
    waiting: HashMap<Slot, Instance>,
    /// To be destroyed as soon as plugins can be called.
    leaving: Vec<(Slot, Instance)>,
    /// Instances whose slot has another instance. They are destroyed at the end of the run.
    replaced: Vec<Instance>,
    /// Threads for work that the control thread must not wait for.
    helpers: Vec<JoinHandle<()>>,
}

impl Instances {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            waiting: HashMap::new(),
            leaving: Vec::new(),
            replaced: Vec::new(),
            helpers: Vec::new(),
        }
    }

    /// Stores an instance.
    pub(crate) fn put(&mut self, slot: Slot, instance: Instance) {
        self.replaced.extend(self.waiting.insert(slot, instance));
    }

    /// Removes an instance.
    pub(crate) fn take(&mut self, slot: Slot) -> Option<Instance> {
        self.waiting.remove(&slot)
    }

    /// Whether plugins in this process can be created now. Leaving instances are destroyed first.
    pub(crate) fn can_create(&self) -> bool {
        self.leaving.is_empty() && self.shared.try_control_calls().is_some()
    }

    /// Whether instances wait for [`Self::destroy_leaving`].
    pub(crate) fn some_leave(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Destroys an instance as soon as possible. For one with a process of its own, the control thread receives
    /// [`ControlEvent::Destroyed`]; the others are returned by [`Self::destroy_leaving`].
    pub(crate) fn destroy(&mut self, slot: Slot) {
        let Some(instance) = self.take(slot) else {
            return;
        };
        if instance.stage_process().is_none() {
            return self.leaving.push((slot, instance));
        }
        let events = self.shared.events.clone();
        self.help("flowpipe-destroy", move || {
            // Also after a panic: the control thread needs the event.
            let _ = catch_unwind(AssertUnwindSafe(|| instance.destroy()));
            // Disconnected only when the run is over.
            let _ = events.send(ControlEvent::Destroyed(slot));
        });
    }

    /// Destroys the leaving instances, unless another thread is calling plugins. Returns their slots.
    pub(crate) fn destroy_leaving(&mut self) -> Vec<Slot> {
        if self.leaving.is_empty() {
            return Vec::new();
        }
        let shared = self.shared.clone();
        let Some(_calls) = shared.try_control_calls() else {
            return Vec::new();
        };
        let destroy = |(slot, instance): (Slot, Instance)| {
            instance.destroy();
            slot
        };
        self.leaving.drain(..).map(destroy).collect()
    }

    /// Destroys all remaining instances, at the end of a run.
    pub(crate) fn destroy_all(mut self) {
        let waiting = std::mem::take(&mut self.waiting).into_values();
        let leaving = std::mem::take(&mut self.leaving).into_iter();
        let replaced = std::mem::take(&mut self.replaced);
        let all = waiting.chain(leaving.map(|(_, it)| it)).chain(replaced);
        let (apart, here): (Vec<_>, Vec<_>) = all.partition(|it| it.stage_process().is_some());
        for instance in apart {
            self.help("flowpipe-destroy", move || instance.destroy());
        }
        if !here.is_empty() {
            let calls = self.shared.control_calls();
            for instance in here {
                match &calls {
                    Some(_) => instance.destroy(),
                    // A plugin that another thread called has not returned.
                    None => std::mem::forget(instance),
                }
            }
        }
        for helper in self.helpers {
            // A panic in `destroy` does not concern the run any more.
            let _ = helper.join();
        }
    }

    /// Runs a closure on a thread of its own, which ends before the run does.
    pub(crate) fn help(&mut self, name: &str, work: impl FnOnce() + Send + 'static) {
        self.helpers.retain(|helper| !helper.is_finished());
        let work = Arc::new(Mutex::new(Some(work)));
        let same = work.clone();
        let run = move || {
            let work = lock(&same).take();
            work.into_iter().for_each(|work| work());
        };
        match std::thread::Builder::new().name(name.into()).spawn(run) {
            Ok(helper) => self.helpers.push(helper),
            // Without a thread, run it here.
            Err(_) => {
                let work = lock(&work).take();
                work.into_iter().for_each(|work| work());
            }
        }
    }
}
