//! Loads one library file and checks it before anything in it is used.

use std::collections::HashMap;
use std::ffi::CStr;
#[cfg(unix)]
use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use flowpipe_abi as abi;
use flowpipe_sync::lock;

use crate::clock::Clock;
use crate::frame::pool::Pool;
use crate::library::copied::Copied;
use crate::library::inspect;
#[cfg(unix)]
use crate::library::pinned_file;
use crate::library::pinned_file::PinnedFile;
use crate::library::stamp::Stamp;
use crate::stage_clock::StageClock;
use crate::table::{Change, Host, Services};

type Create = unsafe extern "C" fn(
    *const abi::Host,
    u32,
    *const std::ffi::c_char,
    *const abi::Document,
) -> *mut abi::Stage;

/// A library that passed every check. It is never unloaded: the system can't do that safely.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    /// The factory's function.
    pub create: Create,
    /// The manifests' texts, by stage index.
    pub manifests: Vec<String>,
    /// Live instances.
    pub live: AtomicUsize,
    deinit: Mutex<Option<unsafe extern "C" fn()>>,
}

/// The outcome for each entry table. The system loads a file once, however often it is asked, and `init` may be called
/// only once.
static SEEN: LazyLock<Mutex<HashMap<usize, Result<&'static Library, String>>>> =
    LazyLock::new(Mutex::default);

/// More stages than this in one library is a broken table.
const MOST_STAGES: u32 = 1024;
/// Bytes of all manifests of a library.
const MOST_MANIFESTS: usize = 4 << 20;

/// The stamp of each loaded file. The system returns the library that it has loaded by that name, whatever the file is
/// now.
static LOADED: LazyLock<Mutex<HashMap<PathBuf, Known>>> = LazyLock::new(Mutex::default);

/// A file that was loaded.
struct Known {
    stamp: Stamp,
    library: Option<&'static Library>,
}

/// Loads a library. The error is a sentence for users. A file that has changed since it was loaded is loaded again
/// beside the old version.
pub fn load(path: &Path) -> Result<&'static Library, String> {
    load_with(path, |_| {})
}

/// As [`load`], with changes to the host's table.
pub fn load_with(path: &Path, change: Change) -> Result<&'static Library, String> {
    let stamp = Stamp::of(path).ok();
    let known = lock(&LOADED).get(path).map(|it| (it.stamp, it.library));
    if let Some((before, Some(library))) = known
        && Some(before) == stamp
    {
        return Ok(library);
    }
    let pinned = PinnedFile::open(path).map_err(|error| cant_be_read(&error))?;
    inspect::inspect(pinned.file()).map_err(|why| why.to_string())?;
    let name = match known {
        None => None,
        Some(_) => {
            let bytes = pinned.read().map_err(|error| cant_be_read(&error))?;
            Some(Copied::new(path, &bytes)?)
        }
    };
    let stamp = pinned.stamp;
    let mut loaded = lock(&LOADED);
    let name = name.as_ref().map_or(path, |copied| &copied.path);
    let result = load_as(path, name, change);
    let library = result.as_ref().ok().copied();
    loaded.insert(path.to_owned(), Known { stamp, library });
    result
}

/// As [`load_with`], of a file that another process has loaded as `path` and that is not there any more.
#[cfg(unix)]
pub(crate) fn load_open_file(
    path: &Path,
    file: OwnedFd,
    change: Change,
) -> Result<&'static Library, String> {
    let bytes = pinned_file::read(&File::from(file)).map_err(|error| cant_be_read(&error))?;
    let copied = Copied::new(path, &bytes)?;
    load_as(path, &copied.path, change)
}

/// As [`load_open_file`], in a process that loads no other library. On Linux it writes no copy: the process may not
/// write.
#[cfg(unix)]
pub fn load_single(path: &Path, file: OwnedFd, change: Change) -> Result<&'static Library, String> {
    match cfg!(target_os = "linux") {
        true => load_as(path, &name_of(&file), change),
        false => load_open_file(path, file, change),
    }
}

/// A path that reopens an open file in this process, on Linux.
#[cfg(unix)]
pub fn name_of(file: &OwnedFd) -> PathBuf {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

fn cant_be_read(error: &io::Error) -> String {
    format!("can't be read: {error}")
}

/// Loads the file `name`, which is the library `path` or a copy of it.
fn load_as(path: &Path, name: &Path, change: Change) -> Result<&'static Library, String> {
    // SAFETY: loading runs the library's constructors. A plugin is code that the user put into a plugin folder to be
    // run, and this file exports the entry symbol of one.
    let library = unsafe { libloading::Library::new(name) }
        .map_err(|error| format!("the system can't load it: {}", innermost(&error)))?;
    let library = Box::leak(Box::new(library));
    let symbol = abi::ENTRY_SYMBOL.to_bytes_with_nul();
    // SAFETY: the pointer is only read after the checks in `entry`.
    let address = unsafe { library.get::<*const abi::Entry>(symbol) }
        .map_err(|_| "not a flowpipe plugin: it exports no `flowpipe_entry`".to_owned())
        .map(|symbol| *symbol)?;
    let mut seen = lock(&SEEN);
    if let Some(outcome) = seen.get(&address.addr()) {
        return outcome.clone();
    }
    let outcome = check(path, address, change).map(|library| &*Box::leak(Box::new(library)));
    seen.insert(address.addr(), outcome.clone());
    outcome
}

