//! States where no flow may touch itself: what each node of the frontier can still become, which of
//! them belong to one pipe, and which pipes may not become one.
//!
//! A pipe here is whatever will be one flow: joined nodes, or a node by itself that no flow has taken
//! yet. Its nodes are remembered even when they are full, for as long as it has an end on the frontier, and so
//! are its colour and its enemies: pipes that lie beside it without being joined there, and so must stay
//! apart for good. A pipe that is finished has no future, and two pipes of different colours
//! stay apart anyhow; so both are forgotten, and only differences that matter distinguish states.

use crate::border::{Border, Mark};
use crate::fields::Fields;
use crate::plan::{Ahead, Plan, Slot, Step};
use crate::states::States;
use crate::subsets;
use crate::watch::Stop;

/// The widest frontier: numbers of pipes are bits of one number, and a step brings up to seven more.
pub const MOST_SLOTS: usize = 120;

/// The number of a pipe. In a state it is its first slot. In the making, new ones follow after the slots.
type Pipe = usize;

/// The colour of a pipe: 0 none yet, else one more than the colour's index.
type Tint = usize;

/// The kind of states.
pub struct Chords {
    slots: usize,
    single_pair: Vec<bool>,
    classes: Fields,
    /// By slot: 0 for a node that is of no consequence, else one more than its pipe.
    pipes: Fields,
    /// By pipe, which is a slot.
    tints: Fields,
    /// By pair of pipes: whether they are enemies.
    enemies: Fields,
    from: Scene,
    to: Scene,
    next: Vec<u64>,
}

/// A state, unpacked.
#[derive(Clone)]
struct Scene {
    class: Vec<u8>,
    pipe: Vec<Option<Pipe>>,
    /// By pipe.
    tint: Vec<Tint>,
    /// By pipe, pipe by pipe a bit.
    enemies: Vec<u128>,
}

impl Scene {
    fn copy(&mut self, other: &Self) {
        self.class.copy_from_slice(&other.class);
        self.pipe.copy_from_slice(&other.pipe);
        self.tint.copy_from_slice(&other.tint);
        self.enemies.copy_from_slice(&other.enemies);
    }

    fn are_enemies(&self, a: Pipe, b: Pipe) -> bool {
        self.enemies[a] >> b & 1 == 1
    }

    fn make_enemies(&mut self, a: Pipe, b: Pipe) {
        self.enemies[a] |= 1 << b;
        self.enemies[b] |= 1 << a;
    }

    /// Forgets a pipe: no node belongs to it any more.
    fn forget(&mut self, pipe: Pipe) {
        for other in bits(std::mem::take(&mut self.enemies[pipe])) {
            self.enemies[other] &= !(1 << pipe);
        }
        for of in &mut self.pipe {
            if *of == Some(pipe) {
                *of = None;
            }
        }
        self.tint[pipe] = 0;
    }

    /// Makes `b` a part of `a`.
    fn join(&mut self, a: Pipe, b: Pipe) {
        for other in bits(self.enemies[b]) {
            self.make_enemies(a, other);
        }
        for of in &mut self.pipe {
            if *of == Some(b) {
                *of = Some(a);
            }
        }
        self.forget(b);
    }
}

/// The numbers of the bits that are set.
fn bits(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(bit)
    })
}

/// The index of a pair of pipes among all pairs.
fn pair(a: Pipe, b: Pipe) -> usize {
    let (low, high) = (a.min(b), a.max(b));
    high * (high - 1) / 2 + low
}

