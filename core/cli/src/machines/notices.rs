//! What a machine prints of the others: which ones are missing, and what happens to them in the run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use flowpipe_config::pipeline::{Machine, Pipeline};
use flowpipe_engine::run::Stopper;
use flowpipe_link::link::LinkFailure;
use flowpipe_link::transport::FailureReason;
use flowpipe_machines::{Absence, AgreementError, BridgeEvent, Missing};
use flowpipe_sync::lock;
use flowpipe_terminal::{counted, eprintln, escape};

use crate::connection_advice::advice;
use crate::exit::Failure;
use crate::line_budget::{LimitedNotices, shortened};
use crate::machines::Ending;
use crate::machines::cycles::IdleMachines;
use crate::machines::observed::Observations;
use crate::signals;

/// When it is printed why another machine is not there yet.
const NOTICE_AFTER: Duration = Duration::from_secs(4);
/// Of how many messages of a machine it is printed why they are refused.
const MOST_REFUSALS: usize = 20;
/// The most characters of another machine's reason to end the run.
const LONGEST_REASON: usize = 200;

/// Prints which machines are missing, and later why. `own`: this machine.
pub(super) fn missing(own: &Machine) -> impl FnMut(&[Missing]) {
    let (own, listen) = (
        own.name.clone(),
        own.listen.as_ref().map(ToString::to_string),
    );
    let began = Instant::now();
    let mut printed: BTreeMap<String, Option<Absence>> = BTreeMap::new();
    move |missing| {
        for Missing { machine, absence } in missing {
            let name = escape(machine);
            if !printed.contains_key(machine) {
                eprintln!("waiting for machine {name}");
            }
            let before = printed.entry(machine.clone()).or_default();
            // At first the others may just not have started yet.
            if before.as_ref() != Some(absence)
                && began.elapsed() >= NOTICE_AFTER
                && let Some(why) = why_missing(absence, &own, listen.as_deref().unwrap_or("?"))
            {
                eprintln!("still waiting for machine {name}: {why}");
                *before = Some(absence.clone());
            }
        }
    }
}

/// Why a machine is missing, and what to do. `own`: this machine, and `listen`, where it listens.
fn why_missing(absence: &Absence, own: &str, listen: &str) -> Option<String> {
    let with_advice = |failure: &LinkFailure| {
        format!("{}: {}", escape(&failure.text), advice(failure.reason, own))
    };
    match absence {
        Absence::NotReached(failure) => failure.as_ref().map(with_advice),
        Absence::NotConnected(None) => Some(format!(
            "it has not connected to {}, where this machine listens: start it, or correct `connect`",
            escape(listen)
        )),
        Absence::NotConnected(Some(failure)) => Some(format!(
            "it is not connected, and the last connection to {}, where this machine listens, has failed: {}",
            escape(listen),
            with_advice(failure)
        )),
        Absence::Connected => Some("it is connected, and not ready: see what it prints".to_owned()),
        Absence::Elsewhere => {
            Some("another machine misses it: start it, or see what that one prints".to_owned())
        }
    }
}

/// Prints for which machines this one waits, whose own run has ended. `can_stop`: Ctrl-C stops the run there.
pub(super) fn active(machines: &[&str], can_stop: bool) {
    if !machines.is_empty() {
        let names: Vec<_> = machines.iter().map(|it| escape(it)).collect();
        let names = names.join(", ");
        let then = match (signals::was_asked(), can_stop) {
            (true, _) => "Ctrl-C again ends this program",
            (false, true) => "Ctrl-C stops the run there, too, and pressed again ends this program",
            (false, false) => "Ctrl-C twice ends this program",
        };
        eprintln!("the run on this machine has ended: waiting for machine {names} ({then})");
    }
}

/// Why the machines do not start together, and what to do.
pub(super) fn refused(error: AgreementError) -> Failure {
    match &error {
        AgreementError::Differences(_) => Failure::Config(format!(
            "{}: all machines need the same release of flowpipe, the same file and plugins, and the same options",
            shortened(&error.to_string())
        )),
        AgreementError::Other { .. } => Failure::Config(shortened(&error.to_string())),
        AgreementError::Absent { .. }
        | AgreementError::Malformed(_)
        | AgreementError::Started(_)
        | AgreementError::GivenUp(_) => Failure::Run(error.to_string()),
    }
}

/// What the notices of a bridge are about.
pub(super) struct NoticeScope {
    pub pipeline: Pipeline,
    /// This machine.
    pub own: usize,
    /// The machine at the other end.
    pub peer: usize,
    pub stopper: Stopper,
    pub ending: Arc<Ending>,
    pub idle: IdleMachines,
    /// By machine, what it has sent of its stages.
    pub observations: BTreeMap<usize, Arc<Observations>>,
}

