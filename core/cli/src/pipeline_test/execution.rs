//! Runs one test.
//!
//! It runs on a thread of its own, which is abandoned if a plugin does not return.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::Pipeline;
use flowpipe_config::reader::pipeline_test::PipelineTest;
use flowpipe_engine::run::Options;
use flowpipe_engine::stepped::{Over, StageFailure, SteppedCanceller, SteppedRun};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_host::message::Message;

use super::inputs::{self, Folder};
use super::judgement::{self, TestFailure};

/// How long a call may take to react to the cancellation before it is abandoned.
const GRACE: Duration = Duration::from_secs(1);
/// How often the cancellation is repeated.
const REPEAT: Duration = Duration::from_millis(5);

/// The result of a test.
#[derive(Debug)]
pub struct TestResult {
    /// Why it failed. None: it passed.
    pub findings: Vec<TestFailure>,
    /// How long it took.
    pub took: Duration,
}

/// What happened in a test.
#[derive(Default)]
pub struct Observed {
    /// By expected output: its messages.
    pub messages: Vec<Vec<Arc<Message>>>,
    /// Stages that failed, with their errors.
    pub failures: Vec<StageFailure>,
    /// How many failures are not among them.
    pub unkept_failures: u64,
}

/// A test and what it needs.
pub struct Execution {
    /// With the config of the test.
    pub pipeline: Pipeline,
    pub test: PipelineTest,
    pub folder: Folder,
    pub catalogue: Arc<Catalogue>,
}

impl Execution {
    /// Runs it.
    pub fn run(self) -> TestResult {
        let began = Instant::now();
        let (at, timeout) = (self.test.at, self.test.timeout);
        let canceller = SteppedCanceller::default();
        let (sender, result) = mpsc::channel();
        let on_thread = canceller.clone();
        let thread = std::thread::Builder::new().name("test".to_owned());
        let spawned = thread.spawn(move || {
            // The receiver is gone if this thread was abandoned.
            let _ = sender.send(self.findings(on_thread));
        });
        let finding = |text: String| vec![TestFailure::new(at, text)];
        let findings = match spawned {
            Err(error) => finding(format!("the system has no thread for it: {error}")),
            Ok(_) => match result.recv_timeout(timeout) {
                Ok(findings) => findings,
                Err(RecvTimeoutError::Disconnected) => finding("it panicked".to_owned()),
                Err(RecvTimeoutError::Timeout) => {
                    let has_returned = cancel(&canceller, &result);
                    let taken = format!("it was not done after {timeout:?}");
                    finding(match has_returned {
                        true => format!("{taken}, and was cancelled"),
                        false => format!("{taken}, and a plugin did not return: it is abandoned"),
                    })
                }
            },
        };
        TestResult {
            findings,
            took: began.elapsed(),
        }
    }

    /// Why it failed.
    fn findings(self, canceller: SteppedCanceller) -> Vec<TestFailure> {
        let Self {
            pipeline,
            test,
            folder,
            catalogue,
        } = self;
        let names: Vec<_> = pipeline.stages.iter().map(|it| it.name.clone()).collect();
        let options = Options::default();
        let run = SteppedRun::new(
            pipeline,
            &test.stages,
            &catalogue,
            options,
            canceller.clone(),
        );
        let mut run = match run {
            Ok(run) => run,
            Err(error) => return vec![TestFailure::new(test.at, error.to_string())],
        };
        let mut observed = Observed {
            messages: vec![Vec::new(); test.outputs.len()],
            ..Observed::default()
        };
        let mut findings = Vec::new();
        for input in &test.inputs {
            if let Some(after) = input.after {
                run.advance_to(after);
            }
            let mut refused = None;
            let read = inputs::read(input, &folder, &catalogue, |message| {
                let entered = run.enter(input.from, input.to, message);
                refused = entered.err();
                observed.take(&mut run, &test);
                refused.is_none() && run.over().is_none() && !canceller.is_cancelled()
            });
            let refused = refused.map(|reason| format!("this message is refused: {reason}"));
            let unread = read
                .err()
                .map(|reason| format!("this input can't be read: {reason}"));
            if let Some(text) = refused.or(unread) {
                findings.push(TestFailure::new(input.at, text));
            }
            if run.over().is_some() {
                break;
            }
        }
        run.finish();
        observed.take(&mut run, &test);
        if run.over() == Some(Over::TooMuch) {
            let text = "its stages have emitted more than 100,000 messages, or 256 MiB";
            findings.push(TestFailure::new(test.at, text.to_owned()));
        }
        observed.failures = run.failures().to_vec();
        observed.unkept_failures = run.unkept_failures();
        if findings.is_empty() {
            let is_cancelled = || canceller.is_cancelled();
            findings = judgement::judge(&test, &observed, &names, &folder, &is_cancelled);
        }
        run.end();
        findings
    }
}

impl Observed {
    fn take(&mut self, run: &mut SteppedRun, test: &PipelineTest) {
        for (from, message) in run.take_emitted() {
            for (output, messages) in test.outputs.iter().zip(&mut self.messages) {
                if output.stage == from.stage && output.port == Some(from.port) {
                    messages.push(message.clone());
                }
            }
        }
    }
}

/// Cancels a test until it has returned. False: it does not.
fn cancel(canceller: &SteppedCanceller, result: &mpsc::Receiver<Vec<TestFailure>>) -> bool {
    let began = Instant::now();
    while began.elapsed() < GRACE {
        canceller.cancel();
        match result.recv_timeout(REPEAT) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return true,
        }
    }
    false
}
