//! What a stage remembers, where it offers `flowpipe.state/1`: saved, and taken over by another one, which goes on as
//! the old one would have. What it can't know is refused or taken, but no panic, no crash, no hang.

use flowpipe_engine::trial::{End, State, Taken, Trial, Tried};
use flowpipe_generate::Random;
use serde_json::Value;

use crate::plugin_check::checks::ask::told;
use crate::plugin_check::checks::cancel;
use crate::plugin_check::checks::rubbish::{shown, spoiled, wild};
use crate::plugin_check::samples::{self, Sendable};
use crate::plugin_check::subject::Subject;
use crate::plugin_check::telling::Teller;

/// So many boards come before the state is handed over: one of each kind. Then the same come again, for to a board
/// that it remembers a stage may answer as to no other, and as many new ones.
const BOARDS: usize = 7;
/// A source is called so often in all.
const TICKS: usize = 10;
/// How many states are spoiled in one place.
const SPOILED: usize = 100;
/// A state that was spoiled, and taken all the same, is worked with for so many steps.
const WORK: usize = 3;

/// What a stage is given, in order.
struct Script {
    before: Vec<Step>,
    after: Vec<Step>,
}

/// One thing that it is given.
struct Step {
    /// For people.
    name: String,
    port: usize,
    /// `None`: a source is called.
    message: Option<Sendable>,
}

pub fn check(subject: &Subject, tell: &Teller) {
    tell.doing("making it");
    let mut trial = match subject.make() {
        Ok(trial) => trial,
        Err(error) => return tell.fail(error.to_string()),
    };
    tell.doing("saving before it was given anything");
    let offers = trial.save().is_some();
    trial.end();
    if !offers {
        return tell.skip("it offers no flowpipe.state/1");
    }
    let tried = script(subject, tell).and_then(|script| {
        // A pipeline may change before anything has happened.
        let nothing = Script {
            before: Vec::new(),
            after: Vec::new(),
        };
        hand_over(subject, tell, &nothing)?;
        let state = hand_over(subject, tell, &script)?;
        let (refused, all) = refuse(subject, tell, &script, &state)?;
        let (before, after) = (script.before.len(), script.after.len());
        let compared = if subject.manifest().deterministic {
            format!("{after} more answered the same")
        } else {
            format!(
                "{after} more answered, nothing compared: it does not say that it is deterministic"
            )
        };
        let what = subject.takes().map_or("ticks", |_| "messages");
        Ok(format!(
            "taken over after {before} {what}, {compared}; {refused} of {all} wrong states refused"
        ))
    });
    match tried {
        Ok(text) => tell.pass(text),
        Err(why) => tell.fail(why),
    }
}

fn make(subject: &Subject) -> Result<Trial, String> {
    subject.make().map_err(|error| error.to_string())
}

/// Messages for all inputs, board after board; a source is called as often as it gives something.
fn script(subject: &Subject, tell: &Teller) -> Result<Script, String> {
    if subject.takes().is_some() {
        let boards = samples::boards();
        let of = |count: usize| {
            let inputs = subject.manifest().inputs.iter().enumerate();
            let inputs: Vec<_> = inputs.map(|(port, it)| (port, &it.schema)).collect();
            let steps = boards.iter().take(count).flat_map(|board| {
                inputs.iter().filter_map(|(port, schema)| {
                    Some(Step {
                        name: format!("{schema} of {}", board.name),
                        port: *port,
                        message: Some(board.message(schema)?),
                    })
                })
            });
            steps.collect()
        };
        return Ok(Script {
            before: of(BOARDS),
            after: of(2 * BOARDS),
        });
    }
    let tick = |number: usize| Step {
        name: format!("the {number}th tick"),
        port: 0,
        message: None,
    };
    let mut trial = make(subject)?;
    let gives = (1..TICKS).find(|&number| {
        tell.doing(format!("asking for the {number}th time"));
        trial.tick().end == End::Ended
    });
    trial.end();
    let all = gives.unwrap_or(TICKS);
    Ok(Script {
        before: (1..=all / 2).map(tick).collect(),
        after: (all / 2 + 1..=all).map(tick).collect(),
    })
}

fn give(trial: &mut Trial, step: &Step) -> Option<Tried> {
    let Some(message) = &step.message else {
        return Some(trial.tick());
    };
    let frame = message.frame(trial);
    let body = message.body.to_string();
    let tried = trial.message(step.port, &message.schema, body.as_bytes(), frame);
    // The body is JSON: it was made here.
    tried.ok()
}

