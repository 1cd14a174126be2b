//! Systems on which a process can't be confined.
#![allow(dead_code, reason = "used on Linux")]

pub(super) mod landlock {
    use std::path::PathBuf;

    use crate::confinement::{Confinement, Unreadable};

    pub(in crate::confinement) fn confine(
        _: &Confinement,
        _: &[PathBuf],
    ) -> Result<Vec<Unreadable>, String> {
        Ok(Vec::new())
    }

    pub(in crate::confinement) fn gap() -> Option<String> {
        Some(
            "on this system they may do whatever their user may; Linux can confine them".to_owned(),
        )
    }
}

pub(super) mod seccomp {
    use crate::confinement::Confinement;

    pub(in crate::confinement) const GAP: &str =
        "seccomp is not there: they may run commands, and use the network and the display";

    pub(in crate::confinement) fn confine(_: &Confinement) -> Result<(), String> {
        Ok(())
    }

    pub(in crate::confinement) fn gap() -> Option<String> {
        cfg!(target_os = "linux").then(|| GAP.to_owned())
    }
}
