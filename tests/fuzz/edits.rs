//! Recordings edited at the level of their entries: repeated, moved, sent elsewhere, their numbers and names made
//! others.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::entries::Parts;

/// Numbers at which something may break.
fn numbers() -> Vec<Value> {
    let mut numbers: Vec<Value> = [
        i64::MIN,
        i64::MIN + 1,
        -(1 << 60) - 1,
        -1,
        0,
        1,
        2,
        3,
        100_000,
        1 << 32,
        1 << 53,
        1 << 60,
        i64::MAX,
    ]
    .map(Value::from)
    .to_vec();
    numbers.extend([u64::MAX, 1 << 63].map(Value::from));
    numbers.extend([1e300, -0.5].map(Value::from));
    numbers
}

/// One edit.
#[derive(Clone, Debug)]
enum Edit {
    /// An entry is there so many times more.
    Repeat(Index, usize),
    /// An entry is left out.
    Remove(Index),
    /// Two entries change places.
    Swap(Index, Index),
    /// An entry is moved to another topic.
    Retarget(Index, Index),
    /// It has another number.
    Sequence(Index, u32),
    /// It was written at another time.
    Time(Index, u64),
    /// A byte of it is another one.
    Byte(Index, Index, u8),
    /// A value in its JSON, or in the description of the run, is changed.
    Value(Place, Leaf),
}

/// Which JSON.
#[derive(Clone, Debug)]
enum Place {
    About,
    Call(Index),
    Entry(Index),
}

/// What becomes of a value: which one among those of its kind, and what.
#[derive(Clone, Debug)]
enum Leaf {
    Number(Index, Value),
    /// A text becomes another one of the recording.
    Text(Index, Index),
    Truth(Index),
    /// A member or an element is left out.
    Remove(Index),
    /// The elements of a list come so many times.
    Repeat(Index, usize),
    /// A value becomes null.
    Null(Index),
}

