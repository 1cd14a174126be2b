//! Threads that fail to start.

use std::time::Duration;

use super::super::{Action, Event, Exit, Policy, Resumed, Settings, Slot, Supervisor, ThreadModel};
use super::stage_with;
use super::world::World;

impl World {
    /// If a thread of this action fails to start: reports what the control thread reports.
    pub(super) fn fail_to_start(&mut self, action: &Action) -> Option<Event> {
        let (stage, contestants) = match action {
            Action::Start { slot, .. } => (slot.stage, vec![slot.contestant]),
            Action::StartRace { stage, present } => (*stage, present.clone()),
            Action::StartReplay { stage, .. } => {
                let slots = &self.supervisor.slots.stages[*stage].slots;
                (*stage, (0..slots.len()).collect())
            }
            _ => return None,
        };
        let mut started = self.failing_start.take()?;
        if let Action::StartRace { .. } = action {
            // Without its driver, too, a race does not start.
            started %= contestants.len() + 1;
        } else {
            // One thread calls all of them.
            started = 0;
        }
        for &contestant in &contestants[..started] {
            self.start_thread(Slot { stage, contestant });
        }
        let missing = contestants[started..].to_vec();
        for &contestant in &missing {
            self.abandon(Slot { stage, contestant });
        }
        self.fail_run();
        Some(match action {
            Action::Start { slot, .. } => Event::Ended(*slot, Exit::Panicked),
            _ => Event::ThreadsFailed { stage, missing },
        })
    }
}

#[test]
fn a_stage_without_threads_is_over() {
    for threads in [ThreadModel::Race, ThreadModel::Replay] {
        let mut supervisor = Supervisor::default();
        let settings = Settings {
            policy: Policy::new(&stage_with(None, false, false)),
            is_source: false,
            threads,
            contestants: 3,
            timeout: None,
            watchdog: Duration::from_secs(1),
        };
        let resumed = Resumed {
            stage: 0,
            settings: Some(settings),
            present: vec![0, 1, 2],
            lost: Vec::new(),
        };
        supervisor.handle(Event::Resumed(vec![resumed]), 0);
        // The first one's thread has started.
        let missing = vec![1, 2];
        supervisor.handle(Event::ThreadsFailed { stage: 0, missing }, 0);
        assert!(!supervisor.is_over(), "{threads:?}");
        let first = Slot {
            stage: 0,
            contestant: 0,
        };
        supervisor.handle(Event::Ended(first, Exit::Finished), 0);
        assert!(supervisor.is_over(), "{threads:?}: {supervisor:?}");
    }
}
