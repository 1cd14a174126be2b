//! What the machines of a run send each other of their stages.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::Report;
use flowpipe_host::clock::Clock;
use flowpipe_link::clock_offset::Offset;
use flowpipe_machines::{
    Observation, ObservationSender, Observed, UNEXPECTED, read_report, write_report,
};
use flowpipe_recorder::record::{Recorder, SendPart, TransferReader};
use flowpipe_recorder::trace::Tracer;
use flowpipe_recording::LATEST_TIME;
use flowpipe_sync::lock;
use flowpipe_terminal::{eprintln, escape};
use serde::{Deserialize, Serialize};

use crate::machines::progress::MachineProgress;

/// How often a thread that waits checks what it waits for.
const STEP: Duration = Duration::from_millis(100);

/// What another machine has sent of its stages.
pub struct Observations {
    state: Mutex<ObservedState>,
    changed: Condvar,
    /// Where the calls and messages of its stages are recorded and traced.
    recorded: Mutex<Option<RecordedMachine>>,
    since: Instant,
}

/// A machine whose calls and messages are recorded or traced here.
pub struct RecordedMachine {
    /// Its index, and its name.
    machine: usize,
    name: String,
    recorder: Option<Arc<Recorder>>,
    tracer: Option<Arc<Tracer>>,
    clock: Clock,
    reader: TransferReader,
    /// Whether nothing more is to come.
    is_complete: bool,
    is_refused: bool,
}

/// Whether something still comes from a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Its counts come.
    Active,
    /// Nothing has come for so long.
    Silent(Duration),
    /// Its run has ended.
    Ended,
    /// It is dead, or a machine on the way to it.
    Dead,
}

#[derive(Default)]
struct ObservedState {
    is_over: bool,
    is_lost: bool,
    /// Another machine has reported that it is dead.
    is_reported_dead: bool,
    /// The recording or the trace lacks some of its calls.
    has_gap: bool,
    report: Option<Report>,
    /// The last counts, and when they came.
    progress: Option<(MachineProgress, Instant)>,
}

/// How a machine has set its clock.
#[derive(Serialize, Deserialize)]
struct ClockSetting {
    ahead_ns: i64,
    error_ns: i64,
}

/// Without counts for so long, a machine is silent.
const SILENCE: Duration = Duration::from_secs(3);

impl Observations {
    pub fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            recorded: Mutex::default(),
            since: Instant::now(),
        }
    }

    /// Records and traces its calls. Call it before it sends any.
    pub fn record(&self, machine: RecordedMachine) {
        *lock(&self.recorded) = Some(machine);
    }

    /// Takes what it has sent.
    pub fn take(&self, observed: Observed<'_>, pipeline: &Pipeline) -> Result<(), String> {
        let (kind, body) = match observed {
            Observed::Sent(kind, body) => (kind, body),
            Observed::Ended => return self.end(false),
            Observed::Lost => return self.end(true),
        };
        if self.lock().is_over {
            return Err(UNEXPECTED.to_owned());
        }
        match kind {
            Observation::Report => {
                let report = read_report(body, pipeline).map_err(|error| error.to_string())?;
                self.lock().report = Some(report);
                // It is the last of all.
                self.end(false)
            }
            Observation::Counts => {
                let progress = MachineProgress::read(body, pipeline);
                let mut progress = progress.ok_or("its counts are malformed")?;
                let mut state = self.lock();
                if let Some((before, _)) = state.progress.take() {
                    progress.continue_from(before);
                }
                state.progress = Some((progress, Instant::now()));
                Ok(())
            }
            Observation::Entries => match &mut *lock(&self.recorded) {
                Some(recorded) => recorded.add(body),
                None => Err(UNEXPECTED.to_owned()),
            },
            Observation::Clock => match &*lock(&self.recorded) {
                Some(recorded) => recorded.set_clock(body),
                None => Err(UNEXPECTED.to_owned()),
            },
        }
    }

    /// Nothing more comes. `is_lost`: some is missing.
    fn end(&self, is_lost: bool) -> Result<(), String> {
        let recorded = lock(&self.recorded).take();
        let is_whole = recorded.is_none_or(RecordedMachine::end);
        let mut state = self.lock();
        state.has_gap |= !is_whole;
        if !std::mem::replace(&mut state.is_over, true) {
            state.is_lost = is_lost;
        }
        self.changed.notify_all();
        Ok(())
    }

    /// Another machine reports that it is dead. What is still under way from it can come.
    pub fn report_death(&self) {
        self.lock().is_reported_dead = true;
    }

    /// Its last counts, and whether more come.
    pub fn progress(&self) -> (Option<MachineProgress>, Presence) {
        let state = self.lock();
        let last = state.progress.as_ref().map_or(self.since, |(_, at)| *at);
        let presence = match last.elapsed() {
            _ if state.is_lost || state.is_reported_dead => Presence::Dead,
            _ if state.is_over => Presence::Ended,
            silent if silent >= SILENCE => Presence::Silent(silent),
            _ => Presence::Active,
        };
        let progress = state
            .progress
            .as_ref()
            .map(|(progress, _)| progress.clone());
        (progress, presence)
    }

    /// Whether the recording or the trace lacks some of its calls. Known once [`Self::wait`] has returned.
    pub fn has_gap(&self) -> bool {
        self.lock().has_gap
    }

    /// Waits until it has sent everything, or is dead, at most for this time. Returns whether it has, or is.
    pub fn wait_until_over(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if state.is_over || left.is_zero() {
                return state.is_over;
            }
            let woken = self.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until it has sent everything, or is dead. Returns the report of its run.
    pub fn wait(&self) -> Option<Report> {
        let mut state = self.lock();
        while !state.is_over {
            let woken = self.changed.wait_timeout(state, STEP);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.report.take()
    }

    fn lock(&self) -> MutexGuard<'_, ObservedState> {
        lock(&self.state)
    }
}

