//! Errors that are caught. As a value, an error is a text, which may have the values that it is about.

use std::fmt::{self, Display, Write};

use jaq_core::native::Fun;
use jaq_core::{Bind, Error, Exn, Native};
use jaq_json::Val;

use crate::budget::{Budget, Counted};

/// Passes on what a filter gives, with errors that can be values. No name that an expression can have.
pub const CAUGHT: &str = "!caught";

/// The longest text of an error that is about values, in bytes.
const LONGEST: usize = 16 << 10;
/// How such texts start. Other errors are values already, which are shown as JSON.
const ABOUT_VALUES: [&str; 2] = ["cannot ", "invalid "];

/// The function.
pub fn function() -> Fun<Counted> {
    macro_rules! with_short_errors {
        ($run:ident) => {
            |mut cv| {
                let (filter, context) = cv.0.pop_fun();
                let budget = *context.data();
                let outputs = filter.$run((context, cv.1));
                Box::new(outputs.map(move |output| output.map_err(|it| short(budget, it))))
            }
        };
    }
    let native = Native::<Counted>::new(with_short_errors!(run));
    let native = native.with_paths(with_short_errors!(paths));
    (CAUGHT, [Bind::Fun(())].into(), native)
}

/// The same error, or its beginning.
fn short<'a>(budget: &Budget<'a>, exception: Exn<'a, Val>) -> Exn<'a, Val> {
    let error = match exception.get_err() {
        Ok(error) => error,
        Err(other) => return other,
    };
    let shown = beginning(&error, LONGEST);
    let (Ok(text) | Err(text)) = &shown;
    if let Err(end) = budget.take(text.len()) {
        return match budget.halt::<()>(end) {
            Err(halted) => halted,
            Ok(()) => Exn::from(error),
        };
    }
    match shown {
        Err(text) if ABOUT_VALUES.iter().any(|it| text.starts_with(it)) => {
            Exn::from(Error::new(Val::from(text + " …")))
        }
        _ => Exn::from(error),
    }
}

/// A text of at most so many bytes, about.
///
/// # Errors
/// The beginning of a longer one.
pub fn beginning(shown: &dyn Display, most: usize) -> Result<String, String> {
    struct Beginning {
        text: String,
        most: usize,
    }

    impl Write for Beginning {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for character in text.chars() {
                if self.text.len() >= self.most {
                    return Err(fmt::Error);
                }
                self.text.push(character);
            }
            Ok(())
        }
    }

    let text = String::new();
    let mut beginning = Beginning { text, most };
    match write!(beginning, "{shown}") {
        Ok(()) => Ok(beginning.text),
        Err(_) => Err(beginning.text),
    }
}
