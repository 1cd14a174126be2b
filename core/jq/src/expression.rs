//! An expression, compiled and run.

use std::fmt;

use jaq_core::Compiler;
use jaq_core::compile::Undefined;
use jaq_core::load::lex::Lexer;
use jaq_core::load::parse::{Def, Parser, Term};
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Ctx, Filter, Vars};
use jaq_json::Val;

use crate::Cancelled;
use crate::budget::{Budget, Counted, End, Limits};
use crate::caught::beginning;
use crate::error::{CompileError, Limit, RunError};
use crate::{functions, guard, value};

/// The longest expression, in bytes.
const LONGEST: usize = 16 << 10;
/// The definition that is the expression.
const MAIN: &str = "flowpipe_expression";
/// The stack of a thread that compiles, or runs what takes long. Only what is used of it takes memory.
const STACK: usize = 512 << 20;
/// The longest error of an expression, in bytes: it may contain values.
const LONGEST_ERROR: usize = 400;

/// At first: most expressions need less, and the stack of the stage suffices.
const FEW: Limits = Limits {
    elements: 20_000,
    rounds: 1_000,
    stack: 400 << 10,
};
/// With a stack of its own.
const MANY: Limits = Limits {
    elements: 1_000_000,
    rounds: 250_000,
    stack: 128 << 20,
};

/// A compiled expression.
pub struct Expression {
    filter: Filter<Counted>,
}

/// The outputs of an expression as JSON texts.
#[derive(Default)]
pub struct Outputs {
    /// One after the other.
    texts: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
}

/// The outputs of an expression, one by one.
type Stream<'s> = &'s mut dyn Iterator<Item = Result<Val, RunError>>;

impl Outputs {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let places = starts.zip(&self.ends);
        places.map(|(&start, &end)| &self.texts[start..end])
    }
}

impl Expression {
    /// Compiles an expression.
    ///
    /// # Errors
    /// When it is no expression of jq, or too large.
    pub fn compile(text: &str) -> Result<Self, CompileError> {
        if text.len() > LONGEST {
            return Err(CompileError::TooLong(LONGEST));
        }
        // The parser calls itself for each level, of which a text may have thousands.
        let filter = with_stack(|| compile(text)).map_err(CompileError::NoThread)??;
        Ok(Self { filter })
    }

    /// Whether the first output for a message is neither false nor null. Without an output, it is not.
    ///
    /// # Errors
    /// When the expression fails on it.
    pub fn accepts(&self, json: &[u8], cancel: Cancelled<'_>) -> Result<bool, RunError> {
        self.run(json, cancel, |outputs| {
            let first = outputs.next().transpose()?;
            Ok(first.is_some_and(|value| !matches!(value, Val::Null | Val::Bool(false))))
        })
    }

    /// The first output for a message, as a text that is equal for equal values. `None`: there is none.
    ///
    /// # Errors
    /// When the expression fails on it.
    pub fn key(&self, json: &[u8], cancel: Cancelled<'_>) -> Result<Option<Vec<u8>>, RunError> {
        self.run(json, cancel, |outputs| {
            let first = outputs.next().transpose()?;
            let text = first.map(|value| {
                let mut text = Vec::new();
                value::write_key(&value, &mut text).map_err(RunError::Output)?;
                Ok(text)
            });
            text.transpose()
        })
    }

    /// The outputs for a message.
    ///
    /// # Errors
    /// When the expression fails on it, or has more outputs than `most`.
    pub fn outputs(
        &self,
        json: &[u8],
        most: usize,
        cancel: Cancelled<'_>,
    ) -> Result<Outputs, RunError> {
        self.run(json, cancel, |outputs| {
            let mut written = Outputs::default();
            for output in outputs {
                if written.ends.len() == most {
                    return Err(RunError::TooMany(most));
                }
                value::write(&output?, &mut written.texts).map_err(RunError::Output)?;
                written.ends.push(written.texts.len());
            }
            Ok(written)
        })
    }