/// Calls `deinit` of every library without live stages. The libraries must not be used afterwards.
pub fn deinit_all() {
    for library in lock(&SEEN).values().flatten() {
        if library.live.load(Ordering::Relaxed) != 0 {
            tracing::warn!(library = %library.path.display(), "it still has live stages at the end");
        } else if let Some(deinit) = lock(&library.deinit).take() {
            // SAFETY: init succeeded, it has no live stage, and this is the only call.
            unsafe { deinit() };
        }
    }
}

fn check(path: &Path, address: *const abi::Entry, change: Change) -> Result<Library, String> {
    let entry = entry(address)?;
    let (Some(init), Some(deinit), Some(get_factory)) =
        (entry.init, entry.deinit, entry.get_factory)
    else {
        return Err("a function is missing in its entry table".into());
    };
    let host = library_host(path, change);
    // SAFETY: the table was checked; init is called once, before anything else, and the host is
    // never freed.
    let status = unsafe { init(host.show()) };
    if status < 0 {
        return Err(format!(
            "its init failed: {}",
            crate::table::status::reason(status, host)
        ));
    }
    let (create, manifests) = factory(get_factory)?;
    Ok(Library {
        path: path.to_owned(),
        create,
        manifests,
        live: AtomicUsize::new(0),
        deinit: Mutex::new(Some(deinit)),
    })
}

/// Reads the entry table after its checks.
fn entry(address: *const abi::Entry) -> Result<&'static abi::Entry, String> {
    if address.is_null() || !address.is_aligned() {
        return Err("not a flowpipe plugin: `flowpipe_entry` is no table".into());
    }
    // SAFETY: an exported symbol has at least the eight bytes of the magic; the rest is read only if these are right,
    // and the versions and the size have the same offsets in every version.
    let (major, minor, size) = unsafe {
        if (&raw const (*address).magic).read() != abi::MAGIC {
            return Err("not a flowpipe plugin: its `flowpipe_entry` has another magic".into());
        }
        (
            (*address).abi_major,
            (*address).abi_minor,
            (*address).struct_size,
        )
    };
    if major != abi::ABI_MAJOR || minor > abi::ABI_MINOR {
        return Err(format!(
            "made for flowpipe ABI {major}.{minor}, this flowpipe has {}.{}",
            abi::ABI_MAJOR,
            abi::ABI_MINOR
        ));
    }
    if (size as usize) < size_of::<abi::Entry>() {
        let needed = size_of::<abi::Entry>();
        return Err(format!(
            "its entry table has {size} bytes, {needed} are needed"
        ));
    }
    // SAFETY: the table is as long as the type, is valid as long as the library, and never changes.
    Ok(unsafe { &*address })
}

fn factory(
    get_factory: unsafe extern "C" fn(*const std::ffi::c_char) -> *const std::ffi::c_void,
) -> Result<(Create, Vec<String>), String> {
    // SAFETY: init was called; the id is NUL-terminated.
    let table = unsafe { get_factory(abi::FACTORY_STAGES.as_ptr()) }.cast::<abi::StageFactory>();
    if table.is_null() {
        return Err(format!("it has no factory {:?}", abi::FACTORY_STAGES));
    }
    if !table.is_aligned() {
        return Err("its factory table is not aligned".into());
    }
    // SAFETY: struct_size comes first in every version.
    let size = unsafe { (*table).struct_size } as usize;
    if size < size_of::<abi::StageFactory>() {
        let needed = size_of::<abi::StageFactory>();
        return Err(format!(
            "its factory table has {size} bytes, {needed} are needed"
        ));
    }
    // SAFETY: the table is long enough and is valid as long as the library.
    let table = unsafe { &*table };
    let (Some(count), Some(manifest), Some(create)) = (table.count, table.manifest, table.create)
    else {
        return Err("a function is missing in its factory table".into());
    };
    // SAFETY: these may be called at any time after init.
    let stages = unsafe { count() };
    if stages == 0 || stages > MOST_STAGES {
        return Err(format!("its factory reports {stages} stages"));
    }
    let mut left = MOST_MANIFESTS;
    let text = |index| {
        // SAFETY: as above; the index is below the count.
        let text = unsafe { manifest(index) };
        if text.is_null() {
            return Err(format!("stage {index} of {stages} has no manifest"));
        }
        // SAFETY: a manifest is NUL-terminated and is valid as long as the library.
        let text = unsafe { CStr::from_ptr(text) };
        left = left
            .checked_sub(text.count_bytes())
            .ok_or_else(|| format!("its manifests have more than {MOST_MANIFESTS} bytes"))?;
        text.to_str()
            .map(str::to_owned)
            .map_err(|error| format!("the manifest of stage {index} is not UTF-8: {error}"))
    };
    Ok((create, (0..stages).map(text).collect::<Result<_, _>>()?))
}

/// The host that a library gets in `init`, named by its file. It exists as long as the library.
fn library_host(path: &Path, change: Change) -> &'static Arc<Host> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let services = Arc::new(Services {
        clock: Clock::start(),
        pool: Pool::new(0),
        run: OnceLock::new(),
    });
    let host = Host::with(&name, u32::MAX, services, StageClock::Run, change);
    Box::leak(Box::new(host))
}

/// The system's own error text, without its wrappers.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
