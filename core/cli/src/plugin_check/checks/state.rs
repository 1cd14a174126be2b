//! The state of a stage with `flowpipe.state/1`: saved by one, loaded by another, which continues as the first would
//! have. An unknown state is loaded or refused, but without a panic, crash or hang.

use flowpipe_engine::trial::{CallEnd, LoadResult, State, Trial, TrialResult};
use flowpipe_generate::Random;
use serde_json::Value;

use crate::plugin_check::checks::call::emitted;
use crate::plugin_check::checks::cancel;
use crate::plugin_check::checks::malformed::{bodies, shown};
use crate::plugin_check::protocol::Reporter;
use crate::plugin_check::samples::{self, SampleBoard, SampleMessage};
use crate::plugin_check::subject::Subject;

/// How many boards precede the state transfer: one of each kind. After it come the same boards, which the state may
/// contain, and as many new ones.
const BOARDS: usize = 7;
/// How many ticks a source gets.
const TICKS: usize = 10;
/// How many states are modified in one place.
const SPOILED: usize = 100;
/// How many steps run after a malformed state was loaded.
const WORK: usize = 3;

/// The input of a stage, in order.
struct Script {
    before: Vec<ScriptStep>,
    after: Vec<ScriptStep>,
}

/// One step.
struct ScriptStep {
    /// Its description.
    name: String,
    port: usize,
    /// `None`: a tick of a source.
    message: Option<SampleMessage>,
}

pub fn check(subject: &Subject, report: &Reporter) {
    report.doing("creating it");
    let mut trial = match subject.create() {
        Ok(trial) => trial,
        Err(error) => return report.fail(error.to_string()),
    };
    report.doing("saving its initial state");
    let offers = trial.save().is_some();
    trial.end();
    if !offers {
        return report.skip("it does not support flowpipe.state/1");
    }
    let tried = script(subject, report).and_then(|script| {
        // A pipeline may change before the first message.
        let nothing = Script {
            before: Vec::new(),
            after: Vec::new(),
        };
        transfer(subject, report, &nothing)?;
        let state = transfer(subject, report, &script)?;
        let (refused, all) = refuse(subject, report, &script, &state)?;
        let (before, after) = (script.before.len(), script.after.len());
        let compared = if subject.manifest().deterministic {
            format!("{after} more answered the same")
        } else {
            format!(
                "{after} more answered, nothing compared: it does not declare itself deterministic"
            )
        };
        let what = subject.takes().map_or("ticks", |_| "messages");
        Ok(format!(
            "loaded after {before} {what}, {compared}; {refused} of {all} malformed states refused"
        ))
    });
    match tried {
        Ok(text) => report.pass(text),
        Err(why) => report.fail(why),
    }
}

fn make(subject: &Subject) -> Result<Trial, String> {
    subject.create().map_err(|error| error.to_string())
}

/// Messages for all inputs, board after board; for a source as many ticks as emit something.
fn script(subject: &Subject, report: &Reporter) -> Result<Script, String> {
    if subject.takes().is_some() {
        let boards = samples::boards();
        let of = |count: usize| {
            let inputs = subject.manifest().inputs.iter().enumerate();
            let steps = inputs.flat_map(|(port, input)| {
                let shown = boards.get(..count).unwrap_or(&boards);
                let messages = samples::messages(shown, input).into_iter();
                let numbered = messages.take(count).enumerate();
                numbered.map(move |(number, (board, message))| {
                    let is_it =
                        |it: &SampleBoard| board.is_some_and(|board| std::ptr::eq(it, board));
                    let number = shown.iter().position(is_it).unwrap_or(number);
                    let name = match board {
                        Some(_) => format!("{} of {}", input.schema, message.name),
                        None => message.name.clone(),
                    };
                    let step = ScriptStep {
                        name,
                        port,
                        message: Some(message),
                    };
                    (number, step)
                })
            });
            let mut steps: Vec<(usize, ScriptStep)> = steps.collect();
            // The sort is stable: the messages of a board stay in the order of the inputs.
            steps.sort_by_key(|(number, _)| *number);
            steps.into_iter().map(|(_, step)| step).collect()
        };
        return Ok(Script {
            before: of(BOARDS),
            after: of(2 * BOARDS),
        });
    }
    let tick = |number: usize| ScriptStep {
        name: format!("tick {number}"),
        port: 0,
        message: None,
    };
    let mut trial = make(subject)?;
    let gives = (1..TICKS).find(|&number| {
        report.doing(format!("running tick {number}"));
        trial.tick().end == CallEnd::Ended
    });
    trial.end();
    let all = gives.unwrap_or(TICKS);
    Ok(Script {
        before: (1..=all / 2).map(tick).collect(),
        after: (all / 2 + 1..=all).map(tick).collect(),
    })
}

fn give(trial: &mut Trial, step: &ScriptStep) -> Option<TrialResult> {
    let Some(message) = &step.message else {
        return Some(trial.tick());
    };
    let frame = message.frame(trial);
    let body = message.body.to_string();
    let tried = trial.message(step.port, &message.schema, body.as_bytes(), frame);
    // The body is valid JSON.
    tried.ok()
}

