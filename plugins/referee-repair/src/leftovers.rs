//! What earlier strokes have left on a board.

use flowpipe_plugin::puzzle::Flow;

/// Whether nothing of a flow's colour is drawn, and nothing on its cells.
pub fn is_clean(flow: &Flow, drawn: &[Flow]) -> bool {
    let touches = |pipe: &Flow| {
        pipe.colour == flow.colour || pipe.cells.iter().any(|cell| flow.cells.contains(cell))
    };
    !drawn
        .iter()
        .any(|pipe| pipe.cells.len() > 1 && touches(pipe))
}

/// The pipes of missing flows: what strokes have drawn of them, or past them.
pub fn leftovers<'a>(
    solution: &'a [Flow],
    missing: &'a [Flow],
    drawn: &'a [Flow],
) -> impl Iterator<Item = &'a Flow> {
    let is_right = |pipe: &Flow| {
        let is_same = |flow: &Flow| {
            flow.colour == pipe.colour
                && (pipe.cells == flow.cells || pipe.cells.iter().rev().eq(&flow.cells))
        };
        solution.iter().any(is_same)
    };
    let is_missing = |pipe: &Flow| missing.iter().any(|flow| flow.colour == pipe.colour);
    drawn
        .iter()
        .filter(move |pipe| pipe.cells.len() > 1 && is_missing(pipe) && !is_right(pipe))
}

/// Whether a flow is drawn but for the cell of one of its terminals.
pub fn is_short(flow: &Flow, drawn: &[Flow]) -> bool {
    let [_, without_first @ ..] = &flow.cells[..] else {
        return false;
    };
    let without_last = &flow.cells[..without_first.len()];
    // A flow of two cells is short if nothing of it is drawn.
    let is_part = |part: &[usize], pipe: &Flow| {
        part.len() > 1 && (pipe.cells == part || pipe.cells.iter().rev().eq(part))
    };
    drawn
        .iter()
        .filter(|pipe| pipe.colour == flow.colour)
        .any(|pipe| is_part(without_first, pipe) || is_part(without_last, pipe))
}

/// The pipes that pass cells of other flows of the solution.
pub fn wrong<'a>(solution: &'a [Flow], drawn: &'a [Flow]) -> impl Iterator<Item = &'a Flow> {
    let is_wrong = |pipe: &&Flow| {
        let is_taken = |cell: &usize| {
            let mut others = solution.iter().filter(|flow| flow.colour != pipe.colour);
            others.any(|flow| flow.cells.contains(cell))
        };
        pipe.cells.iter().any(is_taken)
    };
    drawn.iter().filter(is_wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(colour: u16, cells: &[usize]) -> Flow {
        Flow::new(colour, cells.to_vec())
    }

    #[test]
    fn a_flow_is_clean_where_nothing_lies() {
        let red = flow(0, &[0, 1, 2]);
        assert!(is_clean(&red, &[]));
        assert!(is_clean(&red, &[flow(1, &[3, 4]), flow(0, &[0])]));
        assert!(!is_clean(&red, &[flow(0, &[0, 3])]));
        assert!(!is_clean(&red, &[flow(1, &[4, 1])]));
    }

    #[test]
    fn what_is_left_of_missing_flows_is_not_right() {
        let solution = [flow(0, &[0, 1, 2]), flow(1, &[3, 4, 5]), flow(1, &[6, 7])];
        let drawn = [flow(0, &[0, 3]), flow(1, &[5, 4, 3]), flow(1, &[6, 8])];
        let left = |missing| leftovers(&solution, missing, &drawn).collect::<Vec<_>>();
        assert_eq!(left(&solution[..1]), [&drawn[0]]);
        assert_eq!(left(&solution[2..]), [&drawn[2]]);
        let alone = [flow(0, &[0])];
        assert_eq!(leftovers(&solution, &solution, &alone).count(), 0);
    }

    #[test]
    fn a_pipe_is_short_from_either_end() {
        let red = flow(0, &[0, 1, 2, 5]);
        for cells in [&[0, 1, 2][..], &[2, 1, 0], &[1, 2, 5], &[5, 2, 1]] {
            assert!(is_short(&red, &[flow(0, cells)]), "{cells:?}");
            assert!(!is_short(&red, &[flow(1, cells)]), "{cells:?}");
        }
        for cells in [&[0, 1][..], &[0, 1, 2, 5], &[0, 3, 4]] {
            assert!(!is_short(&red, &[flow(0, cells)]), "{cells:?}");
        }
        assert!(!is_short(&flow(0, &[0, 1]), &[flow(0, &[0])]));
        assert!(!is_short(&flow(0, &[]), &[]));
    }

    #[test]
    fn a_pipe_is_wrong_on_the_cells_of_others() {
        let solution = [flow(0, &[0, 1, 2]), flow(1, &[3, 4, 5])];
        let drawn = [flow(0, &[0, 1]), flow(1, &[3, 0])];
        let wrong: Vec<_> = wrong(&solution, &drawn).collect();
        assert_eq!(wrong, [&drawn[1]]);
    }
}
