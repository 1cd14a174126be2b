//! The file of known games: by a game's name, the text of `window` in the pipeline, what it needs from the mouse, and
//! its rules.
//!
//! ```toml
//! [games."flowpipe play"]
//! profile = "segments"
//! stroke_end = "beside-terminal"
//! confidence = 0.98
//! rules = "strict"
//! ```

mod rule_words;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use etcetera::base_strategy::{BaseStrategy as _, choose_native_strategy};
use flowpipe_plugin::puzzle::Rules;
use flowpipe_plugin::puzzle::message::{Profile, StrokeEnd};
use flowpipe_plugin::tracing;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The name of the file, in the folder `flowpipe` of the user's state.
pub const FILE: &str = "games.toml";

/// The most that is read of it.
const MAX_BYTES: u64 = 1 << 20;

/// What the file begins with.
const HEADER: &str = "\
# What games were found to need from the mouse, by the text of `window` in the pipeline. `profile` is events, segments,
# turns, cells, frames, slow or clicks. `rules` are those by which its boards were won, in the words that vision-opencv
# takes for its own `rules`. With `searching = true` faster profiles were not all tried yet. Delete a game to have it
# measured again.
";

/// What is known of a game. A key that is missing is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GameEntry {
    /// How the mouse is to be moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Faster profiles were not all tried yet: the search begins again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub searching: bool,
    /// Where strokes have to end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stroke_end: Option<StrokeEnd>,
    /// The share of the latest flows that the game took, from 0 to 1.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "confidence"
    )]
    pub confidence: Option<f64>,
    /// What is drawn wrongly stays: no faster profile is tried.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub careful: bool,
    /// Where the mouse is faster than it draws, it draws over other flows: only profiles that follow the display are tried.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub follow_display: bool,
    /// The rules by which its boards were won.
    #[serde(skip_serializing_if = "Option::is_none", with = "rule_words")]
    pub rules: Option<Rules>,
}

/// For serde: reads a share.
fn confidence<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let share = f64::deserialize(deserializer)?;
    match (0.0..=1.0).contains(&share) {
        true => Ok(Some(share)),
        false => Err(D::Error::custom("confidence must be 0 to 1")),
    }
}

impl GameEntry {
    /// The profile, once faster ones were tried.
    pub fn found_profile(&self) -> Option<Profile> {
        self.profile.filter(|_| !self.searching)
    }
}

/// The file. What can't be read or written is a warning in the log and no failure: without it, it is
/// only measured again.
pub struct Games {
    /// `None`: nothing is kept.
    file: Option<PathBuf>,
    /// What is known is used, and nothing else is kept.
    is_read_only: bool,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Kept {
    /// What older versions wrote.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    profiles: BTreeMap<String, Profile>,
    games: BTreeMap<String, GameEntry>,
}

impl Kept {
    fn get(&self, game: &str) -> Option<GameEntry> {
        let older = || {
            let profile = self.profiles.get(game).copied()?;
            Some(GameEntry {
                profile: Some(profile),
                ..GameEntry::default()
            })
        };
        self.games.get(game).cloned().or_else(older)
    }
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
        Self {
            file,
            is_read_only: false,
        }
    }

    /// Nothing is kept.
    pub fn none() -> Self {
        Self {
            file: None,
            is_read_only: true,
        }
    }

    /// The same games, of which nothing more is kept.
    pub fn read_only(self) -> Self {
        Self {
            is_read_only: true,
            ..self
        }
    }

    /// What was found of a game.
    pub fn get(&self, game: &str) -> Option<GameEntry> {
        let file = self.file.as_deref()?;
        let kept = read(file).unwrap_or_else(|error| {
            tracing::warn!("{}: {error}", file.display());
            Kept::default()
        });
        let known = kept.get(game)?;
        if let Some(profile) = known.found_profile() {
            let name = profile.name();
            tracing::info!(
                "{game}: begins with profile {name}, found earlier ({})",
                file.display()
            );
        }
        Some(known)
    }

    /// The rules by which boards of a game were won. A file that can't be read is [`Self::get`]'s to report.
    pub fn rules(&self, game: &str) -> Option<Rules> {
        read(self.file.as_deref()?).ok()?.get(game)?.rules
    }

    /// Keeps what was found of a game. Rules that are known already stay if none are given.
    pub fn keep(&self, game: &str, known: &GameEntry) {
        let what = format!("profile {}", known.profile.map_or("auto", Profile::name));
        self.change(game, &what, |before| {
            let rules = known.rules.or(before.rules);
            *before = known.clone();
            before.rules = rules;
        });
    }

