//! The place of a recording, from a path with `{name}` and `{time}`.

use std::io;
use std::path::{Component, Path, PathBuf};

use flowpipe_output::{OutputFile, component};
use flowpipe_recording::WriteError;
use time::OffsetDateTime;

use crate::outputs;

/// A path in which `{name}` and `{time}` are replaced.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// The path.
    pub path: PathBuf,
    /// The path as it was given, if something in it was replaced. A recording's name is its maker's choice: the path
    /// then follows no link that the user did not name.
    template: Option<PathBuf>,
}

const NAME: &str = "{name}";
const TIME: &str = "{time}";

impl Place {
    /// The place of the recording of a run.
    pub fn new(to: &str, name: &str, unix_ns: u64) -> Self {
        let path = to.replace(NAME, &component(name));
        let path = path.replace(TIME, &time(unix_ns)).into();
        let is_derived = to.contains(NAME) || to.contains(TIME);
        Self {
            path,
            template: is_derived.then(|| to.into()),
        }
    }

    /// The first place with no file: this one, or one with a number.
    pub fn unused(mut self) -> Self {
        let first = self.path.clone();
        let stem = first.file_stem().unwrap_or_default().to_owned();
        let end = first.extension().map(std::ffi::OsStr::to_owned);
        let mut number = 1;
        while is_taken(&self.path) || flowpipe_output::left_of(&self.path).is_some() {
            number += 1;
            let mut name = stem.clone();
            name.push(format!("-{number}"));
            if let Some(end) = &end {
                name.push(".");
                name.push(end);
            }
            self.path = first.with_file_name(name);
        }
        self
    }

    /// Refuses a file that is there, if the path was derived.
    ///
    /// # Errors
    /// When there is one.
    pub fn refuse_existing(&self) -> Result<(), WriteError> {
        match &self.template {
            Some(template) if is_taken(&self.path) => {
                let what = format!(
                    "it exists, and the recording chose this name for {}: give another name",
                    template.display()
                );
                Err(self.failed(io::Error::new(io::ErrorKind::AlreadyExists, what)))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the folder exists, but for the folders whose names were derived.
    ///
    /// # Errors
    /// When it does not.
    pub fn check_folder(&self) -> Result<(), WriteError> {
        self.has_given_folder().map_err(|error| self.failed(error))
    }

    /// Creates the folders above the file, as those that a pipeline file names.
    ///
    /// # Errors
    /// When one can't be created.
    pub fn create_folder(&self) -> Result<(), WriteError> {
        let created = self.refuse_links().and_then(|()| match self.path.parent() {
            Some(folder) => std::fs::create_dir_all(folder),
            None => Ok(()),
        });
        created.map_err(|error| self.failed(error))
    }

    /// Creates the file, and the folders whose names were derived.
    ///
    /// # Errors
    /// When it can't be created.
    pub fn grow(&self) -> Result<OutputFile, WriteError> {
        self.create().map_err(|error| self.failed(error))
    }

    fn create(&self) -> io::Result<OutputFile> {
        self.refuse_links()?;
        self.has_given_folder()?;
        if let (Some(_), Some(folder)) = (&self.template, self.path.parent()) {
            std::fs::create_dir_all(folder)?;
        }
        match &self.template {
            Some(_) => outputs::growing_derived(&self.path),
            None => outputs::growing(&self.path),
        }
    }

    /// Checks that the folders exist that were given as they are.
    fn has_given_folder(&self) -> io::Result<()> {
        let Some(template) = &self.template else {
            return outputs::has_folder(&self.path);
        };
        let parts = template.components();
        let given = parts.take_while(|&part| !is_derived(part));
        // The first derived part is the file or a folder in the given one.
        outputs::has_folder(&given.collect::<PathBuf>().join("derived"))
    }

    /// Refuses a folder that is a link and whose name was derived.
    fn refuse_links(&self) -> io::Result<()> {
        let Some(template) = &self.template else {
            return Ok(());
        };
        let mut folder = PathBuf::new();
        let parts = template.components().zip(self.path.components());
        for (given, part) in parts {
            folder.push(part);
            if folder != self.path && is_derived(given) && folder.is_symlink() {
                let what = format!(
                    "{} is a symbolic link, and its name is derived from {}: give another name",
                    folder.display(),
                    template.display()
                );
                return Err(io::Error::other(what));
            }
        }
        Ok(())
    }

    fn failed(&self, error: io::Error) -> WriteError {
        WriteError::Create {
            path: self.path.clone(),
            error,
        }
    }
}

/// Whether something in a part of a template is replaced.
fn is_derived(part: Component<'_>) -> bool {
    let part = part.as_os_str().to_string_lossy();
    part.contains(NAME) || part.contains(TIME)
}

/// Whether something has this name, also a link that leads nowhere.
fn is_taken(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn time(unix_ns: u64) -> String {
    // 64 bits of nanoseconds reach the year 2554.
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ns))
        .unwrap_or(OffsetDateTime::UNIX_EPOCH);
    format!(
        "{:04}-{:02}-{:02}T{:02}-{:02}-{:02}Z",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(to: &str, name: &str, unix_ns: u64) -> PathBuf {
        Place::new(to, name, unix_ns).path
    }

    #[test]
    fn names_and_times_are_replaced() {
        assert_eq!(
            path("runs/{name}-{time}.mcap", "a/b", 1_700_000_000_000_000_000),
            PathBuf::from("runs/a-b-2023-11-14T22-13-20Z.mcap")
        );
        assert_eq!(path("x.mcap", "a", 0), PathBuf::from("x.mcap"));
        assert_eq!(path("{name}/x.mcap", "..", 0), PathBuf::from("__/x.mcap"));
    }

    #[test]
    fn only_folders_of_derived_names_are_created() {
        let folder = tempfile::tempdir().unwrap();
        let place = |to: &str| Place::new(&folder.path().join(to).display().to_string(), "a", 0);
        let error = |to: &str| place(to).grow().err().map(|it| it.to_string());
        for to in ["x.mcap", "{name}.mcap", "{name}/{time}/x.mcap"] {
            assert_eq!(error(to), None, "{to}");
        }
        for to in ["runs/x.mcap", "runs/{name}.mcap", "runs/{name}/x.mcap"] {
            let error = error(to).unwrap();
            let no_folder = format!(
                "there is no folder {}",
                folder.path().join("runs").display()
            );
            assert!(error.contains(&no_folder), "{error}");
        }
        assert!(!folder.path().join("runs").exists());
        place("runs/x.mcap").create_folder().unwrap();
        assert_eq!(error("runs/{name}.mcap"), None);
    }

    #[test]
    fn an_existing_file_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("a.mcap");
        let unused = || {
            Place::new(&place.display().to_string(), "", 0)
                .unused()
                .path
        };
        assert_eq!(unused(), place);
        std::fs::write(&place, "").unwrap();
        assert_eq!(unused(), folder.path().join("a-2.mcap"));
        std::fs::write(folder.path().join("a-2.mcap"), "").unwrap();
        assert_eq!(unused(), folder.path().join("a-3.mcap"));
        #[cfg(unix)]
        {
            // A link is something too, wherever it leads.
            std::os::unix::fs::symlink("nowhere", unused()).unwrap();
            assert_eq!(unused(), folder.path().join("a-4.mcap"));
        }
    }
}
