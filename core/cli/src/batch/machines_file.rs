//! The file of machines that do batches.

use std::path::Path;

use flowpipe_config::pipeline::Machines;
use flowpipe_config::reader::batch_machines::{self, BatchMachines};

use crate::args::Global;
use crate::exit::Failure;
use crate::{input, outputs, pipeline_file};

/// The largest file, in bytes: as of a pipeline.
const MOST: u64 = flowpipe_config::reader::MAX_BYTES as u64;

/// Reads a file of machines, or shows its errors and returns `None`. Relative paths in it start at its folder.
///
/// # Errors
/// When the file can't be read.
pub fn read_or_show(path: &Path, global: &Global) -> Result<Option<BatchMachines>, Failure> {
    let text = text(path)?;
    match batch_machines::read(&path.display().to_string(), &text) {
        Ok(mut read) => {
            resolve(&mut read.machines, path);
            Ok(Some(read))
        }
        Err(errors) => {
            pipeline_file::show(errors, global);
            Ok(None)
        }
    }
}

/// Whether a file is one of machines that do batches, and no pipeline.
pub fn is_one(path: &Path) -> bool {
    // What can't be read is reported when it is read as a pipeline.
    path.is_file() && text(path).is_ok_and(|text| batch_machines::is_batch_machines(&text))
}

fn text(path: &Path) -> Result<String, Failure> {
    outputs::note_input(path);
    let bytes = input::read(path, MOST)?;
    String::from_utf8(bytes).map_err(|_| {
        let path = path.display();
        Failure::Config(format!("{path}: this is not UTF-8 text"))
    })
}

fn resolve(machines: &mut Machines, path: &Path) {
    let folder = path.parent().unwrap_or(Path::new(""));
    for machine in &mut machines.all {
        let certificates = folder.join(&machine.certificates);
        // A name that is no text stays as it is, and is not found.
        if let Some(certificates) = certificates.to_str() {
            machine.certificates = certificates.to_owned();
        }
    }
}
