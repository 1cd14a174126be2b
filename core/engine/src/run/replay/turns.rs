//! The calls of a stage by worker and plugin.

use std::collections::HashMap;
use std::sync::Arc;

use flowpipe_recording::entry::Call;

/// The calls of a stage by worker and plugin.
#[derive(Debug)]
pub(super) enum Turns {
    /// All calls are of the first plugin of the first worker, as in any stage with one. Their number.
    First(usize),
    /// By worker and plugin: the indices of its calls, in order.
    Several(HashMap<(usize, usize), Vec<u32>>),
}

impl Turns {
    /// Sorts calls by worker and plugin.
    pub(super) fn of(calls: &[Arc<Call>]) -> Self {
        if calls
            .iter()
            .all(|call| (call.worker, call.plugin) == (0, 0))
        {
            return Self::First(calls.len());
        }
        let mut plugins: HashMap<_, Vec<u32>> = HashMap::new();
        for (number, call) in calls.iter().enumerate() {
            // No list of a recording is so long that this cuts anything off.
            let numbers = plugins.entry((call.worker, call.plugin)).or_default();
            numbers.push(number as u32);
        }
        Self::Several(plugins)
    }

    /// The index of the first call of a worker's plugin at or after `from`.
    pub(super) fn next(&self, of: (usize, usize), from: usize) -> Option<usize> {
        match self {
            Self::First(calls) => (of == (0, 0) && from < *calls).then_some(from),
            Self::Several(plugins) => {
                let numbers = plugins.get(&of)?;
                let next = numbers.partition_point(|&number| (number as usize) < from);
                numbers.get(next).map(|&number| number as usize)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(slots: &[(usize, usize)]) -> Turns {
        let call = |&(worker, plugin): &(usize, usize)| {
            Arc::new(Call {
                worker,
                plugin,
                ..Call::default()
            })
        };
        Turns::of(&slots.iter().map(call).collect::<Vec<_>>())
    }

    #[test]
    fn calls_are_found_by_worker_and_plugin() {
        let alone = of(&[(0, 0), (0, 0), (0, 0)]);
        let next = |from| alone.next((0, 0), from);
        assert_eq!((next(2), next(3)), (Some(2), None));
        assert_eq!((alone.next((0, 1), 0), alone.next((1, 0), 0)), (None, None));
        for other in [(0, 1), (1, 0)] {
            let several = of(&[(0, 0), other, other, (0, 0)]);
            assert_eq!(several.next((0, 0), 1), Some(3));
            assert_eq!(
                (several.next(other, 1), several.next(other, 3)),
                (Some(1), None)
            );
            assert_eq!(several.next((1, 1), 0), None);
        }
    }
}