impl Chords {
    /// States for a plan.
    ///
    /// # Errors
    /// [`Stop::Wide`].
    pub fn new(plan: &Plan) -> Result<Self, Stop> {
        let slots = plan.slots;
        if slots > MOST_SLOTS {
            return Err(Stop::Wide {
                nodes: slots,
                most: MOST_SLOTS,
            });
        }
        let classes = Fields::new(0, slots, plan.classes - 1);
        let pipes = Fields::new(classes.end(), slots, slots);
        let tints = Fields::new(pipes.end(), slots, plan.colours);
        let enemies = Fields::new(tints.end(), pair(0, slots.max(1)), 1);
        let scene = Scene {
            class: vec![0; slots],
            pipe: vec![None; slots],
            tint: vec![0; slots + 8],
            enemies: vec![0; slots + 8],
        };
        Ok(Self {
            slots,
            single_pair: plan.single_pair.clone(),
            classes,
            pipes,
            tints,
            enemies,
            from: scene.clone(),
            to: scene,
            next: vec![0; enemies.end()],
        })
    }

    fn unpack(&mut self, state: &[u64]) {
        let from = &mut self.from;
        from.enemies.fill(0);
        for slot in 0..self.slots {
            // At most 64 classes, so the cast keeps them.
            from.class[slot] = self.classes.get(state, slot) as u8;
            from.pipe[slot] = self.pipes.get(state, slot).checked_sub(1);
            from.tint[slot] = self.tints.get(state, slot);
            if from.pipe[slot] == Some(slot) {
                for before in 0..slot {
                    if from.pipe[before] == Some(before)
                        && self.enemies.get(state, pair(before, slot)) == 1
                    {
                        from.make_enemies(before, slot);
                    }
                }
            }
        }
    }

    /// Packs the scene, pipes renamed to their first slots.
    fn pack(&mut self) {
        self.next.fill(0);
        let mut name = [usize::MAX; MOST_SLOTS + 8];
        let mut named: u128 = 0;
        for slot in 0..self.slots {
            self.classes
                .set(&mut self.next, slot, self.to.class[slot].into());
            let Some(pipe) = self.to.pipe[slot] else {
                continue;
            };
            if name[pipe] == usize::MAX {
                name[pipe] = slot;
                self.tints.set(&mut self.next, slot, self.to.tint[pipe]);
                for enemy in bits(self.to.enemies[pipe] & named) {
                    self.enemies.set(&mut self.next, pair(name[enemy], slot), 1);
                }
                named |= 1 << pipe;
            }
            self.pipes.set(&mut self.next, slot, name[pipe] + 1);
        }
    }

    /// Changes the scene by a move; `false`: that breaks a rule.
    fn go(&mut self, step: &Step, border: &Border, class: usize, chosen: u8) -> bool {
        self.to.copy(&self.from);
        let plan = border.plan();
        let done = plan.residues(step.node).is_done(class);
        let here = self.slots;
        let own = match step.slot {
            Some(slot) => {
                self.to.class[slot] = 0;
                self.to.pipe[slot].take()
            }
            None if done => None,
            None => {
                self.to.tint[here] = tint(step.terminal);
                Some(here)
            }
        };
        for (index, ahead) in step.ahead.iter().enumerate() {
            if ahead.fresh {
                self.settle(plan, ahead, here + 1 + index);
            }
        }
        let used = chosen != 0 || done;
        match own {
            Some(own) if used => self.take(step, border, own, chosen),
            own => {
                if let Some(own) = own {
                    self.to.forget(own);
                }
                step.ahead
                    .iter()
                    .all(|ahead| self.decide(plan, ahead, false))
            }
        }
    }

    /// A node comes to the frontier as a pipe by itself.
    fn settle(&mut self, plan: &Plan, ahead: &Ahead, pipe: Pipe) {
        let done = plan.residues(ahead.node).is_done(0);
        self.to.class[ahead.slot] = 0;
        self.to.pipe[ahead.slot] = (!done).then_some(pipe);
        self.to.tint[pipe] = tint(ahead.terminal);
    }

    /// An edge to a node ahead is decided. Returns whether that is possible.
    fn decide(&mut self, plan: &Plan, ahead: &Ahead, on: bool) -> bool {
        let residues = plan.residues(ahead.node);
        let class = usize::from(self.to.class[ahead.slot]);
        let Some(after) = residues.after(class, ahead.back, on) else {
            return false;
        };
        self.to.class[ahead.slot] = after;
        // An edge that is off ends what a node can become only when it has none that is on.
        let dies = !on && residues.is_done(after.into()) && !residues.is_done(class);
        if let Some(pipe) = self.to.pipe[ahead.slot].filter(|_| dies) {
            self.to.forget(pipe);
        }
        true
    }