fn leaf() -> impl Strategy<Value = Leaf> {
    let times = prop_oneof![4 => 2..5_usize, 1 => 1_000..20_000_usize];
    prop_oneof![
        5 => (any::<Index>(), prop::sample::select(numbers())).prop_map(|(at, number)| Leaf::Number(at, number)),
        5 => any::<(Index, Index)>().prop_map(|(at, other)| Leaf::Text(at, other)),
        2 => any::<Index>().prop_map(Leaf::Truth),
        1 => any::<Index>().prop_map(Leaf::Remove),
        2 => (any::<Index>(), times).prop_map(|(at, times)| Leaf::Repeat(at, times)),
        1 => any::<Index>().prop_map(Leaf::Null),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    let times = prop_oneof![4 => 1..5_usize, 1 => 1_000..20_000_usize];
    let place = prop_oneof![
        1 => Just(Place::About),
        3 => any::<Index>().prop_map(Place::Call),
        1 => any::<Index>().prop_map(Place::Entry),
    ];
    let time = prop::sample::select(vec![0, 1, 1 << 62, u64::MAX]);
    prop_oneof![
        2 => (any::<Index>(), times).prop_map(|(at, times)| Edit::Repeat(at, times)),
        1 => any::<Index>().prop_map(Edit::Remove),
        1 => any::<(Index, Index)>().prop_map(|(one, other)| Edit::Swap(one, other)),
        1 => any::<(Index, Index)>().prop_map(|(at, channel)| Edit::Retarget(at, channel)),
        1 => (any::<Index>(), 0..10_u32).prop_map(|(at, number)| Edit::Sequence(at, number)),
        1 => (any::<Index>(), time).prop_map(|(at, time)| Edit::Time(at, time)),
        1 => any::<(Index, Index, u8)>().prop_map(|(at, byte, value)| Edit::Byte(at, byte, value)),
        8 => (place, leaf()).prop_map(|(place, leaf)| Edit::Value(place, leaf)),
    ]
}

/// One of the good recordings with one to ten edits.
pub fn edited(good: Vec<Parts>) -> impl Strategy<Value = Parts> {
    // The recordings are long, and no help where a case is printed.
    (0..good.len(), prop::collection::vec(edit(), 1..10)).prop_map(move |(which, edits)| {
        let mut parts = good[which].clone();
        for edit in edits {
            make(&mut parts, edit);
        }
        parts
    })
}

fn make(parts: &mut Parts, edit: Edit) {
    let count = parts.entries.len();
    if count == 0 {
        return;
    }
    match edit {
        Edit::Repeat(at, times) => {
            let at = at.index(count);
            // Pictures are long.
            let most = 2_000_000 / parts.entries[at].data.len().max(1) + 2;
            let again = vec![parts.entries[at].clone(); times.min(most)];
            parts.entries.splice(at..at, again);
        }
        Edit::Remove(at) => drop(parts.entries.remove(at.index(count))),
        Edit::Swap(one, other) => parts.entries.swap(one.index(count), other.index(count)),
        Edit::Retarget(at, channel) => {
            parts.entries[at.index(count)].channel = channel.index(parts.channels.len());
        }
        Edit::Sequence(at, number) => parts.entries[at.index(count)].sequence = number,
        Edit::Time(at, time) => parts.entries[at.index(count)].log_time = time,
        Edit::Byte(at, byte, value) => {
            let data = &mut parts.entries[at.index(count)].data;
            if !data.is_empty() {
                // The head of a picture is more than its pixels.
                let most = data.len().min(200);
                data[byte.index(most)] = value;
            }
        }
        Edit::Value(Place::About, leaf) => {
            let texts = texts(parts);
            change(&mut parts.about, leaf, &texts);
        }
        Edit::Value(Place::Call(at), leaf) => {
            let is_call = |it: &usize| parts.channels[parts.entries[*it].channel].has_calls();
            let calls: Vec<usize> = (0..count).filter(is_call).collect();
            if !calls.is_empty() {
                value(parts, calls[at.index(calls.len())], leaf);
            }
        }
        Edit::Value(Place::Entry(at), leaf) => value(parts, at.index(count), leaf),
    }
}

fn value(parts: &mut Parts, at: usize, leaf: Leaf) {
    let entry = &parts.entries[at];
    if let Ok(mut json) = serde_json::from_slice(&entry.data) {
        let texts = texts(parts);
        change(&mut json, leaf, &texts);
        parts.entries[at].data = json.to_string().into_bytes();
    }
}

/// Names and other texts of the recording.
fn texts(parts: &Parts) -> Vec<String> {
    let mut texts = vec![String::new(), "nobody".to_owned()];
    let mut about = parts.about.clone();
    walk(&mut about, &mut |value| {
        texts.extend(value.as_str().map(str::to_owned));
    });
    texts
}

fn change(json: &mut Value, leaf: Leaf, texts: &[String]) {
    match leaf {
        Leaf::Number(at, number) => nth(json, at, Value::is_number, |it| *it = number),
        Leaf::Text(at, text) => {
            let text = texts[text.index(texts.len())].clone();
            nth(json, at, Value::is_string, |it| *it = text.into());
        }
        Leaf::Truth(at) => nth(json, at, Value::is_boolean, |it| {
            *it = Value::Bool(*it == Value::Bool(false));
        }),
        Leaf::Null(at) => nth(json, at, |_| true, |it| *it = Value::Null),
        Leaf::Remove(at) => nth(json, at, has_parts, |it| match it {
            Value::Array(items) => drop(items.pop()),
            Value::Object(members) => {
                let key = members.keys().nth(at.index(members.len())).cloned();
                members.remove(&key.unwrap_or_default());
            }
            _ => {}
        }),
        Leaf::Repeat(at, times) => nth(json, at, Value::is_array, |it| {
            if let Value::Array(items) = it {
                let most = 100_000 / items.len().max(1);
                let all = items.iter().cycle().take(items.len() * times.min(most));
                *items = all.cloned().collect();
            }
        }),
    }
}

fn has_parts(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    }
}

/// Does something with one of the values of a kind.
fn nth(
    json: &mut Value,
    at: Index,
    is_it: impl Fn(&Value) -> bool,
    change: impl FnOnce(&mut Value),
) {
    let mut count = 0;
    walk(json, &mut |value| count += usize::from(is_it(value)));
    if count == 0 {
        return;
    }
    let wanted = at.index(count);
    let mut change = Some(change);
    let mut seen = 0;
    walk(json, &mut |value| {
        if is_it(value) {
            if seen == wanted
                && let Some(change) = change.take()
            {
                change(value);
            }
            seen += 1;
        }
    });
}

/// Goes through a value and all that are in it.
fn walk(value: &mut Value, each: &mut impl FnMut(&mut Value)) {
    each(value);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, each)),
        Value::Object(members) => members.values_mut().for_each(|member| walk(member, each)),
        _ => {}
    }
}
