//! Which machines of a run exchange messages, and the tree along which they agree to start.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The machines of a run, by index, as one of them sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The names of all machines.
    pub names: Vec<String>,
    /// This machine.
    pub own: usize,
    /// Those that it has a link to.
    pub peers: BTreeSet<usize>,
    /// The peer that decides when this machine starts. `None`: it decides itself.
    pub parent: Option<usize>,
    /// The peers that it decides for. Each machine that it can reach has one parent, but the one that decides.
    pub children: BTreeSet<usize>,
    /// Each other machine of the tree, with the parent or the child that is on the way to it.
    pub ways: BTreeMap<usize, usize>,
}

impl Topology {
    /// `links`: each pair of machines that exchange messages. All machines of a run compute the same tree.
    #[must_use]
    pub fn new(names: Vec<String>, own: usize, links: &BTreeSet<(usize, usize)>) -> Self {
        let mut linked = BTreeMap::<usize, BTreeSet<usize>>::new();
        for &(one, other) in links {
            linked.entry(one).or_default().insert(other);
            linked.entry(other).or_default().insert(one);
        }
        let none = BTreeSet::new();
        let of = |machine: usize| linked.get(&machine).unwrap_or(&none);
        // Each machine gets the parent from which the search reaches it first.
        let mut parents = BTreeMap::new();
        for root in 0..names.len() {
            let mut reached = VecDeque::from([(root, None)]);
            while let Some((machine, parent)) = reached.pop_front() {
                if let Entry::Vacant(vacant) = parents.entry(machine) {
                    vacant.insert(parent);
                    reached.extend(of(machine).iter().map(|next| (*next, Some(machine))));
                }
            }
        }
        let parent_of = |machine: usize| parents.get(&machine).copied().flatten();
        let is_child = |machine: &usize| parent_of(*machine) == Some(own);
        let (parent, children) = (parent_of(own), of(own).iter().copied().filter(is_child));
        let children: BTreeSet<_> = children.collect();
        let mut ways = BTreeMap::new();
        for way in parent.iter().chain(&children) {
            let mut reached = vec![(*way, own)];
            while let Some((machine, before)) = reached.pop() {
                ways.insert(machine, *way);
                let is_next = |next: &usize| {
                    parent_of(*next) == Some(machine) || parent_of(machine) == Some(*next)
                };
                let next = of(machine).iter().copied();
                let next = next.filter(|next| *next != before && is_next(next));
                reached.extend(next.map(|next| (next, machine)));
            }
        }
        Self {
            own,
            peers: of(own).clone(),
            parent,
            children,
            ways,
            names,
        }
    }

    /// Whether what a machine sends arrives over this peer.
    #[must_use]
    pub fn is_behind(&self, machine: usize, peer: usize) -> bool {
        self.ways.get(&machine) == Some(&peer)
    }

    /// The peers in the tree: the parent and the children.
    pub(crate) fn neighbours(&self) -> BTreeSet<usize> {
        self.ways.values().copied().collect()
    }

    pub(crate) fn name(&self, machine: usize) -> &str {
        self.names.get(machine).map_or("?", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(own: usize, links: &[(usize, usize)]) -> (Option<usize>, Vec<usize>) {
        let names = (0..6).map(|it| it.to_string()).collect();
        let found = Topology::new(names, own, &links.iter().copied().collect());
        (found.parent, found.children.into_iter().collect())
    }

    #[test]
    fn what_a_machine_sends_comes_over_one_peer() {
        let names = || (0..6).map(|it| it.to_string()).collect();
        // A ring of four, of which one link is no part of the tree, and a machine beside it.
        let links = [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)];
        let links = links.into_iter().collect();
        let ways = |own: usize| Topology::new(names(), own, &links).ways;
        assert_eq!(ways(0), [(1, 1), (2, 1), (3, 3), (4, 3)].into());
        assert_eq!(ways(1), [(0, 0), (2, 2), (3, 0), (4, 0)].into());
        assert_eq!(ways(2), [(0, 1), (1, 1), (3, 1), (4, 1)].into());
        assert_eq!(ways(4), [(0, 3), (1, 3), (2, 3), (3, 3)].into());
        assert_eq!(ways(5), BTreeMap::new());
        let own = Topology::new(names(), 3, &links);
        assert!(own.is_behind(2, 0) && !own.is_behind(2, 4) && !own.is_behind(3, 0));
    }

    #[test]
    fn every_machine_but_one_has_a_parent() {
        let chain = [(0, 1), (1, 2), (2, 3)];
        assert_eq!(topology(0, &chain), (None, vec![1]));
        assert_eq!(topology(1, &chain), (Some(0), vec![2]));
        assert_eq!(topology(3, &chain), (Some(2), vec![]));
        // In a ring, one link is no part of the tree.
        let ring = [(0, 1), (1, 2), (2, 0)];
        assert_eq!(topology(0, &ring), (None, vec![1, 2]));
        assert_eq!(topology(1, &ring), (Some(0), vec![]));
        assert_eq!(topology(2, &ring), (Some(0), vec![]));
        // Two runs that know nothing of each other.
        let apart = [(0, 3), (4, 2), (2, 5)];
        assert_eq!(topology(2, &apart), (None, vec![4, 5]));
        assert_eq!(topology(3, &apart), (Some(0), vec![]));
        assert_eq!(topology(1, &apart), (None, vec![]));
    }
}
