//! What a portal gives so that it need not ask the next time, kept in the folder of the user's state.
//!
//! Each use has a file of its own: what serves for a session without the mouse does not serve for one with it.

use std::fs::Permissions;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};
use flowpipe_output::OutputFile;
use serde::{Deserialize, Serialize};

use super::session::Use;
use crate::choice::{KEPT_MOUSE_FILE, KEPT_SCREEN_FILE};

/// The most that is read of a file, and the longest token, in bytes.
const MAX_FILE: u64 = 1 << 14;
const MAX_TOKEN: usize = 1 << 12;

const HEADER: &str = "\
# What the desktop's portal takes instead of asking again which monitor or window flowpipe may use. It serves once: each
# run writes the next one. Delete this file to be asked.
";

/// The files. What can't be read or written is a warning in the log and no failure: then the portal asks.
pub(super) struct Tokens {
    /// `None`: nothing is kept.
    folder: Option<PathBuf>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    token: String,
}

impl Tokens {
    /// Where programs of the user's keep their state.
    pub(super) fn of_user() -> Self {
        let folders = choose_native_strategy().ok();
        let folder = folders.map(|it| it.state_dir().unwrap_or_else(|| it.data_dir()));
        Self {
            folder: folder.map(|it| it.join("flowpipe")),
        }
    }

    pub(super) fn in_folder(folder: &Path) -> Self {
        Self {
            folder: Some(folder.to_owned()),
        }
    }

    fn file(&self, of: Use) -> Option<PathBuf> {
        let name = match of {
            Use::Screen => KEPT_SCREEN_FILE,
            Use::Mouse => KEPT_MOUSE_FILE,
        };
        self.folder.as_ref().map(|folder| folder.join(name))
    }

    /// What the portal gave the last time.
    pub(super) fn get(&self, of: Use) -> Option<String> {
        let file = self.file(of)?;
        match read(&file) {
            Ok(token) => Some(token),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!("{}: {error}: the desktop asks again", file.display());
                None
            }
        }
    }

    /// Keeps what the portal gave for the next time.
    pub(super) fn keep(&self, of: Use, token: &str) {
        let Some(file) = self.file(of) else { return };
        if let Err(error) = write(&file, token) {
            tracing::warn!(
                "{}: not written: {error}: the next run is asked again",
                file.display()
            );
        }
    }
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let opened = flowpipe_output::open_regular(file)?;
    opened.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::other("it is too long to hold a token"));
    }
    // A process that may write this file alone gets it empty.
    if text.is_empty() {
        return Err(ErrorKind::NotFound.into());
    }
    let kept: Kept = toml::from_str(&text)
        .map_err(|error| io::Error::other(error.message().chars().take(200).collect::<String>()))?;
    checked(&kept.token)?;
    Ok(kept.token)
}

fn write(file: &Path, token: &str) -> io::Result<()> {
    checked(token)?;
    let kept = Kept {
        token: token.to_owned(),
    };
    let text = toml::to_string(&kept).map_err(io::Error::other)?;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut output = OutputFile::create_derived(file)?;
    let private = Permissions::from_mode(0o600);
    match output.file()?.set_permissions(private) {
        // A confined process may not. The token serves this user alone: only their programs reach their portal.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
        changed => changed?,
    }
    output.write_all(format!("{HEADER}{text}").as_bytes())?;
    output.commit()
}

/// Whether it is a token at all: what it means is the portal's own affair.
fn checked(token: &str) -> io::Result<()> {
    let is_one = (1..=MAX_TOKEN).contains(&token.len()) && !token.contains(char::is_control);
    match is_one {
        true => Ok(()),
        false => Err(io::Error::other("its token can't be one")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_use_has_its_own_token() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::in_folder(&folder.path().join("new"));
        assert_eq!(tokens.get(Use::Screen), None);
        tokens.keep(Use::Screen, "first \"one\"");
        tokens.keep(Use::Screen, "second \"one\"");
        tokens.keep(Use::Mouse, "other");
        assert_eq!(tokens.get(Use::Screen).as_deref(), Some("second \"one\""));
        assert_eq!(tokens.get(Use::Mouse).as_deref(), Some("other"));
    }

    #[test]
    fn what_is_no_token_is_neither_read_nor_kept() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::in_folder(folder.path());
        let file = tokens.file(Use::Screen).unwrap();
        let long = "x".repeat(MAX_TOKEN + 1);
        for text in [
            "",
            "token = 7",
            "token = \"\"",
            "token = \"a\\u0000b\"",
            "token = \"a\"\nother = 1",
            &format!("token = \"{long}\""),
            &format!("token = \"a\"\n#{}", "x".repeat(MAX_FILE as usize * 2)),
            "\u{0}\u{1}",
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(tokens.get(Use::Screen), None, "{text:.40}");
        }
        std::fs::write(&file, [0xff, 0xfe]).unwrap();
        assert_eq!(tokens.get(Use::Screen), None);
        std::fs::remove_file(&file).unwrap();
        for token in ["", "a\nb", &long] {
            tokens.keep(Use::Screen, token);
            assert!(!file.exists());
        }
        // Nothing to write to is no failure.
        std::fs::create_dir(&file).unwrap();
        tokens.keep(Use::Screen, "a");
        assert_eq!(tokens.get(Use::Screen), None);
    }
}
