//! Instances without a thread: those that wait, and those that are created and destroyed.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use flowpipe_host::instance::Instance;
use flowpipe_sync::lock;

use crate::run::control::Event;
use crate::run::shared::Shared;
use crate::supervisor::Slot;

/// The instances that the control thread keeps. Those in this process are created and destroyed by one thread at a
/// time (see [`Shared::control_calls`]). What has a process of its own may take its time, and gets a thread.
pub(crate) struct Instances {
    shared: Arc<Shared>,
    waiting: HashMap<Slot, Instance>,
    /// Destroyed as soon as plugins can be called.
    leaving: Vec<(Slot, Instance)>,
    /// Another stage has their slots. They are destroyed at the end of the run.
    replaced: Vec<Instance>,
    /// Threads that do what the control thread must not wait for.
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

    /// Keeps an instance.
    pub(crate) fn put(&mut self, slot: Slot, instance: Instance) {
        self.replaced.extend(self.waiting.insert(slot, instance));
    }

    /// Gives an instance away.
    pub(crate) fn take(&mut self, slot: Slot) -> Option<Instance> {
        self.waiting.remove(&slot)
    }

    /// Whether plugins in this process can be created now. Those that leave are destroyed before.
    pub(crate) fn can_create(&self) -> bool {
        self.leaving.is_empty() && self.shared.try_control_calls().is_some()
    }

    /// Whether instances wait for [`Self::destroy_leaving`].
    pub(crate) fn some_leave(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Destroys an instance as soon as that can be. One with a process of its own is reported as destroyed to the
    /// control thread; of the others [`Self::destroy_leaving`] tells.
    pub(crate) fn destroy(&mut self, slot: Slot) {
        let Some(instance) = self.take(slot) else {
            return;
        };
        if instance.stage_process().is_none() {
            return self.leaving.push((slot, instance));
        }
        let events = self.shared.events.clone();
        self.help("flowpipe-destroy", move || {
            // Whatever happens, the control thread must hear of it.
            let _ = catch_unwind(AssertUnwindSafe(|| instance.destroy()));
            // Gone only when the run is over.
            let _ = events.send(Event::Destroyed(slot));
        });
    }

    /// Destroys what leaves, unless another thread calls plugins just now. Returns what was destroyed.
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

    /// At the end of a run: destroys all that are left.
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
                    // A plugin that another thread has called does not come back.
                    None => std::mem::forget(instance),
                }
            }
        }
        for helper in self.helpers {
            // What it destroys is not of this run any more, also where that panics.
            let _ = helper.join();
        }
    }

    /// Does something on a thread of its own, which ends before the run does.
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
            // Without a thread somebody has to wait.
            Err(_) => {
                let work = lock(&work).take();
                work.into_iter().for_each(|work| work());
            }
        }
    }
}
