//! The manifests of plugin libraries that were read before, by the identity of their files: a command that uses one
//! plugin does not load all of them.
//!
//! A cached manifest is not trusted: a library whose own manifests differ from it is not used
//! (core/host/src/library/library_file.rs).

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};
use flowpipe_config::manifest::read_manifest;
use flowpipe_host::catalogue::{Scan, Scanned};
use flowpipe_host::library::write_access;
use flowpipe_output::{OutputFile, open_regular};
use serde::{Deserialize, Serialize};

/// The version of the file's layout.
const FORMAT: u32 = 2;

/// A larger file is not read.
const MAX_BYTES: u64 = 16 << 20;

/// More libraries are not kept.
const MAX_LIBRARIES: usize = 1024;

/// A file that changed within this time may change again without another time of change: its manifests are not kept.
const SETTLED: Duration = Duration::from_secs(2);

/// Reads manifests by another scanner, and keeps them.
pub struct CachedScanner<S> {
    scanner: S,
    /// `None`: the system has no folder for it, so nothing is kept.
    file: Option<PathBuf>,
    /// Whether what was kept is used. Otherwise it is only written.
    is_read: bool,
    /// What was kept, once it is needed.
    kept: OnceCell<Cache>,
}

/// The content of the file.
#[derive(Default, Serialize, Deserialize)]
struct Cache {
    format: u32,
    /// The version of the program that read the manifests.
    program: String,
    libraries: BTreeMap<PathBuf, Library>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Library {
    identity: Identity,
    /// By stage index. All were accepted.
    manifests: Vec<String>,
}

/// What differs when a file was written or replaced.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Identity {
    length: u64,
    /// In nanoseconds since 1970.
    modified: u128,
    /// Device, inode, and the time of the last change of content or metadata in seconds and nanoseconds, where the
    /// system has them.
    system: [i128; 4],
}

impl<S> CachedScanner<S> {
    /// Uses the manifests that were kept, and keeps those that the scanner has to read.
    pub fn new(scanner: S) -> Self {
        Self {
            scanner,
            file: file(),
            is_read: true,
            kept: OnceCell::new(),
        }
    }

    /// Has the scanner read all manifests, and keeps them.
    pub fn refreshing(scanner: S) -> Self {
        Self {
            is_read: false,
            ..Self::new(scanner)
        }
    }
}

impl<S: Scan> Scan for CachedScanner<S> {
    fn scan(&self, paths: &[&Path]) -> Vec<Scanned> {
        let Some(file) = &self.file else {
            return self.scanner.scan(paths);
        };
        let mut cache = Cache::read(file).unwrap_or_default();
        // Before the libraries are read: one that is written meanwhile has another identity afterwards.
        let identities: Vec<_> = paths.iter().map(|path| Identity::of(path)).collect();
        let mut all: Vec<Option<Scanned>> = paths
            .iter()
            .zip(&identities)
            .map(|(path, identity)| {
                let kept = cache.libraries.get(*path).filter(|_| self.is_read)?;
                let is_same = identity.as_ref() == Some(&kept.identity);
                is_same.then(|| Ok(kept.manifests.clone()))
            })
            .collect();
        let unknown: Vec<_> = paths
            .iter()
            .zip(&identities)
            .zip(&mut all)
            .filter(|(_, kept)| kept.is_none())
            .collect();
        if !unknown.is_empty() {
            let unknown_paths: Vec<_> = unknown.iter().map(|((path, _), _)| **path).collect();
            let scanned = self.scanner.scan(&unknown_paths);
            for (((path, identity), place), scanned) in unknown.into_iter().zip(scanned) {
                cache.keep(path, identity.as_ref(), &scanned);
                *place = Some(scanned);
            }
            cache.write(file);
        }
        all.into_iter()
            .map(|scanned| scanned.unwrap_or_else(|| Err("its manifests were not read".to_owned())))
            .collect()
    }

    fn known(&self, path: &Path, file: &File) -> Option<Vec<String>> {
        let cache_file = self.file.as_ref().filter(|_| self.is_read)?;
        let kept = self
            .kept
            .get_or_init(|| Cache::read(cache_file).unwrap_or_default());
        let library = kept.libraries.get(path)?;
        let identity = Identity::of_metadata(&file.metadata().ok()?)?;
        (identity == library.identity).then(|| library.manifests.clone())
    }
}

