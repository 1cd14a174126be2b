//! Solutions, read off backwards: every way back from the last state comes to the first one.

use flowpipe_plugin::puzzle::{Flow, Node, Puzzle, Solution};

use crate::network::{Edge, Network};
use crate::plan::Plan;
use crate::trace::{Origin, Origins};
use crate::watch::{Stop, Watch};

/// Up to `most` solutions, always in the same order. There has to be one.
///
/// # Errors
/// [`Stop::Cancelled`].
pub fn solutions(
    puzzle: &Puzzle,
    network: &Network,
    plan: &Plan,
    origins: &[Origins],
    most: usize,
    watch: &Watch,
) -> Result<Vec<Solution>, Stop> {
    let mut found = Vec::new();
    // From the last step back: the origin taken, the mark of the next one, how many edges were on then.
    let mut back: Vec<(Origin, u32, usize)> = Vec::with_capacity(plan.steps.len());
    let mut on: Vec<Edge> = Vec::new();
    let mut next = Some(0);
    while found.len() < most {
        watch.tick()?;
        let step = plan.steps.len() - back.len();
        if let Some(state) = next {
            if step == 0 {
                found.push(solution(puzzle, network, &on));
                next = None;
                continue;
            }
            let (origin, mark) = origins[step - 1].first(state);
            back.push((origin, mark, on.len()));
            next = Some(follow(plan, step - 1, origin, &mut on));
            continue;
        }
        // This way is listed to its end: another origin of the same state, or one step up.
        let Some((_, mark, edges)) = back.pop() else {
            break;
        };
        on.truncate(edges);
        if let Some((origin, mark)) = origins[step].next(mark) {
            back.push((origin, mark, on.len()));
            next = Some(follow(plan, step, origin, &mut on));
        }
    }
    Ok(found)
}

/// Takes a step back.
fn follow(plan: &Plan, step: usize, origin: Origin, on: &mut Vec<Edge>) -> u32 {
    let ahead = plan.steps[step].ahead.iter();
    let chosen = ahead.filter(|ahead| ahead.is_on(origin.chosen));
    on.extend(chosen.map(|ahead| ahead.edge));
    origin.state
}

/// The flows that these edges are.
fn solution(puzzle: &Puzzle, network: &Network, on: &[Edge]) -> Solution {
    let mut beside: Vec<[Option<Node>; 2]> = vec![[None; 2]; network.len()];
    for &edge in on {
        let [a, b] = network.ends(edge);
        for (node, other) in [(a, b), (b, a)] {
            let free = usize::from(beside[node][0].is_some());
            beside[node][free] = Some(other);
        }
    }
    let mut flows = Vec::with_capacity(puzzle.flow_count());
    let mut ended = vec![false; network.len()];
    for start in 0..network.len() {
        let Some(colour) = network.terminal(start).filter(|_| !ended[start]) else {
            continue;
        };
        let mut cells = vec![network.cells[start]];
        let (mut before, mut node) = (start, start);
        while let Some(next) = beside[node].iter().flatten().find(|&&next| next != before) {
            (before, node) = (node, *next);
            cells.push(network.cells[node]);
        }
        ended[node] = true;
        flows.push(Flow {
            colour: network.colours[usize::from(colour)],
            cells,
        });
    }
    Solution { flows }.canonical()
}