    /// The node that is swept is part of the pipe `own`, and goes on in the chosen ways.
    fn take(&mut self, step: &Step, border: &Border, own: Pipe, chosen: u8) -> bool {
        let plan = border.plan();
        let mut finished = false;
        for ahead in step.ahead.iter().filter(|ahead| ahead.is_on(chosen)) {
            let Some(other) = self.to.pipe[ahead.slot] else {
                return false;
            };
            if other == own || self.to.are_enemies(own, other) {
                return false;
            }
            match (self.to.tint[own], self.to.tint[other]) {
                (0, tint) | (tint, 0) => {
                    self.to.join(own, other);
                    self.to.tint[own] = tint;
                }
                (a, b) if a == b => {
                    self.to.join(own, other);
                    finished = true;
                }
                _ => return false,
            }
            if !self.decide(plan, ahead, true) {
                return false;
            }
        }
        // Two nodes of one pipe beside each other: joined they would close a ring, else it would touch itself.
        let is_own = |slot: &Slot| self.to.pipe[*slot] == Some(own);
        if border.touching().iter().any(|pair| pair.iter().all(is_own)) {
            return false;
        }
        for ahead in step.ahead.iter().filter(|ahead| !ahead.is_on(chosen)) {
            if self.to.pipe[ahead.slot] == Some(own) || !self.decide(plan, ahead, false) {
                return false;
            }
            if let Some(other) = self.to.pipe[ahead.slot] {
                self.to.make_enemies(own, other);
            }
        }
        if finished {
            self.to.forget(own);
            return true;
        }
        self.settle_enmities(own)
    }

    /// Enemies of different colours need not be remembered; the two halves of one flow cannot be any.
    fn settle_enmities(&mut self, own: Pipe) -> bool {
        let Some(colour) = self.to.tint[own].checked_sub(1) else {
            return true;
        };
        for other in bits(self.to.enemies[own]) {
            match self.to.tint[other].checked_sub(1) {
                None => {}
                Some(same) if same == colour && self.single_pair[colour] => return false,
                Some(same) if same == colour => {}
                Some(_) => {
                    self.to.enemies[own] &= !(1 << other);
                    self.to.enemies[other] &= !(1 << own);
                }
            }
        }
        true
    }
}

fn tint(colour: Option<u16>) -> Tint {
    colour.map_or(0, |colour| usize::from(colour) + 1)
}

impl States for Chords {
    fn words(&self) -> usize {
        self.enemies.end()
    }

    fn successors(
        &mut self,
        step: &Step,
        border: &mut Border,
        state: &[u64],
        emit: &mut impl FnMut(&[u64], u8) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.unpack(state);
        let class = step
            .slot
            .map_or(0, |slot: Slot| self.from.class[slot].into());
        let residues = border.plan().residues(step.node);
        for chosen in subsets::each(residues.subsets(class)) {
            // Six edges at most, so the cast keeps it.
            let chosen = chosen as u8;
            if !self.go(step, border, class, chosen) {
                continue;
            }
            let to = &self.to;
            let crossing = self.single_pair.len() > 1
                && border.has_crossing(|border, slot| {
                    let pipe = to.pipe[slot]?;
                    if !border.is_end(slot, to.class[slot].into()) {
                        return None;
                    }
                    let colour = to.tint[pipe].checked_sub(1);
                    let colour = colour.and_then(|colour| u16::try_from(colour).ok());
                    Some(colour.map_or(Mark::Pipe(pipe), Mark::Colour))
                });
            if !crossing {
                self.pack();
                emit(&self.next, chosen)?;
            }
        }
        Ok(())
    }
}
