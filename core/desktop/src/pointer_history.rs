//! Where a device has put the pointer, compared with where a compositor reports it some time later.
//!
//! A report is of a moment that has passed, and many places are never reported. But no report is of an earlier place than
//! the report before it. So each report has to be near a place that the pointer was put on, not before the one that was
//! reported last. Then the device has put it there, however late the report comes; otherwise a person has moved it.
//!
//! Limits of time do not count that in which this program stood still ([`AwakeClock`]): reports that came meanwhile are read
//! after it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flowpipe_process::awake_clock::AwakeClock;

use crate::error::DesktopError;
use crate::input::LateReports;
use crate::pipewire::presence::LOST;
use crate::pipewire::{CursorReports, END_KNOWN_WITHIN, PAUSED};
use crate::rect::Rect;

/// How far from where it was put the pointer may be reported, in screen pixels: compositors round, to pixels of the picture.
const TOLERANCE: f64 = 2.0;
/// How long after the first place reports may still be of where the pointer was before.
const BEFORE: Duration = Duration::from_secs(1);
/// The longest pause without reports from a monitor. A format that is agreed on again takes less; on a busy machine that
/// took over half a second.
const PAUSE: Duration = Duration::from_secs(2);
/// How long no place may be reported after the pointer was put elsewhere. Mutter reports ten times a second.
const SILENCE: Duration = Duration::from_secs(3);
/// The time between two checks whether reports have ended.
const CHECK: Duration = Duration::from_millis(10);
/// The most places that are kept. So many may be on their way until a report of the first of them comes.
const CAPACITY: usize = 1 << 13;

/// The places of a pointer. Cloning shares them.
#[derive(Clone)]
pub(crate) struct PointerHistory(Arc<Mutex<State>>);

struct State {
    /// Where it was put, the newest last.
    put: VecDeque<[i32; 2]>,
    /// How many older places were dropped.
    dropped: usize,
    /// When it was put somewhere for the first time.
    began: Option<Duration>,
    monitors: Vec<Reports>,
    reported: Option<[i32; 2]>,
    /// Of all times here. `None`: no reports are received.
    clock: Option<AwakeClock>,
    /// When it was put elsewhere first, of all that was put since the last report.
    unreported: Option<Duration>,
    was_moved: bool,
    end: Option<String>,
}

/// The reports of one monitor. Those of several come in any order, so that a person who takes the pointer to just the place
/// on another monitor where it was put last is not noticed before it leaves that place.
struct Reports {
    /// Where the monitor is on the screen.
    monitor: Rect,
    /// The number of the first place that the next report may be of. `None`: none was reported yet.
    from: Option<usize>,
    /// Since when no report can come.
    paused: Option<Duration>,
}

impl PointerHistory {
    /// `monitors`: where those are on which it is reported.
    pub(crate) fn new(monitors: impl IntoIterator<Item = Rect>) -> Self {
        let reports = |monitor| Reports {
            monitor,
            from: None,
            paused: None,
        };
        Self(Arc::new(Mutex::new(State {
            put: VecDeque::new(),
            dropped: 0,
            began: None,
            monitors: monitors.into_iter().map(reports).collect(),
            reported: None,
            clock: None,
            unreported: None,
            was_moved: false,
            end: None,
        })))
    }

    /// The pointer is about to be put somewhere, in screen pixels. Only after this it may be sent there.
    pub(crate) fn will_put(&self, at: [i32; 2]) {
        let mut state = self.state();
        let now = now(&state);
        state.began.get_or_insert(now);
        // Where it may be already, there is nothing to report.
        let before = state.put.back().copied().or(state.reported);
        if before.is_some_and(|before| !is_near(at, before.map(f64::from))) {
            state.unreported.get_or_insert(now);
        }
        state.put.push_back(at);
        if state.put.len() > CAPACITY {
            state.put.pop_front();
            state.dropped += 1;
        }
    }

    /// Reports are received from now on: [`Self::check`] fails when none comes.
    ///
    /// # Errors
    /// When the system gives no thread for a clock.
    pub(crate) fn expect_reports(&self) -> std::io::Result<()> {
        self.state().clock = Some(AwakeClock::start()?);
        Ok(())
    }

    /// What takes the reports of a monitor, by its number.
    pub(crate) fn of_monitor(&self, number: usize) -> Box<dyn CursorReports> {
        Box::new(OfMonitor(self.clone(), number))
    }

