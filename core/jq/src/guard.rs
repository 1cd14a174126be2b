//! Counts in an expression, so that it can be ended: each element of a stream that it gathers, each round of a loop, each
//! new array and object, each sum.
//!
//! jq repeats by recursion, `reduce`, `foreach` and by what generates streams (`range`, `..`, `.[]`). A definition that
//! calls itself is a loop; jaq keeps no frame of the stack for a call whose outputs are those of the caller, and counting
//! before its body keeps it so.

use jaq_core::load::lex::StrPart;
use jaq_core::load::parse::{BinaryOp, Def, Pattern, Term};
use jaq_core::ops::Math;
use jaq_core::path::{Part, Path};

use crate::budget::{EACH, PRODUCT, ROUND};
use crate::error::CompileError;

/// The most levels of an expression.
const DEEPEST: usize = 200;

/// The functions whose outputs may be larger than their inputs, or many.
const GROWING: [&str; 12] = [
    "range",
    "tojson",
    "implode",
    "explode",
    "encode_uri",
    "encode_base64",
    "escape_html",
    "escape_sh",
    "group_by",
    "key_values",
    "path_value",
    "matches",
];

type Guarded<T> = Result<T, CompileError>;

/// An expression that counts.
///
/// # Errors
/// When it is too deep.
pub fn term(term: Term<&str>) -> Guarded<Term<&str>> {
    Guard::default().term(term)
}

/// A definition that counts.
///
/// # Errors
/// When it is too deep.
pub fn def(def: Def<&str>) -> Guarded<Def<&str>> {
    Guard::default().def(def)
}

#[derive(Default)]
struct Guard<'s> {
    depth: usize,
    /// The definitions around, and whether something in each calls it.
    around: Vec<(&'s str, bool)>,
}

/// The term, followed by a function that counts.
fn then<'s>(term: Term<&'s str>, count: &'static str) -> Term<&'s str> {
    pipe(term, Term::Call(count, Vec::new()))
}

fn pipe<'s>(left: Term<&'s str>, right: Term<&'s str>) -> Term<&'s str> {
    Term::BinOp(left.into(), BinaryOp::Pipe(None), right.into())
}

impl<'s> Guard<'s> {
    fn def(&mut self, def: Def<&'s str>) -> Guarded<Def<&'s str>> {
        self.around.push((def.name, false));
        let body = self.term(def.body);
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
            Term::Recurse => then(Term::Recurse, EACH),
            Term::Str(format, parts) => {
                let is_plain = parts.iter().all(|part| !matches!(part, StrPart::Term(_)));
                let parts = parts.into_iter().map(|part| {
                    Ok(match part {
                        StrPart::Term(term) => StrPart::Term(self.term(term)?),
                        other => other,
                    })
                });
                let text = Term::Str(format, parts.collect::<Guarded<_>>()?);
                match is_plain {
                    true => text,
                    false => then(text, EACH),
                }
            }
            Term::Arr(Some(inner)) => {
                let inner = then(self.term(*inner)?, EACH);
                then(Term::Arr(Some(inner.into())), ROUND)
            }
            Term::Obj(entries) => {
                if entries.is_empty() {
                    return Ok(Term::Obj(entries));
                }
                let entries = entries.into_iter().map(|(key, value)| {
                    Ok((self.term(key)?, value.map(|it| self.term(it)).transpose()?))
                });
                then(Term::Obj(entries.collect::<Guarded<_>>()?), ROUND)
            }
            Term::Neg(inner) => Term::Neg(self.boxed(*inner)?),
            Term::BinOp(left, op, right) => self.operation(*left, op, *right)?,
            Term::Label(name, inner) => Term::Label(name, self.boxed(*inner)?),
            Term::Fold(name, stream, pattern, parts) => {
                let stream = then(self.term(*stream)?, EACH);
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
                let inner = self.boxed(*inner)?;
                Term::TryCatch(inner, catch.map(|it| self.boxed(*it)).transpose()?)
            }
            Term::IfThenElse(branches, otherwise) => {
                let branches = branches
                    .into_iter()
                    .map(|(condition, then)| Ok((self.term(condition)?, self.term(then)?)));
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
                let arguments = arguments.into_iter().map(|it| self.term(it));
                let call = Term::Call(name, arguments.collect::<Guarded<_>>()?);
                match GROWING.contains(&name) {
                    true => then(call, EACH),
                    false => call,
                }
            }
            Term::Path(inner, path) => {
                let inner = self.boxed(*inner)?;
                let parts = path.0.into_iter().map(|(part, opt)| {
                    let part = match part {
                        Part::Index(index) => Part::Index(self.term(index)?),
                        Part::Range(from, to) => Part::Range(
                            from.map(|it| self.term(it)).transpose()?,
                            to.map(|it| self.term(it)).transpose()?,
                        ),
                    };
                    Ok((part, opt))
                });
                Term::Path(inner, Path(parts.collect::<Guarded<_>>()?))
            }
            plain @ (Term::Id | Term::Num(_) | Term::Arr(None) | Term::Break(_) | Term::Var(_)) => {
                plain
            }
        })
    }

    fn operation(
        &mut self,
        left: Term<&'s str>,
        op: BinaryOp<&'s str>,
        right: Term<&'s str>,
    ) -> Guarded<Term<&'s str>> {
        let left = self.term(left)?;
        let right = self.term(right)?;
        Ok(match op {
            BinaryOp::Pipe(Some(pattern)) => {
                let op = BinaryOp::Pipe(Some(self.pattern(pattern)?));
                Term::BinOp(left.into(), op, right.into())
            }
            BinaryOp::Math(math) => calculation(left, math, right),
            // `left += right` is `right as $x | left |= . + $x`.
            BinaryOp::UpdateMath(math) => {
                const VARIABLE: &str = "$!x";
                let value = calculation(Term::Id, math, Term::Var(VARIABLE));
                let update = Term::BinOp(left.into(), BinaryOp::Update, value.into());
                let bind = BinaryOp::Pipe(Some(Pattern::Var(VARIABLE)));
                Term::BinOp(right.into(), bind, then(update, ROUND).into())
            }
            op @ (BinaryOp::Assign | BinaryOp::Update | BinaryOp::UpdateAlt) => {
                then(Term::BinOp(left.into(), op, right.into()), ROUND)
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
                    .map(|(key, pattern)| Ok((self.term(key)?, self.pattern(pattern)?)));
                Pattern::Obj(entries.collect::<Guarded<_>>()?)
            }
        })
    }
}

fn calculation<'s>(left: Term<&'s str>, math: Math, right: Term<&'s str>) -> Term<&'s str> {
    match math {
        Math::Mul => then(Term::Call(PRODUCT, vec![left, right]), EACH),
        Math::Add => then(
            Term::BinOp(left.into(), BinaryOp::Math(math), right.into()),
            EACH,
        ),
        math => Term::BinOp(left.into(), BinaryOp::Math(math), right.into()),
    }
}
