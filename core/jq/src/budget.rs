//! What an expression may use for one message, and the functions that count it.

use std::cell::Cell;
use std::iter::once_with;

use jaq_core::box_iter::box_once;
use jaq_core::data::HasLut;
use jaq_core::native::{Fun, v};
use jaq_core::{DataT, Exn, Lut, Native, ValX};
use jaq_json::{Num, Val};

use crate::Cancelled;
use crate::error::Limit;

/// Counts an element of a stream. No name that an expression can have.
pub const EACH: &str = "!each";
/// Counts a round of a loop, or a new array or object.
pub const ROUND: &str = "!round";
/// Counts an update. What it copies is counted before.
pub const UPDATED: &str = "!updated";
/// Counts a value that an array or an object keeps, or that a function made, by its bytes.
pub const HELD: &str = "!held";

/// The most bytes of a text, and the most bits of a number.
pub const LONGEST_TEXT: usize = 16 << 20;
pub const LONGEST_NUMBER: u64 = 8 * (64 << 10);
/// The most elements of an array or object.
pub const LONGEST_ARRAY: usize = 1_000_000;
/// The bytes of an element of an array, and about those of a member of an object.
pub const ELEMENT_BYTES: usize = size_of::<Val>();
pub const MEMBER_BYTES: usize = 4 * ELEMENT_BYTES;
/// The bytes of a reference to those of a text.
const REFERENCE_BYTES: usize = 3 * ELEMENT_BYTES;
/// So many bytes count as one more element. Of a value that is only passed on: so many bytes of a text, or elements of an
/// array.
pub const SIZE_OF_ELEMENT: usize = 256;
/// The call is checked for cancellation so often, and after so many elements that counted at once.
const POLL_EVERY: u64 = 128;
const POLL_EVERY_ELEMENTS: u64 = 32;

/// The limits of a run.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Elements of streams.
    pub elements: u64,
    /// Rounds of loops, and new arrays and objects. A value has at most so many more levels than the message: what walks
    /// over it, or drops it, needs some hundred bytes of the stack for each.
    pub rounds: u64,
    /// Bytes of the stack.
    pub stack: usize,
}

/// A run of an expression on a message.
pub struct Budget<'a> {
    lut: &'a Lut<Counted>,
    limits: Limits,
    elements: Cell<u64>,
    rounds: Cell<u64>,
    polls: Cell<u64>,
    stack_start: usize,
    cancel: Cancelled<'a>,
    end: Cell<Option<End>>,
}

/// Why a run was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A limit is reached.
    Limit(Limit),
    /// The call is cancelled.
    Cancelled,
}

/// Values of JSON, with a budget.
pub struct Counted;

impl DataT for Counted {
    type V<'a> = Val;
    type Data<'a> = &'a Budget<'a>;
}

impl<'a> HasLut<'a, Counted> for &'a Budget<'a> {
    fn lut(&self) -> &'a Lut<Counted> {
        self.lut
    }
}

impl<'a> Budget<'a> {
    /// A whole budget.
    pub fn new(lut: &'a Lut<Counted>, limits: Limits, cancel: Cancelled<'a>) -> Self {
        Self {
            lut,
            limits,
            elements: Cell::new(0),
            rounds: Cell::new(0),
            polls: Cell::new(0),
            stack_start: stack_place(),
            cancel,
            end: Cell::new(None),
        }
    }

    /// Why the run was ended, if it was.
    pub fn end(&self) -> Option<End> {
        self.end.get()
    }

    /// The bytes that can still be taken of the memory.
    pub fn left_bytes(&self) -> usize {
        let elements = self.limits.elements.saturating_sub(self.elements.get());
        usize::try_from(elements)
            .unwrap_or(usize::MAX)
            .saturating_mul(SIZE_OF_ELEMENT)
    }

    fn count(&self, counter: &Cell<u64>, limit: u64, add: u64, reached: Limit) -> Result<(), End> {
        let count = counter.get().saturating_add(add);
        counter.set(count);
        if count > limit {
            return Err(End::Limit(reached));
        }
        let polls = self.polls.get() + 1 + add / POLL_EVERY_ELEMENTS;
        let is_due = polls >= POLL_EVERY;
        self.polls.set(if is_due { 0 } else { polls });
        if is_due && (self.cancel)() {
            return Err(End::Cancelled);
        }
        Ok(())
    }

    /// Counts so many bytes that are about to be, or were, taken of the memory. Of a value that is only passed on: its
    /// [`size`].
    ///
    /// # Errors
    /// When a limit is reached, or the call is cancelled.
    pub fn take(&self, bytes: usize) -> Result<(), End> {
        let add = 1 + (bytes / SIZE_OF_ELEMENT) as u64;
        self.count(&self.elements, self.limits.elements, add, Limit::Elements)
    }

