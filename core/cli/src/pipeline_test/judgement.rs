//! Compares what a test has emitted with what is expected.

use flowpipe_config::reader::pipeline_test::{Expectation, PipelineTest, Position, TestOutput};
use flowpipe_engine::stepped::StageFailure;
use flowpipe_host::message::Message;
use flowpipe_jq::{Cancelled, Expression};
use flowpipe_terminal::{counted, was};
use serde::Serialize;
use serde_json::Value;

use super::buffer;
use super::difference::{self, Extent};
use super::execution::Observed;
use super::inputs::Folder;
use super::listing::Listing;

/// Why a test failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestFailure {
    /// Where that is expected in the file.
    #[serde(flatten)]
    pub at: Position,
    /// What is wrong.
    pub message: String,
    /// The path of the value that differs, as jq has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What is expected there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// What is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Value>,
    /// The messages of the output. It is at the last failure of an output.
    #[serde(skip_serializing_if = "Listing::is_empty")]
    pub messages: Listing,
}

impl TestFailure {
    pub fn new(at: Position, message: String) -> Self {
        Self {
            at,
            message,
            path: None,
            expected: None,
            found: None,
            messages: Listing::default(),
        }
    }
}

/// The most findings of one output, and of all failures: more say nothing new.
const MOST_FINDINGS: usize = 10;

/// What differs from what a test expects. `names`: the stages. `folder`: of the files that it names.
pub fn judge(
    test: &PipelineTest,
    observed: &Observed,
    names: &[String],
    folder: &Folder,
    is_cancelled: Cancelled<'_>,
) -> Vec<TestFailure> {
    let mut findings = Vec::new();
    let name = |stage: usize| names.get(stage).map_or("?", |name| name.as_str());
    let mut more = observed.unkept_failures;
    for failure in &observed.failures {
        if is_cancelled() {
            return findings;
        }
        let expects = |it: &&TestOutput| {
            let error = it.error.as_ref();
            it.stage == failure.stage && error.is_some_and(|it| failure.text.contains(&it.value))
        };
        if test.outputs.iter().find(expects).is_some() {
            continue;
        }
        if findings.len() < MOST_FINDINGS {
            let times = match failure.times {
                1 => String::new(),
                times => format!(" {times} times"),
            };
            let text = format!("{} failed{times}: {}", name(failure.stage), failure.text);
            findings.push(TestFailure::new(test.at, text));
        } else {
            more += failure.times;
        }
    }
    if more > 0 {
        let text = match more {
            1 => "and 1 more failure".to_owned(),
            more => format!("and {more} more failures"),
        };
        findings.push(TestFailure::new(test.at, text));
    }
    for (output, messages) in test.outputs.iter().zip(&observed.messages) {
        if is_cancelled() {
            return findings;
        }
        let stage = name(output.stage);
        if let Some(error) = &output.error {
            let fails =
                |it: &StageFailure| it.stage == output.stage && it.text.contains(&error.value);
            if !observed.failures.iter().any(fails) {
                let of_stage = observed.failures.iter();
                let of_stage = of_stage.filter(|it| it.stage == output.stage);
                let found: Vec<_> = of_stage.take(MOST_FINDINGS).map(|it| &*it.text).collect();
                findings.push(TestFailure {
                    expected: Some(error.value.clone().into()),
                    found: (!found.is_empty()).then(|| found.into()),
                    ..TestFailure::new(error.at, format!("{stage} did not fail so"))
                });
            }
        }
        let before = findings.len();
        let expected = output.expect.as_deref().unwrap_or_default();
        let pairs = expected.iter().zip(messages).enumerate();
        let mut wrong = pairs.filter_map(|(index, (expected, message))| {
            let what = format!("message {} of {stage}", index + 1);
            let differs = differs(expected, message, &what, is_cancelled).or_else(|| {
                let expected = expected.buffer.as_ref()?;
                buffer::difference(expected, message, &what, folder)
            });
            Some((index, differs?))
        });
        let (indexes, first): (Vec<_>, Vec<_>) = wrong.by_ref().take(MOST_FINDINGS).unzip();
        findings.extend(first);
        let more = wrong.take_while(|_| !is_cancelled()).count() as u64;
        if more > 0 {
            let text = match more {
                1 => format!("and 1 more message of {stage}"),
                more => format!("and {more} more messages of {stage}"),
            };
            findings.push(TestFailure::new(output.at, text));
        }
        findings.extend(wrong_count(output, messages.len(), stage));
        if findings.len() > before
            && let Some(last) = findings.last_mut()
        {
            last.messages = Listing::of(output, messages, &indexes);
        }
    }
    findings
}

/// That there are too many or too few messages.
fn wrong_count(output: &TestOutput, found: usize, stage: &str) -> Option<TestFailure> {
    let listed = output.expect.as_ref().map(|expected| expected.len() as u64);
    let (expected, at) = match &output.count {
        Some(count) => (count.value, count.at),
        None => {
            let listed = listed?;
            let missing = output.expect.iter().flatten().nth(found);
            (listed, missing.map_or(output.at, |it| it.at))
        }
    };
    if found as u64 == expected {
        return None;
    }
    let wanted = match expected {
        0 => "nothing".to_owned(),
        expected => counted(expected, "message"),
    };
    let text = match found {
        0 => format!(
            "{stage} emitted nothing, and {wanted} {} expected",
            was(expected)
        ),
        found => {
            let found = counted(found, "message");
            let was = if expected == 0 { "was" } else { was(expected) };
            format!("{stage} emitted {found}, and {wanted} {was} expected")
        }
    };
    Some(TestFailure::new(at, text))
}

/// How the JSON of a message differs from what is expected.
fn differs(
    expected: &Expectation,
    message: &Message,
    what: &str,
    is_cancelled: Cancelled<'_>,
) -> Option<TestFailure> {
    if let Some(schema) = &expected.schema
        && schema.value != message.schema()
    {
        return Some(TestFailure {
            expected: Some(schema.value.clone().into()),
            found: Some(message.schema().into()),
            ..TestFailure::new(schema.at, format!("{what}: its schema differs"))
        });
    }
    let found = message.value();
    let compared = [
        (&expected.equal, Extent::Whole),
        (&expected.contains, Extent::Part),
    ];
    for (value, extent) in compared {
        let Some(value) = value else { continue };
        if found.is_null() && message.json().trim() != "null" {
            let text = format!("{what}: it is nested too deep, or has a number that is too large");
            return Some(TestFailure::new(value.at, text));
        }
        if let Some(difference) = difference::first(&value.value, found, extent) {
            return Some(TestFailure {
                path: Some(difference.path),
                expected: difference.expected,
                found: difference.found,
                ..TestFailure::new(value.at, format!("{what}: a value differs"))
            });
        }
    }
    let jq = expected.jq.as_ref()?;
    let accepted = match Expression::compile(&jq.value) {
        Ok(expression) => {
            let accepted = expression.accepts(message.json().as_bytes(), is_cancelled);
            accepted.map_err(|error| error.to_string())
        }
        Err(error) => Err(error.to_string()),
    };
    let text = match accepted {
        Ok(true) => return None,
        Ok(false) => format!("{what}: the condition {:?} is not true", jq.value),
        Err(reason) => format!("{what}: {:?}: {reason}", jq.value),
    };
    Some(TestFailure {
        found: Some(found.clone()),
        ..TestFailure::new(jq.at, text)
    })
}
