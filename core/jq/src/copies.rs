//! Copies of arrays and objects. Values are shared, and one that changes is copied first where something else has it too.

use std::iter::once_with;

use jaq_core::Native;
use jaq_core::box_iter::box_once;
use jaq_core::native::{Fun, v};
use jaq_json::{Rc, Val};

use crate::budget::{self, Budget, Counted, ELEMENT_BYTES, End};

/// Before an element of a value. No name that an expression can have.
pub const INDEXED: &str = "!indexed";
/// Before all elements of a value.
pub const ITERATED: &str = "!iterate";
/// Before a part of an array or a text.
pub const PART: &str = "!part";
/// After such a part.
pub const REPLACED: &str = "!replaced";
/// Before an array with the keys and elements of a value.
pub const ENTRIES: &str = "!entries";

/// A byte of a text that is searched counts as so many that are copied.
const SEARCH_FACTOR: usize = 4;
/// The bytes of an array with a key and an element.
const ENTRY_BYTES: usize = 8 * ELEMENT_BYTES;

/// The functions that count copies. They pass on what they get, also as a path.
pub fn functions() -> [Fun<Counted>; 5] {
    macro_rules! before {
        ($run:ident, $update:ident) => {
            Native::<Counted>::new(|cv| {
                let counted = $run(cv.0.data(), &cv.1);
                box_once(cv.0.data().counted(counted, cv.1))
            })
            .with_paths(|cv| {
                let counted = $run(cv.0.data(), &cv.1.0);
                box_once(cv.0.data().counted(counted, cv.1))
            })
            // Later: the caller has the value too until this returns, and would make it a shared one.
            .with_update(|cv, update| {
                let update = move || match $update(cv.0.data(), &cv.1) {
                    Ok(()) => update(cv.1),
                    Err(end) => box_once(cv.0.data().halt(end)),
                };
                Box::new(once_with(update).flatten())
            })
        };
    }
    let replaced = Native::<Counted>::new(|cv| {
        let counted = cv.0.data().held(&cv.1);
        box_once(cv.0.data().counted(counted, cv.1))
    })
    .with_paths(|cv| {
        let counted = cv.0.data().held(&cv.1.0);
        box_once(cv.0.data().counted(counted, cv.1))
    })
    .with_update(|cv, update| {
        let budget: &Budget<'_> = cv.0.data();
        if let Err(end) = budget.held(&cv.1) {
            return box_once(budget.halt(end));
        }
        // What takes the place of the part is copied there.
        Box::new(update(cv.1).map(move |output| {
            let output = output?;
            budget.counted(budget.take(budget::copied_bytes(&output)), output)
        }))
    });
    [
        (INDEXED, v(0), before!(nothing, change)),
        (ITERATED, v(0), before!(iterate, iterate)),
        (PART, v(0), before!(search, change)),
        (REPLACED, v(0), replaced),
        (ENTRIES, v(0), before!(entries, entries)),
    ]
}

fn nothing(_: &Budget<'_>, _: &Val) -> Result<(), End> {
    Ok(())
}

/// An element or a part changes, or is removed, which moves those behind it.
fn change(budget: &Budget<'_>, value: &Val) -> Result<(), End> {
    budget.take(match is_shared(value) {
        true => budget::copied_bytes(value),
        false => length(value),
    })
}

/// All elements are taken out of it. They are counted one by one.
fn iterate(budget: &Budget<'_>, value: &Val) -> Result<(), End> {
    match is_shared(value) {
        true => budget.take(budget::copied_bytes(value)),
        false => Ok(()),
    }
}

/// The characters of a text are counted from its start, which takes longer than a copy of them.
fn search(budget: &Budget<'_>, value: &Val) -> Result<(), End> {
    match value {
        Val::BStr(_) | Val::TStr(_) => budget.take(length(value) * SEARCH_FACTOR),
        _ => Ok(()),
    }
}

fn entries(budget: &Budget<'_>, value: &Val) -> Result<(), End> {
    iterate(budget, value)?;
    budget.take(length(value) * ENTRY_BYTES)
}

/// The bytes of a text, or the elements of an array.
fn length(value: &Val) -> usize {
    match value {
        Val::BStr(text) | Val::TStr(text) => text.len(),
        Val::Arr(array) => array.len(),
        Val::Obj(object) => object.len(),
        Val::Null | Val::Bool(_) | Val::Num(_) => 0,
    }
}

fn is_shared(value: &Val) -> bool {
    match value {
        Val::Arr(array) => Rc::strong_count(array) > 1,
        Val::Obj(object) => Rc::strong_count(object) > 1,
        Val::Null | Val::Bool(_) | Val::Num(_) | Val::BStr(_) | Val::TStr(_) => false,
    }
}
