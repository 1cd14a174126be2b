//! Individuals and their fitness.

use flowpipe_plugin::puzzle::Node;

use crate::network::{Flow, Network};
use crate::paths::Path;

/// A path, or none, for each flow.
pub type Genes = Vec<Option<Path>>;

/// Genes with their fitness.
#[derive(Clone)]
pub struct Individual {
    /// A path, or none, for each flow.
    pub genes: Genes,
    /// How far it is from a solution; 0: it is one.
    ///
    /// As published, each path too many in a node counts one and each missing path as much as the
    /// number of flows squared. Unlike there, each node that nothing covers counts one too, where the
    /// rules want all covered: paths can join all terminals and be no solution.
    pub fitness: u32,
}

/// How many paths pass each node.
pub struct Cover(pub Vec<u32>);

impl Cover {
    /// No paths.
    pub fn new(network: &Network) -> Self {
        Self(vec![0; network.len()])
    }

    /// All paths of some genes.
    pub fn of(network: &Network, genes: &Genes) -> Self {
        let mut cover = Self::new(network);
        genes.iter().flatten().for_each(|path| cover.add(path));
        cover
    }

    /// One path more.
    pub fn add(&mut self, path: &[Node]) {
        path.iter().for_each(|&node| self.0[node] += 1);
    }

    /// One path less, which was there.
    pub fn remove(&mut self, path: &[Node]) {
        path.iter().for_each(|&node| self.0[node] -= 1);
    }

    /// How many nodes of a path, which may be among the paths counted, more than `most` paths pass.
    pub fn crowded(&self, path: &[Node], most: u32) -> usize {
        path.iter().filter(|&&node| self.0[node] > most).count()
    }
}

impl Individual {
    /// Works out the fitness.
    pub fn new(network: &Network, genes: Genes) -> Self {
        let cover = Cover::of(network, &genes);
        let wrong = |&count: &u32| match count {
            0 => u32::from(network.rules.cover),
            count => count - 1,
        };
        let cells: u32 = cover.0.iter().map(wrong).sum();
        let missing = genes.iter().filter(|gene| gene.is_none()).count();
        let missing = missing * network.flows() * network.flows();
        let fitness = cells.saturating_add(u32::try_from(missing).unwrap_or(u32::MAX));
        Self { genes, fitness }
    }

    /// The flows whose paths collide with others.
    pub fn colliding(&self, network: &Network) -> Vec<Flow> {
        let cover = Cover::of(network, &self.genes);
        let collides = |&(_, gene): &(Flow, &Option<Path>)| {
            gene.as_ref().is_some_and(|path| cover.crowded(path, 1) > 0)
        };
        let flows = self.genes.iter().enumerate().filter(collides);
        flows.map(|(flow, _)| flow).collect()
    }

    /// The flows without a path.
    pub fn missing(&self) -> Vec<Flow> {
        let flows = self.genes.iter().enumerate();
        flows
            .filter(|(_, gene)| gene.is_none())
            .map(|(flow, _)| flow)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowpipe_sat::testing::samples::puzzle;

    fn fitness(text: &str, genes: &[Option<&[Node]>], cover: bool) -> u32 {
        let rules = flowpipe_plugin::puzzle::Rules {
            cover,
            touch: false,
        };
        let network = Network::new(&puzzle(text).with_rules(rules));
        let genes = genes.iter().map(|gene| gene.map(Path::from)).collect();
        Individual::new(&network, genes).fitness
    }

    #[test]
    fn collisions_bare_nodes_and_missing_paths_count() {
        let text = "AB.\n...\nAB.";
        let [a, b, detour]: [&[Node]; 3] = [&[0, 3, 6], &[1, 4, 7], &[0, 3, 4, 7, 6]];
        assert_eq!(fitness(text, &[Some(a), Some(b)], true), 3);
        assert_eq!(fitness(text, &[Some(a), Some(b)], false), 0);
        assert_eq!(fitness(text, &[Some(detour), Some(b)], true), 3 + 2);
        assert_eq!(fitness(text, &[Some(a), None], true), 6 + 4);
    }

    #[test]
    fn troubled_flows_are_named() {
        let network = Network::new(&puzzle("AB.C\n....\nAB.C"));
        let genes = [Some(&[0, 4, 5, 9, 8][..]), Some(&[1, 5, 9]), None];
        let genes = genes.iter().map(|gene| gene.map(Path::from)).collect();
        let individual = Individual::new(&network, genes);
        assert_eq!(individual.colliding(&network), [0, 1]);
        assert_eq!(individual.missing(), [2]);
    }
}
