//! The sweep itself: from layer to layer, adding up in how many ways each state is reached.

use num_bigint::BigUint;

use crate::border::Border;
use crate::layer::Layer;
use crate::plan::Plan;
use crate::states::States;
use crate::trace::{Keep, Origin, Origins};
use crate::watch::{Stop, Watch};

/// When to give up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// States over all layers.
    pub states: u64,
    /// Memory in bytes.
    pub bytes: usize,
}

/// What a sweep has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// States over all layers.
    pub states: u64,
    /// Of these, in the widest layer.
    pub widest: u64,
    /// The most nodes on the frontier at a time.
    pub frontier: u64,
}

/// The memory of sweeps. It outlives them: to give a gigabyte back to the system takes too long for one
/// that was cancelled.
pub struct Layers {
    from: Layer,
    to: Layer,
    origins: Vec<Origins>,
}

impl Layers {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            from: Layer::new(),
            to: Layer::new(),
            origins: Vec::new(),
        }
    }

    /// By step of the last sweep: the origins of the states after it. If there are solutions, the last layer
    /// has one state.
    pub fn origins(&self) -> &[Origins] {
        &self.origins
    }

    /// Gives memory back, unless it is little.
    pub fn shrink(&mut self) {
        const LITTLE: usize = 32 << 20;
        self.origins = Vec::new();
        for layer in [&mut self.from, &mut self.to] {
            if layer.capacity() > LITTLE {
                *layer = Layer::new();
            }
        }
    }
}

/// The most ways in which a state can go on: none, one or two of six edges.
const MOST_MOVES: usize = 22;

/// The most states in a layer: an index distinguishes so many, and those that one more state leads to.
const MOST_STATES: usize = u32::MAX as usize - 2 * MOST_MOVES;

/// Sweeps over all nodes. Gives the number of solutions.
///
/// # Errors
/// [`Stop::Cancelled`], [`Stop::States`] and [`Stop::Memory`], the latter with the limit that was met.
pub fn sweep<S: States>(
    plan: &Plan,
    states: &mut S,
    keep: Keep,
    limits: Limits,
    layers: &mut Layers,
    cost: &mut Cost,
    watch: &Watch,
) -> Result<BigUint, Stop> {
    let words = states.words();
    let Layers {
        from,
        to,
        origins: all,
    } = layers;
    while all.pop().is_some() {
        watch.tick()?;
    }
    let mut border = Border::new(plan);
    let mut remembered = 0;
    from.reset(words, 1, 1, watch)?;
    from.add(&vec![0; words], &[1], watch)?;
    for step in &plan.steps {
        watch.tick()?;
        if from.len() == 0 {
            break;
        }
        border.take(step);
        // No sum can be larger than all ways together.
        let ways = (from.len() * MOST_MOVES).next_power_of_two().ilog2() as usize;
        let limbs = (from.count_bits(watch)? + ways).div_ceil(64).max(1);
        to.reset(words, limbs, from.len(), watch)?;
        all.push(Origins::default());
        let Some(origins) = all.last_mut() else {
            continue;
        };
        for index in 0..from.len() {
            watch.tick()?;
            if cost.states + to.len() as u64 >= limits.states {
                cost.states += to.len() as u64;
                return Err(Stop::States(limits.states));
            }
            let bytes = from.bytes() + to.bytes() + origins.bytes() + remembered;
            if bytes > limits.bytes || to.len() > MOST_STATES {
                cost.states += to.len() as u64;
                return Err(Stop::Memory(limits.bytes as u64 >> 20));
            }
            let count = from.count(index);
            let mut emit = |state: &[u64], chosen: u8| {
                let (to, is_new) = to.add(state, count, watch)?;
                let origin = Origin {
                    // A layer has no more states than an index can distinguish.
                    state: index as u32,
                    chosen,
                };
                origins.add(keep, to, is_new, origin);
                Ok(())
            };
            states.successors(step, &mut border, from.state(index), &mut emit)?;
        }
        remembered += origins.bytes();
        cost.states += to.len() as u64;
        cost.widest = cost.widest.max(to.len() as u64);
        std::mem::swap(from, to);
    }
    let count = (from.len() > 0).then(|| {
        let bytes: Vec<u8> = from
            .count(0)
            .iter()
            .flat_map(|limb| limb.to_le_bytes())
            .collect();
        BigUint::from_bytes_le(&bytes)
    });
    Ok(count.unwrap_or_default())
}
