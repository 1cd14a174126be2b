//! Flows that cover a board and do not touch themselves, changed by small random steps.
//!
//! Every node begins as a path of its own, except for those about a bridge. In a step the end of one
//! path joins a neighbour in another path and takes over the piece of it that begins there, as far
//! as the longer path would not touch itself; what is left of the other path stays as one path or
//! two. Steps that lower the cost (the number of paths, more for paths that are too short) are
//! always made, those that raise it now and then, as in simulated annealing at a constant
//! temperature.

use crate::net::{NONE, Net, Node};
use crate::random::Random;

/// The fewest nodes of a path in a finished tiling.
pub(crate) const SHORTEST: usize = 3;

/// What a path costs for each node that it has too few, where a path itself costs 1.
const SHORT_COST: f64 = 0.5;

/// Index of a path.
type Path = u32;

/// Disjoint paths that cover a net, none of which touches itself.
#[derive(Clone, Default)]
pub(crate) struct Tiling {
    /// The neighbours that each node is joined to.
    joined: Vec<[Node; 2]>,
    path_of: Vec<Path>,
    /// By path: its ends, twice the same for a path of one node.
    ends: Vec<[Node; 2]>,
    /// By path: how many nodes it has; 0 when it is not in use.
    length: Vec<u32>,
    /// The paths in use, in no order.
    used: Vec<Path>,
    /// By path: its place in `used`.
    place: Vec<u32>,
    /// The paths that are not in use.
    free: Vec<Path>,
    /// Paths in use that are too short.
    short: usize,
}

/// What a step would do.
struct Step {
    path: Path,
    end: Node,
    /// The neighbour of `end` where the piece begins, and its last node.
    first: Node,
    last: Node,
    /// The nodes behind either end of the piece, which it is cut from.
    before: Node,
    after: Node,
    /// How many nodes the piece has, and the rest on the side of `before`.
    taken: usize,
    rest: usize,
}

impl Tiling {
    /// Restarts on a net. `false` where the ways over the bridges alone make a path touch itself.
    pub(crate) fn reset(&mut self, net: &Net) -> bool {
        let nodes = net.len();
        self.joined.clear();
        self.joined.resize(nodes, [NONE; 2]);
        self.path_of.clear();
        self.path_of.resize(nodes, NONE);
        self.ends.clear();
        self.length.clear();
        self.used.clear();
        self.place.clear();
        self.free.clear();
        self.short = 0;
        for node in (0..nodes as Node).filter(|&node| net.is_bridge(node)) {
            let &[a, b] = net.neighbours(node) else {
                return false;
            };
            for other in [a, b] {
                let done = self.joined[node as usize].contains(&other)
                    || (self.join(node, other) && self.join(other, node));
                if !done {
                    return false;
                }
            }
        }
        for node in 0..nodes as Node {
            if self.path_of[node as usize] == NONE && self.joined[node as usize][1] == NONE {
                self.add_from(node);
            }
        }
        // A loop has no end to begin from.
        !self.path_of.contains(&NONE) && self.is_apart(net)
    }

    /// How many paths there are.
    pub(crate) fn count(&self) -> usize {
        self.used.len()
    }

    /// How many paths are shorter than [`SHORTEST`].
    pub(crate) fn short(&self) -> usize {
        self.short
    }

