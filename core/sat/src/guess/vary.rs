//! Further solutions, made from one by changing it here and there.

use std::collections::BTreeSet;

use flowpipe_puzzle::Node;

use crate::decode::Path;
use crate::guess::random::Random;
use crate::guess::route::Router;
use crate::guess::{fill, path};
use crate::network::{Edge, Network};

/// So many changes that lead to nothing new are made before it gives up.
const FAILURES: usize = 100;

/// Solutions other than the one given and than each other, `most` of them or fewer. That there are few proves nothing.
pub fn others(
    network: &Network,
    first: &[Path],
    most: usize,
    cancelled: &dyn Fn() -> bool,
) -> Vec<Vec<Path>> {
    let mut found = Vec::new();
    if network.rules.cover && !network.rules.touch {
        return found;
    }
    let mut random = Random::new(1);
    let mut routes: Vec<Vec<Node>> = first.iter().map(|path| path.nodes.clone()).collect();
    let mut seen = BTreeSet::from([edges(first)]);
    let mut failures = 0;
    while found.len() < most && failures < FAILURES && !cancelled() {
        let (changed, gaps) = if network.rules.cover {
            fill::refill(network, &routes, &mut random, cancelled)
        } else {
            (reroute(network, &routes, &mut random), 0)
        };
        let paths: Vec<Path> = changed
            .iter()
            .map(|nodes| path(network, nodes.clone()))
            .collect();
        if gaps == 0 && seen.insert(edges(&paths)) {
            found.push(paths);
            routes = changed;
            failures = 0;
        } else {
            failures += 1;
        }
    }
    found
}

/// What distinguishes a solution from others.
fn edges(paths: &[Path]) -> Vec<Edge> {
    let mut edges: Vec<Edge> = paths.iter().flat_map(|path| &path.edges).copied().collect();
    edges.sort_unstable();
    edges
}

/// One path goes another way through what the others leave free.
fn reroute(network: &Network, routes: &[Vec<Node>], random: &mut Random) -> Vec<Vec<Node>> {
    let mut routes = routes.to_vec();
    let chosen = random.below(routes.len());
    let others = (0..routes.len()).filter(|&at| at != chosen);
    let mut router = Router::among(network, others.map(|at| &routes[at][..]));
    router.make_uneven(8, random);
    if let [start, .., end] = routes[chosen][..]
        && let Some(route) = router.cheapest(start, &[end])
    {
        routes[chosen] = route;
    }
    routes
}

/// A solution in which one flow goes another way and all others stay. `None`: there is none. For boards with cells that
/// may stay empty.
///
/// Where flows may touch themselves, another way leaves out an edge of the first. Where they may not, it leaves out a
/// node, or it would only be the first way and more; and the shortest way without that node touches itself nowhere.
pub fn detour(
    network: &Network,
    first: &[Path],
    cancelled: &dyn Fn() -> bool,
) -> Option<Vec<Path>> {
    for (chosen, old) in first.iter().enumerate() {
        let [start, ref inner @ .., end] = old.nodes[..] else {
            continue;
        };
        let others = (0..first.len()).filter(|&at| at != chosen);
        let mut router = Router::among(network, others.map(|at| &first[at].nodes[..]));
        let around = |router: &mut Router<'_>| {
            if cancelled() {
                return None;
            }
            let nodes = router.cheapest(start, &[end])?;
            let mut paths = first.to_vec();
            paths[chosen] = path(network, nodes);
            Some(paths)
        };
        if network.rules.touch {
            for &edge in &old.edges {
                router.close(Some(edge));
                if let Some(paths) = around(&mut router) {
                    return Some(paths);
                }
            }
        } else {
            for &node in inner {
                router.set(&[node], true);
                if let Some(paths) = around(&mut router) {
                    return Some(paths);
                }
                router.set(&[node], false);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::Rules;

    use super::*;
    use crate::guess::guess;
    use crate::testing::samples::puzzle;

    fn loose(text: &str, touch: bool) -> Network {
        let rules = Rules {
            cover: false,
            touch,
        };
        Network::new(&puzzle(text).with_rules(rules))
    }

    #[test]
    fn finds_a_detour_if_there_is_one() {
        let is_there = |text, touch| {
            let network = loose(text, touch);
            let first = guess(&network, &|| false);
            assert!(first.complete);
            let found = detour(&network, &first.paths, &|| false);
            found.is_some_and(|found| edges(&found) != edges(&first.paths))
        };
        assert!(is_there("A..\n...\n..A", false));
        assert!(!is_there("A...A", false));
        // Beside a straight flow there is room for a detour, but only one that touches itself.
        assert!(!is_there("A..A\n#..#", false));
        assert!(is_there("A..A\n#..#", true));
    }

    #[test]
    fn others_are_all_different() {
        let network = loose("A....\n.....\n.....\n....A", false);
        let first = guess(&network, &|| false);
        let found = others(&network, &first.paths, 10, &|| false);
        let mut all: Vec<_> = found.iter().map(|paths| edges(paths)).collect();
        all.push(edges(&first.paths));
        let before = all.len();
        all.sort();
        all.dedup();
        assert_eq!((before, all.len()), (11, 11));
    }
}
