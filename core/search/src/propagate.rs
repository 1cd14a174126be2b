//! What follows from what: domains, edges, fragments and colours, until nothing is new.

use crate::shapes::{Domain, Shapes};
use crate::state::{Owner, QUEUED, State};
use crate::topology::Topology;

/// The state has no solution.
#[derive(Clone, Copy, Debug)]
pub struct Dead;

/// Propagation on one board.
pub struct Propagation<'a, T> {
    pub topology: &'a T,
    pub state: &'a mut State,
    /// Where two owners are ends of the same colour: the colour by owner; else empty.
    pub groups: &'a [u32],
    /// Cells handled.
    pub steps: u64,
    /// Asked now and then; once it returns `true`, `stopped` is set and everything comes out dead.
    pub cancelled: &'a dyn Fn() -> bool,
    /// Given up: what came out means nothing.
    pub stopped: bool,
}

/// How many cells are handled between two checks of `cancelled`: some hundred microseconds.
const PATIENCE: u64 = 4096;

impl<T: Topology> Propagation<'_, T> {
    const WAYS: usize = T::Shapes::WAYS;
    const LANE: u32 = (1 << Self::WAYS) - 1;

    /// Leaves a cell no other shapes than these.
    #[inline(always)]
    pub fn restrict(&mut self, cell: usize, allowed: Domain) -> Result<(), Dead> {
        let found = &mut self.state.cells[cell];
        let old = found.domain;
        let new = old & allowed;
        if new == old {
            return Ok(());
        }
        if new == 0 {
            return Err(Dead);
        }
        found.domain = new;
        let news = T::Shapes::facts(new) & !found.known;
        if news != 0 && found.known & QUEUED == 0 {
            found.known |= QUEUED;
            self.state.queue.push(cell as u32);
        }
        self.state.log_domain(cell, old);
        Ok(())
    }

    /// What follows from the terminals. The queue holds every cell that may imply something.
    pub fn start(&mut self) -> Result<(), Dead> {
        for index in 0..self.state.queue.len() {
            let cell = self.state.queue[index] as usize;
            if self.state.cells[cell].domain == 0 {
                return Err(Dead);
            }
            if self.state.cells[cell].owner != 0 {
                self.look_around(cell)?;
            }
        }
        self.run()
    }

    /// Works until the queue is empty. First in, first out: contradictions show sooner so, with half the work.
    pub fn run(&mut self) -> Result<(), Dead> {
        let mut next = 0;
        while let Some(&cell) = self.state.queue.get(next) {
            next += 1;
            self.handle(cell as usize)?;
        }
        self.state.queue.clear();
        Ok(())
    }

    /// Acts on what is new in a cell.
    fn handle(&mut self, cell: usize) -> Result<(), Dead> {
        self.steps += 1;
        if self.steps.is_multiple_of(PATIENCE) && (self.cancelled)() {
            self.stopped = true;
            return Err(Dead);
        }
        let found = &mut self.state.cells[cell];
        found.known &= !QUEUED;
        let fresh = T::Shapes::facts(found.domain) & !found.known;
        let mut on = fresh & Self::LANE;
        while on != 0 {
            let way = on.trailing_zeros() as usize;
            on &= on - 1;
            self.join(cell, way)?;
        }
        let mut off = fresh >> Self::WAYS & Self::LANE;
        while off != 0 {
            let way = off.trailing_zeros() as usize;
            off &= off - 1;
            self.part(cell, way)?;
        }
        let chains = fresh >> (2 * Self::WAYS);
        if chains == 0 {
            return Ok(());
        }
        self.state.cells[cell].known |= chains << (2 * Self::WAYS);
        let mut ended = chains & Self::LANE;
        while ended != 0 {
            let turn = ended.trailing_zeros() as usize;
            ended &= ended - 1;
            self.end_chain(cell, turn)?;
        }
        let turns = chains >> Self::WAYS;
        if turns != 0 {
            let turn = turns.trailing_zeros() as usize;
            self.restrict(self.topology.ahead(cell, turn), T::Shapes::CHAIN[turn])?;
        }
        Ok(())
    }

    /// No cell behind this one can take a turn, as far as the chain goes.
    fn end_chain(&mut self, cell: usize, turn: usize) -> Result<(), Dead> {
        let mut cell = self.topology.behind(cell, turn);
        loop {
            let found = &mut self.state.cells[cell];
            if found.domain & 1 << turn == 0 {
                return Ok(());
            }
            let ends_here = found.domain & T::Shapes::CHAIN[turn] == 1 << turn;
            found.known |= u32::from(ends_here) << (2 * Self::WAYS + turn);
            self.restrict(cell, !(1 << turn))?;
            if !ends_here {
                return Ok(());
            }
            cell = self.topology.behind(cell, turn);
        }
    }

    /// The way back.
    #[inline(always)]
    fn opposite(way: usize) -> usize {
        if Self::WAYS == 4 {
            way ^ 2
        } else {
            (way + Self::WAYS / 2) % Self::WAYS
        }
    }

    /// There is no edge this way.
    fn part(&mut self, cell: usize, way: usize) -> Result<(), Dead> {
        let other = self.topology.neighbour(cell, way);
        let back = Self::opposite(way);
        let here = &mut self.state.cells[cell];
        here.known |= 1 << (Self::WAYS + way);
        let (mate, owner) = (here.mate, here.owner);
        let there = &mut self.state.cells[other];
        there.known |= 1 << (Self::WAYS + back);
        if owner != 0 && there.owner == owner {
            return Err(Dead);
        }
        // Both ends of one fragment would touch.
        if mate as usize == other && there.mate as usize == cell {
            return Err(Dead);
        }
        self.restrict(other, !T::Shapes::WITH[back])
    }

    /// There is an edge this way.
    fn join(&mut self, cell: usize, way: usize) -> Result<(), Dead> {
        let other = self.topology.neighbour(cell, way);
        let back = Self::opposite(way);
        let here = &mut self.state.cells[cell];
        here.known |= 1 << way;
        let (end, owner) = (here.mate, here.owner);
        let there = &mut self.state.cells[other];
        there.known |= 1 << back;
        let (other_end, other_owner) = (there.mate, there.owner);
        self.restrict(other, T::Shapes::WITH[back])?;
        if end as usize == other {
            return Err(Dead);
        }
        self.state.set_mate(end as usize, other_end);
        self.state.set_mate(other_end as usize, end);
        match (owner, other_owner) {
            (0, 0) => {
                let (end, other_end) = (end as usize, other_end as usize);
                let only_two = end == cell && other_end == other;
                if !only_two && self.topology.adjacent(end, other_end) {
                    return Err(Dead);
                }
                Ok(())
            }
            (0, owner) => self.paint(cell, way, owner),
            (owner, 0) => self.paint(other, back, owner),
            (a, b) if a == b => Ok(()),
            (a, b) => self.complete(end as usize, a, b),
        }
    }

    /// Gives a fragment's cells their owner, from one that was joined `from` some way.
    fn paint(&mut self, mut cell: usize, mut from: usize, owner: Owner) -> Result<(), Dead> {
        loop {
            self.state.set_owner(cell, owner);
            self.look_around(cell)?;
            let on = self.state.cells[cell].known & Self::LANE & !(1 << from);
            if on == 0 {
                return Ok(());
            }
            let way = on.trailing_zeros() as usize;
            cell = self.topology.neighbour(cell, way);
            from = Self::opposite(way);
        }
    }

    /// Neighbours are joined exactly when they belong to one flow.
    pub fn look_around(&mut self, cell: usize) -> Result<(), Dead> {
        let here = self.state.cells[cell];
        let owner = here.owner;
        let mut apart = !here.known & Self::LANE;
        while apart != 0 {
            let way = apart.trailing_zeros() as usize;
            apart &= apart - 1;
            let beside = self.state.cells[self.topology.neighbour(cell, way)].owner;
            if beside == 0 {
                continue;
            }
            let with = T::Shapes::WITH[way];
            let is_off = here.known >> (Self::WAYS + way) & 1 != 0;
            if beside == owner {
                if is_off {
                    return Err(Dead);
                }
                self.restrict(cell, with)?;
            } else if !is_off && !self.may_join(owner, beside) {
                self.restrict(cell, !with)?;
            }
        }
        Ok(())
    }

    /// Whether two owners are ends of one colour that may turn out to be the same flow's.
    #[inline(always)]
    fn may_join(&self, a: Owner, b: Owner) -> bool {
        !self.groups.is_empty() && self.groups[a as usize] == self.groups[b as usize]
    }

    /// Two ends of a colour with more ends have met: from here on they have one owner.
    #[cold]
    fn complete(&mut self, end: usize, a: Owner, b: Owner) -> Result<(), Dead> {
        if !self.may_join(a, b) {
            return Err(Dead);
        }
        let (kept, given_up) = (a.min(b), a.max(b));
        let mut cell = end;
        let mut from = None;
        loop {
            if self.state.cells[cell].owner == given_up {
                self.state.set_owner(cell, kept);
            }
            let on = self.state.cells[cell].known & Self::LANE;
            for way in 0..Self::WAYS {
                let beside = self.state.cells[self.topology.neighbour(cell, way)].owner;
                if on >> way & 1 == 0 && (beside == a || beside == b) {
                    return Err(Dead);
                }
            }
            let on = from.map_or(on, |from: usize| on & !(1 << from));
            if on == 0 {
                return Ok(());
            }
            let way = on.trailing_zeros() as usize;
            cell = self.topology.neighbour(cell, way);
            from = Some(Self::opposite(way));
        }
    }
}
