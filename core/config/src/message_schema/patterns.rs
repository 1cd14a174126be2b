//! What matching the patterns of a schema costs.
//!
//! The crate `regex` matches with a deterministic automaton, which it builds from the states that a text reaches: each
//! byte leads to one state. Where that takes more memory than is allowed, each byte may lead to all states of the
//! nondeterministic automaton instead. Whether a text does that is found out with an automaton of the same size, which
//! gives up there.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, Config, DFA};
use regex_automata::nfa::thompson::{self, NFA};

/// The bytes of a text that cost a step where each byte leads to one state.
const BYTES_IN_A_STEP: u64 = 8;
/// How many states cost a step where each byte may lead to all of them.
const STATES_IN_A_STEP: u64 = 8;

/// The patterns of a schema, by their texts.
#[derive(Debug, Default)]
pub(super) struct Patterns(HashMap<String, Pattern>);

/// How a message has been matched so far: how often the automaton of each pattern gave up.
#[derive(Debug, Default)]
pub(super) struct Failures<'a>(HashMap<&'a str, usize>);

#[derive(Debug)]
struct Pattern {
    /// The states of the nondeterministic automaton, or a bound of their number.
    states: u64,
    automaton: Option<Automaton>,
}

#[derive(Debug)]
struct Automaton {
    automaton: DFA,
    /// Messages are checked by several threads.
    cache: Mutex<Cache>,
}

impl Patterns {
    /// Compiles patterns that take at most `most` bytes each, and as many for a deterministic automaton.
    pub(super) fn of<'a>(patterns: impl IntoIterator<Item = &'a str>, most: usize) -> Self {
        let patterns = patterns.into_iter();
        let compiled = patterns.map(|pattern| (pattern.to_owned(), Pattern::of(pattern, most)));
        Self(compiled.collect())
    }

    /// The steps that matching a text takes at most.
    pub(super) fn steps<'a>(&'a self, pattern: &str, text: &str, failed: &mut Failures<'a>) -> u64 {
        let bytes = text.len() as u64;
        let linear = bytes.div_ceil(BYTES_IN_A_STEP);
        let Some((name, pattern)) = self.0.get_key_value(pattern) else {
            return linear;
        };
        let failures = failed.0.entry(name).or_default();
        match pattern.is_linear(text, failures) {
            true => linear,
            false => bytes.saturating_mul(pattern.states.div_ceil(STATES_IN_A_STEP)),
        }
    }
}

impl Pattern {
    fn of(pattern: &str, most: usize) -> Self {
        let Some(nfa) = nfa(pattern, most) else {
            return Self {
                // A state takes more than a byte.
                states: most as u64,
                automaton: None,
            };
        };
        Self {
            states: nfa.states().len() as u64,
            automaton: Automaton::of(nfa, most),
        }
    }

    /// Whether each byte of a text leads to one state. `failures`: how often it has not, in the same message. The cache
    /// may be full of other messages' states, so the first time does not count.
    fn is_linear(&self, text: &str, failures: &mut usize) -> bool {
        let Some(automaton) = &self.automaton else {
            return false;
        };
        while *failures < 2 {
            if automaton.is_within_memory(text) {
                return true;
            }
            *failures += 1;
        }
        false
    }
}

impl Automaton {
    fn of(nfa: NFA, most: usize) -> Option<Self> {
        let config = Config::new()
            .cache_capacity(most)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(0))
            // As in the crate regex: it gives up at the first letter beyond ASCII.
            .unicode_word_boundary(true);
        let automaton = DFA::builder().configure(config).build_from_nfa(nfa).ok()?;
        let cache = Mutex::new(automaton.create_cache());
        Some(Self { automaton, cache })
    }

    fn is_within_memory(&self, text: &str) -> bool {
        // What another thread left is emptied below, if it was left half done.
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let input = Input::new(text).earliest(true);
        let is_within = self.automaton.try_search_fwd(&mut cache, &input).is_ok();
        if !is_within {
            cache.reset(&self.automaton);
        }
        is_within
    }
}

/// The automaton of a pattern. `None`: it takes more than `most` bytes.
fn nfa(pattern: &str, most: usize) -> Option<NFA> {
    let pattern = jsonschema_regex::to_rust_regex(pattern).ok()?;
    let config = NFA::config()
        .nfa_size_limit(Some(most))
        .which_captures(thompson::WhichCaptures::None);
    thompson::Compiler::new()
        .configure(config)
        .build(&pattern)
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 512 << 10;

    /// The steps for a text.
    fn steps(pattern: &str, text: &str) -> u64 {
        Patterns::of([pattern], MOST).steps(pattern, text, &mut Failures::default())
    }

    #[test]
    fn common_patterns_cost_little() {
        let text = "a".repeat(1_000);
        for pattern in [
            "^[a-z]+$",
            "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$",
            "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
            "^\\p{L}+$",
            "^[\\w.+-]{1,64}@[\\w-]{1,63}(\\.[\\w-]{1,63})+$",
            "^(red|green|blue|yellow|orange|purple)$",
            "\\bred\\b",
            "^.{0,1000}$",
        ] {
            assert_eq!(steps(pattern, &text), 125, "{pattern}");
        }
        assert_eq!(steps("^\\p{L}+$", &"ä".repeat(500)), 125);
    }

    #[test]
    fn one_whose_automaton_grows_with_the_text_costs_its_states() {
        let grows = "[ab]*a[ab]{1500}(ac|bc|$)";
        let text = "ab".repeat(5_000);
        assert!(steps(grows, &text) >= 10_000 * 1_500 / 8);
        // Most of its states are never reached here.
        assert_eq!(steps(grows, &"b".repeat(10_000)), 1_250);
        // No automaton is built of it.
        let large = "(a{1,99}){1,99}(b{1,99}){1,99}";
        assert!(steps(large, "ab") > 100_000);
    }

    #[test]
    fn an_automaton_that_gave_up_twice_is_not_tried_again_for_the_message() {
        let grows = "[ab]*a[ab]{1500}c";
        let patterns = Patterns::of([grows], MOST);
        let text = "ab".repeat(5_000);
        let mut failed = Failures::default();
        let all = patterns.steps(grows, &text, &mut failed);
        assert_eq!(failed.0.get(grows), Some(&2));
        // Another text of that message costs as much for each byte, and one of the next message does not.
        let other = "b".repeat(10_000);
        assert_eq!(patterns.steps(grows, &other, &mut failed), all);
        assert_eq!(
            patterns.steps(grows, &other, &mut Failures::default()),
            1_250
        );
    }
}
