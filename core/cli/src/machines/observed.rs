//! What the machines of a run send each other of their stages.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::Report;
use flowpipe_host::clock::Clock;
use flowpipe_machines::{ObservationSender, Observed, Peer, read_report, write_report};
use flowpipe_recorder::record::{Recorder, SendBatch, TransferReader};
use flowpipe_terminal::{eprintln, escape};

/// What the first byte says of the others.
const REPORT: u8 = 0;
const RECORDED: u8 = 1;

const UNEXPECTED: &str = "it sent something that it should not";

/// How often a thread that waits checks what it waits for.
const STEP: Duration = Duration::from_millis(100);

/// What another machine has sent of its stages.
pub struct Observations {
    state: Mutex<ObservedState>,
    changed: Condvar,
    /// Where the calls and messages of its stages are recorded.
    recorded: Mutex<Option<RecordedMachine>>,
}

/// A machine whose calls and messages are recorded here.
pub struct RecordedMachine {
    /// Its name.
    name: String,
    recorder: Arc<Recorder>,
    clock: Clock,
    reader: TransferReader,
    /// Whether nothing more is to come.
    is_complete: bool,
    is_refused: bool,
}

#[derive(Default)]
struct ObservedState {
    is_over: bool,
    report: Option<Report>,
}

impl Observations {
    /// Takes what a machine sends from now on.
    pub fn of(peer: &mut Peer, pipeline: &Pipeline) -> Arc<Self> {
        let observations = Arc::new(Self::new());
        let (own, pipeline) = (observations.clone(), pipeline.clone());
        peer.observe(move |observed| own.take(observed, &pipeline));
        observations
    }

    fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            recorded: Mutex::default(),
        }
    }

    /// Records its calls and messages. Call it before it sends any.
    pub fn record(&self, machine: RecordedMachine) {
        *lock(&self.recorded) = Some(machine);
    }

    fn take(&self, observed: Observed, pipeline: &Pipeline) -> Result<(), String> {
        match observed {
            Observed::Sent(body) => match body.split_first() {
                Some((&REPORT, body)) => {
                    let report = read_report(body, pipeline).map_err(|error| error.to_string())?;
                    self.lock().report = Some(report);
                    Ok(())
                }
                Some((&RECORDED, body)) => match &mut *lock(&self.recorded) {
                    Some(recorded) => recorded.add(body),
                    None => Err(UNEXPECTED.to_owned()),
                },
                _ => Err(UNEXPECTED.to_owned()),
            },
            Observed::Ended | Observed::Lost => {
                if let Some(recorded) = lock(&self.recorded).take() {
                    recorded.end();
                }
                self.lock().is_over = true;
                self.changed.notify_all();
                Ok(())
            }
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
    /// `stages`: those that it runs.
    pub fn new(name: &str, recorder: Arc<Recorder>, clock: Clock, stages: BTreeSet<usize>) -> Self {
        Self {
            name: name.to_owned(),
            recorder,
            clock,
            reader: TransferReader::new(stages),
            is_complete: false,
            is_refused: false,
        }
    }

    fn add(&mut self, batch: &[u8]) -> Result<(), String> {
        if self.is_refused {
            return Ok(());
        }
        if self.is_complete {
            return Err(UNEXPECTED.to_owned());
        }
        match self.recorder.add(&mut self.reader, batch) {
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

    /// It sends nothing more.
    fn end(self) {
        if !self.is_complete && !self.is_refused {
            self.end_early();
        }
    }

    fn end_early(&self) {
        let name = &self.name;
        let why = format!("what the stages of machine {name} did from here on is missing");
        self.recorder.end_early(&why, self.clock.now());
        eprintln!("the recording ends early: {}", escape(&why));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends batches of a recorder to the machine that records.
pub fn send_recorded(to: ObservationSender) -> SendBatch {
    Box::new(move |batch| {
        let mut body = Vec::with_capacity(batch.len() + 1);
        body.push(RECORDED);
        body.extend(batch);
        to.send(body)
    })
}

/// Sends the report of the run here, which has ended, and nothing more.
pub fn send_last(to: &ObservationSender, report: &Report) {
    let mut body = vec![REPORT];
    body.extend(write_report(report));
    // False: it is dead, or takes nothing more.
    to.send(body);
    to.end();
}

#[cfg(test)]
mod tests {
    use flowpipe_config::pipeline::{Machines, OnStop};

    use super::*;

    fn pipeline() -> Pipeline {
        Pipeline {
            name: String::new(),
            stages: Vec::new(),
            edges: Vec::new(),
            on_stop: OnStop::Drain,
            record: None,
            machines: Machines::default(),
        }
    }

    #[test]
    fn what_a_machine_should_not_send_is_refused() {
        let observations = Observations::new();
        let refusal = |body: &[u8]| {
            let observed = Observed::Sent(body.to_vec());
            observations.take(observed, &pipeline()).unwrap_err()
        };
        for body in [&[][..], &[99], &[RECORDED], &[RECORDED, 1, 2]] {
            assert_eq!(refusal(body), UNEXPECTED, "nothing is recorded here");
        }
        assert!(refusal(&[REPORT, b'{']).starts_with("its report is malformed: "));
        assert!(observations.take(Observed::Lost, &pipeline()).is_ok());
        assert!(observations.wait().is_none(), "there is no report");
    }
}
