//! What the tests of rules and of known puzzles share.

pub mod legs;
pub mod strategies;

use flowpipe_puzzle::{Board, Cell, Rule, Solution};

/// A right solution made wrong.
pub struct Mutant {
    /// What was done.
    pub what: &'static str,
    /// The wrong solution.
    pub solution: Solution,
    /// Each of these must be refused, at that cell; of several rules for one cell, any.
    pub refusals: Vec<(Vec<Rule>, Option<Cell>)>,
}

/// Breaks a solution that covers the board and does not touch itself, in every way and at every flow.
pub fn mutants(board: &Board, solution: &Solution) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    let mut add = |what, flows, refusals: Vec<(&[Rule], Cell)>| {
        let refusals = refusals
            .into_iter()
            .map(|(rules, cell)| (rules.to_vec(), Some(cell)));
        let refusals = refusals.collect();
        mutants.push(Mutant {
            what,
            solution: Solution { flows },
            refusals,
        });
    };
    let apart: &[Rule] = &[Rule::Apart, Rule::BridgeTurn];
    let bare: &[Rule] = &[Rule::TerminalWithoutFlow];
    let flows = &solution.flows;
    for (index, flow) in flows.iter().enumerate() {
        let cells = &flow.cells;
        let (first, last) = (cells[0], cells[cells.len() - 1]);
        let with = |cells: Vec<Cell>| {
            let mut flows = flows.clone();
            flows[index].cells = cells;
            flows
        };

        let mut without = flows.clone();
        without.remove(index);
        add(
            "drop a flow",
            without,
            vec![(bare, first), (bare, last), (&[Rule::Uncovered], first)],
        );

        let mut doubled = flows.clone();
        doubled.push(flow.clone());
        let twice: &[Rule] = &[Rule::TerminalTwice];
        add(
            "double a flow",
            doubled,
            vec![
                (twice, first),
                (twice, last),
                (&[Rule::CellTwice], cells[cells.len() / 2]),
            ],
        );

        let mut shorter = cells.clone();
        shorter.pop();
        let end = shorter[shorter.len() - 1];
        // A flow of two cells becomes one with both ends on its terminal.
        let rules: &[Rule] = &[Rule::End, Rule::BridgeEnd, Rule::TerminalTwice];
        add(
            "drop an end",
            with(shorter),
            vec![(rules, end), (bare, last)],
        );

        if cells.len() >= 3 {
            let mut holed = cells.clone();
            let dropped = holed.remove(cells.len() / 2);
            // The flow jumps over what is missing; beside a bridge it may look like a turn there.
            let (before, after) = (holed[cells.len() / 2 - 1], holed[cells.len() / 2]);
            let at = if board.touch(before, after) {
                before
            } else {
                after
            };
            add(
                "drop a cell",
                with(holed),
                vec![(apart, at), (&[Rule::Uncovered], dropped)],
            );
        }
        if cells.len() >= 4 {
            let mut swapped = cells.clone();
            let last = cells.len() - 1;
            swapped[1..last].reverse();
            let at = if board.touch(swapped[0], swapped[1]) {
                swapped[0]
            } else {
                swapped[1]
            };
            add("reverse the inner part", with(swapped), vec![(apart, at)]);
        }

        let foreign = |cell: &Cell| board.touch(last, *cell) && !cells.contains(cell);
        if let Some(cell) = board.cells().find(foreign) {
            let mut longer = cells.clone();
            longer.push(cell);
            add(
                "go on into another flow",
                with(longer),
                vec![(&[Rule::CellTwice], cell), (&[Rule::PassesTerminal], last)],
            );
        }

        let other = (index + 1) % flows.len();
        if flows[other].colour != flow.colour {
            let mut exchanged = flows.clone();
            exchanged[index].colour = flows[other].colour;
            exchanged[other].colour = flow.colour;
            add(
                "exchange two colours",
                exchanged,
                vec![(&[Rule::End], first), (&[Rule::End], flows[other].cells[0])],
            );
            let mut crossed = flows.clone();
            let tail = crossed[index].cells.pop().into_iter();
            let other_tail = crossed[other].cells.pop().into_iter();
            crossed[index].cells.extend(other_tail);
            crossed[other].cells.extend(tail);
            add(
                "exchange two ends",
                crossed,
                vec![
                    (&[Rule::End], last),
                    (
                        &[Rule::End],
                        flows[other].cells[flows[other].cells.len() - 1],
                    ),
                ],
            );
        }
        let mut beyond = cells.clone();
        beyond.insert(1, board.len());
        add(
            "leave the board",
            with(beyond),
            vec![(&[Rule::OffBoard], board.len())],
        );
    }
    mutants
}
