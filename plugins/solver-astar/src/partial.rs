//! A partial board and the moves on it.

use flowpipe_plugin::puzzle::Node;

use crate::problem::Problem;

/// One move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// An arm grows into an empty node beside its tip.
    Grow {
        /// The arm.
        arm: u16,
        /// The node.
        node: u16,
    },
    /// An arm is joined to another of its colour, tip to tip. Where a colour's arms are joined at
    /// once, growing does it, and there is no such move.
    Join {
        /// The arm.
        arm: u16,
        /// The other one.
        other: u16,
    },
}

/// A partial board: how far each arm has grown, and which are joined.
#[derive(Debug)]
pub struct Partial {
    /// By node, the arm that has it. A terminal is its arm's from the start.
    pub arm_at: Vec<Option<u16>>,
    /// By arm, its outermost node.
    pub tip: Vec<Node>,
    /// By arm, the one that it is joined to.
    pub joined: Vec<Option<u16>>,
    /// How many nodes are empty.
    pub empty: u32,
    /// How many nodes the arms have grown by.
    pub drawn: u32,
    /// The same for the same arms, tips and joins, and hardly ever for others.
    pub hash: u64,
}

impl Clone for Partial {
    fn clone(&self) -> Self {
        Self {
            arm_at: self.arm_at.clone(),
            tip: self.tip.clone(),
            joined: self.joined.clone(),
            ..*self
        }
    }

    // The derived one would make new lists each time.
    fn clone_from(&mut self, source: &Self) {
        self.arm_at.clone_from(&source.arm_at);
        self.tip.clone_from(&source.tip);
        self.joined.clone_from(&source.joined);
        self.empty = source.empty;
        self.drawn = source.drawn;
        self.hash = source.hash;
    }
}

impl Partial {
    /// The board with nothing drawn.
    pub fn root(problem: &Problem<'_>) -> Self {
        let mut root = Self {
            arm_at: vec![None; problem.len()],
            tip: problem.terminals.clone(),
            joined: vec![None; problem.terminals.len()],
            empty: u32::try_from(problem.len() - problem.terminals.len()).unwrap_or(u32::MAX),
            drawn: 0,
            hash: 0,
        };
        for (arm, &node) in (0..).zip(&problem.terminals) {
            root.arm_at[node] = Some(arm);
        }
        for arm in 0..problem.terminals.len() {
            root.join_at_once(problem, arm);
        }
        root
    }

    /// Whether an arm is not joined yet.
    pub fn is_loose(&self, arm: usize) -> bool {
        self.joined[arm].is_none()
    }

