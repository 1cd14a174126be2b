//! Which worker gets which items, and the order of the results.
//!
//! The items are divided into chunks, each of which one worker has, and another one if it takes long and the other one
//! has nothing to do. The first answer counts. Times are given by the owner, in microseconds.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

/// How long a chunk should take, by the times of the chunks before.
const TARGET_US: f64 = 150_000.0;
/// How many bytes of results a chunk should have.
const TARGET_BYTES: f64 = (1 << 20) as f64;
/// The most items of a chunk.
pub const MAX_ITEMS: usize = 4096;
/// A chunk is at most so many times as large as the worker's chunk before.
const GROWTH: u64 = 4;
/// The last chunks are not smaller than this part of the others.
const LAST: u64 = 8;
/// How much the last chunk counts in the averages.
const WEIGHT: f64 = 0.5;
/// The most bytes of results that wait for earlier ones. What more workers answer is dropped, and done again later.
const MOST_WAITING: usize = 64 << 20;
/// The same for chunks.
const MOST_CHUNKS: usize = 4096;
/// A chunk that no worker was given for so long may be given to one more.
const SLOW_US: u64 = 1_000_000;
/// A worker is overdue when others have done all that it has, and it answers nothing for so long, and for so many times as
/// long as they took.
const OVERDUE_US: u64 = 10_000_000;
const OVERDUE_FACTOR: u64 = 20;
/// Where the time of an item is limited, a worker is also overdue when it answers nothing for so long, and for so many
/// times as long as all that it has may take.
const LIMIT_US: u64 = 60_000_000;
const LIMIT_FACTOR: u64 = 4;

/// The number of a worker.
pub(crate) type WorkerId = usize;

/// How many items of a job there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply {
    /// So far. It never falls.
    pub items: u64,
    /// Whether these are all.
    pub is_complete: bool,
}

impl Supply {
    /// A job without an end.
    pub const ENDLESS: Self = Self {
        items: u64::MAX,
        is_complete: false,
    };

    /// All items of a job are there.
    #[must_use]
    pub const fn all(items: u64) -> Self {
        Self {
            items,
            is_complete: true,
        }
    }
}

/// A worker has answered what it was not given, or otherwise than it was asked: a clause whose subject is the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Mismatch {
    #[error("answers items that it was not given")]
    NotGiven,
    #[error("gives {found} results for {asked} items")]
    Results { found: usize, asked: u64 },
}

/// The state of a job.
#[derive(Debug)]
pub(crate) struct Schedule<R> {
    supply: Supply,
    /// The first item that is in no chunk yet.
    fresh: u64,
    /// The first item whose result is not delivered.
    delivered: u64,
    /// The chunks that are not delivered, by their first item.
    chunks: BTreeMap<u64, ChunkState<R>>,
    /// Bytes of the results that wait.
    waiting: usize,
    /// An answer was dropped, since there was no room for it, and nothing has been delivered since.
    is_full: bool,
    workers: Vec<WorkerState>,
}

/// A worker's answer to a chunk.
#[derive(Debug)]
pub(crate) struct ChunkAnswer<R> {
    /// Of the first items, in their order.
    pub results: Vec<R>,
    /// The bytes that were sent for them.
    pub sent_bytes: usize,
    /// The bytes that they take besides their own size.
    pub heap_bytes: usize,
    /// How long the worker took, in microseconds.
    pub took_us: u64,
}

#[derive(Debug)]
struct ChunkState<R> {
    items: u64,
    /// How many workers have it.
    holders: u32,
    /// When a worker got it last.
    given_us: u64,
    done: Option<(Vec<R>, usize)>,
}

/// A worker has answered nothing for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overdue {
    /// How long it has answered nothing, in microseconds.
    pub silent_us: u64,
    /// Why that is too long.
    pub limit: TimeLimit,
}

/// What limits the time of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeLimit {
    /// Others have done all that it has, one of its chunks in so many microseconds, and the others faster.
    Others(u64),
    /// The time of so many items is limited.
    Items(u64),
}

#[derive(Debug, Default)]
struct WorkerState {
    /// How many chunks it may have. 0: it gets none.
    allowed: usize,
    /// The chunks that it was given and has not answered.
    given: BTreeMap<u64, GivenChunk>,
    /// When it has answered last.
    answered_us: u64,
    /// The items of its largest chunk.
    largest: u64,
    per_item: Option<Measured>,
}