    /// Counts a value that is kept, by its bytes.
    ///
    /// # Errors
    /// When a limit is reached, or the call is cancelled.
    pub fn held(&self, value: &Val) -> Result<(), End> {
        size(value)?;
        self.take(bytes(value))
    }

    fn each(&self, value: &Val) -> Result<(), End> {
        self.take(size(value)?)
    }

    fn round(&self, value: &Val) -> Result<(), End> {
        self.each(value)?;
        self.count_round()
    }

    fn updated(&self, value: &Val) -> Result<(), End> {
        size(value)?;
        self.take(0)?;
        self.count_round()
    }

    fn count_round(&self) -> Result<(), End> {
        if self.stack_start.abs_diff(stack_place()) > self.limits.stack {
            return Err(End::Limit(Limit::Depth));
        }
        self.count(&self.rounds, self.limits.rounds, 1, Limit::Rounds)
    }

    /// The run ends: nothing in the expression catches that.
    pub fn halt<T>(&self, end: End) -> ValX<'a, T, Val> {
        self.end.set(Some(end));
        Err(Exn::halt(0))
    }

    /// The value, unless the run ends.
    pub fn counted<T>(&self, counted: Result<(), End>, value: T) -> ValX<'a, T, Val> {
        match counted {
            Ok(()) => Ok(value),
            Err(end) => self.halt(end),
        }
    }
}

/// A place on the stack of the caller, about.
#[inline(never)]
fn stack_place() -> usize {
    let here = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&here)).addr()
}

/// The bytes of a value, without those of the values in it.
pub fn bytes(value: &Val) -> usize {
    match value {
        Val::BStr(text) | Val::TStr(text) => text.len(),
        Val::Arr(array) => array.len() * ELEMENT_BYTES,
        Val::Obj(object) => object.len() * MEMBER_BYTES,
        Val::Null | Val::Bool(_) | Val::Num(_) => 0,
    }
}

/// The bytes of a copy of an array or object. Texts in it are copied as references to their bytes.
pub fn copied_bytes(value: &Val) -> usize {
    let is_text = |value: &&Val| matches!(value, Val::BStr(_) | Val::TStr(_));
    let texts = match value {
        Val::Arr(array) => array.iter().filter(is_text).count(),
        Val::Obj(object) => {
            let parts = object.iter().flat_map(|(key, member)| [key, member]);
            parts.filter(is_text).count()
        }
        Val::BStr(_) | Val::TStr(_) | Val::Null | Val::Bool(_) | Val::Num(_) => 0,
    };
    bytes(value) + texts * REFERENCE_BYTES
}

/// The bytes of a text, or the elements of an array.
///
/// # Errors
/// When they are more than permitted.
pub fn size(value: &Val) -> Result<usize, End> {
    let (size, limit) = match value {
        Val::BStr(text) | Val::TStr(text) => (text.len(), LONGEST_TEXT),
        Val::Arr(array) => (array.len(), LONGEST_ARRAY),
        Val::Obj(object) => (object.len(), LONGEST_ARRAY),
        Val::Num(Num::BigInt(number)) if number.bits() > LONGEST_NUMBER => {
            return Err(End::Limit(Limit::Size));
        }
        Val::Null | Val::Bool(_) | Val::Num(_) => (0, LONGEST_ARRAY),
    };
    match size > limit {
        true => Err(End::Limit(Limit::Size)),
        false => Ok(size),
    }
}

/// The functions that count. They pass on what they get, also as a path.
pub fn functions() -> [Fun<Counted>; 4] {
    macro_rules! counting {
        ($count:ident) => {
            Native::<Counted>::new(|cv| {
                let counted = cv.0.data().$count(&cv.1);
                box_once(cv.0.data().counted(counted, cv.1))
            })
            .with_paths(|cv| {
                let counted = cv.0.data().$count(&cv.1.0);
                box_once(cv.0.data().counted(counted, cv.1))
            })
            // Later: the caller has the value too until this returns, and would make it a shared one.
            .with_update(|cv, update| {
                let update = move || match cv.0.data().$count(&cv.1) {
                    Ok(()) => update(cv.1),
                    Err(end) => box_once(cv.0.data().halt(end)),
                };
                Box::new(once_with(update).flatten())
            })
        };
    }
    [
        (EACH, v(0), counting!(each)),
        (ROUND, v(0), counting!(round)),
        (UPDATED, v(0), counting!(updated)),
        (HELD, v(0), counting!(held)),
    ]
}
