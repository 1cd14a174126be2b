//! The frontier: boards that wait to be expanded.

/// A board that waits.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Cells drawn and cells guessed to be left: less comes first.
    pub cost: u32,
    /// Among equal costs: less comes first.
    pub tie: u64,
    /// Its index in the tree.
    pub board: u32,
}

/// A priority queue on a binary heap.
///
/// Not the standard library's: where cost and tie are equal the order is that of this very way to
/// mend the heap, and with it that of Python's `heapq`, which the notebook uses. Its figures, and the
/// snapshots of ours, depend on that.
#[derive(Debug, Default)]
pub struct Queue(Vec<Waiting>);

impl Waiting {
    fn comes_before(&self, other: &Self) -> bool {
        (self.cost, self.tie) < (other.cost, other.tie)
    }
}

impl Queue {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a board.
    pub fn push(&mut self, board: Waiting) {
        self.0.push(board);
        self.rise(self.0.len() - 1);
    }

    /// Takes the first out.
    pub fn pop(&mut self) -> Option<Waiting> {
        let last = self.0.pop()?;
        let Some(first) = self.0.first_mut() else {
            return Some(last);
        };
        let first = std::mem::replace(first, last);
        // The gap sinks to a leaf, then what filled it rises to its place.
        let mut at = 0;
        while 2 * at + 1 < self.0.len() {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let is_right = self
                .0
                .get(right)
                .is_some_and(|right| !self.0[left].comes_before(right));
            let child = if is_right { right } else { left };
            self.0.swap(at, child);
            at = child;
        }
        self.rise(at);
        Some(first)
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.0[at].comes_before(&self.0[parent]) {
                break;
            }
            self.0.swap(at, parent);
            at = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_costs_come_out_as_heapq_has_them() {
        let mut queue = Queue::default();
        for (board, cost) in [5, 3, 3, 5, 3, 4, 3, 5].into_iter().enumerate() {
            let board = u32::try_from(board).unwrap();
            queue.push(Waiting {
                cost,
                tie: 0,
                board,
            });
        }
        let order: Vec<u32> = std::iter::from_fn(|| queue.pop())
            .map(|waiting| waiting.board)
            .collect();
        assert_eq!(order, HEAPQ);
    }

    /// What Python gives for `heapq` on objects that compare by cost alone.
    const HEAPQ: [u32; 8] = [1, 2, 6, 4, 5, 7, 0, 3];
}
