//! Comparisons and keys: they count before they go through a value. A value may have few parts, each of which is in it
//! many times, so that it takes little memory and a comparison takes very long.

use jaq_core::Native;
use jaq_core::box_iter::box_once;
use jaq_core::native::{Fun, v};
use jaq_core::ops::Cmp;
use jaq_json::{Num, Val};

use crate::budget::{
    Budget, Counted, ELEMENT_BYTES, End, LONGEST_ARRAY, LONGEST_TEXT, SIZE_OF_ELEMENT,
};
use crate::error::Limit;

/// The operators that compare. No names that an expression can have.
const LESS: &str = "!<";
const LESS_OR_EQUAL: &str = "!<=";
const GREATER: &str = "!>";
const GREATER_OR_EQUAL: &str = "!>=";
const EQUAL: &str = "!==";
const DIFFERENT: &str = "!!=";
/// Passes on a value that is about to be compared with others.
pub const WEIGHED: &str = "!weighed";
/// Passes on a value that is about to be the key of an object, an index, or a bound of a range.
pub const KEY: &str = "!key";
/// Passes on a value that a function reads whole, and that may be in the text of its error.
pub const READ: &str = "!read";
/// Before it is checked whether a value contains another one.
pub const CONTAINED: &str = "!contained";
/// Before a value is searched for in an array or a text.
pub const SOUGHT: &str = "!sought";

/// A key with so many values at most may be an object, such as `{"start": 1, "end": 2}`.
const SMALL_KEY: usize = 8 * ELEMENT_BYTES;

/// The function of an operator.
pub fn operator(op: Cmp) -> &'static str {
    match op {
        Cmp::Lt => LESS,
        Cmp::Le => LESS_OR_EQUAL,
        Cmp::Gt => GREATER,
        Cmp::Ge => GREATER_OR_EQUAL,
        Cmp::Eq => EQUAL,
        Cmp::Ne => DIFFERENT,
    }
}

/// The functions that count. Those with one input pass it on.
pub fn functions() -> [Fun<Counted>; 11] {
    macro_rules! comparison {
        ($op:ident) => {
            Native::<Counted>::new(|mut cv| {
                let right = cv.0.pop_var();
                let left = cv.0.pop_var();
                let budget: &Budget<'_> = cv.0.data();
                let counted = count(budget, |left_bytes| compared(&left, &right, left_bytes));
                box_once(match counted {
                    Ok(()) => Ok(Val::Bool(Cmp::$op.run(&left, &right))),
                    Err(end) => budget.halt(end),
                })
            })
        };
    }
    macro_rules! before {
        ($count:ident) => {
            Native::<Counted>::new(|cv| {
                let counted = $count(cv.0.data(), &cv.1);
                box_once(cv.0.data().counted(counted, cv.1))
            })
            .with_paths(|cv| {
                let counted = $count(cv.0.data(), &cv.1.0);
                box_once(cv.0.data().counted(counted, cv.1))
            })
            .with_update(|cv, update| match $count(cv.0.data(), &cv.1) {
                Ok(()) => update(cv.1),
                Err(end) => box_once(cv.0.data().halt(end)),
            })
        };
    }
    macro_rules! before_argument {
        ($walk:ident) => {
            Native::<Counted>::new(|mut cv| {
                let argument = cv.0.pop_var();
                let budget: &Budget<'_> = cv.0.data();
                let counted = count(budget, |bytes| $walk(&cv.1, &argument, bytes));
                box_once(budget.counted(counted, cv.1))
            })
        };
    }
    [
        (LESS, v(2), comparison!(Lt)),
        (LESS_OR_EQUAL, v(2), comparison!(Le)),
        (GREATER, v(2), comparison!(Gt)),
        (GREATER_OR_EQUAL, v(2), comparison!(Ge)),
        (EQUAL, v(2), comparison!(Eq)),
        (DIFFERENT, v(2), comparison!(Ne)),
        (WEIGHED, v(0), before!(weighed)),
        (KEY, v(0), before!(key)),
        (READ, v(0), before!(read)),
        (CONTAINED, v(1), before_argument!(contained)),
        (SOUGHT, v(1), before_argument!(sought)),
    ]
}

/// Counts what a walk goes through: it takes it of the bytes that are left, and ends with `None` where there are too few.
/// Little is not counted: an expression does little in one step, and each step of what repeats is counted.
pub fn count<T>(
    budget: &Budget<'_>,
    walk: impl FnOnce(&mut usize) -> Option<T>,
) -> Result<(), End> {
    let most = budget.left_bytes();
    let mut left = most;
    let whole = walk(&mut left);
    let bytes = most - left;
    match whole {
        None => Err(End::Limit(Limit::Elements)),
        Some(_) if bytes < SIZE_OF_ELEMENT => Ok(()),
        Some(_) => budget.take(bytes),
    }
}

/// Takes of the bytes that are left.
pub fn spend(bytes: usize, left: &mut usize) -> Option<()> {
    *left = left.checked_sub(bytes)?;
    Some(())
}

