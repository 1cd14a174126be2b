//! The functions that an expression can call.

use jaq_core::box_iter::box_once;
use jaq_core::load::parse::Def;
use jaq_core::native::{Fun, run};
use jaq_core::{Error, Exn};
use jaq_json::Val;

use crate::budget::{self, Counted};
use crate::value;

/// What would make an expression depend on more than its message, print, or end the program.
const LEFT_OUT: [&str; 10] = [
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
];

/// The definitions of jq's library.
pub fn definitions() -> impl Iterator<Item = Def<&'static str>> {
    let all = jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs());
    all.filter(|def| !LEFT_OUT.contains(&def.name))
}

/// The functions behind them.
pub fn natives() -> impl Iterator<Item = Fun<Counted>> {
    let all = jaq_core::funs()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs());
    let all = all.filter(|(name, ..)| !LEFT_OUT.contains(name) && *name != "fromjson");
    all.chain(std::iter::once(fromjson()))
        .chain(budget::functions())
}

/// The value of a JSON text within a text: one, and not deeper than a message may be.
fn fromjson() -> Fun<Counted> {
    run::<Counted>(("fromjson", [].into(), |cv| {
        let failed = |text: &str| Exn::from(Error::new(Val::from(text.to_owned())));
        box_once(match &cv.1 {
            Val::TStr(text) => value::read(text).map_err(|error| failed(&error)),
            other => Err(Exn::from(Error::typ(other.clone(), "string"))),
        })
    }))
}