    /// The nodes of each path, from end to end.
    pub(crate) fn paths(&self) -> impl Iterator<Item = Vec<Node>> + '_ {
        self.used.iter().map(|&path| {
            let mut nodes = Vec::with_capacity(self.length[path as usize] as usize);
            let (mut node, mut from) = (self.ends[path as usize][0], NONE);
            while node != NONE {
                nodes.push(node);
                (from, node) = (node, self.beyond(node, from));
            }
            nodes
        })
    }

    /// Whether two neighbours are joined.
    pub(crate) fn are_joined(&self, a: Node, b: Node) -> bool {
        self.joined[a as usize].contains(&b)
    }

    /// Tries a random step, from the end of any path. Whether it was made.
    pub(crate) fn step(&mut self, net: &Net, random: &mut Random, temperature: f64) -> bool {
        let path = self.used[random.below(self.used.len())];
        let end = self.ends[path as usize][random.below(2)];
        self.step_from(net, path, end, random, temperature)
    }

    fn step_from(
        &mut self,
        net: &Net,
        path: Path,
        end: Node,
        random: &mut Random,
        temperature: f64,
    ) -> bool {
        let beside = net.neighbours(end);
        if beside.is_empty() {
            return false;
        }
        let first = beside[random.below(beside.len())];
        let other = self.path_of[first as usize];
        if other == path {
            return false;
        }
        let before = self.joined[first as usize][random.below(2)];
        if before != NONE && net.is_bridge(before) {
            return false;
        }
        let most = if random.below(4) == 0 {
            1 + random.below(self.length[other as usize] as usize)
        } else {
            usize::MAX
        };
        let Some(step) = self.measure(net, path, end, first, before, most) else {
            return false;
        };
        let worse = self.worse(&step, other);
        if worse > 0.0 && random.unit() >= (-worse / temperature).exp() {
            return false;
        }
        self.take(&step, other);
        true
    }

    /// The piece that a path can take over, if any.
    fn measure(
        &self,
        net: &Net,
        path: Path,
        end: Node,
        first: Node,
        before: Node,
        most: usize,
    ) -> Option<Step> {
        let (mut last, mut from) = (NONE, before);
        let mut node = first;
        let mut taken = 0;
        while node != NONE && taken < most {
            let touches = |&other: &Node| {
                self.path_of[other as usize] == path && (node != first || other != end)
            };
            if net.neighbours(node).iter().any(touches) {
                break;
            }
            let next = self.beyond(node, from);
            (last, from) = (node, node);
            node = next;
            taken += 1;
        }
        if taken == 0 {
            return None;
        }
        // Here `node` is what follows the piece. It is not cut from a way over a bridge.
        if node != NONE && (net.is_bridge(node) || net.is_bridge(last)) {
            return None;
        }
        let rest = self.count_from(before, first);
        Some(Step {
            path,
            end,
            first,
            last,
            before,
            after: node,
            taken,
            rest,
        })
    }

    /// How many nodes follow from a node on, away from another.
    fn count_from(&self, mut node: Node, mut from: Node) -> usize {
        let mut count = 0;
        while node != NONE {
            (from, node) = (node, self.beyond(node, from));
            count += 1;
        }
        count
    }

    fn worse(&self, step: &Step, other: Path) -> f64 {
        let whole = self.length[other as usize] as usize;
        let own = self.length[step.path as usize] as usize;
        let left_over = whole - step.taken - step.rest;
        cost(own + step.taken) + cost(step.rest) + cost(left_over) - cost(own) - cost(whole)
    }

    fn take(&mut self, step: &Step, other: Path) {
        let &Step { path, end, .. } = step;
        self.drop_path(other);
        if step.before != NONE {
            self.cut(step.before, step.first);
        }
        if step.after != NONE {
            self.cut(step.after, step.last);
        }
        self.joined_once(end, step.first);
        self.joined_once(step.first, end);
        // The piece.
        let (mut node, mut from) = (step.first, end);
        while node != NONE {
            self.path_of[node as usize] = path;
            (from, node) = (node, self.beyond(node, from));
        }
        let ends = &mut self.ends[path as usize];
        // A path of one node has it as both its ends.
        let side = usize::from(ends[0] != end);
        ends[side] = step.last;
        let was_short = is_short(self.length[path as usize] as usize);
        self.length[path as usize] += step.taken as u32;
        let now_short = is_short(self.length[path as usize] as usize);
        self.short = self.short + usize::from(now_short) - usize::from(was_short);
        for rest in [step.before, step.after] {
            if rest != NONE {
                self.add_from(rest);
            }
        }
    }

    /// The node that follows a node on its path, coming from another.
    fn beyond(&self, node: Node, from: Node) -> Node {
        let [a, b] = self.joined[node as usize];
        if a == from { b } else { a }
    }

    fn join(&mut self, node: Node, other: Node) -> bool {
        let free = self.joined[node as usize].contains(&NONE);
        if free {
            self.joined_once(node, other);
        }
        free
    }

    fn joined_once(&mut self, node: Node, other: Node) {
        let joined = &mut self.joined[node as usize];
        let side = usize::from(joined[0] != NONE);
        joined[side] = other;
    }

    /// The first of the joined nodes is set whenever one is.
    fn cut(&mut self, a: Node, b: Node) {
        for (node, other) in [(a, b), (b, a)] {
            let joined = &mut self.joined[node as usize];
            if joined[0] == other {
                joined[0] = joined[1];
            }
            joined[1] = NONE;
        }
    }

    /// Makes a path of the nodes that are joined, beginning with an end.
    fn add_from(&mut self, end: Node) {
        let path = self.free.pop().unwrap_or_else(|| {
            self.ends.push([NONE; 2]);
            self.length.push(0);
            self.place.push(0);
            (self.ends.len() - 1) as Path
        });
        let (mut node, mut from, mut last) = (end, NONE, end);
        let mut length = 0;
        while node != NONE {
            self.path_of[node as usize] = path;
            last = node;
            (from, node) = (node, self.beyond(node, from));
            length += 1;
        }
        self.ends[path as usize] = [end, last];
        self.length[path as usize] = length;
        self.place[path as usize] = self.used.len() as u32;
        self.used.push(path);
        self.short += usize::from(is_short(length as usize));
    }

    fn drop_path(&mut self, path: Path) {
        let place = self.place[path as usize];
        self.used.swap_remove(place as usize);
        if let Some(&moved) = self.used.get(place as usize) {
            self.place[moved as usize] = place;
        }
        self.short -= usize::from(is_short(self.length[path as usize] as usize));
        self.free.push(path);
    }

    /// Whether no path touches itself.
    fn is_apart(&self, net: &Net) -> bool {
        (0..net.len() as Node).all(|node| {
            net.neighbours(node).iter().all(|&other| {
                self.path_of[other as usize] != self.path_of[node as usize]
                    || self.are_joined(node, other)
            })
        })
    }
}

fn is_short(length: usize) -> bool {
    length < SHORTEST
}

fn cost(length: usize) -> f64 {
    if length == 0 {
        0.0
    } else {
        1.0 + SHORT_COST * SHORTEST.saturating_sub(length) as f64
    }
}

#[cfg(test)]
mod tests;