    /// The pointer is reported on a monitor at a part of its width and height.
    fn report_at(&self, monitor: usize, part: [f64; 2], now: Duration) {
        let mut state = self.state();
        let State {
            put,
            dropped,
            monitors,
            ..
        } = &*state;
        let Some(reports) = monitors.get(monitor) else {
            return;
        };
        let Rect {
            x,
            y,
            width,
            height,
        } = reports.monitor;
        let place = [(x, width, part[0]), (y, height, part[1])]
            .map(|(from, length, part)| f64::from(from) + f64::from(length) * part);
        let from = reports.from.unwrap_or(0).saturating_sub(*dropped);
        let found = put.iter().skip(from).position(|&at| is_near(at, place));
        let number = found.map(|found| dropped + from + found);
        let is_first = reports.from.is_none();
        let is_from_before = state
            .began
            .is_none_or(|began| is_first && now.saturating_sub(began) <= BEFORE);
        state.unreported = None;
        state.reported = Some(place.map(|value| value.floor() as i32));
        match number {
            Some(_) => state.monitors[monitor].from = number,
            None if is_from_before => {}
            None => state.was_moved = true,
        }
    }

    /// Where the pointer was put last.
    pub(crate) fn last(&self) -> Option<[i32; 2]> {
        self.state().put.back().copied()
    }

    /// Checks that reports still come.
    ///
    /// # Errors
    /// Why none comes any more.
    pub(crate) fn check(&self) -> Result<(), DesktopError> {
        let now = now(&self.state());
        self.check_at(now)
    }

    fn check_at(&self, now: Duration) -> Result<(), DesktopError> {
        let state = self.state();
        let mut pauses = state.monitors.iter().filter_map(|it| it.paused);
        let is_paused = pauses.any(|since| now.saturating_sub(since) > PAUSE);
        match (&state.end, is_paused) {
            (Some(reason), _) => Err(over(reason)),
            (None, true) => Err(over(PAUSED)),
            (None, false) if is_silent(&state, now) => Err(silent()),
            (None, false) => Ok(()),
        }
    }

