//! One output file, from its start to its name.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, TryLockError};

use crate::place::{self, Place};
use crate::{partial, regular};

/// The files of this process that have no name for people yet.
static HIDDEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file that is being written. Dropped before [`Self::commit`], it leaves what was there before; one that grows stays
/// as `NAME.partial`.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    /// `None`: it is written as it is.
    beside: Option<Beside>,
}

/// A file that lies beside its place.
#[derive(Debug)]
struct Beside {
    /// Where it belongs.
    place: PathBuf,
    /// Where it lies now.
    now: PathBuf,
    grows: bool,
    /// Whether `now` is a name for people, which outlives this program.
    shown: bool,
    /// Whether it stays there when this ends early.
    kept: bool,
    /// Whether it takes the place of another file.
    replaces: bool,
}

/// Writes a whole file.
///
/// # Errors
/// When it can't be written. The old file is unchanged then.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write_all(content.as_ref())?;
    file.commit()
}

/// Removes the unfinished files of this process, which are of no use. For an immediate exit: whatever is still being
/// written fails.
pub fn remove_hidden() {
    let hidden = match HIDDEN.try_lock() {
        Ok(hidden) => hidden,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    for path in hidden.iter() {
        let _ = std::fs::remove_file(path);
    }
}

impl OutputFile {
    /// A file that is of use only when it is whole.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::begin(path, false)
    }

    /// A file that is of use only when it is whole, whose name the user did not give: it was derived from another name.
    /// So a symbolic link there is not followed, and only a regular file is replaced.
    ///
    /// # Errors
    /// When nothing can be written there, or what lies there is no regular file.
    pub fn create_derived(path: &Path) -> io::Result<Self> {
        let (place, there) = place::derived(path)?;
        Self::beside(place, there.as_ref(), false, DERIVED_MODE)
    }

    /// As [`Self::create_derived`], but the file that lies there is never written in place: whoever uses it meanwhile has
    /// it whole.
    ///
    /// # Errors
    /// Those of [`Self::create_derived`], and when no file can be made in its folder.
    pub fn create_whole(path: &Path) -> io::Result<Self> {
        let (place, there) = place::derived(path)?;
        match Self::make_beside(&place, there.as_ref(), false, DERIVED_MODE)? {
            Some(output) => Ok(output),
            None => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }

    /// A file that grows for long, and is of use also when it is not whole: once [`Self::show`] was called it is
    /// `NAME.partial`. What an earlier program left under that name is not touched, and the next number is taken.
    ///
    /// # Errors
    /// When nothing can be written there, or another program is writing a file of this name.
    pub fn growing(path: &Path) -> io::Result<Self> {
        let file = Self::begin(path, true)?;
        if let Some(beside) = &file.beside {
            refuse_two_writers(&beside.place)?;
        }
        Ok(file)
    }

    /// A file that grows for long, as [`Self::growing`], whose name the user did not give, as for
    /// [`Self::create_derived`].
    ///
    /// # Errors
    /// Those of both.
    pub fn growing_derived(path: &Path) -> io::Result<Self> {
        let (place, there) = place::derived(path)?;
        refuse_two_writers(&place)?;
        Self::beside(place, there.as_ref(), true, DERIVED_MODE)
    }

    fn begin(path: &Path, grows: bool) -> io::Result<Self> {
        match Place::find(path)? {
            Place::AsIs(file) => Ok(Self { file, beside: None }),
            Place::Regular(place, there) => Self::beside(place, there.as_ref(), grows, NEW_MODE),
        }
    }

    /// `new_mode`: the permissions of a file that replaces none.
    fn beside(
        place: PathBuf,
        there: Option<&Metadata>,
        grows: bool,
        new_mode: u32,
    ) -> io::Result<Self> {
        match Self::make_beside(&place, there, grows, new_mode)? {
            Some(output) => Ok(output),
            None => Self::in_place(&place),
        }
    }

    /// `None`: the file that lies there can only be written in place.
    fn make_beside(
        place: &Path,
        there: Option<&Metadata>,
        grows: bool,
        new_mode: u32,
    ) -> io::Result<Option<Self>> {
        // From the start, nobody may open it who may not open the file that it replaces.
        let (file, now) = match hidden(place, there.map_or(new_mode, mode)) {
            // A user who may write to the file, and to nothing else in its folder, can only write it in place.
            Err(error) if there.is_some() && error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(None);
            }
            made => made?,
        };
        let beside = Beside {
            place: place.to_owned(),
            now,
            grows,
            shown: false,
            kept: false,
            replaces: there.is_some(),
        };
        let output = Self {
            file,
            beside: Some(beside),
        };
        if let Some(there) = there {
            match output.file.set_permissions(there.permissions()) {
                // Where no file like it can be made, it is written in place.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return Ok(None);
                }
                set => set?,
            }
            keep_owner(&output.file, there);
        }
        if grows {
            // Held until the file is closed, by the last process that has it open. Without locks, none is looked for.
            let _ = output.file.try_lock();
        }
        Ok(Some(output))
    }

    fn in_place(path: &Path) -> io::Result<Self> {
        let file = regular::open_to_write(path, true)?;
        Ok(Self { file, beside: None })
    }

    /// The file itself, for a writer that wants one of its own.
    ///
    /// # Errors
    /// When the system has no file descriptor left.
    pub fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Where it lies now. `None`: it is written as it is.
    #[must_use]
    pub fn lies_at(&self) -> Option<&Path> {
        self.beside.as_ref().map(|beside| &*beside.now)
    }

    /// Gives a file that grows the name that it has until it is whole. Call it when enough is written that the file
    /// can be opened.
    ///
    /// # Errors
    /// When there is no free name, or another program has begun to write a file of this name.
    pub fn show(&mut self) -> io::Result<()> {
        let Some(beside) = self.beside.as_mut().filter(|it| it.grows && !it.shown) else {
            return Ok(());
        };
        for name in partial::names(&beside.place) {
            match rename_to_new(&beside.now, &name) {
                Ok(()) => {
                    forget_hidden(&beside.now);
                    beside.now = name;
                    beside.shown = true;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if is_being_written(&name) {
                        return Err(two_writers(&name));
                    }
                    tracing::warn!(
                        "{} is what a program left that did not end: it is kept",
                        name.display()
                    );
                }
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other(
            "too many files that were not finished lie beside it",
        ))
    }

    /// The file is whole: it gets its name, in place of what had it before.
    ///
    /// # Errors
    /// When it can't. A file that grows stays where it is then.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        let Some(beside) = &mut self.beside else {
            return Ok(());
        };
        if beside.replaces {
            // The old file must not go before the new one lies on the disk.
            self.file.sync_data()?;
        }
        std::fs::rename(&beside.now, &beside.place)?;
        forget_hidden(&beside.now);
        self.beside = None;
        Ok(())
    }

    /// The file is whole: it gets the first one of these names, which are in the folder of its place, that nothing has. No
    /// file is replaced. Returns the name.
    ///
    /// # Errors
    /// When it can't, or all names are taken.
    pub fn commit_new(mut self, names: impl IntoIterator<Item = PathBuf>) -> io::Result<PathBuf> {
        self.file.flush()?;
        let Some(beside) = &self.beside else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        for name in names {
            match rename_to_new(&beside.now, &name) {
                Ok(()) => {
                    forget_hidden(&beside.now);
                    self.beside = None;
                    return Ok(name);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        let why = "each name that it could have is taken";
        Err(io::Error::new(io::ErrorKind::AlreadyExists, why))
    }

    /// From now on a file that grows stays where it is, also when this ends early. Before, it goes then: there is
    /// nothing in it that anybody wants.
    pub fn keep(&mut self) {
        if let Some(beside) = &mut self.beside {
            beside.kept = true;
        }
    }

    /// Nothing came of it: the file goes, also one that grows.
    pub fn discard(mut self) {
        if let Some(beside) = self.beside.take() {
            let _ = std::fs::remove_file(&beside.now);
            forget_hidden(&beside.now);
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(beside) = self.beside.take().filter(|it| !(it.shown && it.kept)) {
            // There is nowhere left to report it; a file with such a name does no harm.
            let _ = std::fs::remove_file(&beside.now);
            forget_hidden(&beside.now);
        }
    }
}

fn forget_hidden(path: &Path) {
    let mut hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
    hidden.retain(|it| it != path);
}

/// The permissions of a file that replaces none, less those that the umask takes.
const NEW_MODE: u32 = 0o666;
/// Those of a file whose name the user did not give: only the user writes to it.
const DERIVED_MODE: u32 = 0o644;

/// The permissions of a file.
#[cfg(unix)]
fn mode(file: &Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o777
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> u32 {
    NEW_MODE
}

/// Makes a file of a name that nothing else has, in the folder of its place.
fn hidden(place: &Path, mode: u32) -> io::Result<(File, PathBuf)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Not made of the place's own name, which may be as long as a name can be.
        let path = place.with_file_name(format!(".flowpipe-{}-{number}.tmp", std::process::id()));
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
        #[cfg(not(unix))]
        let _ = mode;
        match options.read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                let mut hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
                hidden.push(path.clone());
                return Ok((file, path));
            }
            // Of a program of this number that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Renames a file, unless something has that name.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::hard_link(from, to) {
        Ok(()) => {
            let _ = std::fs::remove_file(from);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // A file system without hard links.
        Err(_) => {
            OpenOptions::new().write(true).create_new(true).open(to)?;
            std::fs::rename(from, to)
        }
    }
}

fn refuse_two_writers(place: &Path) -> io::Result<()> {
    let mut names = partial::names(place).take_while(|name| name.exists());
    match names.find(|name| is_being_written(name)) {
        Some(name) => Err(two_writers(&name)),
        None => Ok(()),
    }
}

fn two_writers(name: &Path) -> io::Error {
    let what = format!("another program is writing it ({})", name.display());
    io::Error::new(io::ErrorKind::ResourceBusy, what)
}

/// Whether a program holds the lock of an unfinished file. The check takes a shared lock, so that it does not look like
/// a writer.
fn is_being_written(name: &Path) -> bool {
    let Ok(file) = regular::open_regular(name) else {
        return false;
    };
    matches!(
        file.try_lock_shared(),
        Err(std::fs::TryLockError::WouldBlock)
    )
}

/// The old file's owner and group, where this process may give files away.
#[cfg(unix)]
fn keep_owner(file: &File, there: &Metadata) {
    use std::os::unix::fs::MetadataExt as _;
    let is_other = |new: Metadata| (new.uid(), new.gid()) != (there.uid(), there.gid());
    if file.metadata().is_ok_and(is_other) {
        let _ = std::os::unix::fs::fchown(file, Some(there.uid()), Some(there.gid()));
        // Giving a file away can take permissions from it.
        let _ = file.set_permissions(there.permissions());
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) {}

#[cfg(test)]
mod tests;
