//! Searches of regular expressions. jaq makes all searches of a text in one step, and each may go through all that follows:
//! the time is the square of the text's length. These functions count before each search.

use jaq_core::box_iter::box_once;
use jaq_core::native::{Fun, v};
use jaq_core::{Cv, Error, Native, ValT as _, ValX};
use jaq_json::Val;
use jaq_std::ValT as _;
use regex_bites::bytes::{Match, Regex, RegexBuilder};

use crate::budget::Counted;

/// The matches of a regular expression. No names that an expression can have.
pub const MATCHES: &str = "!matches";
/// The matches, and what is between them.
pub const PARTS: &str = "!split_matches";
/// What is between the matches.
pub const SPLIT: &str = "!split_";

/// The longest regular expression, in bytes.
const LONGEST: usize = 16 << 10;
/// The most groups of a regular expression. A search has a place for each group in each of its states.
const MOST_GROUPS: usize = 200;
/// The bytes of the states of a regular expression, and how often each byte counts that it searches: each state may be
/// visited for each byte.
const SIZES: [(usize, usize); 3] = [(4 << 10, 1), (32 << 10, 8), (256 << 10, 64)];
/// Of what remains of a text, a later search counts one part of so many: few go to the end.
const LATER_PART: usize = 4;
/// The bytes of a group of a match: an object with texts.
const GROUP_BYTES: usize = 512;
/// The most bytes of a character.
const CHARACTER_BYTES: usize = 4;

/// What a search gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// The groups of each match.
    Matches,
    /// What is between matches.
    Between,
    /// Both, in their order.
    Both,
}

/// The functions: each has the regular expression and its flags as arguments.
pub fn functions() -> [Fun<Counted>; 3] {
    [
        (
            MATCHES,
            v(2),
            Native::<Counted>::new(|cv| box_once(search(cv, Gives::Matches))),
        ),
        (
            PARTS,
            v(2),
            Native::<Counted>::new(|cv| box_once(search(cv, Gives::Both))),
        ),
        (
            SPLIT,
            v(2),
            Native::<Counted>::new(|cv| box_once(search(cv, Gives::Between))),
        ),
    ]
}

/// A regular expression that is compiled.
struct Search {
    regex: Regex,
    /// Each match, not the first alone.
    is_global: bool,
    /// Matches of no characters are left out.
    is_empty_ignored: bool,
    /// How often each byte counts.
    weight: usize,
    /// The most bytes of a match. `None`: something in it is repeated.
    most_matched: Option<usize>,
}

impl Search {
    fn new(pattern: &str, flags: &str) -> Result<Self, Error<Val>> {
        let known = |flag: char| "gnimslxp".contains(flag);
        if let Some(flag) = flags.chars().find(|flag| !known(*flag)) {
            return Err(Error::str(format!("invalid regex flag: {flag}")));
        }
        if pattern.len() > LONGEST {
            return Err(Error::str(format!(
                "invalid regex: it has more than {LONGEST} bytes"
            )));
        }
        let is_either = |one: char| flags.contains([one, 'p']);
        let mut builder = RegexBuilder::new(pattern);
        builder
            .case_insensitive(flags.contains('i'))
            .multi_line(is_either('m'))
            .dot_matches_new_line(is_either('s'))
            .swap_greed(flags.contains('l'))
            .ignore_whitespace(flags.contains('x'));
        let built = SIZES.iter().find_map(|(size, weight)| {
            let regex = builder.size_limit(*size).build().ok()?;
            Some((regex, *weight))
        });
        let Some((regex, weight)) = built else {
            let reason = builder.build().map_or_else(
                |error| error.to_string(),
                // The last size was the largest.
                |_| "it is too large".to_owned(),
            );
            return Err(Error::str(format!("invalid regex: {reason}")));
        };
        // The first group is the whole match.
        if regex.captures_len() > MOST_GROUPS + 1 {
            return Err(Error::str(format!(
                "invalid regex: it has more than {MOST_GROUPS} groups"
            )));
        }
        // Without repetition, each character that is matched has a byte of the pattern at least.
        let is_repeating = pattern.contains(['*', '+', '{']);
        Ok(Self {
            regex,
            is_global: flags.contains('g'),
            is_empty_ignored: flags.contains('n'),
            weight,
            most_matched: (!is_repeating).then_some(pattern.len() * CHARACTER_BYTES),
        })
    }