/// Has one stage save in the midst of the script, another take that over and save it again, and a third take over
/// that. Beside them goes one that is left alone. What was saved first.
fn hand_over(subject: &Subject, tell: &Teller, script: &Script) -> Result<State, String> {
    let given = script.before.len();
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(make(subject)?);
    }
    for step in &script.before {
        tell.doing(format!("taking {}", step.name));
        for trial in &mut all[..2] {
            give(trial, step);
        }
    }
    let mut states: Vec<State> = Vec::new();
    for old in 1..3 {
        Trial::side_by_side(&mut all);
        tell.doing(format!("saving after {given} steps"));
        let state = match all[old].save() {
            Some(Ok(state)) => state,
            Some(Err(why)) => return Err(format!("after {given} steps it can't save: {why}")),
            None => return Err("a second stage of it offers no flowpipe.state/1".to_owned()),
        };
        if let Some(before) = states.first()
            && before.format != state.format
        {
            let (before, after) = (&before.format, &state.format);
            return Err(format!(
                "it saves `{before}`, and having taken that over `{after}`"
            ));
        }
        tell.doing(format!("taking over what was saved after {given} steps"));
        let why = match all[old + 1].load(&state) {
            Taken::Taken => None,
            Taken::Unknown => Some(format!("it does not know the format `{}`", state.format)),
            Taken::Refused(why) | Taken::Panicked(why) => Some(why),
        };
        if let Some(why) = why {
            let json = shown(&state.json);
            return Err(format!(
                "it does not take over what it saved: {why}\n{json}"
            ));
        }
        states.push(state);
    }
    Trial::side_by_side(&mut all);
    for step in &script.after {
        tell.doing(format!(
            "taking {} after the state was handed over",
            step.name
        ));
        let tried: Vec<_> = all.iter_mut().filter_map(|it| give(it, step)).collect();
        if let Some(why) = differs(subject, &tried) {
            return Err(format!("{}: {why}\n{}", step.name, shown(&states[0].json)));
        }
    }
    tell.doing("destroying those that handed over");
    for trial in all {
        trial.end();
    }
    Ok(states.swap_remove(0))
}

/// What is wrong with the answers to one step of those who had to do with a state, the first being that of the one
/// that had not.
fn differs(subject: &Subject, tried: &[Tried]) -> Option<String> {
    let (alone, others) = tried.split_first()?;
    let who = [
        "having saved it",
        "having taken over the state it",
        "having taken over what was saved again it",
    ];
    who.iter().zip(others).find_map(|(who, other)| {
        if let (End::Panicked(text), false) = (&other.end, alone.end == other.end) {
            return Some(format!("{who} fails: {text}"));
        }
        let same =
            told(alone) == told(other) && (alone.end == End::Ended) == (other.end == End::Ended);
        (subject.manifest().deterministic && !same)
            .then(|| format!("{who} answers otherwise than without"))
    })
}

/// Offers states that it can't know to new stages: how many are refused, of how many.
fn refuse(
    subject: &Subject,
    tell: &Teller,
    script: &Script,
    good: &State,
) -> Result<(usize, usize), String> {
    let of = |format: String, json: String| State { format, json };
    let foreign = ["", "no-such-stage/1", "ünïcode", &"x".repeat(1 << 16)];
    let foreign = foreign.map(|format| of(format.to_owned(), good.json.clone()));
    // The host lets nothing else through.
    let value: Value = serde_json::from_str(&good.json).unwrap_or_default();
    let mut random = Random::new(13);
    let mut bodies = wild();
    bodies.extend((0..SPOILED).map(|_| spoiled(&value, &mut random)));
    let own = bodies
        .iter()
        .map(|body| of(good.format.clone(), body.to_string()));
    let (mut refused, mut all) = (0, 0);
    let mut taken_foreign = None;
    for state in foreign.into_iter().chain(own) {
        let shown = format!("{} {}", shown(&state.format), shown(&state.json));
        all += 1;
        tell.doing("making it");
        let mut trial = make(subject)?;
        tell.doing(format!("taking over {shown}"));
        match trial.load(&state) {
            Taken::Panicked(why) => return Err(format!("{why}, taking over {shown}")),
            Taken::Unknown | Taken::Refused(_) => refused += 1,
            Taken::Taken => {
                if state.format != good.format {
                    taken_foreign.get_or_insert(state.format);
                }
                work(subject, tell, script, &mut trial, &shown)?;
            }
        }
        tell.doing(format!("destroying it after it was offered {shown}"));
        trial.end();
    }
    if let Some(format) = taken_foreign {
        let format = shown(&format);
        tell.warn(format!(
            "it takes over a state in the format `{format}`, which it can't know"
        ));
    }
    Ok((refused, all))
}

/// Works a little with a state that is none.
fn work(
    subject: &Subject,
    tell: &Teller,
    script: &Script,
    trial: &mut Trial,
    state: &str,
) -> Result<(), String> {
    for step in script.after.iter().take(WORK) {
        tell.doing(format!("taking {} after it took over {state}", step.name));
        let (tried, late) = cancel::within(subject.patience, trial, |trial| give(trial, step));
        match tried.map(|tried| tried.end) {
            Some(End::Panicked(why)) => {
                return Err(format!(
                    "{why}, at {} after it took over {state}",
                    step.name
                ));
            }
            _ if late => {
                let name = &step.name;
                return Err(format!(
                    "it did not come back from {name} after it took over {state}"
                ));
            }
            Some(End::Ended) => break,
            _ => {}
        }
    }
    Ok(())
}
