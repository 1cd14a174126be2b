//! Threads that fail to start.

use std::time::Duration;

use super::super::{
    Action, Event, Exit, Policy, Resumed, Settings, Supervisor, ThreadModel, WorkerId,
};
use super::stage_with;
use super::world::{World, slots};

impl World {
    /// If a thread of this action fails to start: reports what the control thread reports.
    pub(super) fn fail_to_start(&mut self, action: &Action) -> Option<Event> {
        let (race, all) = match action {
            Action::Start { slot, .. } => (slot.worker_id(), vec![*slot]),
            Action::StartRace { race, present } => (*race, present.clone()),
            Action::StartReplay { stage, .. } => {
                let settings = self.supervisor.slots.stages[*stage].settings;
                let id = WorkerId {
                    stage: *stage,
                    worker: 0,
                };
                (id, slots(*stage, &settings))
            }
            _ => return None,
        };
        let mut started = self.failing_start.take()?;
        if let Action::StartRace { .. } = action {
            // Without its driver, too, a race does not start.
            started %= all.len() + 1;
        } else {
            // One thread calls all of them.
            started = 0;
        }
        for &slot in &all[..started] {
            self.start_thread(slot);
        }
        let missing = all[started..].to_vec();
        for &slot in &missing {
            self.abandon(slot);
        }
        self.fail_run();
        Some(match action {
            Action::Start { slot, .. } => Event::Ended(*slot, Exit::Panicked),
            _ => Event::ThreadsFailed { race, missing },
        })
    }
}

const RACE: WorkerId = WorkerId {
    stage: 0,
    worker: 0,
};

#[test]
fn a_stage_without_threads_is_over() {
    for threads in [ThreadModel::Race, ThreadModel::Replay] {
        let mut supervisor = Supervisor::default();
        let settings = Settings {
            policy: Policy::new(&stage_with(None, false, false)),
            is_source: false,
            threads,
            workers: 1,
            contestants: 3,
            timeout: None,
            watchdog: Duration::from_secs(1),
        };
        let resumed = Resumed {
            stage: 0,
            settings: Some(settings),
            present: [0, 1, 2].map(|it| RACE.slot(it)).to_vec(),
            lost: Vec::new(),
        };
        supervisor.handle(Event::Resumed(vec![resumed]), 0);
        // The first one's thread has started.
        let missing = [1, 2].map(|it| RACE.slot(it)).to_vec();
        let race = RACE;
        supervisor.handle(Event::ThreadsFailed { race, missing }, 0);
        assert!(!supervisor.is_over(), "{threads:?}");
        supervisor.handle(Event::Ended(RACE.slot(0), Exit::Finished), 0);
        assert!(supervisor.is_over(), "{threads:?}: {supervisor:?}");
    }
}
