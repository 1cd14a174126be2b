//! What a referee remembers, for a state transfer.

use flowpipe_plugin::puzzle::message::Sighting;
use serde::{Deserialize, Serialize};

use super::Referee;
use crate::acting::Acting;
use crate::answers::Answers;
use crate::board::Board;
use crate::calibration::CalibrationState;
use crate::display_delay::DisplayDelay;
use crate::load::Load;

/// What a referee remembers. Times are the run's clock.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    answers: Answers,
    #[serde(rename = "found")]
    calibration: CalibrationState,
    board: Option<Board>,
    latest: Option<(Sighting, i64)>,
    acting: Acting,
    acted_at: Option<i64>,
    first_stroke_at: Option<i64>,
    #[serde(default)]
    began_at: Option<i64>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    progressed_at: Option<i64>,
    #[serde(default)]
    load: Load,
    #[serde(default)]
    display_delay: DisplayDelay,
    #[serde(alias = "told")]
    reported: usize,
    solved: usize,
    #[serde(default)]
    unknown: usize,
    #[serde(default)]
    planned: usize,
}

impl Memory {
    /// What a referee remembers.
    pub fn of(referee: &Referee) -> Self {
        let (session, run) = (&referee.session, &referee.session.run);
        Self {
            answers: referee.answers.clone(),
            calibration: session.calibration.state().clone(),
            board: session.board.clone(),
            latest: referee.latest.clone(),
            acting: referee.acting.clone(),
            acted_at: referee.acted_at,
            first_stroke_at: run.first_stroke_at,
            began_at: run.began_at,
            refusal: referee.refusal.clone(),
            progressed_at: run.progressed_at,
            load: referee.load.clone(),
            display_delay: referee.display_delay.clone(),
            reported: run.reported,
            solved: run.solved,
            unknown: run.unknown,
            planned: run.planned,
        }
    }

    /// Has another referee of the same run continue from here.
    pub fn restore(self, referee: &mut Referee) {
        let Referee { session, .. } = referee;
        session.calibration.take_over(self.calibration);
        session.board = self.board;
        session.run.first_stroke_at = self.first_stroke_at;
        session.run.began_at = self.began_at.or(session.run.began_at);
        session.run.progressed_at = self.progressed_at;
        session.run.reported = self.reported;
        session.run.solved = self.solved;
        session.run.unknown = self.unknown;
        session.run.planned = self.planned;
        referee.answers = self.answers;
        referee.latest = self.latest;
        referee.acting = self.acting;
        referee.acted_at = self.acted_at;
        referee.refusal = self.refusal;
        referee.load = self.load;
        referee.display_delay = self.display_delay;
    }
}
