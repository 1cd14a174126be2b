//! The file of known games: by a game's name, the title of its window, the profile that it needs.
//!
//! ```toml
//! [profiles]
//! "flowpipe play" = "segments"
//! ```

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};
use flowpipe_plugin::puzzle::message::Profile;
use flowpipe_plugin::tracing;
use serde::{Deserialize, Serialize};

/// The name of the file, in the folder `flowpipe` of the user's state.
pub const FILE: &str = "games.toml";

/// The most that is read of it.
const MAX_BYTES: u64 = 1 << 20;

/// What the file begins with.
const HEADER: &str = "\
# What games were found to need from the mouse, by the title of their window: events, segments, turns,
# cells, slow or clicks. Delete a line to have it measured again.
";

/// The file. What can't be read or written is a warning in the log and no failure: without it, it is
/// only measured again.
pub struct Games {
    /// `None`: nothing is kept.
    file: Option<PathBuf>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Kept {
    profiles: BTreeMap<String, Profile>,
}

impl Games {
    /// In a file, or where programs of the user's keep their state.
    pub fn new(file: Option<PathBuf>) -> Self {
        let file = file.or_else(|| match choose_native_strategy() {
            Ok(folders) => {
                let folder = folders.state_dir().unwrap_or_else(|| folders.data_dir());
                Some(folder.join("flowpipe").join(FILE))
            }
            Err(error) => {
                tracing::warn!("what is found of games is not kept: {error}");
                None
            }
        });
        Self { file }
    }

    /// Nothing is kept.
    pub fn none() -> Self {
        Self { file: None }
    }

    /// What was found of a game.
    pub fn get(&self, game: &str) -> Option<Profile> {
        let file = self.file.as_deref()?;
        let kept = read(file).unwrap_or_else(|error| {
            tracing::warn!("{}: {error}", file.display());
            Kept::default()
        });
        let profile = kept.profiles.get(game).copied()?;
        let name = profile.name();
        tracing::info!(
            "{game}: begins with profile {name}, found earlier ({})",
            file.display()
        );
        Some(profile)
    }

    /// Keeps what was found of a game.
    pub fn keep(&self, game: &str, profile: Profile) {
        let Some(file) = self.file.as_deref() else {
            return;
        };
        let name = profile.name();
        match write(file, game, profile) {
            Ok(()) => tracing::info!("{game}: profile {name} is kept ({})", file.display()),
            Err(error) => {
                tracing::warn!("{}: profile {name} is not kept: {error}", file.display())
            }
        }
    }
}

fn read(file: &Path) -> io::Result<Kept> {
    let text = flowpipe_output::open_regular(file).and_then(|file| {
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text).map(|_| text)
    });
    match text {
        Ok(text) => toml::from_str(&text).map_err(io::Error::other),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Kept::default()),
        Err(error) => Err(error),
    }
}

/// A reader sees the file as it was before or as it is afterwards. One that can't be read is
/// left as it is: a person has edited it.
fn write(file: &Path, game: &str, profile: Profile) -> io::Result<()> {
    let mut kept = read(file)?;
    kept.profiles.insert(game.to_owned(), profile);
    let text = toml::to_string(&kept).map_err(io::Error::other)?;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // An isolated stage may write this file and none beside it: then it is written in place.
    flowpipe_output::write(file, format!("{HEADER}{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join("games.toml");
        let games = Games::new(Some(file.clone()));
        assert_eq!(games.get("a game"), None);
        games.keep("a game", Profile::Cells);
        games.keep("\"quoted\" = [x]", Profile::Slow);
        games.keep("a game", Profile::Turns);
        assert_eq!(games.get("a game"), Some(Profile::Turns));
        assert_eq!(games.get("\"quoted\" = [x]"), Some(Profile::Slow));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.starts_with(HEADER) && text.contains("\"a game\" = \"turns\""),
            "{text}"
        );
        let files = std::fs::read_dir(file.parent().unwrap()).unwrap();
        assert_eq!(files.count(), 1, "nothing is left half written");
    }

    #[test]
    fn a_file_that_makes_no_sense_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.toml");
        let text = "[profiles]\ngame = \"sluggish\"\n";
        std::fs::write(&file, text).unwrap();
        let games = Games::new(Some(file.clone()));
        assert_eq!(games.get("game"), None);
        games.keep("game", Profile::Cells);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        // A folder in its place, and a file where its folder should be.
        let games = Games::new(Some(folder.path().to_owned()));
        assert_eq!(games.get("game"), None);
        games.keep("game", Profile::Cells);
        Games::new(Some(file.join("games.toml"))).keep("game", Profile::Cells);
    }

    #[test]
    fn without_a_file_nothing_is_kept() {
        let games = Games::none();
        games.keep("game", Profile::Cells);
        assert_eq!(games.get("game"), None);
    }
}
