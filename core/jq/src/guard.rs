//! Counts in an expression, so that it can be ended: each element of a stream that it gathers, each round of a loop, each
//! new array and object with what is in it, each sum, and what functions make.
//!
//! jq repeats by recursion, `reduce`, `foreach` and by what generates streams (`range`, `..`, `.[]`). A definition that
//! calls itself is a loop; jaq keeps no frame of the stack for a call whose outputs are those of the caller, and counting
//! before its body keeps it so.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::Part;

use crate::budget::{EACH, HELD, ROUND, UPDATED};
use crate::caught::CAUGHT;
use crate::comparisons::{self, KEY, READ, WEIGHED};
use crate::copies::{ENTRIES, ITERATED, PART};
use crate::error::CompileError;
use crate::functions;
use crate::operations::{DIFFERENCE, EXPANDED, PRODUCT, QUOTIENT, SUM, TEXT, WALKED};
use crate::paths::{self, pipe};

/// The most levels of an expression.
const DEEPEST: usize = 200;
/// A step of a path counts as so many of them: it becomes terms that count before and after it.
const STEP_LEVELS: usize = 3;

/// The functions whose input is counted before, since their output may be much larger, or small while they take long.
const COUNTED_BEFORE: [(&str, &str); 17] = [
    ("tojson", TEXT),
    ("tobytes", TEXT),
    ("explode", EXPANDED),
    ("keys_unsorted", ITERATED),
    ("key_values", ENTRIES),
    ("fromdateiso8601", READ),
    ("implode", READ),
    ("length", PART),
    ("ltrim", PART),
    ("max_by_or_empty", WALKED),
    ("min_by_or_empty", WALKED),
    ("mktime", READ),
    ("rtrim", PART),
    ("sort", WEIGHED),
    ("strftime", READ),
    ("strptime", READ),
    ("trim", PART),
];

/// The functions whose arguments' outputs are counted, since they are compared, read, or are keys.
const ARGUMENTS_COUNTED: [(&str, &str); 13] = [
    ("bsearch", WEIGHED),
    ("endswith", WEIGHED),
    ("group_by", WEIGHED),
    ("has", KEY),
    ("ltrimstr", WEIGHED),
    ("max_by_or_empty", WEIGHED),
    ("min_by_or_empty", WEIGHED),
    ("range", KEY),
    ("rtrimstr", WEIGHED),
    ("sort_by", WEIGHED),
    ("startswith", WEIGHED),
    ("strftime", WEIGHED),
    ("strptime", WEIGHED),
];

/// The definitions of the library that are values as plain as a number.
const PLAIN_VALUES: [&str; 4] = ["false", "infinite", "nan", "true"];

type Guarded<T> = Result<T, CompileError>;

/// An expression that counts.
///
/// # Errors
/// When it is too deep.
pub fn term(term: Term<&str>) -> Guarded<Term<&str>> {
    Guard::default().term(term)
}

/// A definition of the library that counts.
///
/// # Errors
/// When it is too deep.
pub fn def(def: Def<&str>) -> Guarded<Def<&str>> {
    let mut guard = Guard {
        is_library: true,
        ..Guard::default()
    };
    guard.def(def)
}

#[derive(Default)]
struct Guard<'s> {
    depth: usize,
    is_library: bool,
    /// Whether the term may be a path to what is updated.
    may_update: bool,
    /// The definitions around, and whether something in each calls it.
    around: Vec<(&'s str, bool)>,
}

/// The term, followed by a function that counts.
fn then<'s>(term: Term<&'s str>, count: &'static str) -> Term<&'s str> {
    pipe(term, Term::Call(count, Vec::new()))
}

