//! A puzzle's answer: refused with a reason, solved, proved unique, counted or listed.

use flowpipe_puzzle::message::{Count, Effort, Verdict};
use flowpipe_puzzle::{Puzzle, Rules, Solution};

use crate::answer::{Answer, Cost, SolveError};
use crate::backend::Backend;
use crate::decode::Path;
use crate::encode::Goal;
use crate::guess::{self, guess};
use crate::network::Network;
use crate::options::{Encoding, Options, Want};
use crate::reason;
use crate::search::{Found, Search};

/// Answers a puzzle with the SAT solver `B`. Asks `cancelled` at least every 10 ms. Whatever solution comes out has
/// passed the checker; "unsolvable" and "unique" are proved.
///
/// Solutions are sets of flows: what else a SAT solver could choose (rings beside the flows, where cells may stay
/// empty) makes no difference, and none is counted or listed twice.
///
/// # Errors
/// See [`SolveError`].
pub fn solve<'a, B: Backend<'a>>(
    puzzle: &Puzzle,
    options: &Options,
    cancelled: &'a dyn Fn() -> bool,
) -> Result<Answer, SolveError> {
    let network = Network::new(puzzle);
    if let Some(reason) = reason::unsolvable(puzzle, &network) {
        return Ok(Answer {
            verdict: Verdict::unsolvable(Some(reason)),
            effort: Effort::default(),
        });
    }
    // Where cells may stay empty, a flow that touches itself can be cut short: if there is any
    // solution, there is one without.
    let Rules { cover, touch } = puzzle.rules();
    let strict = network.with_rules(Rules {
        cover,
        touch: touch && cover,
    });
    let mut run = Run::<B> {
        puzzle,
        network: &network,
        strict: &strict,
        options,
        cancelled,
        search: None,
        cost: Cost::default(),
    };
    let verdict = match run.first()? {
        None => Verdict::unsolvable(None),
        Some(first) if options.want == Want::One => Verdict::solution(first.solution, None),
        Some(first) => {
            let others = run.others(&first)?;
            others.verdict(first.solution, options.want)
        }
    };
    let cost = run
        .search
        .map_or(run.cost, |search| run.cost.and(search.cost()));
    Ok(Answer {
        verdict,
        effort: cost.effort(),
    })
}

/// Work on one puzzle.
struct Run<'p, 'a, B> {
    puzzle: &'p Puzzle,
    network: &'p Network,
    /// The same with all rules that some solution keeps, if there is any.
    strict: &'p Network,
    options: &'p Options,
    cancelled: &'a dyn Fn() -> bool,
    /// The search that found the first solution and can go on.
    search: Option<Search<'p, 'a, B>>,
    /// What other searches have cost.
    cost: Cost,
}

