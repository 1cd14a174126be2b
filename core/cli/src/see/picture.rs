//! What vision read from one picture.

use flowpipe_host::frame::Frame;
use flowpipe_puzzle::message::Reading;

use crate::exit::Ended;
use crate::see::messages::PictureMessages;
use crate::see::times::CallTimes;
use crate::see::vision_run::VisionReply;

/// The result of one picture, over all calls.
#[derive(Default)]
pub struct PictureResult {
    /// The picture, if it is kept for an overlay.
    pub picture: Option<Frame>,
    /// What vision read in the first call.
    pub reading: Option<Reading>,
    /// The messages of the first call of a plugin that emits no sightings.
    pub messages: Option<PictureMessages>,
    /// The times of the calls.
    pub times: CallTimes,
    /// Why there is no reading.
    pub error: Option<PictureError>,
    /// How many calls have ended.
    pub calls: u32,
}

/// The answer of vision.
pub enum VisionAnswer<'a> {
    /// A board or a refusal.
    Reading(&'a Reading),
    /// The messages of a plugin that emits no sightings.
    Messages(&'a PictureMessages),
}

/// Why there is no reading of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PictureError {
    /// The file can't be opened.
    Unopened(String),
    /// The file is not a picture.
    Unreadable(String),
    /// Vision failed, or its message broke the rules.
    Failed(String),
}

impl PictureResult {
    /// A file that can't be opened.
    pub fn unopened(reason: String) -> Self {
        Self {
            error: Some(PictureError::Unopened(reason)),
            ..Self::default()
        }
    }

    /// Adds a reply.
    pub fn add(&mut self, reply: VisionReply, keeps_picture: bool) {
        match reply {
            VisionReply::Picture(frame) => {
                if keeps_picture {
                    self.picture = Some(frame);
                }
                return;
            }
            VisionReply::Sighting(sighting) => {
                self.times.add_steps(&sighting.steps);
                self.reading.get_or_insert_with(|| sighting.reading.clone());
                return;
            }
            VisionReply::Message(message) => {
                // The messages of later calls are not shown.
                if self.calls == 0 {
                    self.messages.get_or_insert_default().add(&message);
                }
                return;
            }
            VisionReply::Finished {
                took_ns,
                emits_sightings,
            } => {
                self.times.add_call(took_ns);
                // A plugin that owes a sighting and emits nothing has given no answer.
                if !emits_sightings {
                    self.messages.get_or_insert_default();
                }
            }
            VisionReply::Unreadable(reason) => {
                self.error.get_or_insert(PictureError::Unreadable(reason));
            }
            VisionReply::Failed(reason) => {
                self.error.get_or_insert(PictureError::Failed(reason));
            }
        }
        self.calls += 1;
    }

    /// How the command ends for it.
    pub fn ended(&self) -> Ended {
        match (&self.error, &self.reading) {
            (Some(PictureError::Unopened(_)), _) => Ended::Unopened,
            (Some(PictureError::Unreadable(_)), _) => Ended::BadPuzzle,
            (Some(PictureError::Failed(_)), _) => Ended::StageFailed,
            (None, None) => match &self.messages {
                None => Ended::StageFailed,
                Some(messages) if messages.count() == 0 => Ended::Unanswered,
                Some(_) => Ended::Done,
            },
            (None, Some(Reading::Refused { .. })) => Ended::Unanswered,
            (None, Some(Reading::Board(_))) => Ended::Done,
        }
    }

    /// What vision answered, or why there is no answer.
    pub fn answer(&self) -> Result<VisionAnswer<'_>, &str> {
        match (&self.error, &self.reading) {
            (
                Some(
                    PictureError::Unopened(why)
                    | PictureError::Unreadable(why)
                    | PictureError::Failed(why),
                ),
                _,
            ) => Err(why),
            (None, Some(reading)) => Ok(VisionAnswer::Reading(reading)),
            (None, None) => match &self.messages {
                Some(messages) => Ok(VisionAnswer::Messages(messages)),
                None => Err("vision gave no answer"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use flowpipe_puzzle::message::{FrameNote, Sighting, StepTime};

    use super::*;

    fn finished(emits_sightings: bool) -> VisionReply {
        VisionReply::Finished {
            took_ns: 7,
            emits_sightings,
        }
    }

    fn sighting() -> VisionReply {
        let reading = Reading::refused("board", "there is none");
        let mut sighting = Sighting::new(FrameNote::of("a.png"), reading);
        sighting.steps = vec![StepTime::new("thin", 1.0)];
        VisionReply::Sighting(Arc::new(sighting))
    }

    #[test]
    fn a_call_counts_once_whatever_it_emits() {
        for emits_sightings in [false, true] {
            let mut result = PictureResult::default();
            for _ in 0..3 {
                result.add(sighting(), false);
                result.add(finished(emits_sightings), false);
            }
            assert_eq!((result.calls, result.times.calls()), (3, 3));
            assert!(matches!(result.answer(), Ok(VisionAnswer::Reading(_))));
            assert_eq!(result.times.steps().len(), 1);
        }
    }

    #[test]
    fn silence_is_an_answer_only_of_plugins_without_sightings() {
        let mut result = PictureResult::default();
        result.add(finished(false), false);
        assert_eq!(result.ended(), Ended::Unanswered);
        let mut result = PictureResult::default();
        result.add(finished(true), false);
        assert_eq!((result.calls, result.ended()), (1, Ended::StageFailed));
    }
}
