//! The machines: which one runs which stage, and how they reach each other.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use toml::Spanned;

use super::cycle;
use super::error::Findings;
use super::problem::Problem;
use super::suggest;
use super::wiring::Wire;
use super::written::Written;
use crate::pipeline::{Address, Edge, Machine, Machines};

/// The machines of a file. They are valid only if nothing was reported.
pub(super) fn resolve(
    written: &Written<'_, '_>,
    wires: &[Wire],
    findings: &mut Findings,
) -> Machines {
    let mut machines = Machines {
        all: written
            .machines
            .iter()
            .map(|machine| {
                let listen = address(machine.listen.as_ref(), findings);
                let connect = address(machine.connect.as_ref(), findings);
                Machine {
                    name: machine.name.get_ref().clone(),
                    connect: connect.or_else(|| listen.clone()),
                    listen,
                }
            })
            .collect(),
        of_stages: Vec::new(),
    };
    if let Some(third) = written.machines.get(2) {
        let found = machines.all.len();
        findings.report(&third.name.span(), Problem::TooManyMachines { found });
    }
    let names: Vec<_> = machines.all.iter().map(|it| it.name.clone()).collect();
    for stage in &written.stages {
        let Some(machine) = &stage.machine else {
            if !names.is_empty() {
                let hint = names
                    .first()
                    .map(|name| format!("add machine = \"{name}\""));
                let stage_name = stage.name.get_ref().clone();
                let problem = Problem::NoMachine {
                    stage: stage_name,
                    hint,
                };
                findings.report(&stage.name.span(), problem);
            }
            continue;
        };
        let name = machine.get_ref();
        match machines.find(name) {
            Some(index) => machines.of_stages.push(index),
            None => {
                let hint = suggest::help(name, "machines", &names);
                let hint =
                    hint.or_else(|| Some(format!("a machine is a table: [machines.{name}]")));
                let name = name.clone();
                findings.report(&machine.span(), Problem::UnknownMachine { name, hint });
            }
        }
    }
    if machines.of_stages.len() == written.stages.len() && !names.is_empty() {
        check(written, &machines, wires, findings);
    }
    machines
}

/// Reports machines without stages or without a way to each other, and loops that are on several.
fn check(written: &Written<'_, '_>, machines: &Machines, wires: &[Wire], findings: &mut Findings) {
    for (index, machine) in written.machines.iter().enumerate() {
        if !machines.of_stages.contains(&index) {
            let name = machine.name.get_ref().clone();
            findings.report(&machine.name.span(), Problem::IdleMachine { name });
        }
    }
    let of = |stage: usize| machines.of_stages[stage];
    let edges: Vec<Edge> = wires.iter().map(|wire| wire.edge).collect();
    let mut reported = BTreeSet::new();
    for wire in wires {
        let (from, to) = (wire.edge.from.stage, wire.edge.to.stage);
        let [one, other] = [of(from).min(of(to)), of(from).max(of(to))];
        if one == other {
            continue;
        }
        if machines.opens(one, other).is_none() && reported.insert((one, other)) {
            let name = |machine: usize| machines.all[machine].name.clone();
            let problem = Problem::NobodyListens {
                one: name(one),
                other: name(other),
            };
            findings.report(&written.machines[one].name.span(), problem);
        }
        if cycle::reaches(written.stages.len(), &edges, to, from) {
            let name = |stage: usize| written.stages[stage].name.get_ref().clone();
            let problem = Problem::LoopOfMachines {
                from: name(from),
                to: name(to),
            };
            findings.report(&wire.span, problem);
        }
    }
}

/// Reads an address.
fn address(written: Option<&Spanned<String>>, findings: &mut Findings) -> Option<Address> {
    let written = written?;
    let text = written.get_ref();
    let address = text.strip_prefix("tcp/").map(str::parse::<SocketAddr>);
    match address {
        Some(Ok(address)) if address.ip().is_loopback() => Some(Address::Loopback(address)),
        _ => {
            let address = text.clone();
            findings.report(&written.span(), Problem::BadAddress { address });
            None
        }
    }
}