impl<'p, 'a, B: Backend<'a>> Run<'p, 'a, B> {
    fn first(&mut self) -> Result<Option<Found>, SolveError> {
        let Rules { cover, touch } = self.strict.rules;
        let mut likely = Vec::new();
        if self.options.encoding == Encoding::Best && (touch || !cover) {
            // Covering takes more than a guess on most boards, and least where no flow touches itself.
            let tidy_first = cover;
            if tidy_first && let Some(found) = self.tidy()? {
                return Ok(Some(found));
            }
            let guess = guess(self.strict, self.cancelled);
            if guess.complete {
                return Found::new(self.puzzle, self.strict, guess.paths).map(Some);
            }
            if !tidy_first && let Some(found) = self.tidy()? {
                return Ok(Some(found));
            }
            likely = guess.paths;
        }
        let mut search = self.search(self.strict, Goal::One, &likely)?;
        let first = search.next()?;
        self.search = Some(search);
        Ok(first)
    }

    /// A solution that covers the board and touches itself nowhere, though the rules do not ask for it. Boards that
    /// people make mostly have one, and the corner-chain lemma makes it easy to find, or to find that there is none.
    fn tidy(&mut self) -> Result<Option<Found>, SolveError> {
        let network = self.network.with_rules(Rules::default());
        if reason::unsolvable(self.puzzle, &network).is_some() {
            return Ok(None);
        }
        let (puzzle, encoding, cancelled) = (self.puzzle, self.options.encoding, self.cancelled);
        let mut search = Search::<B>::new(puzzle, &network, encoding, Goal::One, &[], cancelled)?;
        let found = search.next()?;
        self.cost = self.cost.and(search.cost());
        Ok(found)
    }

    /// The solutions beside the first one, as far as they are asked for.
    fn others(&mut self, first: &Found) -> Result<Others, SolveError> {
        let limit = match self.options.want {
            Want::One | Want::Unique => Some(2),
            Want::Count | Want::All => self.options.limit,
        };
        let mut others = Others::default();
        let wanted = |others: &Others| limit.is_none_or(|limit| others.number + 1 < limit);
        let found = self.guessed(first, limit)?;
        for found in &found {
            others.add(found, self.options.want);
        }
        if !wanted(&others) {
            return Ok(others);
        }
        let mut search = self.search_for_others(first)?;
        search.exclude(first);
        for found in &found {
            search.exclude(found);
        }
        while wanted(&others) {
            let Some(found) = search.next()? else {
                others.all = true;
                break;
            };
            search.exclude(&found);
            others.add(&found, self.options.want);
        }
        self.search = Some(search);
        Ok(others)
    }

    /// A search that can prove that there is no other solution.
    ///
    /// Where cells may stay empty, that is a search for the shortest ones, once [`guess::detour`] has found nothing.
    /// For every solution that is none of these can be made better by leading one flow another way (see
    /// [`crate::shortest`]), again and again, until it is one of these. If that can only be the first solution, the last
    /// step led there, and the way back would have been a detour.
    fn search_for_others(&mut self, first: &Found) -> Result<Search<'p, 'a, B>, SolveError> {
        let begun = self.search.take();
        if self.strict.rules.cover {
            return match begun {
                Some(search) => Ok(search),
                None => self.search(self.strict, Goal::One, &first.paths),
            };
        }
        let no_detour =
            self.options.want == Want::Unique && self.options.encoding == Encoding::Best;
        if no_detour {
            return match begun {
                Some(search) => Ok(search),
                None => self.search(self.strict, Goal::One, &[]),
            };
        }
        if let Some(search) = begun {
            self.cost = self.cost.and(search.cost());
        }
        self.search(self.network, Goal::All, &first.paths)
    }

    /// Other solutions that can be had without a SAT solver, up to the limit. Without one all are wanted, and
    /// a head start is worth little.
    fn guessed(&self, first: &Found, limit: Option<u64>) -> Result<Vec<Found>, SolveError> {
        let (Some(limit), Encoding::Best) = (limit, self.options.encoding) else {
            return Ok(Vec::new());
        };
        let Rules { cover, touch } = self.network.rules;
        let guessed = if cover && !touch {
            Vec::new()
        } else if !cover && self.options.want == Want::Unique {
            Vec::from_iter(guess::detour(self.network, &first.paths, self.cancelled))
        } else {
            let most = usize::try_from(limit.saturating_sub(1)).unwrap_or(usize::MAX);
            guess::others(self.network, &first.paths, most, self.cancelled)
        };
        if (self.cancelled)() {
            return Err(SolveError::Cancelled);
        }
        guessed
            .into_iter()
            .map(|paths| Found::new(self.puzzle, self.network, paths))
            .collect()
    }

    fn search(
        &self,
        network: &'p Network,
        goal: Goal,
        likely: &[Path],
    ) -> Result<Search<'p, 'a, B>, SolveError> {
        let encoding = self.options.encoding;
        Search::new(self.puzzle, network, encoding, goal, likely, self.cancelled)
    }
}

/// The solutions beside the first one.
#[derive(Default)]
struct Others {
    /// How many were found.
    number: u64,
    /// These, where they are to be listed.
    list: Vec<Solution>,
    /// Whether these are all.
    all: bool,
}

impl Others {
    fn add(&mut self, found: &Found, want: Want) {
        self.number += 1;
        if want == Want::All {
            self.list.push(found.solution.clone());
        }
    }

    fn verdict(self, solution: Solution, want: Want) -> Verdict {
        let unique = match (self.number, self.all) {
            (0, false) => None,
            (number, _) => Some(number == 0),
        };
        let count = match (want, self.all) {
            (Want::One | Want::Unique, _) => None,
            (_, true) => Some(Count::exactly(self.number + 1)),
            (_, false) => Some(Count::at_least(self.number + 1)),
        };
        Verdict::solution(solution, unique)
            .with_count(count)
            .with_others(self.list)
    }
}
