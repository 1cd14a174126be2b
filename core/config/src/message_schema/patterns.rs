//! What matching a pattern costs: a small pattern can have an automaton that grows with the text.

use std::collections::HashMap;

use regex_automata::dfa::{StartKind, dense};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::syntax;

/// The most bytes of a deterministic automaton, and of what building it takes. The engine has more memory for the one
/// that it builds while it matches.
const MOST_OF_AN_AUTOMATON: usize = 128 << 10;
const MOST_TO_BUILD_IT: usize = 512 << 10;
/// The automata with fewer states are not examined further: each byte costs little, however they are matched.
const FEW_STATES: usize = 64;
/// How many states of an automaton cost a step.
const STATES_IN_A_STEP: u64 = 8;
/// The bytes of a text that cost a step where each byte leads to one known state.
const BYTES_IN_A_STEP: u64 = 8;

/// The cost of the patterns of a schema.
#[derive(Debug, Default)]
pub(super) struct Patterns(HashMap<String, PatternCost>);

/// What each byte of a text costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternCost {
    /// One state of an automaton of bounded size.
    Linear,
    /// All states of an automaton, in the worst case.
    EveryState(u64),
}

impl Patterns {
    /// Examines patterns whose compiled form has at most so many bytes.
    pub(super) fn of<'a>(patterns: impl IntoIterator<Item = &'a str>, size_limit: usize) -> Self {
        let patterns = patterns.into_iter();
        let costs =
            patterns.map(|pattern| (pattern.to_owned(), PatternCost::of(pattern, size_limit)));
        Self(costs.collect())
    }

    /// The steps that matching a text takes at most.
    pub(super) fn steps(&self, pattern: &str, text: &str) -> u64 {
        let bytes = text.len() as u64;
        match self.0.get(pattern) {
            None | Some(PatternCost::Linear) => bytes / BYTES_IN_A_STEP,
            Some(PatternCost::EveryState(states)) => {
                bytes.saturating_mul(*states) / STATES_IN_A_STEP
            }
        }
    }
}

impl PatternCost {
    fn of(pattern: &str, size_limit: usize) -> Self {
        // The size of a state is some thirty bytes: one that can't be examined has no more of them.
        let most = Self::EveryState(size_limit as u64 / 32);
        let Ok(pattern) = jsonschema_regex::to_rust_regex(pattern) else {
            return most;
        };
        let config = NFA::config().nfa_size_limit(Some(size_limit));
        let nfa = thompson::Compiler::new()
            .syntax(syntax::Config::new())
            .configure(config)
            .build(&pattern);
        let Ok(nfa) = nfa else {
            return most;
        };
        let states = nfa.states().len();
        if states > FEW_STATES && is_determinate(&nfa) {
            return Self::Linear;
        }
        Self::EveryState(states as u64)
    }
}

/// Whether an automaton has an equal one of bounded size in which each byte leads to one state.
fn is_determinate(nfa: &NFA) -> bool {
    let config = dense::Config::new()
        .start_kind(StartKind::Unanchored)
        .dfa_size_limit(Some(MOST_OF_AN_AUTOMATON))
        .determinize_size_limit(Some(MOST_TO_BUILD_IT));
    dense::Builder::new()
        .configure(config)
        .build_from_nfa(nfa)
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps for a kilobyte.
    fn steps(pattern: &str) -> u64 {
        let patterns = Patterns::of([pattern], 512 << 10);
        patterns.steps(pattern, &"a".repeat(1_000))
    }

    #[test]
    fn common_patterns_cost_little() {
        for pattern in [
            "^[a-z]+$",
            "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z$",
            "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
            "^\\p{L}+$",
            "^[\\w.+-]{1,64}@[\\w-]{1,63}(\\.[\\w-]{1,63})+$",
            "^(red|green|blue|yellow|orange|purple)$",
        ] {
            assert!(steps(pattern) <= 8_000, "{pattern}: {}", steps(pattern));
        }
    }

    #[test]
    fn one_whose_automaton_grows_with_the_text_costs_its_states() {
        assert!(steps("[ab]*a[ab]{1500}(ac|bc|$)") >= 1_000 * 1_500 / 8);
        assert!(steps("[ab]*a[ab]{1400}c") >= 1_000 * 1_400 / 8);
        // No automaton can be built of it.
        assert!(steps("(a{1,99}){1,99}(b{1,99}){1,99}") >= 1_000_000);
    }
}
