//! Which windows belong to this program, or to those that it was started by, such as the terminal.

use flowpipe_process::ancestors;

/// This process and those that it descends from.
pub(crate) struct OwnProcesses {
    processes: Vec<u32>,
    /// The name of this machine, where it is known: numbers of processes are those of one machine, and a display server
    /// shows windows of several.
    machine: Option<String>,
}

impl OwnProcesses {
    pub(crate) fn find() -> Self {
        let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
        Self {
            processes: ancestors::lineage(),
            machine,
        }
    }

    /// Whether a window is an own one, by its process and its machine as it declares them. One that declares no process
    /// is not.
    pub(crate) fn own(&self, process: Option<u32>, machine: Option<&str>) -> bool {
        let is_here = match (machine, self.machine.as_deref()) {
            (Some(theirs), Some(ours)) => host(theirs) == host(ours),
            _ => true,
        };
        is_here && process.is_some_and(|process| self.processes.contains(&process))
    }
}

/// A machine's name without its domain, which not every program adds.
fn host(machine: &str) -> String {
    let name = machine.trim().split('.').next().unwrap_or_default();
    name.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_that_of_its_machine() {
        let own = OwnProcesses {
            processes: vec![7, 3],
            machine: Some("here\n".to_owned()),
        };
        assert!(own.own(Some(3), None));
        assert!(own.own(Some(7), Some("HERE.example.org")));
        assert!(!own.own(Some(7), Some("there")));
        assert!(!own.own(Some(8), Some("here")));
        assert!(!own.own(None, Some("here")));
    }
}