/// Prints what happens, and ends the run when another machine has ended it.
pub(super) fn print(scope: NoticeScope) -> impl Fn(BridgeEvent) + Send + Sync {
    let NoticeScope {
        pipeline,
        own,
        peer,
        stopper,
        ending,
        idle,
        observations,
    } = scope;
    let machine = pipeline.machines.all.get(peer).map_or("?", |it| &it.name);
    let budget = LimitedNotices::new(machine);
    let machine = escape(machine).into_owned();
    let its_ending = ending.clone();
    let lose = move |reason: Option<String>| {
        its_ending.has_lost.store(true, Ordering::Relaxed);
        if let Some(reason) = reason {
            // The first one counts.
            let _ = its_ending.reason.set(reason);
        }
    };
    let refusals = AtomicUsize::new(0);
    let own_name = pipeline.machines.all.get(own);
    let own_name = own_name.map_or_else(String::new, |it| it.name.clone());
    // A machine can connect as often as it likes.
    let of_connection = move |text: &str| {
        if let Some(text) = budget.text(text) {
            eprintln!("{text}");
        }
    };
    move |event| match event {
        BridgeEvent::Connected => of_connection(&format!("connected to machine {machine}")),
        BridgeEvent::Disconnected { reason } => {
            let reason = reason.map(|it| format!(": {}", escape(&it)));
            let reason = reason.unwrap_or_default();
            of_connection(&format!(
                "the connection to machine {machine} is lost{reason}"
            ));
        }
        BridgeEvent::NotReconnected(LinkFailure { reason, text }) => {
            let why = escape(&text);
            let advice = match reason {
                // It may be dead, which is reported next.
                None | Some(FailureReason::Unreachable | FailureReason::NoAnswer) => String::new(),
                reason => format!(": {}", advice(reason, &own_name)),
            };
            of_connection(&format!(
                "there is no connection to machine {machine} yet: {why}{advice}"
            ));
        }
        BridgeEvent::SecondProgram => of_connection(&format!(
            "a second program connects as machine {machine}, and is refused: two programs have one --machine"
        )),
        BridgeEvent::GivenUp => {
            // Without its workers alone, the run goes on here.
            let ends = pipeline.machines.runs_stages(peer);
            let then = match ends {
                true => ", and goes on without it: the run ends here",
                false => "",
            };
            eprintln!("machine {machine} counts this one as dead{then}");
            if ends {
                lock(&ending.reported).insert(peer);
                lose(Some(format!(
                    "machine {machine} counts machine {own_name} as dead"
                )));
            }
        }
        BridgeEvent::NotStarted { reason } => {
            let reason: String = reason.chars().take(LONGEST_REASON).collect();
            if !stopper.is_ending() {
                eprintln!("machine {machine} ends the run: {}", escape(&reason));
            }
            lock(&ending.reported).insert(peer);
            // The first one counts.
            let _ = ending.machine.set(peer);
            lose(Some(reason));
            stopper.stop_with_other_machine();
        }
        // The run goes on while each stage has another worker.
        BridgeEvent::Died if !pipeline.machines.runs_stages(peer) => {
            lose(None);
            ending.has_lost_workers.store(true, Ordering::Relaxed);
            report_dead_workers(&pipeline, &ending, peer);
        }
        BridgeEvent::WorkersDied { machine } => {
            if machine != own && pipeline.machines.has_workers_alone(machine) {
                if let Some(observations) = observations.get(&machine) {
                    observations.report_death();
                }
                report_dead_workers(&pipeline, &ending, machine);
            }
        }
        BridgeEvent::Died => {
            idle.report_death(peer);
            lose(Some(format!("machine {machine} is dead")));
            if !lock(&ending.reported).contains(&peer) {
                eprintln!("machine {machine} is dead: the run ends");
            }
            stopper.stop_with_other_machine();
        }
        BridgeEvent::Lost { edge, sequences } => {
            // The machine may have ended as if it had done all.
            lose(None);
            let edge = edge_name(&pipeline, edge);
            match &sequences[..] {
                [one] => eprintln!("machine {machine}: message {one} {edge} is lost"),
                several => {
                    let count = counted(several.len(), "message");
                    let numbers = ranges(several);
                    eprintln!("machine {machine}: {count} {edge} are lost: {numbers}");
                }
            }
        }
        BridgeEvent::Unanswered { stage, sequences } => {
            let stage = pipeline.stages.get(stage).map_or("?", |it| &it.name);
            eprintln!("{}", unanswered(&machine, stage, &sequences));
        }
        BridgeEvent::Refused { edge, reason } => {
            lose(None);
            match refusals.fetch_add(1, Ordering::Relaxed) {
                count if count < MOST_REFUSALS => {
                    let edge = edge.map(|it| edge_name(&pipeline, it));
                    eprintln!("{}", refusal(&machine, edge.as_deref(), &reason));
                }
                MOST_REFUSALS => {
                    eprintln!("machine {machine}: more is refused, and is not printed")
                }
                _ => {}
            }
        }
        BridgeEvent::TooLong { length, .. } => {
            lose(None);
            eprintln!("a message of {length} bytes is too long for machine {machine}");
        }
        BridgeEvent::Idle { cycle } => idle.report(cycle, peer),
        BridgeEvent::Stopped { machine, reason } => {
            let name = pipeline
                .machines
                .all
                .get(machine)
                .map_or("?", |it| &it.name);
            let reason = reason.map(|it| it.chars().take(LONGEST_REASON).collect::<String>());
            // What this machine has ended, or knows, comes back.
            if !stopper.is_ending() {
                let why = reason.as_ref().map(|it| format!(": {}", escape(it)));
                eprintln!(
                    "machine {} ends the run{}",
                    escape(name),
                    why.unwrap_or_default()
                );
            }
            // The first one counts.
            let _ = ending.machine.set(machine);
            if reason.is_some() {
                lose(reason);
            }
            stopper.stop_with_other_machine();
        }
    }
}