    /// Keeps the rules by which boards of a game were won, and leaves what else is known of it.
    pub fn keep_rules(&self, game: &str, rules: Rules) {
        let what = format!("rules \"{}\"", rules.in_short());
        self.change(game, &what, |before| before.rules = Some(rules));
    }

    fn change(&self, game: &str, what: &str, change: impl FnOnce(&mut GameEntry)) {
        let Some(file) = self.file.as_deref().filter(|_| !self.is_read_only) else {
            return;
        };
        match write(file, game, change) {
            Ok(()) => tracing::info!("{game}: {what} kept ({})", file.display()),
            Err(error) => tracing::warn!("{}: {what} not kept: {error}", file.display()),
        }
    }
}

fn read(file: &Path) -> io::Result<Kept> {
    let text = flowpipe_output::open_regular(file).and_then(|file| {
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
        // Its beginning may make sense by itself: written back, it would be all that is left.
        if bytes.len() as u64 > MAX_BYTES {
            return Err(too_large());
        }
        String::from_utf8(bytes).map_err(io::Error::other)
    });
    match text {
        Ok(text) => toml::from_str(&text).map_err(|error| io::Error::other(wrong(&text, &error))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Kept::default()),
        Err(error) => Err(error),
    }
}

/// What is wrong with the file, in one line, and what to do. The line itself is not quoted: it may be very long.
fn wrong(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().and_then(|span| text.get(..span.start));
    let place = line.map_or_else(String::new, |before| {
        format!("line {}: ", before.matches('\n').count() + 1)
    });
    let what: String = error.message().trim().chars().take(200).collect();
    format!(
        "{place}{what}. The file is not used, and nothing is kept, until you correct or delete it"
    )
}

/// A reader sees the file as it was before or as it is afterwards. One that can't be read is
/// left as it is: a person has edited it.
fn write(file: &Path, game: &str, change: impl FnOnce(&mut GameEntry)) -> io::Result<()> {
    let mut kept = read(file)?;
    let mut known = kept.get(game).unwrap_or_default();
    change(&mut known);
    kept.profiles.remove(game);
    kept.games.insert(game.to_owned(), known);
    let text = HEADER.to_owned() + &toml::to_string(&kept).map_err(io::Error::other)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(too_large());
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    // An isolated stage may write this file and none beside it: then it is written in place.
    flowpipe_output::write(file, text)
}