    /// The bytes that count for a search of what remains of a text after a match, or of all of it. A search that finds
    /// something may go on to the end of the text, for a longer match that then fails. Where a match has a limited length,
    /// the search ends soon after it has found one: together, all go through the text once, and a little more for each.
    fn bytes(&self, remaining: usize, is_first: bool) -> usize {
        let gone_through = match self.most_matched {
            _ if is_first => remaining,
            Some(most) => remaining.min(most),
            None => remaining / LATER_PART,
        };
        gone_through * self.weight
    }
}

/// Searches the input, which is a text.
fn search(mut cv: Cv<'_, Counted>, gives: Gives) -> ValX<'_, Val> {
    let flags = cv.0.pop_var();
    let pattern = cv.0.pop_var();
    let budget = *cv.0.data();
    let flags = text(&flags)?;
    let search = Search::new(text(&pattern)?, flags)?;
    let input = cv.1;
    let Val::TStr(bytes) = &input else {
        return Err(Error::typ(input.clone(), "string").into());
    };
    let bytes: &[u8] = bytes;
    let mut found = Vec::new();
    // Where the last match ends, what is between starts, and the characters until a byte.
    let (mut last_end, mut between, mut place) = (0, 0, (0, 0));
    let mut is_first = true;
    let mut matches = search.regex.captures_iter(bytes);
    loop {
        let counted = search.bytes(bytes.len() - last_end, is_first);
        if let Err(end) = budget.take(counted) {
            return budget.halt(end);
        }
        is_first = false;
        let Some(groups) = matches.next() else { break };
        let Some(whole) = groups.get(0) else { break };
        last_end = whole.end();
        if search.is_empty_ignored && whole.is_empty() {
            continue;
        }
        if gives != Gives::Matches {
            found.push(input.as_sub_str(&bytes[between..whole.start()]));
            between = whole.end();
        }
        if gives != Gives::Between {
            let (counted_to, before) = place;
            let before = before + characters(&bytes[counted_to..whole.start()]);
            place = (whole.start(), before);
            let mut values = Vec::new();
            for (group, name) in groups.iter().zip(search.regex.capture_names()) {
                let Some(group) = group else { continue };
                if let Err(end) = budget.take(GROUP_BYTES + group.end() - whole.start()) {
                    return budget.halt(end);
                }
                let offset = before + characters(&bytes[whole.start()..group.start()]);
                values.push(value(&input, offset, &group, name)?);
            }
            found.push(values.into_iter().collect());
        }
        if !search.is_global {
            break;
        }
    }
    if gives != Gives::Matches {
        found.push(input.as_sub_str(&bytes[between..]));
    }
    Ok(found.into_iter().collect())
}

/// The text of a regular expression, or of its flags.
fn text(value: &Val) -> Result<&str, Error<Val>> {
    match value {
        Val::TStr(text) => std::str::from_utf8(text).map_err(Error::str),
        other => Err(Error::typ(other.clone(), "string")),
    }
}

/// A group of a match, as jq has it.
fn value(
    input: &Val,
    offset: usize,
    group: &Match<'_>,
    name: Option<&str>,
) -> Result<Val, Error<Val>> {
    let string = group.as_bytes();
    let members = [
        ("offset", Val::from(offset)),
        ("length", Val::from(characters(string))),
        ("string", input.as_sub_str(string)),
    ];
    let name = name.map(|name| ("name", Val::from(name.to_owned())));
    let members = members.into_iter().chain(name);
    Val::from_map(members.map(|(key, member)| (Val::from(key.to_owned()), member)))
}

/// The characters of a text. Bytes that are no character count as one.
fn characters(text: &[u8]) -> usize {
    let chunks = text.utf8_chunks();
    let counts =
        chunks.map(|it| it.valid().chars().count() + usize::from(!it.invalid().is_empty()));
    counts.sum()
}
