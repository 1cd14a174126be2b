//! Paths, step by step: each step may copy what it goes into.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Pattern, Term};
use jaq_core::path::{Opt, Part, Path};

use crate::budget::EACH;
use crate::copies::{INDEXED, ITERATED, PART, REPLACED};

/// A step of a path.
pub type Step<'s> = (Part<Term<&'s str>>, Opt);

/// The input of a path, and the indices that depend on it. No names that an expression can have.
const INPUT: &str = "$!input";
const INDICES: [&str; 2 * MOST_STEPS] = [
    "$!0", "$!1", "$!2", "$!3", "$!4", "$!5", "$!6", "$!7", "$!8", "$!9", "$!10", "$!11", "$!12",
    "$!13", "$!14", "$!15",
];
/// So many steps have names for their indices: a step may have two.
const MOST_STEPS: usize = 8;

/// One term after the other.
pub fn pipe<'s>(left: Term<&'s str>, right: Term<&'s str>) -> Term<&'s str> {
    Term::BinOp(left.into(), BinaryOp::Pipe(None), right.into())
}

/// A path that counts. One that is only read copies nothing, unless it goes into all elements or a part.
pub fn counted<'s>(
    inner: Term<&'s str>,
    mut steps: Vec<Step<'s>>,
    may_update: bool,
) -> Term<&'s str> {
    let is_index = |(part, _): &Step<'_>| matches!(part, Part::Index(_));
    if !may_update && steps.iter().all(is_index) {
        return Term::Path(inner.into(), Path(steps));
    }
    if steps.len() > MOST_STEPS {
        let rest = steps.split_off(MOST_STEPS);
        return counted(counted(inner, steps, may_update), rest, may_update);
    }
    // The first step has the same input as the path.
    let is_first = matches!(inner, Term::Id);
    let mut later = steps.iter().skip(usize::from(is_first));
    let mut bound = Bound::default();
    if later.any(|(part, _)| !indices(part).all(is_constant)) {
        steps = steps
            .into_iter()
            .map(|(part, opt)| (bound.part(part), opt))
            .collect();
    }
    let walked = walk(steps, may_update);
    match inner {
        Term::Id => bound.around(walked, false),
        variable @ Term::Var(_) => bound.around(pipe(variable, walked), false),
        inner if bound.0.is_empty() => pipe(inner, walked),
        inner => bind(INPUT, Term::Id, pipe(inner, bound.around(walked, true))),
    }
}

/// The steps, with what counts before and after each.
fn walk<'s>(steps: Vec<Step<'s>>, may_update: bool) -> Term<&'s str> {
    let mut terms = Vec::new();
    let mut plain = Vec::new();
    for step in steps {
        let (before, after) = match &step.0 {
            Part::Index(_) if may_update => (INDEXED, None),
            Part::Index(_) => {
                plain.push(step);
                continue;
            }
            Part::Range(None, None) => (ITERATED, Some(EACH)),
            Part::Range(..) => (PART, Some(REPLACED)),
        };
        terms.extend(path(std::mem::take(&mut plain)));
        terms.push(Term::Call(before, Vec::new()));
        terms.extend(path(vec![step]));
        terms.extend(after.map(|name| Term::Call(name, Vec::new())));
    }
    terms.extend(path(plain));
    let last = terms.pop().unwrap_or(Term::Id);
    terms.into_iter().rfold(last, |rest, term| pipe(term, rest))
}

fn path(steps: Vec<Step<'_>>) -> Option<Term<&str>> {
    (!steps.is_empty()).then(|| Term::Path(Term::Id.into(), Path(steps)))
}

fn bind<'s>(name: &'static str, value: Term<&'s str>, rest: Term<&'s str>) -> Term<&'s str> {
    let bind = BinaryOp::Pipe(Some(Pattern::Var(name)));
    Term::BinOp(value.into(), bind, rest.into())
}

/// Indices that are evaluated before the path, in the order of the steps.
#[derive(Default)]
struct Bound<'s>(Vec<Term<&'s str>>);

impl<'s> Bound<'s> {
    fn part(&mut self, part: Part<Term<&'s str>>) -> Part<Term<&'s str>> {
        match part {
            Part::Index(index) => Part::Index(self.index(index)),
            Part::Range(from, to) => {
                let from = from.map(|it| self.index(it));
                Part::Range(from, to.map(|it| self.index(it)))
            }
        }
    }

    fn index(&mut self, index: Term<&'s str>) -> Term<&'s str> {
        match INDICES.get(self.0.len()) {
            Some(name) if !is_single(&index) => {
                self.0.push(index);
                Term::Var(name)
            }
            _ => index,
        }
    }

    /// The path, with its indices. `has_input`: they are evaluated on a variable.
    fn around(self, path: Term<&'s str>, has_input: bool) -> Term<&'s str> {
        let indices = self.0.into_iter().zip(INDICES);
        indices.rfold(path, |path, (index, name)| {
            let index = match has_input {
                true => pipe(Term::Var(INPUT), index),
                false => index,
            };
            bind(name, index, path)
        })
    }
}

fn indices<'t, 's>(part: &'t Part<Term<&'s str>>) -> impl Iterator<Item = &'t Term<&'s str>> {
    let (first, second) = match part {
        Part::Index(index) => (Some(index), None),
        Part::Range(from, to) => (from.as_ref(), to.as_ref()),
    };
    first.into_iter().chain(second)
}

/// Whether a term has one output, whatever its input is.
fn is_single(term: &Term<&str>) -> bool {
    match term {
        Term::Num(_) | Term::Var(_) => true,
        Term::Str(_, parts) => parts.iter().all(|part| !matches!(part, StrPart::Term(_))),
        _ => false,
    }
}

/// Whether the outputs of a term are the same whatever its input is.
fn is_constant(term: &Term<&str>) -> bool {
    match term {
        Term::Neg(inner) => is_constant(inner),
        Term::BinOp(left, BinaryOp::Comma, right) => is_constant(left) && is_constant(right),
        term => is_single(term),
    }
}