impl RecordedMachine {
    /// `reader`: of what it sends. `to`: where it is recorded and traced.
    pub fn new(
        (machine, name): (usize, &str),
        to: (Option<Arc<Recorder>>, Option<Arc<Tracer>>),
        clock: Clock,
        reader: TransferReader,
    ) -> Self {
        let (recorder, tracer) = to;
        Self {
            machine,
            name: name.to_owned(),
            recorder,
            tracer,
            clock,
            reader,
            is_complete: false,
            is_refused: false,
        }
    }

    fn add(&mut self, part: &[u8]) -> Result<(), String> {
        if self.is_refused {
            return Ok(());
        }
        if self.is_complete {
            return Err(UNEXPECTED.to_owned());
        }
        let (recorder, tracer) = (self.recorder.as_deref(), self.tracer.as_deref());
        match self.reader.add(part, recorder, tracer) {
            Ok(is_last) => {
                self.is_complete = is_last;
                Ok(())
            }
            Err(error) => {
                self.is_refused = true;
                self.end_early();
                Err(error.to_string())
            }
        }
    }

    fn set_clock(&self, body: &[u8]) -> Result<(), String> {
        let setting: ClockSetting = serde_json::from_slice(body).map_err(|_| UNEXPECTED)?;
        let is_time = (-LATEST_TIME..=LATEST_TIME).contains(&setting.ahead_ns);
        if !is_time || !(0..=LATEST_TIME).contains(&setting.error_ns) {
            return Err(UNEXPECTED.to_owned());
        }
        if let Some(tracer) = &self.tracer {
            tracer.add_clock(self.machine, setting.ahead_ns, setting.error_ns);
        }
        Ok(())
    }

    /// It sends nothing more. Returns whether it has sent all of its entries.
    fn end(self) -> bool {
        if !self.is_complete && !self.is_refused {
            self.end_early();
        }
        self.is_complete
    }

    fn end_early(&self) {
        let name = &self.name;
        let why = format!("what the stages of machine {name} did from here on is missing");
        let escaped = escape(&why);
        if let Some(recorder) = &self.recorder {
            recorder.end_early(&why, self.clock.now());
            eprintln!("the recording ends early: {escaped}");
        }
        if self.tracer.is_some() {
            eprintln!("the trace is incomplete: {escaped}");
        }
    }
}

