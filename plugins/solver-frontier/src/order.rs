//! In which order the sweep takes the nodes.

use flowpipe_plugin::puzzle::{Board, Node};

use crate::watch::{Stop, Watch};

/// An order of sweeping.
pub struct Order {
    /// Every node that has an edge.
    pub nodes: Vec<Node>,
    /// By node: where it lies along the border between what is swept and what is not, when it is on
    /// that border. Only for sweeps over boards that lie flat, without bridges and warps, in which what is
    /// not swept yet has no gap but holes: then no flow can get past another there.
    pub along: Option<Vec<(isize, isize)>>,
}

/// Some orders to choose from: from all four sides, and, on boards with bridges or warps, one that looks
/// for a narrow frontier by itself.
///
/// # Errors
/// [`Stop::Cancelled`].
pub fn candidates(board: &Board, beside: &[Vec<Node>], watch: &Watch) -> Result<Vec<Order>, Stop> {
    let description = board.description();
    let flat = !description.warps && description.bridges.is_empty();
    let mut orders = Vec::new();
    for by_columns in [false, true] {
        let key = |node: Node| {
            let (row, col) = board.row_col(board.graph().cell_of(node));
            if by_columns { (col, row) } else { (row, col) }
        };
        let (lines, places) = if by_columns {
            (board.cols(), board.rows())
        } else {
            (board.rows(), board.cols())
        };
        let mut nodes: Vec<Node> = Vec::with_capacity(beside.len());
        for line in 0..lines {
            for place in 0..places {
                watch.tick()?;
                let (row, col) = if by_columns {
                    (place, line)
                } else {
                    (line, place)
                };
                let of_cell = board.graph().nodes_of(row * board.cols() + col).iter();
                nodes.extend(of_cell.filter(|&&node| !beside[node].is_empty()));
            }
        }
        // Over the lattice, the border is a stair that rises from the first side to the last. On hexes
        // two of its nodes can lie in one line; the one that is swept later comes first.
        let along = flat.then(|| {
            let cells = (0..beside.len()).map(key);
            cells
                .map(|(line, place)| (place as isize, -(line as isize)))
                .collect::<Vec<_>>()
        });
        let mut back = nodes.clone();
        back.reverse();
        orders.push(Order {
            nodes,
            along: along.clone(),
        });
        orders.push(Order { nodes: back, along });
    }
    if !flat {
        orders.push(Order {
            nodes: greedy(beside, watch)?,
            along: None,
        });
    }
    Ok(orders)
}

/// Always the node of the frontier that adds the fewest nodes to it; of those the one that came in
/// first. Where the frontier is empty, the first node left.
fn greedy(beside: &[Vec<Node>], watch: &Watch) -> Result<Vec<Node>, Stop> {
    let mut reached = vec![false; beside.len()];
    let mut frontier: Vec<Node> = Vec::new();
    let mut nodes = Vec::new();
    for start in 0..beside.len() {
        if reached[start] || beside[start].is_empty() {
            continue;
        }
        reached[start] = true;
        frontier.push(start);
        loop {
            let adds = |node: Node| {
                beside[node]
                    .iter()
                    .filter(|&&other| !reached[other])
                    .count()
            };
            let best = (0..frontier.len()).min_by_key(|&index| adds(frontier[index]));
            let Some(best) = best else {
                break;
            };
            watch.tick()?;
            let node = frontier.remove(best);
            nodes.push(node);
            for &other in &beside[node] {
                if !std::mem::replace(&mut reached[other], true) {
                    frontier.push(other);
                }
            }
        }
    }
    Ok(nodes)
}

/// How much work an order promises to be: the sum over its steps of what grows with the width of the
/// frontier as the number of states does.
///
/// # Errors
/// [`Stop::Cancelled`].
pub fn price(order: &Order, beside: &[Vec<Node>], watch: &Watch) -> Result<f64, Stop> {
    const GROWTH: f64 = 1.7;
    let mut reached = vec![false; beside.len()];
    let mut width = 0_i32;
    let mut price = 0.0;
    for &node in &order.nodes {
        watch.tick()?;
        width -= i32::from(reached[node]);
        reached[node] = true;
        for &other in &beside[node] {
            width += i32::from(!std::mem::replace(&mut reached[other], true));
        }
        price += GROWTH.powi(width);
    }
    Ok(price)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beside(board: &Board) -> Vec<Vec<Node>> {
        let graph = board.graph();
        (0..graph.len())
            .map(|node| graph.links(node).iter().map(|link| link.node).collect())
            .collect()
    }

    #[test]
    fn the_shorter_side_is_cheaper() {
        let never = || false;
        let watch = Watch::new(&never);
        let board = Board::rectangle(3, 12).unwrap();
        let beside = beside(&board);
        let orders = candidates(&board, &beside, &watch).unwrap();
        let prices: Vec<f64> = orders
            .iter()
            .map(|order| price(order, &beside, &watch).unwrap())
            .collect();
        assert_eq!(orders.len(), 4);
        assert!(prices[2] < prices[0], "{prices:?}");
    }

    #[test]
    fn greedy_takes_every_node_once() {
        let never = || false;
        let watch = Watch::new(&never);
        let board = Board::new(flowpipe_plugin::puzzle::board::Description {
            rows: 4,
            cols: 5,
            warps: true,
            holes: vec![3],
            bridges: vec![7],
            ..Default::default()
        })
        .unwrap();
        let mut nodes = greedy(&beside(&board), &watch).unwrap();
        nodes.sort_unstable();
        assert_eq!(nodes, (0..board.graph().len()).collect::<Vec<_>>());
    }
}
