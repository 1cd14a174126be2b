//! Which nodes lie on the frontier now, and whether two flows would have to cross.

use flowpipe_plugin::puzzle::Node;

use crate::plan::{Plan, Slot, Step};

/// The frontier while a sweep is made, without any state.
pub struct Border<'a> {
    plan: &'a Plan,
    /// By slot.
    occupants: Vec<Option<Node>>,
    /// Slots whose nodes are beside each other.
    touching: Vec<[Slot; 2]>,
    /// The occupied slots along the border. Empty where they add no information.
    along: Vec<Slot>,
    /// By colour, while crossings are looked for.
    met: Vec<Met>,
    seen: Vec<u16>,
    open: Vec<Open>,
    faces: usize,
}

/// What ends in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A pipe with a terminal at its other end, or a terminal itself.
    Colour(u16),
    /// A pipe whose other end is on the border too. Both have the same number, other pipes others.
    Pipe(usize),
}

/// How far a colour is met on the way along the border, and in which face.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Met {
    No,
    Once(usize),
    /// Its other end must not be met in this face: it was, or this one lies between the two ends of
    /// another colour.
    Enclosed(usize),
}

/// What is met and may have another end further on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Colour(u16),
    /// The face below a pipe.
    Face {
        by: usize,
        face: usize,
    },
}

impl<'a> Border<'a> {
    /// The frontier before the first step.
    pub fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            occupants: vec![None; plan.slots],
            touching: Vec::new(),
            along: Vec::new(),
            met: vec![Met::No; plan.colours],
            seen: Vec::new(),
            open: Vec::new(),
            faces: 0,
        }
    }

    /// The frontier after a step.
    pub fn take(&mut self, step: &Step) {
        if let Some(slot) = step.slot {
            self.occupants[slot] = None;
            self.touching.retain(|pair| !pair.contains(&slot));
        }
        for ahead in step.ahead.iter().filter(|ahead| ahead.fresh) {
            self.occupants[ahead.slot] = Some(ahead.node);
            let beside = ahead.touching.iter();
            self.touching.extend(beside.map(|&slot| [slot, ahead.slot]));
        }
        if let (Some(along), 2..) = (&self.plan.along, self.plan.colours) {
            let occupied = self.occupants.iter().enumerate();
            let mut nodes: Vec<(Slot, Node)> = occupied
                .filter_map(|(slot, occupant)| Some((slot, (*occupant)?)))
                .collect();
            nodes.sort_by_key(|&(_, node)| along[node]);
            self.along.clear();
            self.along.extend(nodes.into_iter().map(|(slot, _)| slot));
        }
    }

    /// The plan of the sweep.
    pub fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Whether a pipe ends at a slot for now, or a terminal waits there, when its node has a class.
    pub fn is_end(&self, slot: Slot, class: usize) -> bool {
        self.occupants[slot].is_some_and(|node| self.plan.residues(node).is_end(class))
    }

    /// The pairs of slots whose nodes are beside each other: whether an edge is on between them is
    /// not decided yet.
    pub fn touching(&self) -> &[[Slot; 2]] {
        &self.touching
    }

    /// Whether two flows would have to cross. `mark_at` gives what ends in a slot, if something does.
    ///
    /// Pipes whose ends both lie on the border divide what is swept into faces. Four ends in one face
    /// that belong to two colours in turn can't be joined: all that is left, and the pipes around the face,
    /// lie on its other side, which is as flat as a disc.
    pub fn has_crossing(&mut self, mark_at: impl Fn(&Self, Slot) -> Option<Mark>) -> bool {
        let along = std::mem::take(&mut self.along);
        self.faces = 0;
        let crossing = along.iter().any(|&slot| match mark_at(self, slot) {
            None => false,
            Some(Mark::Pipe(pipe)) => {
                self.passes(pipe);
                false
            }
            Some(Mark::Colour(colour)) => {
                self.plan.single_pair[usize::from(colour)] && self.meets(colour)
            }
        });
        self.along = along;
        self.open.clear();
        for colour in self.seen.drain(..) {
            self.met[usize::from(colour)] = Met::No;
        }
        crossing
    }

    /// An end of a pipe is met: the face below it begins or ends.
    fn passes(&mut self, pipe: usize) {
        let mut open = self.open.iter().enumerate().rev();
        let around = open.find_map(|(at, open)| match open {
            Open::Face { by, .. } => Some((at, *by)),
            Open::Colour(_) => None,
        });
        match around {
            Some((at, by)) if by == pipe => self.open.truncate(at),
            _ => {
                self.faces += 1;
                self.open.push(Open::Face {
                    by: pipe,
                    face: self.faces,
                });
            }
        }
    }

    /// The end of a colour is met. Whether it would have to cross another.
    fn meets(&mut self, colour: u16) -> bool {
        let face = self.open.iter().rev().find_map(|open| match open {
            Open::Face { face, .. } => Some(*face),
            Open::Colour(_) => None,
        });
        let face = face.unwrap_or(0);
        match self.met[usize::from(colour)] {
            Met::No => {
                self.met[usize::from(colour)] = Met::Once(face);
                self.seen.push(colour);
                self.open.push(Open::Colour(colour));
            }
            Met::Once(before) if before == face => {
                // Faces between the two are closed already, so only colours are.
                while let Some(Open::Colour(between)) = self.open.pop() {
                    self.met[usize::from(between)] = Met::Enclosed(face);
                    if between == colour {
                        break;
                    }
                }
            }
            Met::Enclosed(before) if before == face => return true,
            Met::Once(_) | Met::Enclosed(_) => {}
        }
        false
    }
}
