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
            .map(|it| machine(it, findings))
            .collect(),
        of_stages: Vec::new(),
    };
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

/// A machine. It is valid only if nothing was reported.
pub(super) fn machine(written: &WrittenMachine, findings: &mut Findings) -> Machine {
    let listen = address(written.listen.as_ref(), findings);
    let connect = address(written.connect.as_ref(), findings);
    check_ends(written, listen.as_ref(), connect.as_ref(), findings);
    let certificates = written.certificates.clone();
    Machine {
        name: written.name.get_ref().clone(),
        connect: connect.or_else(|| listen.clone()),
        listen,
        certificates: certificates.unwrap_or_else(|| Machine::DEFAULT_CERTIFICATES.to_owned()),
    }
}

/// Reports machines without stages or without a way to each other, and loops that are on more than two.
fn check(written: &Written<'_, '_>, machines: &Machines, wires: &[Wire], findings: &mut Findings) {
    for (index, machine) in written.machines.iter().enumerate() {
        if !machines.of_stages.contains(&index) {
            let name = machine.name.get_ref().clone();
            findings.report(&machine.name.span(), Problem::IdleMachine { name });
        }
    }
    let of = |stage: usize| machines.of_stages[stage];
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
    }
    let edges: Vec<Edge> = wires.iter().map(|wire| wire.edge).collect();
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
            Some(Ok(address)) if address.ip().is_loopback() => Some(Address::Loopback(address)),
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