impl Cache {
    /// What was kept. `None`: nothing that can be used.
    fn read(path: &Path) -> Option<Self> {
        // Others could name their plugins like the user's.
        write_access::check(path).ok()?;
        let file = open_regular(path).ok()?;
        if file.metadata().ok()?.len() > MAX_BYTES {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        let cache: Self = serde_json::from_slice(&bytes).ok()?;
        (cache.format == FORMAT && cache.program == env!("CARGO_PKG_VERSION")).then_some(cache)
    }

    /// Keeps the manifests of a library. Forgets them if they could not be read, or one is refused.
    fn keep(&mut self, path: &Path, identity: Option<&Identity>, scanned: &Scanned) {
        let manifests = scanned.as_ref().ok();
        let manifests = manifests.filter(|it| it.iter().all(|text| read_manifest(text).is_ok()));
        let identity = identity.filter(|identity| identity.is_settled());
        match (identity, manifests) {
            (Some(identity), Some(manifests)) if path.to_str().is_some() => {
                let library = Library {
                    identity: identity.clone(),
                    manifests: manifests.clone(),
                };
                self.libraries.insert(path.to_owned(), library);
            }
            _ => {
                self.libraries.remove(path);
            }
        }
    }

    /// Writes it. A program without it is only slower, so that a failure is only logged.
    fn write(mut self, path: &Path) {
        self.format = FORMAT;
        env!("CARGO_PKG_VERSION").clone_into(&mut self.program);
        self.libraries.retain(|path, _| path.exists());
        while self.libraries.len() > MAX_LIBRARIES {
            self.libraries.pop_first();
        }
        if let Err(error) = self.write_to(path) {
            tracing::debug!(path = %path.display(), %error, "can't keep manifests");
        }
    }

    fn write_to(&self, path: &Path) -> io::Result<()> {
        let bytes = serde_json::to_vec(self)?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
            // Another user's folder may lead anywhere: with `sudo -E`, the home folder is not root's.
            write_access::check(folder).map_err(io::Error::other)?;
        }
        let mut file = OutputFile::create_derived(path)?;
        file.write_all(&bytes)?;
        file.commit()
    }
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        Self::of_metadata(&std::fs::metadata(path).ok()?)
    }

    fn of_metadata(metadata: &Metadata) -> Option<Self> {
        let modified = metadata.modified().ok()?;
        Some(Self {
            length: metadata.len(),
            modified: since_1970(modified).as_nanos(),
            system: system(metadata),
        })
    }

    /// Whether a change from now on has another time.
    fn is_settled(&self) -> bool {
        let now = since_1970(SystemTime::now());
        let [.., seconds, nanoseconds] = self.system;
        let changed = u128::try_from(seconds * 1_000_000_000 + nanoseconds).unwrap_or_default();
        changed.max(self.modified) + SETTLED.as_nanos() < now.as_nanos()
    }
}

fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(unix)]
fn system(metadata: &Metadata) -> [i128; 4] {
    use std::os::unix::fs::MetadataExt as _;
    [
        metadata.dev().into(),
        metadata.ino().into(),
        metadata.ctime().into(),
        metadata.ctime_nsec().into(),
    ]
}

#[cfg(not(unix))]
fn system(_: &Metadata) -> [i128; 4] {
    [0; 4]
}