/// A chunk that a worker was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenChunk {
    items: u64,
    given_us: u64,
    /// Others may do it too, since the worker is disconnected.
    is_released: bool,
    /// How long another worker took for it, once one has done it.
    other_us: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    us: f64,
    bytes: f64,
}

impl<R> Schedule<R> {
    /// A job of these items for so many workers. None of them gets anything yet.
    pub(crate) fn new(supply: Supply, workers: usize) -> Self {
        Self {
            supply,
            fresh: 0,
            delivered: 0,
            chunks: BTreeMap::new(),
            waiting: 0,
            is_full: false,
            workers: (0..workers).map(|_| WorkerState::default()).collect(),
        }
    }

    /// There are so many items now. Of two threads, the one that knows of fewer may be the later one.
    pub(crate) fn set_supply(&mut self, supply: Supply) {
        self.supply = Supply {
            items: self.supply.items.max(supply.items),
            is_complete: self.supply.is_complete || supply.is_complete,
        };
    }

    /// A worker may have this number of chunks.
    pub(crate) fn allow(&mut self, worker: WorkerId, chunks: usize) {
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.allowed = chunks;
        }
    }

    /// The items that a worker is to do next, if there are some.
    pub(crate) fn give(&mut self, id: WorkerId, now_us: u64) -> Option<Range<u64>> {
        let worker = self.workers.get(id)?;
        let held = worker.held().count();
        if held >= worker.allowed {
            return None;
        }
        // Without room for results, only those that are next help.
        let most = match self.has_room() {
            true => u64::MAX,
            false => self.delivered,
        };
        let mut first = self.find(id, most, |it| it.holders == 0);
        if first.is_none() {
            first = self.create(id);
        }
        if first.is_none() && held == 0 {
            let is_slow = |it: &ChunkState<R>| now_us.saturating_sub(it.given_us) >= SLOW_US;
            first = self.find(id, most, |it| it.holders > 0 && is_slow(it));
        }
        let first = first?;
        let chunk = self.chunks.get_mut(&first)?;
        chunk.holders += 1;
        chunk.given_us = now_us;
        let items = chunk.items;
        let worker = self.workers.get_mut(id)?;
        let given = GivenChunk {
            items,
            given_us: now_us,
            is_released: false,
            other_us: None,
        };
        worker.given.insert(first, given);
        Some(first..first + items)
    }

    /// Whether there is room for results that are not the next ones.
    fn has_room(&self) -> bool {
        !self.is_full && self.waiting <= MOST_WAITING
    }

    /// The first chunk of this kind, up to that of the item `most`, that is not done and that the worker was not given.
    fn find(
        &self,
        id: WorkerId,
        most: u64,
        is_wanted: impl Fn(&ChunkState<R>) -> bool,
    ) -> Option<u64> {
        let worker = self.workers.get(id)?;
        let mut chunks = self.chunks.range(..=most);
        let found = chunks.find(|(first, it)| {
            it.done.is_none() && is_wanted(it) && !worker.given.contains_key(first)
        });
        found.map(|(first, _)| *first)
    }

    /// A new chunk for a worker.
    fn create(&mut self, worker: WorkerId) -> Option<u64> {
        if !self.has_room() || self.chunks.len() >= MOST_CHUNKS {
            return None;
        }
        let left = self.supply.items.saturating_sub(self.fresh);
        let lanes: usize = self.workers.iter().map(|it| it.allowed).sum();
        let lanes = lanes.max(1) as u64;
        let size = self.workers.get(worker)?.size();
        let share = match self.supply.is_complete {
            // The last chunks are small, so that all workers end at about the same time. Smaller ones would cost more
            // than their items.
            true => (left / lanes).max(size / LAST),
            // More items may come only when the first ones are delivered. Until then each worker has something to do.
            false => self.supply.items.saturating_sub(self.delivered) / (2 * lanes),
        };
        let items = size.min(share.max(1)).min(left);
        if items == 0 {
            return None;
        }
        let first = self.fresh;
        self.fresh += items;
        let chunk = ChunkState {
            items,
            holders: 0,
            given_us: 0,
            done: None,
        };
        self.chunks.insert(first, chunk);
        Some(first)
    }

    /// Only the first items of a chunk that was just given were sent.
    pub(crate) fn shorten(&mut self, worker: WorkerId, first: u64, sent: u64) {
        let given = self.workers.get_mut(worker);
        if let Some(given) = given.and_then(|it| it.given.get_mut(&first)) {
            given.items = sent.min(given.items);
        }
        if let Some(chunk) = self.chunks.get_mut(&first).filter(|it| it.holders == 1) {
            let rest = chunk.items.saturating_sub(sent);
            chunk.items -= rest;
            self.split(first + sent, rest);
        }
    }

    /// Adds a chunk that nobody has.
    fn split(&mut self, first: u64, items: u64) {
        if items > 0 {
            let chunk = ChunkState {
                items,
                holders: 0,
                given_us: 0,
                done: None,
            };
            self.chunks.insert(first, chunk);
        }
    }

    /// The items of a chunk that a worker was given.
    pub(crate) fn given(&self, worker: WorkerId, first: u64) -> Result<Range<u64>, Mismatch> {
        let given = self.workers.get(worker).and_then(|it| it.given.get(&first));
        let given = given.ok_or(Mismatch::NotGiven)?;
        Ok(first..first + given.items)
    }

    /// A worker has answered a chunk. If the results are fewer than the items, the rest becomes a chunk of its own.
    pub(crate) fn complete(
        &mut self,
        id: WorkerId,
        first: u64,
        answer: ChunkAnswer<R>,
        now_us: u64,
    ) -> Result<(), Mismatch> {
        let asked = self.given(id, first)?;
        let asked = asked.end - asked.start;
        let found = answer.results.len();
        if found == 0 || found as u64 > asked {
            return Err(Mismatch::Results { found, asked });
        }
        let given = self.take_back(id, first);
        if let Some(worker) = self.workers.get_mut(id) {
            worker.measure(found, answer.sent_bytes, answer.took_us);
            worker.answered_us = now_us;
        }
        // By the clock of this machine: a worker can report any time.
        let took_us = given.map_or(0, |it| now_us.saturating_sub(it.given_us));
        let others = self.workers.iter_mut();
        for other in others.filter_map(|it| it.given.get_mut(&first)) {
            if found as u64 >= other.items {
                other.other_us.get_or_insert(took_us);
            }
        }
        self.enter(first, answer.results, answer.heap_bytes);
        Ok(())
    }

    /// The results of a chunk are known, unless it was answered before. Those that have to wait, and for which there is no
    /// room, are dropped.
    fn enter(&mut self, first: u64, results: Vec<R>, heap_bytes: usize) {
        let found = results.len() as u64;
        let chunk = self.chunks.get_mut(&first);
        // A worker that was given more than the chunk has now has answered more.
        let Some(chunk) = chunk.filter(|it| it.done.is_none() && found <= it.items) else {
            return;
        };
        let bytes = heap_bytes.saturating_add(results.len() * size_of::<R>());
        if first > self.delivered && self.waiting.saturating_add(bytes) > MOST_WAITING {
            self.is_full = true;
            return;
        }
        let rest = chunk.items - found;
        chunk.items = found;
        chunk.done = Some((results, bytes));
        self.waiting += bytes;
        self.split(first + found, rest);
    }

    /// The result of the first item of a chunk that a worker was given and that can't be sent.
    pub(crate) fn answer(&mut self, worker: WorkerId, first: u64, result: R) {
        let _ = self.take_back(worker, first);
        self.enter(first, vec![result], 0);
    }

    /// A worker is disconnected, and may come back with the same program: others may do what it has.
    pub(crate) fn release(&mut self, worker: WorkerId) {
        let Some(worker) = self.workers.get_mut(worker) else {
            return;
        };
        worker.allowed = 0;
        for (first, given) in &mut worker.given {
            let chunk = self.chunks.get_mut(first);
            if !std::mem::replace(&mut given.is_released, true)
                && let Some(chunk) = chunk
            {
                chunk.holders = chunk.holders.saturating_sub(1);
            }
        }
    }

    /// A worker has a chunk no longer: it could not be sent, or is answered.
    pub(crate) fn take_back(&mut self, worker: WorkerId, first: u64) -> Option<GivenChunk> {
        let given = self.workers.get_mut(worker)?.given.remove(&first)?;
        // Of one that is released, others are the holders.
        if !given.is_released
            && let Some(chunk) = self.chunks.get_mut(&first)
        {
            chunk.holders = chunk.holders.saturating_sub(1);
        }
        Some(given)
    }

    /// A worker has answered a chunk whose results were delivered before.
    pub(crate) fn answered_late(&mut self, id: WorkerId, first: u64, now_us: u64) {
        let _ = self.take_back(id, first);
        if let Some(worker) = self.workers.get_mut(id) {
            worker.answered_us = now_us;
        }
    }

    /// Whether a worker has chunks.
    pub(crate) fn has_chunks(&self, worker: WorkerId) -> bool {
        let worker = self.workers.get(worker);
        worker.is_some_and(|it| !it.given.is_empty())
    }

    /// Whether a worker that is connected is overdue. `longest_us`: how long an item may take, if that is limited.
    pub(crate) fn overdue(
        &self,
        worker: WorkerId,
        longest_us: Option<u64>,
        now_us: u64,
    ) -> Option<Overdue> {
        let worker = self.workers.get(worker)?;
        let since_us = worker.held().map(|it| it.given_us).max()?;
        let silent_us = now_us.saturating_sub(since_us.max(worker.answered_us));
        let exceeds = |least_us: u64, factor: u64, us: u64| {
            silent_us > least_us.max(us.saturating_mul(factor))
        };
        // It may work on a chunk that nobody has done.
        let others: Option<Vec<u64>> = worker.held().map(|it| it.other_us).collect();
        let other_us = others.and_then(|it| it.into_iter().max());
        let items: u64 = worker.held().map(|it| it.items).sum();
        let limit = match (other_us, longest_us) {
            (Some(us), _) if exceeds(OVERDUE_US, OVERDUE_FACTOR, us) => TimeLimit::Others(us),
            (_, Some(us)) if exceeds(LIMIT_US, LIMIT_FACTOR, items.saturating_mul(us)) => {
                TimeLimit::Items(items)
            }
            _ => return None,
        };
        Some(Overdue { silent_us, limit })
    }

    /// The program of a worker is dead, or is not to be used: it answers nothing more of what it was given.
    pub(crate) fn lose(&mut self, worker: WorkerId) {
        self.release(worker);
        if let Some(worker) = self.workers.get_mut(worker) {
            *worker = WorkerState::default();
        }
    }

    /// The next results, with the index of their first item.
    pub(crate) fn next_results(&mut self) -> Option<(u64, Vec<R>)> {
        let first = self.delivered;
        let chunk = self.chunks.get(&first)?;
        chunk.done.as_ref()?;
        let (results, bytes) = self.chunks.remove(&first)?.done?;
        self.waiting -= bytes;
        self.is_full = false;
        self.delivered += results.len() as u64;
        Some((first, results))
    }

    /// The workers that have the items whose results are next.
    pub(crate) fn awaited(&self) -> Vec<WorkerId> {
        let workers = self.workers.iter().enumerate();
        let awaited = workers.filter(|(_, it)| {
            let given = it.given.get(&self.delivered);
            given.is_some_and(|it| !it.is_released)
        });
        awaited.map(|(id, _)| id).collect()
    }

    /// The bytes of results that wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether the results of all items are delivered that are there so far.
    pub(crate) fn is_idle(&self) -> bool {
        self.delivered >= self.supply.items
    }

    /// Whether all results are delivered.
    pub(crate) fn is_finished(&self) -> bool {
        self.supply.is_complete && self.is_idle()
    }
}

impl WorkerState {
    /// The chunks that it has while it is connected.
    fn held(&self) -> impl Iterator<Item = &GivenChunk> {
        self.given.values().filter(|it| !it.is_released)
    }

    /// How many items its next chunk should have.
    fn size(&self) -> u64 {
        let Some(Measured { us, bytes }) = self.per_item else {
            return 1;
        };
        let fits = (TARGET_US / us).min(TARGET_BYTES / bytes);
        // A float is converted to the nearest integer of the range.
        (fits as u64).clamp(1, (MAX_ITEMS as u64).min(self.largest.max(1) * GROWTH))
    }

    fn measure(&mut self, items: usize, bytes: usize, took_us: u64) {
        let count = items as f64;
        let last = Measured {
            us: (took_us as f64 / count).max(1e-3),
            bytes: (bytes as f64 / count).max(1.0),
        };
        self.largest = self.largest.max(items as u64);
        self.per_item = Some(self.per_item.map_or(last, |before| Measured {
            us: before.us * (1.0 - WEIGHT) + last.us * WEIGHT,
            bytes: before.bytes * (1.0 - WEIGHT) + last.bytes * WEIGHT,
        }));
    }
}
