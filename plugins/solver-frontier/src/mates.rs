//! States where flows may touch themselves: what each node of the frontier can still become, and for
//! each end of a pipe where its other end is.
//!
//! These are the mates of Knuth's Simpath, with colours in the place of ends that are terminals already
//! (Yoshinaka et al. 2012).

use crate::border::{Border, Mark};
use crate::fields::Fields;
use crate::plan::{Plan, Slot, Step};
use crate::states::States;
use crate::subsets;
use crate::watch::Stop;

/// What a slot's node is to its pipe: 0 nothing, else [`Mates::at_slot`] or [`Mates::of_colour`].
type Label = usize;

/// The kind of states.
pub struct Mates {
    slots: usize,
    colours: usize,
    classes: Fields,
    labels: Fields,
    /// The state in the making.
    next: Vec<u64>,
}

impl Mates {
    /// States for a plan.
    pub fn new(plan: &Plan) -> Self {
        let classes = Fields::new(0, plan.slots, plan.classes - 1);
        let labels = Fields::new(classes.end(), plan.slots, plan.slots + plan.colours);
        Self {
            slots: plan.slots,
            colours: plan.colours,
            classes,
            labels,
            next: vec![0; labels.end()],
        }
    }

    /// The pipe's other end lies in a slot.
    fn at_slot(slot: Slot) -> Label {
        slot + 1
    }

    /// The pipe's other end is a terminal, or this is a terminal without a pipe.
    fn of_colour(&self, colour: Option<u16>) -> Label {
        colour.map_or(0, |colour| self.slots + 1 + usize::from(colour))
    }

    fn slot_of(&self, label: Label) -> Option<Slot> {
        label.checked_sub(1).filter(|&slot| slot < self.slots)
    }

    fn colour_of(&self, label: Label) -> Option<u16> {
        u16::try_from(label.checked_sub(self.slots + 1)?).ok()
    }

    /// Makes the state after a move in `next`, unless it breaks a rule. Returns whether a colour has
    /// come to a new place.
    fn go(&mut self, plan: &Plan, step: &Step, label: Label, chosen: u8) -> Option<bool> {
        // The ends that the node joins: where they are, what is known of their other ends.
        let mut ends = [(usize::MAX, 0); 2];
        let mut count = 0;
        let mut recoloured = false;
        if chosen != 0 && label != 0 {
            ends[0] = (step.slot.unwrap_or(usize::MAX), label);
            count = 1;
        }
        for ahead in &step.ahead {
            let on = ahead.is_on(chosen);
            let (class, label) = if ahead.fresh {
                recoloured |= ahead.terminal.is_some();
                (0, self.of_colour(ahead.terminal))
            } else {
                (
                    self.classes.get(&self.next, ahead.slot),
                    self.labels.get(&self.next, ahead.slot),
                )
            };
            let class = plan.residues(ahead.node).after(class, ahead.back, on)?;
            self.classes.set(&mut self.next, ahead.slot, class.into());
            if !on {
                self.labels.set(&mut self.next, ahead.slot, label);
                continue;
            }
            let is_ring = count == 1 && label != 0 && label == Self::at_slot_or_none(ends[0].0);
            if is_ring {
                return None;
            }
            self.labels.set(&mut self.next, ahead.slot, 0);
            // A node without a pipe becomes the end of one.
            let other = if label == 0 {
                Self::at_slot(ahead.slot)
            } else {
                label
            };
            ends[count] = (ahead.slot, other);
            count += 1;
        }
        if count == 2 {
            let [(_, a), (_, b)] = ends;
            match (self.slot_of(a), self.slot_of(b)) {
                (None, None) if a != b => return None,
                (None, None) => {}
                (at_a, at_b) => {
                    recoloured |= at_a.is_none() || at_b.is_none();
                    for (at, label) in [(at_a, b), (at_b, a)] {
                        if let Some(slot) = at {
                            self.labels.set(&mut self.next, slot, label);
                        }
                    }
                }
            }
        }
        Some(recoloured)
    }

    fn at_slot_or_none(slot: Slot) -> Label {
        slot.wrapping_add(1)
    }
}

impl States for Mates {
    fn words(&self) -> usize {
        self.labels.end()
    }

    fn successors(
        &mut self,
        step: &Step,
        border: &mut Border,
        state: &[u64],
        emit: &mut impl FnMut(&[u64], u8) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let (class, label) = match step.slot {
            Some(slot) => (self.classes.get(state, slot), self.labels.get(state, slot)),
            None => (0, self.of_colour(step.terminal)),
        };
        let plan = border.plan();
        for chosen in subsets::each(plan.residues(step.node).subsets(class)) {
            // Six edges at most, so the cast keeps it.
            let chosen = chosen as u8;
            self.next.copy_from_slice(state);
            if let Some(slot) = step.slot {
                self.classes.set(&mut self.next, slot, 0);
                self.labels.set(&mut self.next, slot, 0);
            }
            let Some(recoloured) = self.go(plan, step, label, chosen) else {
                continue;
            };
            let crossing = recoloured
                && self.colours > 1
                && border.has_crossing(|_, slot| {
                    let label = self.labels.get(&self.next, slot);
                    let pipe = self.slot_of(label).map(|other| Mark::Pipe(slot.min(other)));
                    pipe.or_else(|| self.colour_of(label).map(Mark::Colour))
                });
            if !crossing {
                emit(&self.next, chosen)?;
            }
        }
        Ok(())
    }
}
