//! Operations whose result may be large: they count before they make it.

use jaq_core::Exn;
use jaq_core::Native;
use jaq_core::box_iter::box_once;
use jaq_core::native::{Fun, v};
use jaq_json::{Map, Num, Rc, Val};

use crate::budget::{
    self, Budget, Counted, ELEMENT_BYTES, End, LONGEST_ARRAY, LONGEST_NUMBER, LONGEST_TEXT,
    MEMBER_BYTES, SIZE_OF_ELEMENT,
};
use crate::comparisons;
use crate::error::Limit;

/// A sum. No name that an expression can have.
pub const SUM: &str = "!sum";
/// A product.
pub const PRODUCT: &str = "!product";
/// A difference. That of two arrays compares their elements.
pub const DIFFERENCE: &str = "!difference";
/// A quotient. That of two texts is the parts of the first one.
pub const QUOTIENT: &str = "!quotient";
/// Passes on a value that is about to become a text.
pub const TEXT: &str = "!text";
/// Passes on a value that is about to become an array, with an element for each byte or element.
pub const EXPANDED: &str = "!expanded";
/// Passes on a value that is about to be walked over, which counts as a stream of its elements.
pub const WALKED: &str = "!walked";

/// The bytes of a part of a text: a value, and the place of the part.
const PART_BYTES: usize = 4 * ELEMENT_BYTES;

/// The operations.
pub fn functions() -> [Fun<Counted>; 7] {
    macro_rules! operation {
        ($before:ident, $operator:tt) => {
            Native::<Counted>::new(|mut cv| {
                let right = cv.0.pop_var();
                let left = cv.0.pop_var();
                // It may be the left one, which is then changed in its place.
                drop(cv.1);
                let budget: &Budget<'_> = cv.0.data();
                box_once(match $before(budget, &left, &right) {
                    Ok(()) => (left $operator right).map_err(Exn::from),
                    Err(end) => budget.halt(end),
                })
            })
        };
    }
    let text = Native::<Counted>::new(|cv| {
        // At least so many bytes are in the text.
        let fits = comparisons::walk(&cv.1, 1, &mut { LONGEST_TEXT });
        let counted = fits.ok_or(End::Limit(Limit::Size));
        box_once(cv.0.data().counted(counted, cv.1))
    });
    let expanded = Native::<Counted>::new(|cv| {
        let counted = budget::size(&cv.1);
        let counted = counted.and_then(|size| cv.0.data().take(size * ELEMENT_BYTES));
        box_once(cv.0.data().counted(counted, cv.1))
    });
    let walked = Native::<Counted>::new(|cv| {
        let counted = budget::size(&cv.1);
        let counted = counted.and_then(|size| cv.0.data().take(size * SIZE_OF_ELEMENT));
        box_once(cv.0.data().counted(counted, cv.1))
    });
    [
        (SUM, v(2), operation!(before_sum, +)),
        (PRODUCT, v(2), operation!(before_product, *)),
        (QUOTIENT, v(2), operation!(before_quotient, /)),
        (DIFFERENCE, v(2), operation!(before_difference, -)),
        (TEXT, v(0), text),
        (EXPANDED, v(0), expanded),
        (WALKED, v(0), walked),
    ]
}

/// An array or object that nothing else has grows in its place. Others are copied.
fn before_sum(budget: &Budget<'_>, left: &Val, right: &Val) -> Result<(), End> {
    let grown = |length: usize, count: usize| {
        let copied = if count == 1 {
            0
        } else {
            budget::copied_bytes(left)
        };
        (length <= LONGEST_ARRAY).then(|| copied + budget::copied_bytes(right))
    };
    let bytes = match (left, right) {
        (Val::BStr(left) | Val::TStr(left), Val::BStr(right) | Val::TStr(right)) => {
            let bytes = left.len() + right.len();
            (bytes <= LONGEST_TEXT).then_some(bytes)
        }
        (Val::Arr(left), Val::Arr(right)) => {
            grown(left.len() + right.len(), Rc::strong_count(left))
        }
        // The members of both may be the same.
        (Val::Obj(left), Val::Obj(right)) if left.len() + right.len() > LONGEST_ARRAY => {
            Some((left.len() + right.len()) * MEMBER_BYTES)
        }
        (Val::Obj(left), Val::Obj(right)) => {
            let grown = grown(left.len() + right.len(), Rc::strong_count(left));
            grown.map(|bytes| bytes + hashed_bytes(right))
        }
        _ => Some(0),
    };
    budget.take(bytes.ok_or(End::Limit(Limit::Size))?)
}

fn before_product(budget: &Budget<'_>, left: &Val, right: &Val) -> Result<(), End> {
    match (left, right) {
        _ if !may_multiply(left, right) => Err(End::Limit(Limit::Size)),
        (Val::Obj(left), Val::Obj(right)) => {
            comparisons::count(budget, |bytes| merged(left, right, bytes))
        }
        _ => Ok(()),
    }
}

/// Two objects, and what is an object in both, become one. What something else has too is copied.
fn merged(left: &Rc<Map>, right: &Rc<Map>, bytes: &mut usize) -> Option<()> {
    let copied = [left, right]
        .into_iter()
        .filter(|it| Rc::strong_count(it) > 1);
    let members: usize = copied.map(|it| it.len()).sum();
    comparisons::spend((right.len() + members) * MEMBER_BYTES, bytes)?;
    comparisons::spend(hashed_bytes(right), bytes)?;
    right
        .iter()
        .try_for_each(|(key, value)| match (left.get(key), value) {
            (Some(Val::Obj(left)), Val::Obj(right)) => merged(left, right, bytes),
            _ => Some(()),
        })
}

/// The bytes of the keys that are texts. Others are small, by the count of a key.
fn hashed_bytes(object: &Map) -> usize {
    object.keys().map(budget::bytes).sum()
}

fn before_quotient(budget: &Budget<'_>, left: &Val, right: &Val) -> Result<(), End> {
    let (Val::BStr(text) | Val::TStr(text), Val::BStr(between) | Val::TStr(between)) =
        (left, right)
    else {
        return Ok(());
    };
    // At most, for what is between two parts starts with this byte.
    let parts = match between.first() {
        Some(first) => text.iter().filter(|byte| *byte == first).count() + 1,
        None => text.len(),
    };
    if parts > LONGEST_ARRAY {
        return Err(End::Limit(Limit::Size));
    }
    budget.take(parts * PART_BYTES)
}

fn before_difference(budget: &Budget<'_>, left: &Val, right: &Val) -> Result<(), End> {
    match (left, right) {
        (Val::Arr(_), Val::Arr(_)) => comparisons::count(budget, |bytes| {
            comparisons::walk(left, ELEMENT_BYTES, bytes)?;
            comparisons::walk(right, ELEMENT_BYTES, bytes)
        }),
        _ => Ok(()),
    }
}

/// Whether a product is of a size that is permitted.
fn may_multiply(left: &Val, right: &Val) -> bool {
    let bits = |number: &Num| match number {
        Num::BigInt(number) => number.bits(),
        _ => 64,
    };
    match (left, right) {
        (Val::Num(left), Val::Num(right)) => bits(left) + bits(right) <= LONGEST_NUMBER,
        (Val::BStr(text) | Val::TStr(text), Val::Num(times))
        | (Val::Num(times), Val::BStr(text) | Val::TStr(text)) => match times {
            Num::BigInt(_) => false,
            times => times
                .as_isize()
                .and_then(|times| usize::try_from(times).ok())
                .is_none_or(|times| times.saturating_mul(text.len()) <= LONGEST_TEXT),
        },
        _ => true,
    }
}
