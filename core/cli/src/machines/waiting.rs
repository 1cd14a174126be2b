//! The end of a run: which machines this one waits for, whose own run has ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::Machine;

use super::notices;
use super::observed::Observations;

/// When it is printed for which machines this one waits.
const NOTICE_AFTER: Duration = Duration::from_secs(5);
/// How often a caller is called back while this machine waits.
const UPDATE_INTERVAL: Duration = Duration::from_millis(20);

/// How often it is called back while this machine sends the last, which takes a moment.
const SENDING_INTERVAL: Duration = Duration::from_millis(1);

/// What is printed of the machines that this one waits for.
pub(super) struct WaitNotice {
    since: Instant,
    /// In this wait.
    is_printed: bool,
    /// Ctrl-C stops the run on the others.
    can_stop: bool,
    /// The machines that are named already.
    named: BTreeSet<usize>,
}

impl WaitNotice {
    pub(super) fn new() -> Self {
        Self {
            since: Instant::now(),
            is_printed: false,
            can_stop: true,
            named: BTreeSet::new(),
        }
    }

    /// This machine waits for the end of the connections from now on: nothing stops that on the others.
    pub(super) fn restart(&mut self) {
        self.since = Instant::now();
        self.is_printed = false;
        self.can_stop = false;
    }

    /// Prints once in each wait for which machines this one waits, unless they are named already. `active`: these machines.
    pub(super) fn update(&mut self, all: &[Machine], active: impl FnOnce() -> BTreeSet<usize>) {
        if let Some(active) = self.next(Instant::now(), active) {
            let names = active.iter().filter_map(|it| all.get(*it));
            let names: Vec<_> = names.map(|it| it.name.as_str()).collect();
            notices::active(&names, self.can_stop);
        }
    }

    /// The machines to print.
    fn next(
        &mut self,
        now: Instant,
        active: impl FnOnce() -> BTreeSet<usize>,
    ) -> Option<BTreeSet<usize>> {
        if self.is_printed || now.saturating_duration_since(self.since) < NOTICE_AFTER {
            return None;
        }
        let active = active();
        // Nobody is waited for yet, or any more.
        self.is_printed = !active.is_empty();
        let is_new = !active.is_subset(&self.named);
        self.named.extend(&active);
        is_new.then_some(active)
    }
}

/// Waits until the others have sent everything, or are dead. Calls `update` while it waits.
pub(super) fn wait_for_others(
    all: &[Machine],
    others: &BTreeMap<usize, Arc<Observations>>,
    notice: &mut WaitNotice,
    mut update: impl FnMut(),
) {
    for observations in others.values() {
        while !observations.wait_until_over(UPDATE_INTERVAL) {
            update();
            notice.update(all, || active(others));
        }
    }
}

/// The machines that have neither sent everything nor died.
pub(super) fn active(others: &BTreeMap<usize, Arc<Observations>>) -> BTreeSet<usize> {
    let active = others.iter();
    let active = active.filter(|(_, it)| !it.wait_until_over(Duration::ZERO));
    active.map(|(machine, _)| *machine).collect()
}

/// Sends the last on a thread of its own: a machine that has no room for it lets it wait. Calls `update` meanwhile.
pub(super) fn wait_for_sending(send: impl FnOnce() + Send, mut update: impl FnMut()) {
    std::thread::scope(|scope| {
        let sending = scope.spawn(send);
        while !sending.is_finished() {
            std::thread::sleep(SENDING_INTERVAL);
            update();
        }
        // A panic has been printed.
        let _ = sending.join();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_are_printed_once_in_each_wait_unless_they_are_named_already() {
        let mut notice = WaitNotice::new();
        let began = notice.since;
        let after = |seconds: u64| began + Duration::from_secs(seconds);
        let machines = |active: &[usize]| active.iter().copied().collect::<BTreeSet<_>>();
        assert_eq!(notice.next(after(4), || machines(&[1, 2])), None);
        let printed = notice.next(after(5), || machines(&[1, 2]));
        assert_eq!(printed, Some(machines(&[1, 2])));
        assert_eq!(notice.next(after(6), || machines(&[1, 2, 3])), None);
        for (active, is_printed) in [(vec![2], false), (vec![], false), (vec![2, 3], true)] {
            notice.restart();
            notice.since = began;
            let printed = notice.next(after(5), || machines(&active));
            assert_eq!(printed, is_printed.then(|| machines(&active)), "{active:?}");
        }
    }

    #[test]
    fn a_wait_begins_when_it_is_restarted() {
        let mut notice = WaitNotice::new();
        notice.since -= NOTICE_AFTER;
        notice.restart();
        let now = notice.since + NOTICE_AFTER / 2;
        assert_eq!(notice.next(now, || BTreeSet::from([1])), None);
    }

    #[test]
    fn a_wait_in_which_nobody_is_waited_for_at_first_is_printed_later() {
        let mut notice = WaitNotice::new();
        let late = notice.since + NOTICE_AFTER;
        assert_eq!(notice.next(late, BTreeSet::new), None);
        let machines = BTreeSet::from([1]);
        let printed = notice.next(late, || machines.clone());
        assert_eq!(printed, Some(machines));
    }
}