/// Sends what a recorder has to the machine that observes the run, behind how the clock here was set.
pub fn send_entries(to: ObservationSender, clock: Offset) -> SendPart {
    let setting = ClockSetting {
        ahead_ns: clock.offset_ns,
        error_ns: clock.error_ns,
    };
    // It has no maps, so that it is always JSON.
    let mut setting = Some(serde_json::to_vec(&setting).unwrap_or_default());
    Box::new(move |part| {
        let is_set = setting
            .take()
            .is_none_or(|setting| to.send(Observation::Clock, &setting));
        is_set && to.send(Observation::Entries, part)
    })
}

/// Sends the report of the run here, which has ended, and nothing more.
pub fn send_last(to: &ObservationSender, report: &Report) {
    // False: a machine is dead, or takes nothing more.
    to.send(Observation::Report, &write_report(report));
    to.end();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machines::testing::pipeline;

    fn refusal(observations: &Observations, kind: Observation, body: &[u8]) -> String {
        let observed = Observed::Sent(kind, body);
        observations.take(observed, &pipeline()).unwrap_err()
    }

    #[test]
    fn what_a_machine_should_not_send_is_refused() {
        let observations = Observations::new();
        for kind in [Observation::Entries, Observation::Clock] {
            let refused = refusal(&observations, kind, b"{}");
            assert_eq!(refused, UNEXPECTED, "nothing is recorded here");
        }
        for body in [
            &b"{}"[..],
            b"",
            br#"{"progress":{"seconds":1,"stages":[{}]},"times":[],"links":[]}"#,
        ] {
            let refused = refusal(&observations, Observation::Counts, body);
            assert_eq!(refused, "its counts are malformed");
        }
        assert!(observations.progress().0.is_none());
        let refused = refusal(&observations, Observation::Report, b"{");
        assert!(
            refused.starts_with("its report is malformed: "),
            "{refused}"
        );
        assert!(observations.take(Observed::Lost, &pipeline()).is_ok());
        assert!(!observations.has_gap(), "nothing is recorded");
        assert!(observations.wait().is_none(), "there is no report");
        assert_eq!(observations.progress().1, Presence::Dead);
        // Nothing comes after the last.
        for kind in [
            Observation::Counts,
            Observation::Report,
            Observation::Entries,
        ] {
            assert_eq!(refusal(&observations, kind, b"{}"), UNEXPECTED);
        }
    }

    #[test]
    fn a_machine_is_waited_for_until_it_is_over_or_for_a_time() {
        let observations = Observations::new();
        assert!(!observations.wait_until_over(Duration::from_millis(1)));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| observations.wait_until_over(Duration::from_secs(3600)));
            observations.take(Observed::Ended, &pipeline()).unwrap();
            assert!(waiting.join().unwrap());
        });
        assert!(observations.wait_until_over(Duration::ZERO));
    }

    #[test]
    fn a_machine_that_another_one_reports_as_dead_is_dead() {
        let observations = Observations::new();
        assert_eq!(observations.progress().1, Presence::Active);
        observations.report_death();
        assert_eq!(observations.progress().1, Presence::Dead);
    }

    #[test]
    fn a_machine_that_breaks_off_leaves_a_gap_although_its_report_comes() {
        let about = serde_json::json!({
            "format": 1, "flowpipe": "", "name": "", "file": "", "started_unix_ns": 0, "dry": false, "stages": [],
            "edges": [],
        });
        let report = serde_json::json!({
            "pipeline": "", "seconds": 0.0, "stopped": false, "ended": null, "failure": null, "stages": [], "edges": [],
            "marks": {}, "frames": { "allocated": 0, "reused": 0, "live": 0, "idle_bytes": 0 }, "problem_counts": {},
            "problems": [],
        });
        let observations = Observations::new();
        let about = serde_json::from_value(about).unwrap();
        observations.record(RecordedMachine::new(
            (1, "rack"),
            (None, None),
            Clock::start(),
            TransferReader::new(about, [0].into()),
        ));
        let report = report.to_string();
        let sent = Observed::Sent(Observation::Report, report.as_bytes());
        observations.take(sent, &pipeline()).unwrap();
        assert!(observations.wait().is_some());
        assert!(observations.has_gap());
    }
}
