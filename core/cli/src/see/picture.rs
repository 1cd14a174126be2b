//! What is known of one picture.

use flowpipe_host::frame::Frame;
use flowpipe_puzzle::message::Reading;

use crate::exit::Ended;
use crate::see::look::Said;
use crate::see::times::Times;

/// What was said of one picture, look after look.
#[derive(Default)]
pub struct Seen {
    /// The picture, where it is kept to be drawn over.
    pub picture: Option<Frame>,
    /// What vision made of it, the first time.
    pub reading: Option<Reading>,
    /// What looking cost.
    pub times: Times,
    /// Why there is no reading.
    pub trouble: Option<Trouble>,
    /// How many looks are over.
    pub looks: u32,
}

/// Why nothing was made of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The file can't be opened.
    Unopened(String),
    /// The file is no picture.
    Unreadable(String),
    /// Vision failed, or broke the rules.
    Failed(String),
}

impl Seen {
    /// A file that can't be opened.
    pub fn unopened(reason: String) -> Self {
        Self {
            trouble: Some(Trouble::Unopened(reason)),
            ..Self::default()
        }
    }

    /// Takes what is said next.
    pub fn take(&mut self, said: Said, keeps_picture: bool) {
        match said {
            Said::Picture(frame) => {
                if keeps_picture {
                    self.picture = Some(frame);
                }
                return;
            }
            Said::Sighting(sighting, took) => {
                self.times.add(took, &sighting.steps);
                self.reading.get_or_insert(sighting.reading);
            }
            Said::Unreadable(reason) => {
                self.trouble.get_or_insert(Trouble::Unreadable(reason));
            }
            Said::Failed(reason) => {
                self.trouble.get_or_insert(Trouble::Failed(reason));
            }
        }
        self.looks += 1;
    }

    /// How the program ends for it.
    pub fn ended(&self) -> Ended {
        match (&self.trouble, &self.reading) {
            (Some(Trouble::Unopened(_)), _) => Ended::Unopened,
            (Some(Trouble::Unreadable(_)), _) => Ended::BadPuzzle,
            (Some(Trouble::Failed(_)), _) | (None, None) => Ended::StageFailed,
            (None, Some(Reading::Refused { .. })) => Ended::Unanswered,
            (None, Some(Reading::Board(_))) => Ended::Done,
        }
    }

    /// What was made of it, or why nothing was.
    pub fn result(&self) -> Result<&Reading, &str> {
        match (&self.trouble, &self.reading) {
            (Some(Trouble::Unopened(why) | Trouble::Unreadable(why) | Trouble::Failed(why)), _) => {
                Err(why)
            }
            (None, Some(reading)) => Ok(reading),
            (None, None) => Err("vision said nothing of it"),
        }
    }
}
