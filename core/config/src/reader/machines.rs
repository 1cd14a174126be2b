//! The machines: which one runs which stage, and how they reach each other.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use toml::Spanned;

use super::cycle;
use super::error::Findings;
use super::problem::Problem;
use super::suggest;
use super::wiring::Wire;
use super::written::Written;
use super::written::machine::WrittenMachine;
use super::written::stage::WrittenStage;
use crate::pipeline::{Address, Edge, Machine, Machines, Stage};

/// The machines of a file. They are valid only if nothing was reported.
pub(super) fn resolve(
    written: &Written<'_, '_>,
    stages: &[Stage],
    wires: &[Wire],
    findings: &mut Findings,
) -> Machines {
    let mut machines = Machines {
        all: written
            .machines
            .iter()
            .map(|it| machine(it, findings))
            .collect(),
        of_stages: Vec::new(),
        of_workers: Vec::new(),
    };
    let names: Vec<_> = machines.all.iter().map(|it| it.name.clone()).collect();
    let mut of_stages = Vec::new();
    let mut is_whole = true;
    for (stage, workers) in written
        .stages
        .iter()
        .zip(stages.iter().map(|it| it.workers))
    {
        if let Some(members) = &stage.machines {
            let members = members_of(stage, members, &machines, &names, findings);
            is_whole &= members.is_some();
            let each = |members: Vec<usize>| {
                let count = workers.checked_div(members.len()).unwrap_or_default();
                members
                    .into_iter()
                    .flat_map(|it| std::iter::repeat_n(it, count))
                    .collect()
            };
            machines
                .of_workers
                .push(members.map_or_else(Vec::new, each));
            of_stages.push(None);
            continue;
        }
        machines.of_workers.push(Vec::new());
        let Some(machine) = &stage.machine else {
            is_whole = false;
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
        let found = find(machine, &machines, &names, findings);
        is_whole &= found.is_some();
        of_stages.push(found);
    }
    if machines.of_workers.iter().all(Vec::is_empty) {
        machines.of_workers.clear();
    }
    if is_whole && !names.is_empty() {
        machines.of_stages = distributors(of_stages, wires);
        check(written, &machines, wires, findings);
    }
    machines
}

/// The machine of this name. `None`: there is none, which is reported.
fn find(
    written: &Spanned<String>,
    machines: &Machines,
    names: &[String],
    findings: &mut Findings,
) -> Option<usize> {
    let name = written.get_ref();
    let found = machines.find(name);
    if found.is_none() {
        let hint = suggest::help(name, "machines", names);
        let hint = hint.or_else(|| Some(format!("a machine is a table: [machines.{name}]")));
        let name = name.clone();
        findings.report(&written.span(), Problem::UnknownMachine { name, hint });
    }
    found
}

/// The machines among which a stage is distributed. `None`: they are not valid, which is reported.
fn members_of(
    stage: &WrittenStage<'_, '_>,
    written: &Spanned<Vec<Spanned<String>>>,
    machines: &Machines,
    names: &[String],
    findings: &mut Findings,
) -> Option<Vec<usize>> {
    let name = || stage.name.get_ref().clone();
    if let Some(machine) = &stage.machine {
        findings.report(
            &machine.span(),
            Problem::MachineAndMachines { stage: name() },
        );
    }
    let mut members = Vec::new();
    for member in written.get_ref() {
        match find(member, machines, names, findings) {
            Some(index) if members.contains(&index) => {
                let (stage, name) = (name(), member.get_ref().clone());
                findings.report(&member.span(), Problem::MachineTwice { stage, name });
            }
            Some(index) => members.push(index),
            None => {}
        }
    }
    let is_valid = !members.is_empty() && members.len() == written.get_ref().len();
    is_valid.then_some(members)
}

/// The machine of each stage. A distributed stage, which has none yet, gets that of the first stage that it receives from.
fn distributors(mut of_stages: Vec<Option<usize>>, wires: &[Wire]) -> Vec<usize> {
    let mut only_first = true;
    loop {
        let mut seen = BTreeSet::new();
        let found = wires.iter().find(|wire| {
            let (from, to) = (wire.edge.from.stage, wire.edge.to.stage);
            let is_first = seen.insert(to);
            of_stages[to].is_none() && of_stages[from].is_some() && (is_first || !only_first)
        });
        match found {
            Some(wire) => of_stages[wire.edge.to.stage] = of_stages[wire.edge.from.stage],
            // Distributed stages that each receive first from another one: a loop, which another stage feeds.
            None if only_first => {
                only_first = false;
                continue;
            }
            None => break,
        }
        only_first = true;
    }
    // No source leads to the others, which is reported.
    of_stages
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect()
}

/// A machine. It is valid only if nothing was reported.
pub(super) fn machine(written: &WrittenMachine, findings: &mut Findings) -> Machine {
    let listen = address(written.listen.as_ref(), findings);
    let connect = address(written.connect.as_ref(), findings);
    check_ends(written, listen.as_ref(), connect.as_ref(), findings);
    let certificates = written.certificates.clone();
    let reconnect_timeout = written.reconnect_timeout.as_ref();
    Machine {
        name: written.name.get_ref().clone(),
        connect: connect.or_else(|| listen.clone()),
        listen,
        certificates: certificates.unwrap_or_else(|| Machine::DEFAULT_CERTIFICATES.to_owned()),
        reconnect_timeout: reconnect_timeout
            .map_or(Machine::DEFAULT_RECONNECT_TIMEOUT, |it| *it.get_ref()),
    }
}

/// Reports machines without stages, without a way to each other or without messages between them, and loops that are on
/// more than two.
fn check(written: &Written<'_, '_>, machines: &Machines, wires: &[Wire], findings: &mut Findings) {
    if let Some(record) = &written.record {
        findings.report(&record.span(), Problem::RecordOfMachines);
    }
    for (index, machine) in written.machines.iter().enumerate() {
        let has_workers = machines.of_workers.iter().any(|it| it.contains(&index));
        if !machines.runs_stages(index) && !has_workers {
            let name = machine.name.get_ref().clone();
            findings.report(&machine.name.span(), Problem::IdleMachine { name });
        }
    }
    check_addresses(written, machines, findings);
    let of = |stage: usize| machines.of_stages[stage];
    let mut reported = BTreeSet::new();
    for wire in wires {
        let (from, to) = (wire.edge.from.stage, wire.edge.to.stage);
        let [one, other] = [of(from).min(of(to)), of(from).max(of(to))];
        if one == other {
            continue;
        }
        if !can_meet(written, machines, one, other) && reported.insert((one, other)) {
            let name = |machine: usize| machines.all[machine].name.clone();
            let problem = Problem::NobodyListens {
                one: name(one),
                other: name(other),
            };
            findings.report(&written.machines[one].name.span(), problem);
        }
    }
    for (stage, its) in written.stages.iter().enumerate() {
        let distributor = of(stage);
        for machine in its.machines.iter().flat_map(|it| it.get_ref()) {
            let Some(index) = machines.find(machine.get_ref()) else {
                continue;
            };
            let pair = (distributor.min(index), distributor.max(index));
            let is_linked = index == distributor || can_meet(written, machines, pair.0, pair.1);
            if !is_linked && reported.insert(pair) {
                let problem = Problem::NobodyListensToDistribute {
                    stage: its.name.get_ref().clone(),
                    distributor: machines.all[distributor].name.clone(),
                    machine: machine.get_ref().clone(),
                };
                findings.report(&machine.span(), problem);
            }
        }
    }
    let edges: Vec<Edge> = wires.iter().map(|wire| wire.edge).collect();
    // An edge that is wrong is missing.
    if findings.is_empty() {
        check_groups(written, machines, &edges, findings);
    }
    let mut seen = BTreeSet::new();
    for (stage, its) in written.stages.iter().enumerate() {
        if !seen.contains(&stage) {
            let cycle = cycle::cycle_of(written.stages.len(), &edges, stage);
            let found = cycle
                .iter()
                .map(|&it| of(it))
                .collect::<BTreeSet<_>>()
                .len();
            if found > 2 {
                let stage = its.name.get_ref().clone();
                findings.report(&its.name.span(), Problem::LoopOfMachines { stage, found });
            }
            seen.extend(cycle);
        }
    }
}

/// Reports each machine that is reached at the address where another one listens.
fn check_addresses(written: &Written<'_, '_>, machines: &Machines, findings: &mut Findings) {
    for (machine, its) in machines.all.iter().zip(&written.machines) {
        let Some(connect) = &its.connect else {
            continue;
        };
        let mut others = machines.all.iter().filter(|it| it.name != machine.name);
        let other = others.find(|it| it.listen.is_some() && it.listen == machine.connect);
        if let Some(other) = other {
            let (name, other) = (machine.name.clone(), other.name.clone());
            findings.report(&connect.span(), Problem::AddressOfOther { name, other });
        }
    }
}

/// Reports each further group of machines without messages between it and the first one, at its first machine: such groups
/// can't agree when to start, and do not learn from each other how the run ends.
fn check_groups(
    written: &Written<'_, '_>,
    machines: &Machines,
    edges: &[Edge],
    findings: &mut Findings,
) {
    let links = machines.links(edges.iter().copied());
    let mut reached = BTreeSet::new();
    for start in 0..machines.all.len() {
        if !reached.insert(start) {
            continue;
        }
        if start > 0 {
            let name = |machine: usize| machines.all[machine].name.clone();
            let (name, first) = (name(start), name(0));
            let problem = Problem::SeparateMachine { name, first };
            findings.report(&written.machines[start].name.span(), problem);
        }
        let mut waiting = vec![start];
        while let Some(machine) = waiting.pop() {
            for &(one, other) in &links {
                let next = match machine {
                    it if it == one => other,
                    it if it == other => one,
                    _ => continue,
                };
                if reached.insert(next) {
                    waiting.push(next);
                }
            }
        }
    }
}

/// Whether one of two machines listens. An address that is wrong is reported, and is one.
fn can_meet(written: &Written<'_, '_>, machines: &Machines, one: usize, other: usize) -> bool {
    let is_written = |machine: usize| {
        let machine = written.machines.get(machine);
        machine.is_some_and(|it| it.listen.is_some())
    };
    machines.opens(one, other).is_some() || is_written(one) || is_written(other)
}

/// Reports addresses of a machine that do not fit each other, and one that nobody can connect to.
fn check_ends(
    machine: &WrittenMachine,
    listen: Option<&Address>,
    connect: Option<&Address>,
    findings: &mut Findings,
) {
    if let (Some(listen), Some(connect)) = (listen, connect)
        && std::mem::discriminant(listen) != std::mem::discriminant(connect)
        && let Some(written) = &machine.connect
    {
        findings.report(&written.span(), Problem::DifferentProtocols);
    }
    let (written, address) = match (connect, &machine.connect) {
        (Some(connect), written) => (written, connect),
        // It is wrong, and reported.
        (None, Some(_)) => return,
        (None, None) => match listen {
            Some(listen) => (&machine.listen, listen),
            None => return,
        },
    };
    let (Some(written), Address::Encrypted { host, .. }) = (written, address) else {
        return;
    };
    match host.parse::<IpAddr>() {
        Ok(ip) if ip.is_unspecified() => {
            findings.report(&written.span(), Problem::UnspecifiedAddress);
        }
        Ok(IpAddr::V6(_)) => findings.report(&written.span(), Problem::NumericHost),
        Ok(IpAddr::V4(_)) | Err(_) => {}
    }
}

/// Reads an address.
fn address(written: Option<&Spanned<String>>, findings: &mut Findings) -> Option<Address> {
    let written = written?;
    let text = written.get_ref();
    let address = if let Some(address) = text.strip_prefix("tls/") {
        encrypted(address)
    } else {
        let address = text.strip_prefix("tcp/").map(str::parse::<SocketAddr>);
        match address {
            // Others do not find a port that the system chooses.
            Some(Ok(address)) if address.ip().is_loopback() && address.port() != 0 => {
                Some(Address::Loopback(address))
            }
            _ => None,
        }
    };
    if address.is_none() {
        let address = text.clone();
        findings.report(&written.span(), Problem::BadAddress { address });
    }
    address
}

/// Reads a host and a port.
fn encrypted(text: &str) -> Option<Address> {
    if let Ok(address) = text.parse::<SocketAddr>() {
        let (host, port) = (address.ip().to_string(), address.port());
        return (port != 0).then_some(Address::Encrypted { host, port });
    }
    let (host, port) = text.rsplit_once(':')?;
    let port = port.parse().ok().filter(|port| *port != 0)?;
    let is_label = |label: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        (1..=63).contains(&label.len()) && label.chars().all(is_plain)
    };
    // What looks like a numeric address and is none, is no name either.
    let is_numeric = host.split('.').next_back()?.parse::<u64>().is_ok();
    (host.len() <= 253 && !is_numeric && host.split('.').all(is_label)).then(|| {
        let host = host.to_owned();
        Address::Encrypted { host, port }
    })
}
