//! A folder with the pictures of the steps of one reading.

use std::path::{Path, PathBuf};

use flowpipe_plugin::{Error, Result};

use crate::steps::sketch::Sketch;

/// A folder with the pictures of one look, the last one that had any.
pub(super) struct Album {
    folder: PathBuf,
    /// The pictures in it that are ours.
    pages: Vec<PathBuf>,
    /// Whether they are of an earlier look.
    pub(super) is_old: bool,
}

impl Album {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        flowpipe_output::own_folder(folder).map_err(|error| {
            Error::bad_config(format!(
                "the folder {} can't be used for pictures: {error}",
                folder.display()
            ))
        })?;
        Ok(Self {
            folder: folder.to_owned(),
            pages: Vec::new(),
            is_old: false,
        })
    }

    pub(super) fn add(&mut self, name: &str, sketch: &Sketch) -> Result<()> {
        if std::mem::take(&mut self.is_old) {
            for page in self.pages.drain(..) {
                // Who took it away has what we want.
                let _ = std::fs::remove_file(page);
            }
        }
        let number = self.pages.len() + 1;
        let file = format!("{number:02}-{}.png", name.replace([' ', '/', '\\'], "-"));
        let page = self.folder.join(file);
        let saved = sketch
            .save(&page)
            .map_err(|error| error.context(page.display()));
        self.pages.push(page);
        saved
    }
}
