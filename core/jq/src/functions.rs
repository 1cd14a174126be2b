//! The functions that an expression can call.

use std::collections::HashSet;
use std::sync::LazyLock;

use jaq_core::box_iter::box_once;
use jaq_core::load::parse::{Def, Term};
use jaq_core::native::{Fun, run};
use jaq_core::{Error, Exn};
use jaq_json::Val;

use crate::budget::{self, Counted};
use crate::caught;
use crate::comparisons;
use crate::copies;
use crate::operations;
use crate::paths::pipe;
use crate::searches::{self, MATCHES, PARTS, SPLIT};
use crate::value;

/// What would make an expression depend on more than its message, print, or end the program, and what makes as many rounds
/// as its argument says, in one step.
const LEFT_OUT: [&str; 12] = [
    "env",
    "now",
    "halt",
    "halt_error",
    "debug",
    "debug_empty",
    "stderr",
    "stderr_empty",
    "localtime",
    "strflocaltime",
    "jn",
    "yn",
];

/// The functions whose output is their input, a part of it, or small. The outputs of all others are counted.
const NOT_GROWING: [&str; 24] = [
    "bsearch",
    "ceil",
    "endswith",
    "error_empty",
    "first",
    "floor",
    "fromdateiso8601",
    "has",
    "last",
    "length",
    "limit",
    "ltrim",
    "ltrimstr",
    "max_by_or_empty",
    "min_by_or_empty",
    "mktime",
    "pow",
    "round",
    "rtrim",
    "rtrimstr",
    "skip",
    "startswith",
    "trim",
    "utf8bytelength",
];

/// The functions that search a regular expression, with its flags as the second argument, and their names here: only the
/// library calls them.
const SEARCHING: [(&str, &str); 3] = [
    ("matches", MATCHES),
    ("split_matches", PARTS),
    ("split_", SPLIT),
];

/// The functions that compare parts of their input with their argument, and their names here: only the library calls them.
const COMPARING: [(&str, &str); 2] = [("contains", "!contains"), ("indices", "!indices")];

/// Text that `fromjson` reads takes at most so many times its length, as a value.
const READ_BYTES: usize = 32;

/// The name of a function that searches a regular expression.
pub fn searching(name: &str) -> Option<&'static str> {
    let mut all = SEARCHING.iter();
    all.find(|(known, _)| *known == name).map(|(_, here)| *here)
}

/// Whether the outputs of a function are counted.
pub fn is_counted(name: &str) -> bool {
    static COUNTED: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let names = natives().map(|(name, ..)| name);
        names
            .filter(|name| !NOT_GROWING.contains(name) && !name.starts_with('!'))
            .collect()
    });
    COUNTED.contains(name)
}

/// The definitions of jq's library.
pub fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let all = comparing()
        .into_iter()
        .chain(jaq_core::defs())
        .chain(jaq_std::defs())
        .chain(jaq_json::defs());
    all.filter(|def| !LEFT_OUT.contains(&def.name))
}

/// The definitions of functions that compare: they count before.
fn comparing() -> [Def<&'static str>; 2] {
    const ARGUMENT: &str = "$argument";
    COMPARING.map(|(name, here)| {
        let call = |function| Term::Call(function, vec![Term::Var(ARGUMENT)]);
        let body = match name {
            "contains" => pipe(call(comparisons::CONTAINED), call(here)),
            _ => {
                let sought = pipe(call(comparisons::SOUGHT), call(here));
                let held = pipe(sought, Term::Call(budget::HELD, Vec::new()));
                pipe(Term::Call(operations::EXPANDED, Vec::new()), held)
            }
        };
        Def {
            name,
            args: vec![ARGUMENT],
            body,
        }
    })
}

/// The name here of a function that only the library calls.
fn renamed(name: &'static str) -> &'static str {
    let comparing = COMPARING.iter().find(|(known, _)| *known == name);
    comparing.map_or(name, |(_, here)| *here)
}

/// The functions behind them.
pub fn natives() -> impl Iterator<Item = Fun<Counted>> {
    let all = jaq_core::funs()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs());
    let is_replaced = |name: &str| name == "fromjson" || searching(name).is_some();
    let all = all.filter(move |&(name, ..)| !LEFT_OUT.contains(&name) && !is_replaced(name));
    all.map(|(name, arguments, native)| (renamed(name), arguments, native))
        .chain([fromjson(), caught::function()])
        .chain(budget::functions())
        .chain(copies::functions())
        .chain(comparisons::functions())
        .chain(operations::functions())
        .chain(searches::functions())
}

/// The value of a JSON text within a text: one, and not deeper than a message may be. It is counted before it is read.
fn fromjson() -> Fun<Counted> {
    run::<Counted>(("fromjson", [].into(), |cv| {
        let failed = |text: &str| Exn::from(Error::new(Val::from(text.to_owned())));
        box_once(match &cv.1 {
            Val::TStr(text) => match cv.0.data().take(text.len() * READ_BYTES) {
                Ok(()) => value::read(text).map_err(|error| failed(&error)),
                Err(end) => cv.0.data().halt(end),
            },
            other => Err(Exn::from(Error::typ(other.clone(), "string"))),
        })
    }))
}