/// In the middle of the script, one stage saves its state, a second loads and saves it, and a third loads that. A
/// fourth runs the script alone. Returns the first state.
fn transfer(subject: &Subject, report: &Reporter, script: &Script) -> Result<State, String> {
    let given = script.before.len();
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(make(subject)?);
    }
    for step in &script.before {
        report.doing(format!("processing {}", step.name));
        for trial in &mut all[..2] {
            give(trial, step);
        }
    }
    let mut states: Vec<State> = Vec::new();
    for old in 1..3 {
        Trial::side_by_side(&mut all);
        report.doing(format!("saving after {given} steps"));
        let state = match all[old].save() {
            Some(Ok(state)) => state,
            Some(Err(why)) => return Err(format!("after {given} steps it can't save: {why}")),
            None => return Err("a second stage of it does not support flowpipe.state/1".to_owned()),
        };
        if let Some(before) = states.first()
            && before.format != state.format
        {
            let (before, after) = (&before.format, &state.format);
            return Err(format!(
                "it saves `{before}`, and after loading that `{after}`"
            ));
        }
        report.doing(format!("loading what was saved after {given} steps"));
        let why = match all[old + 1].load(&state) {
            LoadResult::Loaded => None,
            LoadResult::Unknown => Some(format!("it does not know the format `{}`", state.format)),
            LoadResult::Refused(why) | LoadResult::Panicked(why) => Some(why),
        };
        if let Some(why) = why {
            let json = shown(&state.json);
            return Err(format!("it does not load what it saved: {why}\n{json}"));
        }
        states.push(state);
    }
    Trial::side_by_side(&mut all);
    for step in &script.after {
        report.doing(format!("processing {} after the state transfer", step.name));
        let tried: Vec<_> = all.iter_mut().filter_map(|it| give(it, step)).collect();
        if let Some(why) = differs(subject, &tried) {
            return Err(format!("{}: {why}\n{}", step.name, shown(&states[0].json)));
        }
    }
    report.doing("destroying the stages");
    for trial in all {
        trial.end();
    }
    Ok(states.swap_remove(0))
}

/// How the answers to one step differ from the first, which is of the stage without a state transfer.
fn differs(subject: &Subject, tried: &[TrialResult]) -> Option<String> {
    let (alone, others) = tried.split_first()?;
    let who = [
        "after saving it",
        "after loading the state it",
        "after loading the state saved again it",
    ];
    who.iter().zip(others).find_map(|(who, other)| {
        if let (CallEnd::Panicked(text), false) = (&other.end, alone.end == other.end) {
            return Some(format!("{who} fails: {text}"));
        }
        let same = emitted(alone) == emitted(other)
            && (alone.end == CallEnd::Ended) == (other.end == CallEnd::Ended);
        (subject.manifest().deterministic && !same)
            .then(|| format!("{who} answers differently than without"))
    })
}

/// Passes unknown states to new stages. Returns how many are refused, of how many.
fn refuse(
    subject: &Subject,
    report: &Reporter,
    script: &Script,
    good: &State,
) -> Result<(usize, usize), String> {
    let of = |format: String, json: String| State { format, json };
    let foreign = ["", "no-such-stage/1", "ünïcode", &"x".repeat(1 << 16)];
    let foreign = foreign.map(|format| of(format.to_owned(), good.json.clone()));
    // The host accepts only JSON.
    let value: Value = serde_json::from_str(&good.json).unwrap_or_default();
    let mut random = Random::new(13);
    let bodies = bodies(Some(&value), SPOILED, &mut random);
    let own = bodies
        .iter()
        .map(|body| of(good.format.clone(), body.to_string()));
    let (mut refused, mut all) = (0, 0);
    let mut loaded_unknown = None;
    for state in foreign.into_iter().chain(own) {
        let shown = format!("{} {}", shown(&state.format), shown(&state.json));
        all += 1;
        report.doing("creating it");
        let mut trial = make(subject)?;
        report.doing(format!("loading {shown}"));
        match trial.load(&state) {
            LoadResult::Panicked(why) => return Err(format!("{why}, loading {shown}")),
            LoadResult::Unknown | LoadResult::Refused(_) => refused += 1,
            LoadResult::Loaded => {
                if state.format != good.format {
                    loaded_unknown.get_or_insert(state.format);
                }
                work(subject, report, script, &mut trial, &shown)?;
            }
        }
        report.doing(format!("destroying it after {shown}"));
        trial.end();
    }
    if let Some(format) = loaded_unknown {
        let format = shown(&format);
        report.warn(format!("it loads a state in the unknown format `{format}`"));
    }
    Ok((refused, all))
}

/// Runs a few steps after a malformed state.
fn work(
    subject: &Subject,
    report: &Reporter,
    script: &Script,
    trial: &mut Trial,
    state: &str,
) -> Result<(), String> {
    for step in script.after.iter().take(WORK) {
        report.doing(format!("processing {} after it loaded {state}", step.name));
        let (tried, late) = cancel::within(subject.timeout, trial, |trial| give(trial, step));
        match tried.map(|tried| tried.end) {
            Some(CallEnd::Panicked(why)) => {
                return Err(format!("{why}, at {} after it loaded {state}", step.name));
            }
            _ if late => {
                let name = &step.name;
                return Err(format!(
                    "it did not return from {name} after it loaded {state}"
                ));
            }
            Some(CallEnd::Ended) => break,
            _ => {}
        }
    }
    Ok(())
}