/// The messages that workers here had of a dead machine. `machine`: its name, escaped.
fn unanswered(machine: &str, stage: &str, sequences: &[u64]) -> String {
    let stage = escape(stage);
    match sequences {
        [one] => format!("machine {machine}: message {one} of {stage} was here when it died"),
        several => {
            let count = counted(several.len(), "message");
            let numbers = ranges(several);
            format!("machine {machine}: {count} of {stage} were here when it died: {numbers}")
        }
    }
}

/// Why something of a machine is refused. `machine`: its name, escaped. `edge`: that of a message, as [`edge_name`] returns
/// it.
fn refusal(machine: &str, edge: Option<&str>, reason: &str) -> String {
    let reason = shortened(reason);
    let reason = escape(&reason);
    match edge {
        Some(edge) => format!("machine {machine}: a message {edge} is refused: {reason}"),
        None => format!("machine {machine}: {reason}"),
    }
}

/// A machine that has workers alone is dead. It is printed once, whichever machines report it.
fn report_dead_workers(pipeline: &Pipeline, ending: &Ending, machine: usize) {
    if lock(&ending.dead_workers).insert(machine) {
        let name = pipeline
            .machines
            .all
            .get(machine)
            .map_or("?", |it| &it.name);
        eprintln!("machine {} is dead: its workers end", escape(name));
    }
}

/// Ascending numbers as text: `1, 5 to 9`.
fn ranges(numbers: &[u64]) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let texts = ranges.iter().map(|&(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    });
    texts.collect::<Vec<_>>().join(", ")
}

/// The stages of an edge.
fn edge_name(pipeline: &Pipeline, edge: usize) -> String {
    let Some(edge) = pipeline.edges.get(edge) else {
        return format!("of edge {edge}");
    };
    let name = |stage: usize| {
        let stage = pipeline.stages.get(stage);
        stage.map_or_else(String::new, |it| escape(&it.name).into_owned())
    };
    format!("from {} to {}", name(edge.from.stage), name(edge.to.stage))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_machine_sends_is_shortened() {
        let long = "\u{1b}".repeat(1 << 20);
        let (peer, name) = ("rack".to_owned(), long.clone());
        let other = refused(AgreementError::Other { peer, name });
        for text in [refusal("rack", None, &long), other.to_string()] {
            assert!((4_000..40_000).contains(&text.len()), "{}", text.len());
        }
        assert_eq!(refusal("rack", None, "no\u{1b}"), "machine rack: no\\u001b");
    }

    #[test]
    fn a_refused_message_is_named_by_its_edge() {
        let edge = edge_name(&crate::machines::testing::pipeline(), 7);
        assert_eq!(
            refusal("rack", Some(&edge), "it is \u{1b}"),
            "machine rack: a message of edge 7 is refused: it is \\u001b"
        );
    }

    #[test]
    fn who_has_connected_and_sent_nothing_has_connected() {
        let text = "the other machine was silent for 3 s".to_owned();
        let failure = LinkFailure { reason: None, text };
        let absence = Absence::NotConnected(Some(failure));
        let why = why_missing(&absence, "desk", "tcp/127.0.0.1:7447").unwrap();
        let expected = "it is not connected, and the last connection to tcp/127.0.0.1:7447, where this machine listens, \
                        has failed: the other machine was silent for 3 s: ";
        assert!(why.starts_with(expected), "{why}");
    }

    #[test]
    fn what_workers_here_had_of_a_dead_machine_has_its_numbers() {
        assert_eq!(
            unanswered("desk", "slow\u{1b}", &[57, 59]),
            "machine desk: 2 messages of slow\\u001b were here when it died: 57, 59"
        );
        assert_eq!(
            unanswered("desk", "slow", &[57]),
            "machine desk: message 57 of slow was here when it died"
        );
    }

    #[test]
    fn numbers_are_gathered() {
        assert_eq!(ranges(&[7]), "7");
        assert_eq!(ranges(&[1, 2, 4, 5, 6, 9]), "1, 2, 4 to 6, 9");
    }
}