    /// Runs the expression on a message. What takes more than a little is run again, on a stack of its own: an expression
    /// has no effects.
    fn run<R: Send>(
        &self,
        json: &[u8],
        cancel: Cancelled<'_>,
        gather: impl Fn(Stream<'_>) -> Result<R, RunError> + Sync,
    ) -> Result<R, RunError> {
        if let Some(why) = value::refusal(json) {
            return Err(RunError::Message(why));
        }
        match self.run_within(FEW, json, cancel, &gather) {
            Err(RunError::Limit(Limit::Elements | Limit::Rounds | Limit::Depth)) => {
                let run = || self.run_within(MANY, json, cancel, &gather);
                with_stack(run).map_err(RunError::NoThread)?
            }
            ran => ran,
        }
    }

    fn run_within<R>(
        &self,
        limits: Limits,
        json: &[u8],
        cancel: Cancelled<'_>,
        gather: impl Fn(Stream<'_>) -> Result<R, RunError>,
    ) -> Result<R, RunError> {
        let input = jaq_json::read::parse_single(json)
            .map_err(|error| RunError::Failed(error.to_string()))?;
        let budget = Budget::new(&self.filter.lut, limits, cancel);
        let context = Ctx::<Counted>::new(&budget, Vars::new([]));
        let outputs = self.filter.id.run((context, input));
        let mut outputs = outputs.map(|output| {
            output.map_err(|exception| match (budget.end(), exception.get_err()) {
                (Some(End::Cancelled), _) => RunError::Cancelled,
                (Some(End::Limit(limit)), _) => RunError::Limit(limit),
                (None, Ok(error)) => RunError::Failed(reason(&error)),
                (None, Err(_)) => {
                    RunError::Failed("it has left a label that is not around it".to_owned())
                }
            })
        });
        gather(&mut outputs)
    }
}

/// Runs something with a stack for deep recursion. The error is the system's.
fn with_stack<R: Send>(run: impl FnOnce() -> R + Send) -> Result<R, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("jq".to_owned())
            .stack_size(STACK);
        let thread = thread
            .spawn_scoped(scope, run)
            .map_err(|error| error.to_string())?;
        // A panic is the stage's, as if it had happened here.
        thread
            .join()
            .or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn compile(text: &str) -> Result<Filter<Counted>, CompileError> {
    let term = guard::term(parse(text)?)?;
    let definitions = functions::definitions().map(guard::def);
    let mut definitions: Vec<Def<&str>> = definitions.collect::<Result<_, _>>()?;
    definitions.push(Def {
        name: MAIN,
        args: Vec::new(),
        body: term,
    });
    let arena = Arena::default();
    let main = File {
        code: MAIN,
        path: (),
    };
    let elsewhere = |reason: String| at(text, text, reason);
    let modules = Loader::new(definitions).load(&arena, main);
    let modules = modules.map_err(|_| elsewhere("it can't be read".to_owned()))?;
    let compiled = Compiler::default()
        .with_funs(functions::natives())
        .compile(modules);
    compiled.map_err(|errors| {
        let first = errors.into_iter().flat_map(|(_, errors)| errors).next();
        let Some((name, kind)) = first else {
            return elsewhere("it can't be compiled".to_owned());
        };
        let reason = match kind {
            Undefined::Filter(arguments) => format!("there is no filter {name}/{arguments}"),
            kind => format!("there is no {} {name}", kind.as_str()),
        };
        at(text, name, reason)
    })
}

fn parse(text: &str) -> Result<Term<&str>, CompileError> {
    let tokens = Lexer::new(text).lex().map_err(|errors| {
        let first = errors.into_iter().next();
        first.map_or_else(
            || at(text, text, "it can't be read".to_owned()),
            |(expected, rest)| at(text, rest, format!("expected {}", expected.as_str())),
        )
    })?;
    Parser::new(&tokens)
        .parse(|parser| parser.term())
        .map_err(|errors| {
            let first = errors.into_iter().next();
            first.map_or_else(
                || at(text, text, "it can't be read".to_owned()),
                |(expected, found)| {
                    let (place, found) = match found {
                        Some(token) => (token.0, format!("found {}", shortened(&token.0))),
                        None => (&text[text.len()..], "the expression ends".to_owned()),
                    };
                    let expected = match expected.as_str() {
                        "nothing" => "the end",
                        other => other,
                    };
                    at(text, place, format!("expected {expected}, {found}"))
                },
            )
        })
}

/// An error at a part of the text.
fn at(text: &str, part: &str, reason: String) -> CompileError {
    let offset = part.as_ptr().addr().checked_sub(text.as_ptr().addr());
    // A name may be one that no text contains.
    let before = offset
        .and_then(|offset| text.get(..offset))
        .unwrap_or_default();
    let line = before.lines().count().max(1) + usize::from(before.ends_with('\n'));
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    CompileError::At {
        line,
        column,
        reason,
    }
}

/// Why an expression fails: an error of its own may be a text, which is shown without quotes.
fn reason(error: &jaq_core::Error<Val>) -> String {
    let shown = shortened(error);
    serde_json::from_str::<String>(&shown).unwrap_or(shown)
}

/// The beginning of what may be very long.
fn shortened(shown: &dyn fmt::Display) -> String {
    beginning(shown, LONGEST_ERROR).unwrap_or_else(|text| text + " …")
}