/// Where manifests are kept: `flowpipe/manifests.json` in the user's folder of caches.
fn file() -> Option<PathBuf> {
    let folders = choose_native_strategy().ok()?;
    Some(folders.cache_dir().join("flowpipe").join("manifests.json"))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Returns the content of files as their manifests, and counts the files that it reads.
    #[derive(Default)]
    struct Reads(RefCell<Vec<PathBuf>>);

    impl Scan for &Reads {
        fn scan(&self, paths: &[&Path]) -> Vec<Scanned> {
            let read = |path: &&Path| {
                self.0.borrow_mut().push(path.to_path_buf());
                let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
                Ok(vec![text])
            };
            paths.iter().map(read).collect()
        }
    }

    fn cached<'a>(reads: &'a Reads, folder: &Path) -> CachedScanner<&'a Reads> {
        CachedScanner {
            scanner: reads,
            file: Some(folder.join("cache").join("manifests.json")),
            is_read: true,
            kept: OnceCell::new(),
        }
    }

    /// The manifest of a stage whose name is this character.
    fn manifest(name: char) -> String {
        format!(r#"{{"name":"{name}","role":"stage"}}"#)
    }

    /// A file that was last changed long ago, according to its own time. The time of the last change of its metadata
    /// can't be set, so that the tests wait for it.
    fn library(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::now() - 10 * SETTLED).unwrap();
        path
    }

    fn settle() {
        std::thread::sleep(SETTLED + Duration::from_millis(100));
    }

    #[test]
    fn a_library_is_read_once_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let one = library(folder.path(), "one", &manifest('1'));
        let other = library(folder.path(), "other", &manifest('2'));
        settle();
        let reads = Reads::default();
        let expected: Vec<Scanned> = vec![Ok(vec![manifest('1')]), Ok(vec![manifest('2')])];
        for _ in 0..3 {
            let scanned = cached(&reads, folder.path()).scan(&[&one, &other]);
            assert_eq!(scanned, expected);
        }
        assert_eq!(*reads.0.borrow(), [one.clone(), other.clone()]);
        // Of the same length, and with the same time of modification.
        let modified = std::fs::metadata(&other).unwrap().modified().unwrap();
        let replacement = library(folder.path(), "replacement", &manifest('3'));
        let file = File::options().write(true).open(&replacement).unwrap();
        file.set_modified(modified).unwrap();
        std::fs::rename(&replacement, &other).unwrap();
        let scanned = cached(&reads, folder.path()).scan(&[&one, &other]);
        assert_eq!(scanned, [Ok(vec![manifest('1')]), Ok(vec![manifest('3')])]);
        assert_eq!(*reads.0.borrow(), [one, other.clone(), other]);
    }

    #[test]
    fn a_library_that_changed_a_moment_ago_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one");
        std::fs::write(&path, manifest('1')).unwrap();
        let reads = Reads::default();
        for _ in 0..2 {
            cached(&reads, folder.path()).scan(&[&path]);
        }
        assert_eq!(reads.0.borrow().len(), 2);
    }

    #[test]
    fn refusals_are_not_kept_and_a_refreshing_scanner_reads_all() {
        let folder = tempfile::tempdir().unwrap();
        let (one, missing) = (
            library(folder.path(), "one", &manifest('1')),
            folder.path().join("missing"),
        );
        settle();
        let reads = Reads::default();
        for _ in 0..2 {
            let scanned = cached(&reads, folder.path()).scan(&[&one, &missing]);
            assert!(scanned[1].is_err());
        }
        assert_eq!(reads.0.borrow().len(), 3);
        let refreshing = CachedScanner {
            is_read: false,
            ..cached(&reads, folder.path())
        };
        refreshing.scan(&[&one]);
        assert_eq!(reads.0.borrow().len(), 4);
    }

    #[test]
    fn a_file_that_others_wrote_or_that_is_malformed_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let one = library(folder.path(), "one", &manifest('1'));
        settle();
        let reads = Reads::default();
        cached(&reads, folder.path()).scan(&[&one]);
        let file = folder.path().join("cache").join("manifests.json");
        let content = std::fs::read(&file).unwrap();
        for malformed in [
            "",
            "{}",
            "[]",
            "{\"format\":2,\"program\":\"\",\"libraries\":{}}",
        ] {
            std::fs::write(&file, malformed).unwrap();
            let scanned = cached(&reads, folder.path()).scan(&[&one]);
            assert_eq!(scanned, [Ok(vec![manifest('1')])]);
        }
        assert_eq!(reads.0.borrow().len(), 5);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::write(&file, &content).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
            assert!(Cache::read(&file).is_none());
        }
    }

    /// Another user may have made them.
    #[cfg(unix)]
    #[test]
    fn it_is_written_through_no_link_and_into_no_folder_of_others() {
        use std::fs::Permissions;
        use std::os::unix::fs::{PermissionsExt as _, symlink};

        let folder = tempfile::tempdir().unwrap();
        let one = library(folder.path(), "one", &manifest('1'));
        settle();
        let (cache, precious) = (folder.path().join("cache"), folder.path().join("precious"));
        std::fs::create_dir(&cache).unwrap();
        std::fs::write(&precious, "precious").unwrap();
        let file = cache.join("manifests.json");
        symlink(&precious, &file).unwrap();
        let reads = Reads::default();
        cached(&reads, folder.path()).scan(&[&one]);
        assert_eq!(std::fs::read(&precious).unwrap(), b"precious");
        std::fs::remove_file(&file).unwrap();
        std::fs::set_permissions(&cache, Permissions::from_mode(0o777)).unwrap();
        cached(&reads, folder.path()).scan(&[&one]);
        assert!(!file.exists());
    }

    #[test]
    fn an_unchanged_file_is_known_and_a_refused_manifest_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let one = library(folder.path(), "one", &manifest('1'));
        let broken = library(folder.path(), "broken", r#"{"name":"A","role":"stage"}"#);
        settle();
        let reads = Reads::default();
        let scanner = cached(&reads, folder.path());
        assert_eq!(scanner.known(&one, &File::open(&one).unwrap()), None);
        scanner.scan(&[&one, &broken]);
        let scanner = cached(&reads, folder.path());
        let known = |path: &Path| scanner.known(path, &File::open(path).unwrap());
        assert_eq!(known(&one), Some(vec![manifest('1')]));
        assert_eq!(known(&broken), None);
        // By the file that is open, whatever is at its path.
        let other = library(folder.path(), "other", &manifest('2'));
        assert_eq!(scanner.known(&one, &File::open(&other).unwrap()), None);
        let refreshing = CachedScanner {
            is_read: false,
            ..cached(&reads, folder.path())
        };
        assert_eq!(refreshing.known(&one, &File::open(&one).unwrap()), None);
    }
}
