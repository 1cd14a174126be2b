//! Systems on which a process can't be confined.

use std::io;
use std::path::PathBuf;

use flowpipe_confinement::Rules;

use crate::confinement::{Confinement, Unreadable};

pub(super) fn of(_: &Confinement, _: &[PathBuf]) -> io::Result<(Rules, Vec<Unreadable>)> {
    Ok((Rules::loose()?, Vec::new()))
}
