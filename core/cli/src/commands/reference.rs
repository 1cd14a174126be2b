//! `flowpipe reference DIR`: the reference pages of the book.

use crate::args;
use crate::exit::{Ended, Failure};
use crate::{outputs, reference};

pub fn run(args: &args::Reference) -> Result<Ended, Failure> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(outputs::failure(folder))?;
    for (name, page) in reference::pages() {
        outputs::write_derived(&folder.join(name), page.into_bytes())?;
    }
    Ok(Ended::Done)
}
