//! The ends of cycles whose stages are on several machines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flowpipe_config::pipeline::Machines;
use flowpipe_engine::run::remote::DividedCycle;
use flowpipe_machines::Bridge;

/// The cycles of which this machine has a part.
pub struct DividedCycles {
    own: usize,
    cycles: Vec<DividedCycle>,
    /// The machines of each cycle.
    machines: Vec<BTreeSet<usize>>,
    idle: IdleMachines,
    /// What the others know of this machine: the other machine, and the cycle.
    sent: BTreeSet<(usize, usize)>,
}

/// The cycles and the machines that have been idle in them. Each machine reports itself.
#[derive(Clone, Default)]
pub struct IdleMachines {
    known: Arc<Mutex<BTreeSet<(usize, usize)>>>,
    /// How many cycles there are at most.
    cycles: usize,
}

impl DividedCycles {
    /// `cycles`: the cycles. `own`: this machine.
    pub fn new(cycles: Vec<DividedCycle>, machines: &Machines, own: usize) -> Self {
        let of_stages = &machines.of_stages;
        let of = |cycle: &DividedCycle| cycle.stages().iter().map(|it| of_stages[*it]).collect();
        Self {
            own,
            machines: cycles.iter().map(of).collect(),
            cycles,
            idle: IdleMachines {
                known: Arc::default(),
                cycles: of_stages.len(),
            },
            sent: BTreeSet::new(),
        }
    }

    /// The cycles, for each bridge.
    pub fn all(&self) -> &[DividedCycle] {
        &self.cycles
    }

    /// What other machines report is added here.
    pub fn idle_machines(&self) -> IdleMachines {
        self.idle.clone()
    }

    /// Reports what is new, and ends the cycles whose machines have all been idle.
    pub fn update(&mut self, bridges: &BTreeMap<usize, Bridge>) {
        for (cycle, machines) in self.cycles.iter().zip(&self.machines) {
            if !cycle.is_idle() {
                continue;
            }
            let cycle = cycle.index();
            self.idle.report(cycle, self.own);
            // All machines of a cycle are connected: there are two.
            for (&to, bridge) in bridges.iter().filter(|(it, _)| machines.contains(*it)) {
                // It is tried again where it was not taken.
                if !self.sent.contains(&(to, cycle)) && bridge.send_idle(cycle) {
                    self.sent.insert((to, cycle));
                }
            }
        }
        let known = self.idle.lock().clone();
        for (cycle, machines) in self.cycles.iter().zip(&self.machines) {
            let is_idle = |machine: &usize| known.contains(&(cycle.index(), *machine));
            if machines.iter().all(is_idle) {
                cycle.others_are_idle();
            }
        }
    }
}

impl IdleMachines {
    /// A machine has been idle in a cycle. A cycle that the pipeline does not have is ignored.
    pub fn report(&self, cycle: usize, machine: usize) {
        if cycle < self.cycles {
            self.lock().insert((cycle, machine));
        }
    }

    /// A machine is dead: no cycle waits for it.
    pub fn report_death(&self, machine: usize) {
        (0..self.cycles).for_each(|cycle| self.report(cycle, machine));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(usize, usize)>> {
        // Nothing here can be left half done.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
