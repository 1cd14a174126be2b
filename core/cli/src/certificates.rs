//! The certificates of machines: `ca.pem`, `NAME.pem` and `NAME.key` in a folder.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use flowpipe_config::pipeline::{Address, Machine};
use flowpipe_link::library::{Certificates, MachineCertificate, NamedMachine};

use crate::exit::Failure;
use crate::outputs::failure;

/// The most bytes of a file.
const MAX_BYTES: u64 = 64 << 10;

/// What a machine needs to prove who it is, and to check others.
pub struct CertificateFiles {
    /// The certificate of the authority.
    pub authority: Vec<u8>,
    /// The machine's own.
    pub certificate: Vec<u8>,
    /// Its private key.
    pub key: Vec<u8>,
}

/// Where the files of a machine are.
pub struct CertificatePaths {
    /// The certificate of the authority.
    pub authority: PathBuf,
    /// The machine's own.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl CertificatePaths {
    /// Those of a machine.
    pub fn of(machine: &Machine) -> Self {
        let folder = Path::new(&machine.certificates);
        let name = &machine.name;
        Self {
            authority: folder.join("ca.pem"),
            certificate: folder.join(format!("{name}.pem")),
            key: folder.join(format!("{name}.key")),
        }
    }

    /// All, the private key last.
    pub fn all(&self) -> [&Path; 3] {
        [&self.authority, &self.certificate, &self.key]
    }
}

impl CertificateFiles {
    /// Reads the files of this machine.
    ///
    /// # Errors
    /// When one is missing or unreadable, or others can read the private key, with what to do about it.
    pub fn read(machine: &Machine) -> Result<Self, Failure> {
        let paths = CertificatePaths::of(machine);
        let read = |path: &Path, is_private: bool| {
            read(path, is_private).map_err(|error| {
                let name = &machine.name;
                let hint = match error.kind() {
                    io::ErrorKind::NotFound => format!(
                        ": `flowpipe machine init FILE` creates certificates; machine {name} needs ca.pem, {name}.pem and {name}.key"
                    ),
                    _ => String::new(),
                };
                Failure::Config(format!("{}: {error}{hint}", path.display()))
            })
        };
        Ok(Self {
            authority: read(&paths.authority, false)?,
            certificate: read(&paths.certificate, false)?,
            key: read(&paths.key, true)?,
        })
    }
}

/// The name and the host of a machine, for its certificate.
pub fn named(machine: &Machine) -> NamedMachine {
    let host = match &machine.connect {
        Some(Address::Encrypted { host, .. }) => vec![host.clone()],
        Some(Address::Loopback(_)) | None => Vec::new(),
    };
    NamedMachine {
        name: machine.name.clone(),
        hosts: host,
    }
}

/// Writes the certificates of machines. What exists is not replaced, and what was written is removed if all can't be.
///
/// # Errors
/// When a file exists, or can't be written.
pub fn write(machines: &[Machine], certificates: &Certificates) -> Result<(), Failure> {
    let mut files: Vec<(PathBuf, &str, bool)> = Vec::new();
    for (machine, MachineCertificate { certificate, key }) in
        machines.iter().zip(&certificates.machines)
    {
        let paths = CertificatePaths::of(machine);
        // Machines may share a folder, and then have it once.
        if !files.iter().any(|(path, ..)| *path == paths.authority) {
            files.push((paths.authority, &certificates.authority, false));
        }
        files.push((paths.certificate, certificate, false));
        files.push((paths.key, key, true));
    }
    let mut written: Vec<&Path> = Vec::new();
    for (path, content, is_private) in &files {
        let fill = |mut file: &File| {
            file.write_all(content.as_bytes())?;
            file.sync_all()
        };
        if let Err(error) = create(path, *is_private, fill) {
            for path in written {
                // The first error is reported.
                let _ = fs::remove_file(path);
            }
            return Err(failure(path)(error));
        }
        written.push(path);
    }
    Ok(())
}

/// Creates a file and fills it. One that can't be filled is removed.
fn create(
    path: &Path,
    is_private: bool,
    fill: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if is_private { 0o600 } else { 0o644 });
    #[cfg(not(unix))]
    let _ = is_private;
    let file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => io::Error::other(
            "it exists, and is not replaced: remove all certificates of the folder to create new ones",
        ),
        _ => error,
    })?;
    let filled = fill(&file);
    drop(file);
    if filled.is_err() {
        // The first error is reported.
        let _ = fs::remove_file(path);
    }
    filled
}

fn read(path: &Path, is_private: bool) -> io::Result<Vec<u8>> {
    // A device or a pipe might never end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let file = File::open(path)?;
    if is_private {
        check_private(&file)?;
    }
    let mut content = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_BYTES {
        return Err(io::Error::other(
            "it is too large for a certificate or a key",
        ));
    }
    Ok(content)
}

/// Checks that nobody but the user and root can read a file.
#[cfg(unix)]
fn check_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = file.metadata()?;
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 != 0 {
        let text = format!("other users can use this private key (mode {mode:o}): `chmod 600` it");
        return Err(io::Error::other(text));
    }
    let owner = metadata.uid();
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        let text = format!("this private key belongs to another user (number {owner}): `chown` it");
        return Err(io::Error::other(text));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_filled_does_not_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys").join("desk.key");
        let full = |_: &File| Err(io::Error::from(io::ErrorKind::StorageFull));
        let error = create(&path, true, full).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(!path.exists());
        // What exists is not replaced, and not removed.
        fs::write(&path, "before").unwrap();
        assert!(create(&path, true, full).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
    }
}