fn too_large() -> io::Error {
    io::Error::other("it has more than 1 MiB: delete games that you no longer play")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(profile: Profile) -> GameEntry {
        GameEntry {
            profile: Some(profile),
            ..GameEntry::default()
        }
    }

    #[test]
    fn what_is_kept_is_there_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join("games.toml");
        let games = Games::new(Some(file.clone()));
        assert_eq!(games.get("a game"), None);
        games.keep("a game", &needs(Profile::Cells));
        games.keep("\"quoted\" = [x]", &needs(Profile::Slow));
        let all = GameEntry {
            profile: Some(Profile::Turns),
            searching: false,
            stroke_end: Some(StrokeEnd::InTerminal),
            confidence: Some(0.95),
            careful: true,
            follow_display: true,
            rules: Some(Rules::new(false, true)),
        };
        games.keep("a game", &all);
        assert_eq!(games.get("a game"), Some(all.clone()));
        assert_eq!(games.get("\"quoted\" = [x]"), Some(needs(Profile::Slow)));
        let text = std::fs::read_to_string(&file).unwrap();
        let expected = "[games.\"a game\"]\nprofile = \"turns\"\nstroke_end = \"in-terminal\"\nconfidence = 0.95\n";
        assert!(
            text.starts_with(HEADER) && text.contains(expected),
            "{text}"
        );
        let files = std::fs::read_dir(file.parent().unwrap()).unwrap();
        assert_eq!(files.count(), 1, "nothing is left half written");
        assert!(text.contains("rules = \"empty, touch\"\n"), "{text}");
        // Rules stay where none are given, and what else is known where only rules are.
        games.keep("a game", &needs(Profile::Cells));
        assert_eq!(games.rules("a game"), all.rules);
        games.keep("a game", &all);
        games.keep_rules("a game", Rules::default());
        let strict = GameEntry {
            rules: Some(Rules::default()),
            ..all
        };
        assert_eq!(games.get("a game"), Some(strict));
        games.keep_rules("a third", Rules::new(true, true));
        assert_eq!(games.rules("a third"), Some(Rules::new(true, true)));
        assert_eq!(games.get("a third").unwrap().profile, None);
    }

    #[test]
    fn a_file_of_an_older_version_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.toml");
        std::fs::write(
            &file,
            "[profiles]\n\"a game\" = \"turns\"\nother = \"slow\"\n",
        )
        .unwrap();
        let games = Games::new(Some(file.clone()));
        assert_eq!(games.get("a game"), Some(needs(Profile::Turns)));
        games.keep("a game", &needs(Profile::Cells));
        assert_eq!(games.get("a game"), Some(needs(Profile::Cells)));
        assert_eq!(games.get("other"), Some(needs(Profile::Slow)));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains("turns\""), "{text}");
    }

    #[test]
    fn a_file_that_makes_no_sense_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.toml");
        for text in [
            "[profiles]\ngame = \"sluggish\"\n",
            "[games.game]\nspeed = 1\n",
            "[games.game]\nrules = \"sloppy\"\n",
            "[games.game]\nconfidence = nan\n",
            "[games.game]\nconfidence = 1.5\n",
            "[games.game]\nrules = { cover = false }\n",
        ] {
            std::fs::write(&file, text).unwrap();
            let games = Games::new(Some(file.clone()));
            assert_eq!((games.get("game"), games.rules("game")), (None, None));
            games.keep("game", &needs(Profile::Cells));
            games.keep_rules("game", Rules::default());
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
        // A folder in its place, and a file where its folder should be.
        let games = Games::new(Some(folder.path().to_owned()));
        assert_eq!(games.get("game"), None);
        games.keep("game", &needs(Profile::Cells));
        Games::new(Some(file.join("games.toml"))).keep("game", &needs(Profile::Cells));
    }

    #[test]
    fn what_is_wrong_is_a_line_with_its_number_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.toml");
        let wrong = |text: &str| {
            std::fs::write(&file, text).unwrap();
            read(&file).err().unwrap().to_string()
        };
        let text = wrong("[games.game]\nprofile = \"sluggish\"\n");
        assert!(
            text.starts_with("line 2: unknown variant `sluggish`, expected"),
            "{text}"
        );
        assert!(
            text.ends_with("nothing is kept, until you correct or delete it"),
            "{text}"
        );
        for text in [
            format!("a = {}", "[".repeat(100_000)),
            format!("[{}a]", "a.".repeat(100_000)),
        ] {
            let text = wrong(&text);
            assert!(text.len() < 400 && !text.contains('\n'), "{text}");
        }
    }

    #[test]
    fn a_file_that_is_too_large_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.toml");
        let games = Games::new(Some(file.clone()));
        let entry = |number: usize| format!("[games.\"{number:0100}\"]\nprofile = \"turns\"\n");
        let size = entry(0).len();
        // The first MiB ends after a whole line of comment.
        let fitting = MAX_BYTES as usize / size;
        let mut text: String = (0..fitting).map(entry).collect();
        text.push_str(&"#".repeat(MAX_BYTES as usize - text.len() - 1));
        text.push('\n');
        std::fs::write(&file, &text).unwrap();
        let name = format!("{:0100}", 1);
        assert_eq!(games.get(&name), Some(needs(Profile::Turns)), "1 MiB");
        // Written again, with an empty line between games, it would be larger.
        let quoted = |number: usize| format!("[games.\"{number:099} \"]\nprofile = \"turns\"\n");
        let full: String = (0..fitting).map(quoted).collect();
        std::fs::write(&file, &full).unwrap();
        games.keep("another", &needs(Profile::Cells));
        assert!(std::fs::read_to_string(&file).unwrap() == full);
        std::fs::write(&file, &text).unwrap();
        text.push_str(&entry(fitting));
        std::fs::write(&file, &text).unwrap();
        assert_eq!(games.get(&name), None);
        assert!(read(&file).err().unwrap().to_string().contains("1 MiB"));
        games.keep(&name, &needs(Profile::Cells));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    }

    #[test]
    fn what_is_read_only_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.toml");
        let games = || Games::new(Some(file.clone()));
        games().keep("game", &needs(Profile::Turns));
        let read_only = games().read_only();
        read_only.keep("game", &needs(Profile::Slow));
        read_only.keep_rules("game", Rules::default());
        assert_eq!(read_only.get("game"), Some(needs(Profile::Turns)));
    }

    #[test]
    fn without_a_file_nothing_is_kept() {
        let games = Games::none();
        games.keep("game", &needs(Profile::Cells));
        assert_eq!(games.get("game"), None);
    }
}