    /// Whether reports have ended with the connection to PipeWire. Waits a moment: other ends follow from it, and may be known
    /// before. Where there were no reports, `false`.
    pub(crate) fn has_lost_pipewire(&self) -> bool {
        let began = Instant::now();
        loop {
            let state = self.state();
            match &state.end {
                Some(reason) => return reason == LOST,
                // Nobody reports.
                None if state.reported.is_none() => return false,
                None if began.elapsed() > END_KNOWN_WITHIN => return false,
                None => {}
            }
            drop(state);
            std::thread::sleep(CHECK);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here can be left half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time of the clock. Before reports are received, nothing has a limit of time.
fn now(state: &State) -> Duration {
    state.clock.as_ref().map_or(Duration::ZERO, AwakeClock::now)
}

/// Whether reports do not come that should.
fn is_silent(state: &State, now: Duration) -> bool {
    let is_late = |since: Duration| now.saturating_sub(since) > SILENCE;
    let is_there = match (state.put.back(), state.reported) {
        (Some(&at), Some(reported)) => is_near(at, reported.map(f64::from)),
        _ => false,
    };
    state.clock.is_some() && state.unreported.is_some_and(is_late) && !is_there
}

/// Whether a place is that of a report.
fn is_near(at: [i32; 2], reported: [f64; 2]) -> bool {
    let mut axes = at.iter().zip(reported);
    axes.all(|(&at, reported)| (f64::from(at) - reported).abs() <= TOLERANCE)
}

fn silent() -> DesktopError {
    DesktopError::Lost(format!(
        "it does not report where the pointer is: no report has come within {SILENCE:?} after a move, so that your hand on the \
         mouse would not be noticed. Where a game hides the pointer, set by_hand = false and corners = false of \
         actuator-mouse; then Ctrl-C stops it"
    ))
}

fn over(reason: &str) -> DesktopError {
    DesktopError::Lost(format!(
        "it does not report any more where the pointer is ({reason})"
    ))
}

/// The reports of a monitor.
struct OfMonitor(PointerHistory, usize);

impl CursorReports for OfMonitor {
    fn report(&self, part: [f64; 2]) {
        let now = now(&self.0.state());
        self.0.report_at(self.1, part, now);
    }

    fn run(&self, is_running: bool) {
        let mut state = self.0.state();
        let now = now(&state);
        let Some(reports) = state.monitors.get_mut(self.1) else {
            return;
        };
        match is_running {
            true => reports.paused = None,
            false => _ = reports.paused.get_or_insert(now),
        }
        // None could come meanwhile.
        if is_running && let Some(since) = &mut state.unreported {
            *since = now;
        }
    }

    fn end(&self, reason: &str) {
        // The first reason counts.
        let mut state = self.0.state();
        state.end.get_or_insert_with(|| reason.to_owned());
    }
}

impl LateReports for PointerHistory {
    fn place(&self) -> Option<[i32; 2]> {
        self.state().reported
    }

    fn was_moved(&self) -> bool {
        self.state().was_moved
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;
    use rustix::process::Signal;

    use super::*;

    const LEFT: Rect = Rect {
        x: 0,
        y: 0,
        width: 1000,
        height: 800,
    };
    const RIGHT: Rect = Rect {
        x: 1000,
        y: -100,
        width: 640,
        height: 400,
    };

    fn history() -> PointerHistory {
        PointerHistory::new([LEFT, RIGHT])
    }

    impl PointerHistory {
        /// The same, at a place of the screen.
        fn report_place(&self, monitor: usize, at: [i32; 2], after: Duration) {
            let place = [LEFT, RIGHT][monitor];
            let part = [
                f64::from(at[0] - place.x) / f64::from(place.width),
                f64::from(at[1] - place.y) / f64::from(place.height),
            ];
            let began = self.state().began.unwrap_or_default();
            self.report_at(monitor, part, began + after);
        }

        /// Whether a report shows a person, long after the first move.
        fn is_moved_to(&self, at: [i32; 2]) -> bool {
            self.report_place(0, at, BEFORE * 100);
            self.was_moved()
        }
    }

    #[test]
    fn what_was_put_is_nobody_however_late_it_is_reported() {
        let history = history();
        for x in 0..500 {
            history.will_put([x, 7]);
        }
        for x in [3, 3, 100, 101, 499, 499] {
            assert!(!history.is_moved_to([x, 7]), "{x}");
        }
        assert_eq!(history.place(), Some([499, 7]));
        assert!(history.is_moved_to([502, 7]), "never put there");
    }

    #[test]
    fn a_place_of_before_is_a_person() {
        let history = history();
        history.will_put([10, 10]);
        history.will_put([50, 10]);
        assert!(!history.is_moved_to([50, 12]));
        assert!(history.is_moved_to([10, 10]), "it has left that place");
        assert!(history.is_moved_to([50, 10]), "it stays known");
    }

    #[test]
    fn where_it_was_at_first_is_nobody_for_a_while() {
        let history = history();
        history.report_place(0, [700, 700], Duration::ZERO);
        history.will_put([10, 10]);
        history.report_place(0, [700, 700], BEFORE);
        history.report_place(0, [690, 700], BEFORE);
        assert!(!history.was_moved());
        history.report_place(0, [10, 10], BEFORE);
        history.report_place(0, [700, 700], BEFORE);
        assert!(history.was_moved(), "it had left");
        let late = super::tests::history();
        late.will_put([10, 10]);
        assert!(late.is_moved_to([700, 700]), "it does not get there");
    }

    #[test]
    fn another_monitor_reports_what_reaches_into_it() {
        let history = history();
        history.will_put([990, 50]);
        history.report_place(0, [990, 50], BEFORE * 100);
        history.report_place(1, [990, 50], BEFORE * 100);
        assert!(!history.was_moved());
        // Late, but of another monitor.
        history.will_put([1300, 50]);
        history.report_place(1, [1300, 50], BEFORE * 100);
        history.report_place(0, [990, 50], BEFORE * 100);
        assert!(!history.was_moved());
        history.report_place(1, [1100, 50], BEFORE * 100);
        assert!(history.was_moved());
    }

    #[test]
    fn a_person_who_takes_it_to_another_monitor_is_noticed() {
        let history = history();
        history.will_put([500, 50]);
        history.report_place(0, [500, 50], BEFORE * 100);
        history.report_place(1, [1300, 50], BEFORE * 100);
        assert!(history.was_moved());
        history.of_monitor(7).report([0.5, 0.5]);
    }

    #[test]
    fn the_pause_of_one_monitor_lasts_while_others_run() {
        let history = history();
        let [left, right] = [0, 1].map(|it| history.of_monitor(it));
        let later = || now(&history.state()) + 2 * PAUSE;
        left.run(false);
        assert!(history.check().is_ok(), "a format is agreed on again");
        right.run(true);
        left.run(false);
        let error = history.check_at(later()).unwrap_err().to_string();
        assert!(error.contains(PAUSED), "{error}");
        left.run(true);
        assert!(history.check_at(later()).is_ok());
        right.end("first");
        left.end("second");
        let error = history.check().unwrap_err().to_string();
        assert!(error.contains("(first)"), "{error}");
    }

    #[test]
    fn reports_that_never_come_are_missed() {
        let history = history();
        let late = || now(&history.state()) + 2 * SILENCE;
        history.will_put([10, 10]);
        history.will_put([50, 10]);
        assert!(history.check_at(late()).is_ok(), "nobody receives any");
        history.expect_reports().unwrap();
        assert!(history.check_at(SILENCE / 2).is_ok());
        let error = history.check_at(late()).unwrap_err().to_string();
        assert!(
            error.contains("does not report where the pointer is"),
            "{error}"
        );
        // One that comes late, of whichever place, shows that they come.
        history.report_place(0, [10, 10], Duration::ZERO);
        assert!(history.check_at(late()).is_ok());
        history.will_put([90, 10]);
        assert!(history.check_at(late()).is_err(), "none since");
        // It is back where it was reported last: nothing has to be reported.
        history.will_put([10, 10]);
        assert!(history.check_at(late()).is_ok());
    }

    /// Stops its process right after the first move. What was reported before is read after that.
    #[test]
    #[ignore = "it is started by the test below"]
    fn stall_after_the_first_move() {
        let history = history();
        history.expect_reports().unwrap();
        history.of_monitor(0).report([0.7, 0.875]);
        history.will_put([10, 10]);
        let continues = format!("sleep 4; kill -CONT {}", std::process::id());
        let mut continuing = Command::new("sh").args(["-c", &continues]).spawn().unwrap();
        rustix::process::kill_process(rustix::process::getpid(), Signal::STOP).unwrap();
        continuing.wait().unwrap();
        assert!(history.check().is_ok());
        history.of_monitor(0).report([0.7, 0.875]);
        assert!(!history.was_moved());
        // It goes on to be counted.
        std::thread::sleep(2 * BEFORE);
        history.of_monitor(0).report([0.7, 0.875]);
        assert!(history.was_moved());
    }

    #[test]
    fn a_stall_is_nobody_and_no_silence() {
        let (_, module) = module_path!().split_once("::").unwrap();
        let name = format!("{module}::stall_after_the_first_move");
        let itself = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &name, "--ignored"])
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&itself.stdout);
        assert!(printed.contains("test result: ok. 1 passed"), "{printed}");
    }

    #[test]
    fn where_the_pointer_may_be_already_nothing_is_missed() {
        let history = history();
        let late = || now(&history.state()) + 2 * SILENCE;
        history.expect_reports().unwrap();
        assert!(history.check_at(late()).is_ok());
        history.will_put([10, 10]);
        history.will_put([11, 10]);
        assert!(history.check_at(late()).is_ok());
    }

    #[test]
    fn memory_is_bounded() {
        let history = history();
        for x in 0..3 * CAPACITY {
            history.will_put([x as i32, 0]);
        }
        assert_eq!(history.state().put.len(), CAPACITY);
        let newest = 3 * CAPACITY as i32 - 1;
        assert!(!history.is_moved_to([newest - 10, 0]));
        assert!(!history.is_moved_to([newest, 0]));
        assert!(history.is_moved_to([newest - 10, 0]));
    }

    proptest! {
        /// Whatever way the pointer goes, whatever is left out and rounded.
        #[test]
        fn a_part_of_the_way_is_nobody(
            way in prop::collection::vec((0..60_i32, 0..60_i32, any::<bool>()), 1..200),
            scale in prop::sample::select(vec![1.0, 1.25, 1.5, 2.0]),
        ) {
            let history = history();
            let mut reported = Vec::new();
            for (x, y, is_reported) in way {
                history.will_put([x, y]);
                if is_reported {
                    // As Mutter does it: to pixels of the picture.
                    let pixel = |at: i32| ((f64::from(at) + 0.25) * scale).round() / scale;
                    reported.push([pixel(x) / 1000.0, pixel(y) / 800.0]);
                }
                if reported.len() > 5 {
                    for part in reported.drain(..) {
                        history.report_at(0, part, BEFORE * 100);
                    }
                }
            }
            for part in reported {
                history.report_at(0, part, BEFORE * 100);
            }
            prop_assert!(!history.was_moved());
        }
    }
}
