//! The calls of a stage by plugin.

use std::collections::HashMap;
use std::sync::Arc;

use flowpipe_recording::entry::Call;

/// The calls of a stage by plugin.
#[derive(Debug)]
pub(super) enum Turns {
    /// All calls are of the first plugin, as in any stage without a race. Their number.
    First(usize),
    /// By plugin: the indices of its calls, in order.
    Race(HashMap<usize, Vec<u32>>),
}

impl Turns {
    /// Sorts calls by plugin.
    pub(super) fn of(calls: &[Arc<Call>]) -> Self {
        if calls.iter().all(|call| call.plugin == 0) {
            return Self::First(calls.len());
        }
        let mut plugins: HashMap<usize, Vec<u32>> = HashMap::new();
        for (number, call) in calls.iter().enumerate() {
            // No list of a recording is so long that this cuts anything off.
            let numbers = plugins.entry(call.plugin).or_default();
            numbers.push(number as u32);
        }
        Self::Race(plugins)
    }

    /// The index of a plugin's first call at or after `from`.
    pub(super) fn next(&self, plugin: usize, from: usize) -> Option<usize> {
        match self {
            Self::First(calls) => (plugin == 0 && from < *calls).then_some(from),
            Self::Race(plugins) => {
                let numbers = plugins.get(&plugin)?;
                let next = numbers.partition_point(|&number| (number as usize) < from);
                numbers.get(next).map(|&number| number as usize)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(plugins: &[usize]) -> Turns {
        let call = |&plugin: &usize| {
            Arc::new(Call {
                plugin,
                ..Call::default()
            })
        };
        Turns::of(&plugins.iter().map(call).collect::<Vec<_>>())
    }

    #[test]
    fn calls_are_found_by_plugin() {
        let alone = of(&[0, 0, 0]);
        assert_eq!((alone.next(0, 2), alone.next(0, 3)), (Some(2), None));
        assert_eq!(alone.next(1, 0), None);
        let race = of(&[0, 1, 1, 0]);
        assert_eq!((race.next(0, 1), race.next(1, 1)), (Some(3), Some(1)));
        assert_eq!((race.next(1, 3), race.next(2, 0)), (None, None));
    }
}
