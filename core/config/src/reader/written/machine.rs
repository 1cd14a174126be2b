//! `[machines.NAME]`.

use std::time::Duration;

use serde_json::json;
use toml::Spanned;
use toml::de::DeValue;

use crate::pipeline::Machine;
use crate::reader::error::Findings;
use crate::reader::problem::{LONGEST_STAGE_NAME, Problem};
use crate::reader::source::Span;
use crate::reader::table::{DefaultValue, Key, Row, Table, a_text, a_time};
use crate::reader::values::{table, text, time};

/// A machine.
pub(crate) struct WrittenMachine {
    pub name: Spanned<String>,
    pub listen: Option<Spanned<String>>,
    pub connect: Option<Spanned<String>>,
    pub certificates: Option<String>,
    pub reconnect_timeout: Option<Spanned<Duration>>,
}

/// The keys.
pub(crate) fn keys<'a, 't>() -> Table<'a, 't, WrittenMachine> {
    Table {
        prefix: "machines.NAME.",
        keys: vec![
            Key {
                row: Row {
                    name: "listen",
                    doc: "The address where the machine listens for the others: \"tls/0.0.0.0:7447\", or \"tcp/127.0.0.1:7447\" for programs of one machine.",
                    default: DefaultValue::Words("it does not listen"),
                    schema: a_text,
                },
                read: |machine, entry, findings| {
                    machine.listen = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "connect",
                    doc: "The address by which the others reach the machine: \"tls/rack1:7447\".",
                    default: DefaultValue::Words("its `listen`"),
                    schema: a_text,
                },
                read: |machine, entry, findings| {
                    machine.connect = text(entry.name, entry.value, findings);
                },
            },
            Key {
                row: Row {
                    name: "certificates",
                    doc: "The folder with the machine's certificate, for addresses that begin with tls/.",
                    default: DefaultValue::Value(json!(Machine::DEFAULT_CERTIFICATES)),
                    schema: a_text,
                },
                read: |machine, entry, findings| {
                    let folder = text(entry.name, entry.value, findings);
                    machine.certificates = folder.map(Spanned::into_inner);
                },
            },
            Key {
                row: Row {
                    name: "reconnect_timeout",
                    doc: "For how long a broken connection with the machine is waited for, at least a second, before it counts as dead. Of two machines, the longer time counts.",
                    default: DefaultValue::time(Machine::DEFAULT_RECONNECT_TIMEOUT),
                    schema: a_time,
                },
                read: |machine, entry, findings| {
                    let timeout = time(entry.name, entry.value, findings);
                    if timeout.is_some_and(|it| it < Machine::SHORTEST_RECONNECT_TIMEOUT) {
                        findings.report(&entry.value.span(), Problem::ShortReconnect);
                    }
                    let span = entry.value.span();
                    machine.reconnect_timeout = timeout.map(|it| Spanned::new(span, it));
                },
            },
        ],
    }
}

/// Reads a machine.
pub(super) fn read(
    name: &str,
    name_span: Span,
    value: &Spanned<DeValue<'_>>,
    findings: &mut Findings,
) -> Option<WrittenMachine> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    // The authority of certificates has a file of its own beside those of the machines.
    if name.eq_ignore_ascii_case("ca") {
        findings.report(&name_span, Problem::MachineOfAuthority);
    } else if name.is_empty() || name.len() > LONGEST_STAGE_NAME || !name.chars().all(is_plain) {
        let name = name.to_owned();
        findings.report(&name_span, Problem::BadMachineName { name });
    }
    let entries = table("machine", value, "[machines.NAME]", findings)?;
    let mut machine = WrittenMachine {
        name: Spanned::new(name_span, name.to_owned()),
        listen: None,
        connect: None,
        certificates: None,
        reconnect_timeout: None,
    };
    let place = format!("machine `{name}`");
    keys().read(&mut machine, &place, entries, findings);
    Some(machine)
}