    /// The arms of a colour that are not joined yet.
    pub fn loose(
        &self,
        problem: &Problem<'_>,
        colour: usize,
    ) -> impl Iterator<Item = usize> + Clone + '_ {
        problem.colours[colour]
            .arms
            .clone()
            .filter(|&arm| self.is_loose(arm))
    }

    /// The loose arm whose tip is at a node.
    pub fn loose_tip_at(&self, node: Node) -> Option<usize> {
        let arm = usize::from(self.arm_at[node]?);
        (self.tip[arm] == node && self.is_loose(arm)).then_some(arm)
    }

    /// Whether nothing is left to do, except for flows that may touch themselves.
    pub fn is_complete(&self, problem: &Problem<'_>) -> bool {
        (self.empty == 0 || !problem.cover()) && self.joined.iter().all(Option::is_some)
    }

    /// The moves of a loose arm. `strict`: without those after which a flow touches itself against
    /// the rules.
    pub fn moves<'p>(
        &'p self,
        problem: &'p Problem<'_>,
        arm: usize,
        strict: bool,
    ) -> impl Iterator<Item = Move> + 'p {
        let strict = strict && !problem.puzzle.rules().touch;
        let colour = problem.colour_of[arm];
        let small = small(arm);
        problem.beside[self.tip[arm]]
            .iter()
            .filter_map(move |&node| {
                if self.arm_at[node].is_none() {
                    let fits = !strict || !self.would_touch(problem, arm, node);
                    let node = crate::partial::small(node);
                    return fits.then_some(Move::Grow { arm: small, node });
                }
                let other = self.loose_tip_at(node)?;
                let joins =
                    problem.colour_of[other] == colour && !problem.colours[colour].joins_at_once;
                let fits = joins && !(strict && self.lie_side_by_side(problem, arm, other));
                let other = crate::partial::small(other);
                fits.then_some(Move::Join { arm: small, other })
            })
    }

    /// Makes a move that [`Self::moves`] gave.
    pub fn make(&mut self, problem: &Problem<'_>, what: Move) {
        match what {
            Move::Grow { arm, node } => {
                let (arm, node) = (usize::from(arm), usize::from(node));
                self.hash ^= key(arm, self.tip[arm], 1) ^ key(arm, node, 0) ^ key(arm, node, 1);
                self.arm_at[node] = Some(small(arm));
                self.tip[arm] = node;
                self.empty -= 1;
                self.drawn += 1;
                self.join_at_once(problem, arm);
            }
            Move::Join { arm, other } => self.join(usize::from(arm), usize::from(other)),
        }
    }

    /// Whether two boards are the same. (What else they hold follows from these.)
    pub fn is_same(&self, other: &Self) -> bool {
        self.arm_at == other.arm_at && self.tip == other.tip && self.joined == other.joined
    }

    fn join(&mut self, arm: usize, other: usize) {
        self.joined[arm] = Some(small(other));
        self.joined[other] = Some(small(arm));
        self.hash ^= key(arm.min(other), arm.max(other), 2);
    }

    /// Joins an arm to the only other one of its colour, if that has come about.
    fn join_at_once(&mut self, problem: &Problem<'_>, arm: usize) {
        let colour = &problem.colours[problem.colour_of[arm]];
        let other = colour.arms.start + colour.arms.end - 1 - arm;
        let neighbours = || problem.beside[self.tip[arm]].contains(&self.tip[other]);
        if colour.joins_at_once && self.is_loose(arm) && neighbours() {
            self.join(arm, other);
        }
    }

    /// Whether an arm that grew there would lie beside its own flow. Of the arms of a colour with several
    /// pairs it is not known yet which belong together, so only the arm itself counts.
    fn would_touch(&self, problem: &Problem<'_>, arm: usize, node: Node) -> bool {
        let tip = self.tip[arm];
        let colour = problem.colour_of[arm];
        let joins_at_once = problem.colours[colour].joins_at_once;
        problem.beside[node]
            .iter()
            .any(|&other| match self.arm_at[other] {
                Some(there) if usize::from(there) == arm => other != tip,
                Some(there) => {
                    let there = usize::from(there);
                    joins_at_once && problem.colour_of[there] == colour && other != self.tip[there]
                }
                None => false,
            })
    }

    /// Whether two arms are neighbours anywhere but at their tips.
    fn lie_side_by_side(&self, problem: &Problem<'_>, a: usize, b: usize) -> bool {
        let (small_a, small_b) = (Some(small(a)), Some(small(b)));
        (0..problem.len())
            .filter(|&node| self.arm_at[node] == small_a)
            .any(|node| {
                let mut others = problem.beside[node].iter();
                others.any(|&other| {
                    self.arm_at[other] == small_b && (node, other) != (self.tip[a], self.tip[b])
                })
            })
    }
}

/// Nodes and arms in the form in which they are kept: there are at most 1,200 of either.
#[expect(
    clippy::cast_possible_truncation,
    reason = "no board has so many nodes"
)]
pub fn small(index: usize) -> u16 {
    debug_assert!(u16::try_from(index).is_ok());
    index as u16
}

/// A number for a fact about a board, mixed as splitmix64 does it. The kinds of facts: 0 an arm has a
/// node, 1 an arm's tip is a node, 2 two arms are joined.
fn key(a: usize, b: usize, kind: u64) -> u64 {
    let fact = (a as u64) << 32 | (b as u64) << 2 | kind;
    let mut mixed = fact.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