impl<'s> Guard<'s> {
    fn def(&mut self, def: Def<&'s str>) -> Guarded<Def<&'s str>> {
        self.around.push((def.name, false));
        let body = self.path(def.body);
        let calls_itself = self.around.pop().is_some_and(|(_, calls)| calls);
        let body = body?;
        let body = match calls_itself {
            true => pipe(Term::Call(ROUND, Vec::new()), body),
            false => body,
        };
        Ok(Def { body, ..def })
    }

    fn boxed(&mut self, term: Term<&'s str>) -> Guarded<Box<Term<&'s str>>> {
        Ok(Box::new(self.term(term)?))
    }

    /// A term that is no path of the one around it.
    fn value(&mut self, term: Term<&'s str>) -> Guarded<Term<&'s str>> {
        self.term_that(false, term)
    }

    /// A term that may be a path to what is updated.
    fn path(&mut self, term: Term<&'s str>) -> Guarded<Term<&'s str>> {
        self.term_that(true, term)
    }

    fn term_that(&mut self, may_update: bool, term: Term<&'s str>) -> Guarded<Term<&'s str>> {
        let around = std::mem::replace(&mut self.may_update, may_update);
        let counted = self.term(term);
        self.may_update = around;
        counted
    }

    fn term(&mut self, term: Term<&'s str>) -> Guarded<Term<&'s str>> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(CompileError::TooDeep(DEEPEST));
        }
        let counted = self.inner(term)?;
        self.depth -= 1;
        Ok(counted)
    }

    fn inner(&mut self, term: Term<&'s str>) -> Guarded<Term<&'s str>> {
        Ok(match term {
            Term::Recurse => then(Term::Recurse, HELD),
            Term::Str(format, parts) => {
                let is_plain = parts.iter().all(|part| !matches!(part, StrPart::Term(_)));
                let parts = parts.into_iter().map(|part| {
                    Ok(match part {
                        StrPart::Term(term) => StrPart::Term(then(self.value(term)?, TEXT)),
                        other => other,
                    })
                });
                let text = Term::Str(format, parts.collect::<Guarded<_>>()?);
                match is_plain {
                    true => text,
                    false => then(text, HELD),
                }
            }
            Term::Arr(Some(inner)) => {
                let inner = then(self.value(*inner)?, HELD);
                then(Term::Arr(Some(inner.into())), ROUND)
            }
            Term::Obj(entries) => {
                if entries.is_empty() {
                    return Ok(Term::Obj(entries));
                }
                let entries = entries.into_iter().map(|(key, value)| {
                    let value = value.map(|it| self.held(it)).transpose()?;
                    // A key alone names its value too.
                    let is_plain = value.is_none() || self.is_plain(&key);
                    let key = self.held(key)?;
                    Ok((if is_plain { key } else { then(key, KEY) }, value))
                });
                then(Term::Obj(entries.collect::<Guarded<_>>()?), ROUND)
            }
            Term::Neg(inner) => Term::Neg(self.value(*inner)?.into()),
            Term::BinOp(left, op, right) => self.operation(*left, op, *right)?,
            Term::Label(name, inner) => Term::Label(name, self.boxed(*inner)?),
            Term::Fold(name, stream, pattern, parts) => {
                let stream = then(self.value(*stream)?, EACH);
                let pattern = self.pattern(pattern)?;
                let mut counted = Vec::new();
                for (index, part) in parts.into_iter().enumerate() {
                    let part = self.term(part)?;
                    // The second is what each round makes of the value.
                    counted.push(if index == 1 { then(part, ROUND) } else { part });
                }
                Term::Fold(name, stream.into(), pattern, counted)
            }
            Term::TryCatch(inner, catch) => {
                let inner = Term::Call(CAUGHT, vec![self.term(*inner)?]);
                let catch = catch.map(|it| self.value(*it)).transpose()?;
                Term::TryCatch(inner.into(), catch.map(Box::new))
            }
            Term::IfThenElse(branches, otherwise) => {
                let branches = branches
                    .into_iter()
                    .map(|(condition, then)| Ok((self.value(condition)?, self.term(then)?)));
                let branches = branches.collect::<Guarded<_>>()?;
                Term::IfThenElse(branches, otherwise.map(|it| self.boxed(*it)).transpose()?)
            }
            Term::Def(defs, inner) => {
                let defs = defs.into_iter().map(|def| self.def(def));
                let defs = defs.collect::<Guarded<_>>()?;
                Term::Def(defs, self.boxed(*inner)?)
            }
            Term::Call(name, arguments) => {
                for (around, calls) in &mut self.around {
                    *calls |= *around == name;
                }
                let arguments = arguments.into_iter().map(|it| self.path(it));
                let arguments = arguments.collect::<Guarded<_>>()?;
                self.call(name, arguments)
            }
            Term::Path(inner, path) => {
                if self.depth + STEP_LEVELS * path.0.len() > DEEPEST {
                    return Err(CompileError::TooDeep(DEEPEST));
                }
                let inner = self.term(*inner)?;
                let steps = path.0.into_iter().map(|(part, opt)| {
                    let part = match part {
                        Part::Index(index) => Part::Index(self.key(index)?),
                        Part::Range(from, to) => Part::Range(
                            from.map(|it| self.value(it)).transpose()?,
                            to.map(|it| self.value(it)).transpose()?,
                        ),
                    };
                    Ok((part, opt))
                });
                let steps = steps.collect::<Guarded<_>>()?;
                paths::counted(inner, steps, self.may_update)
            }
            plain @ (Term::Id | Term::Num(_) | Term::Arr(None) | Term::Break(_) | Term::Var(_)) => {
                plain
            }
        })
    }

    /// A term whose outputs are kept. What is there already needs no count.
    fn held(&mut self, term: Term<&'s str>) -> Guarded<Term<&'s str>> {
        let is_there = match &term {
            Term::Id | Term::Num(_) | Term::Var(_) | Term::Arr(None) => true,
            Term::Str(_, parts) => parts.iter().all(|part| !matches!(part, StrPart::Term(_))),
            _ => false,
        };
        let term = self.value(term)?;
        Ok(if is_there { term } else { then(term, HELD) })
    }

    /// A term whose outputs are keys or indices.
    fn key(&mut self, term: Term<&'s str>) -> Guarded<Term<&'s str>> {
        let is_plain = self.is_plain(&term);
        let term = self.value(term)?;
        Ok(if is_plain { term } else { then(term, KEY) })
    }

    /// Whether the output of a term is small, whatever its input is: what is compared with it takes no time.
    fn is_plain(&self, term: &Term<&str>) -> bool {
        match term {
            Term::Num(_) | Term::Arr(None) => true,
            Term::Neg(inner) => self.is_plain(inner),
            Term::Obj(entries) => entries.is_empty(),
            Term::Str(_, parts) => parts.iter().all(|part| !matches!(part, StrPart::Term(_))),
            Term::Call(name, arguments) => {
                self.is_library && arguments.is_empty() && PLAIN_VALUES.contains(name)
            }
            _ => false,
        }
    }

    fn call(&self, name: &'s str, mut arguments: Vec<Term<&'s str>>) -> Term<&'s str> {
        if let Some(search) = functions::searching(name).filter(|_| self.is_library) {
            return then(Term::Call(search, arguments), HELD);
        }
        if let Some((_, count)) = ARGUMENTS_COUNTED.iter().find(|(known, _)| *known == name) {
            let counted = arguments.into_iter().map(|it| match self.is_plain(&it) {
                true => it,
                false => then(it, count),
            });
            arguments = counted.collect();
        }
        let call = Term::Call(name, arguments);
        let call = match functions::is_counted(name) {
            true => then(call, HELD),
            false => call,
        };
        match COUNTED_BEFORE.iter().find(|(known, _)| *known == name) {
            Some((_, before)) => pipe(Term::Call(before, Vec::new()), call),
            None => call,
        }
    }

    fn operation(
        &mut self,
        left: Term<&'s str>,
        op: BinaryOp<&'s str>,
        right: Term<&'s str>,
    ) -> Guarded<Term<&'s str>> {
        let is_plain = self.is_plain(&left) || self.is_plain(&right);
        let (left, right) = match op {
            BinaryOp::Pipe(None) | BinaryOp::Comma | BinaryOp::Alt => {
                (self.term(left)?, self.term(right)?)
            }
            BinaryOp::Pipe(Some(_)) => (self.value(left)?, self.term(right)?),
            BinaryOp::Assign | BinaryOp::Update | BinaryOp::UpdateMath(_) | BinaryOp::UpdateAlt => {
                (self.path(left)?, self.value(right)?)
            }
            BinaryOp::Math(_) | BinaryOp::Cmp(_) | BinaryOp::And | BinaryOp::Or => {
                (self.value(left)?, self.value(right)?)
            }
        };
        Ok(match op {
            BinaryOp::Pipe(Some(pattern)) => {
                let op = BinaryOp::Pipe(Some(self.pattern(pattern)?));
                Term::BinOp(left.into(), op, right.into())
            }
            BinaryOp::Math(math) => calculation(left, math, right),
            BinaryOp::Cmp(op) if !is_plain => {
                Term::Call(comparisons::operator(op), vec![left, right])
            }
            // `left += right` is `right as $x | left |= . + $x`.
            BinaryOp::UpdateMath(math) => {
                const VARIABLE: &str = "$!x";
                let value = calculation(Term::Id, math, Term::Var(VARIABLE));
                let update = Term::BinOp(left.into(), BinaryOp::Update, value.into());
                let bind = BinaryOp::Pipe(Some(Pattern::Var(VARIABLE)));
                Term::BinOp(right.into(), bind, then(update, UPDATED).into())
            }
            op @ (BinaryOp::Assign | BinaryOp::Update | BinaryOp::UpdateAlt) => {
                then(Term::BinOp(left.into(), op, right.into()), UPDATED)
            }
            op => Term::BinOp(left.into(), op, right.into()),
        })
    }

    fn pattern(&mut self, pattern: Pattern<&'s str>) -> Guarded<Pattern<&'s str>> {
        Ok(match pattern {
            Pattern::Var(name) => Pattern::Var(name),
            Pattern::Arr(patterns) => {
                let patterns = patterns.into_iter().map(|it| self.pattern(it));
                Pattern::Arr(patterns.collect::<Guarded<_>>()?)
            }
            Pattern::Obj(entries) => {
                let entries = entries
                    .into_iter()
                    .map(|(key, pattern)| Ok((self.key(key)?, self.pattern(pattern)?)));
                Pattern::Obj(entries.collect::<Guarded<_>>()?)
            }
        })
    }
}

fn calculation<'s>(left: Term<&'s str>, math: Math, right: Term<&'s str>) -> Term<&'s str> {
    match math {
        Math::Mul => then(Term::Call(PRODUCT, vec![left, right]), HELD),
        Math::Add => Term::Call(SUM, vec![left, right]),
        Math::Div => Term::Call(QUOTIENT, vec![left, right]),
        Math::Sub => then(Term::Call(DIFFERENCE, vec![left, right]), HELD),
        math @ Math::Rem => Term::BinOp(left.into(), BinaryOp::Math(math), right.into()),
    }
}
