//! The messages of a random run: where each of them is.

use std::collections::{BTreeMap, VecDeque};

use super::super::{Slot, WorkerId};

/// Who takes messages from the queue of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taker {
    Plugin(Slot),
    Race,
    Replay,
    /// The requester of a pause owns the queue.
    Requester,
}

/// Each message has one owner: a queue, a taker, or one of the lists of messages that are done.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// How many there are. They are numbered from 0.
    count: usize,
    /// By stage.
    queues: BTreeMap<usize, VecDeque<usize>>,
    /// Who takes from the queue of a stage for each of its workers, with the message that it has.
    takers: BTreeMap<WorkerId, (Taker, Option<usize>)>,
    processed: Vec<usize>,
    lost: Vec<usize>,
}

impl Messages {
    pub(super) fn add_taker(&mut self, id: WorkerId, taker: Taker) {
        let mut others = self.takers.iter().filter(|(it, _)| it.stage == id.stage);
        let owns_all = |taker: Taker| matches!(taker, Taker::Replay | Taker::Requester);
        assert!(
            !others.any(|(_, (other, _))| owns_all(*other) || owns_all(taker)),
            "the queue of stage {} has two owners",
            id.stage
        );
        let before = self.takers.insert(id, (taker, None));
        assert_eq!(before, None, "{id:?} has two takers");
    }

    /// Whether a worker of a stage takes messages.
    pub(super) fn has_taker(&self, stage: usize) -> bool {
        self.takers.keys().any(|it| it.stage == stage)
    }

    /// A thread does not take from its stage's queue any more. A message that it has is lost.
    pub(super) fn remove_taker(&mut self, id: WorkerId, taker: Taker) {
        let (before, message) = self.takers.remove(&id).expect("the worker has a taker");
        assert_eq!(before, taker);
        self.lost.extend(message);
    }

    /// The threads that take messages.
    pub(super) fn takers(&self) -> impl Iterator<Item = (WorkerId, Taker)> + '_ {
        let takers = self.takers.iter();
        takers.map(|(id, (taker, _))| (*id, *taker))
    }

    /// Whether the taker of a worker has a message.
    pub(super) fn has_one(&self, id: WorkerId) -> bool {
        let taker = self.takers.get(&id);
        taker.is_some_and(|(_, message)| message.is_some())
    }

    /// A thread takes the next message. If there is none, one comes from outside.
    pub(super) fn take(&mut self, id: WorkerId, taker: Taker) {
        let queue = self.queues.entry(id.stage).or_default();
        let next = queue.pop_front().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        let (owner, message) = self.takers.get_mut(&id).expect("the worker has a taker");
        assert_eq!(*owner, taker, "{id:?} has another taker");
        let before = message.replace(next);
        assert_eq!(before, None, "a thread has one message at a time");
        self.check();
    }

    /// The message of a worker is processed. Its result, which has the same number, goes to the queue of the next stage.
    pub(super) fn succeed(&mut self, id: WorkerId, next: Option<usize>) {
        let (_, message) = self.takers.get_mut(&id).expect("the worker has a taker");
        let message = message.take().expect("its taker has a message");
        match next {
            Some(next) => self.queues.entry(next).or_default().push_back(message),
            None => self.processed.push(message),
        }
        self.check();
    }

    /// A failure costs the message of a worker.
    pub(super) fn lose(&mut self, id: WorkerId) {
        let (_, message) = self.takers.get_mut(&id).expect("the worker has a taker");
        self.lost.extend(message.take());
        self.check();
    }

    /// Checks that each message has exactly one owner.
    pub(super) fn check(&self) {
        let taken = self.takers.values().filter_map(|(_, message)| *message);
        let queued = self.queues.values().flatten().copied();
        let done = self.processed.iter().chain(&self.lost).copied();
        let mut all: Vec<_> = taken.chain(queued).chain(done).collect();
        all.sort_unstable();
        let each_once: Vec<_> = (0..self.count).collect();
        assert_eq!(all, each_once, "each message has one owner: {self:?}");
    }

    /// At the end of a run no thread takes messages.
    pub(super) fn assert_no_takers(&self) {
        assert!(self.takers.is_empty(), "{:?}", self.takers);
    }
}