/// Goes through all of a value, and counts so many bytes for each value in it, or those of a text or of the text of a
/// number.
pub fn walk(value: &Val, each: usize, left: &mut usize) -> Option<()> {
    let own = match value {
        Val::BStr(text) | Val::TStr(text) => text.len().max(each),
        Val::Num(Num::Dec(text)) => text.len().max(each),
        // A digit is more than three bits.
        Val::Num(Num::BigInt(number)) => usize::try_from(number.bits() / 3)
            .unwrap_or(usize::MAX)
            .max(each),
        _ => each,
    };
    spend(own, left)?;
    match value {
        Val::Arr(array) => array.iter().try_for_each(|it| walk(it, each, left)),
        Val::Obj(object) => object.iter().try_for_each(|(key, member)| {
            walk(key, each, left)?;
            walk(member, each, left)
        }),
        Val::Null | Val::Bool(_) | Val::Num(_) | Val::BStr(_) | Val::TStr(_) => Some(()),
    }
}

fn weighed(budget: &Budget<'_>, value: &Val) -> Result<(), End> {
    count(budget, |left| walk(value, ELEMENT_BYTES, left))
}

fn read(budget: &Budget<'_>, value: &Val) -> Result<(), End> {
    let mut left = LONGEST_TEXT;
    walk(value, ELEMENT_BYTES, &mut left).ok_or(End::Limit(Limit::Size))?;
    budget.take(LONGEST_TEXT - left)
}

/// A key is hashed whenever its object is added to another one, an array is sought in all of another array, and a bound is
/// compared with each output. So an array counts as often as one could be.
fn key(budget: &Budget<'_>, value: &Val) -> Result<(), End> {
    let is_array = match value {
        Val::Arr(array) => !array.is_empty(),
        Val::Obj(_) => false,
        _ => return weighed(budget, value),
    };
    let mut small = SMALL_KEY;
    let is_small = walk(value, ELEMENT_BYTES, &mut small).is_some();
    match is_small && !is_array {
        true => Ok(()),
        false => count(budget, |left| {
            walk(value, ELEMENT_BYTES * LONGEST_ARRAY, left)
        }),
    }
}

/// Goes through two values until they differ. `false`: they do.
fn compared(left: &Val, right: &Val, bytes: &mut usize) -> Option<bool> {
    match (left, right) {
        (Val::Arr(one), Val::Arr(other)) => {
            spend(ELEMENT_BYTES, bytes)?;
            for (one, other) in one.iter().zip(other.iter()) {
                if !compared(one, other, bytes)? {
                    return Some(false);
                }
            }
            Some(one.len() == other.len())
        }
        // Their members are sorted by their keys, or looked up by them.
        (Val::Obj(_), Val::Obj(_)) => {
            walk(left, ELEMENT_BYTES, bytes)?;
            walk(right, ELEMENT_BYTES, bytes)?;
            Some(true)
        }
        (Val::BStr(one) | Val::TStr(one), Val::BStr(other) | Val::TStr(other)) => {
            spend(ELEMENT_BYTES + one.len().min(other.len()), bytes)?;
            Some(one == other)
        }
        // Of any length.
        (Val::Num(_), Val::Num(_)) => {
            walk(left, ELEMENT_BYTES, bytes)?;
            Some(left == right)
        }
        _ => {
            spend(ELEMENT_BYTES, bytes)?;
            Some(left == right)
        }
    }
}

/// Each element of the one is sought in the other, and so on within them.
fn contained(value: &Val, part: &Val, bytes: &mut usize) -> Option<()> {
    spend(ELEMENT_BYTES, bytes)?;
    match (value, part) {
        (Val::BStr(text), Val::BStr(part)) | (Val::TStr(text), Val::TStr(part)) => {
            spend(text.len() + part.len(), bytes)
        }
        (Val::Arr(array), Val::Arr(parts)) => parts
            .iter()
            .try_for_each(|part| array.iter().try_for_each(|it| contained(it, part, bytes))),
        (Val::Obj(object), Val::Obj(parts)) => parts.iter().try_for_each(|(key, part)| {
            walk(key, ELEMENT_BYTES, bytes)?;
            let member = object.get(key);
            member.map_or(Some(()), |it| contained(it, part, bytes))
        }),
        _ => compared(value, part, bytes).map(|_| ()),
    }
}

/// A value is compared with each element of an array, an array with each part of its length, and a text with each part of a
/// text that starts with the same byte.
fn sought(value: &Val, part: &Val, bytes: &mut usize) -> Option<()> {
    match (value, part) {
        (Val::BStr(text), Val::BStr(part)) | (Val::TStr(text), Val::TStr(part)) => {
            let starts = match part.first() {
                Some(first) => text.iter().filter(|it| *it == first).count(),
                None => 0,
            };
            spend(text.len(), bytes)?;
            spend(starts.saturating_mul(part.len()), bytes)
        }
        (Val::Arr(_), Val::Arr(part)) if part.is_empty() => Some(()),
        (Val::Arr(array), Val::Arr(part)) => array.windows(part.len()).try_for_each(|window| {
            for (one, other) in window.iter().zip(part.iter()) {
                if !compared(one, other, bytes)? {
                    break;
                }
            }
            Some(())
        }),
        (Val::Arr(array), part) => array
            .iter()
            .try_for_each(|it| compared(it, part, bytes).map(|_| ())),
        _ => Some(()),
    }
}
