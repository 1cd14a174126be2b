//! A check: judges the messages that belong to no domain.

use flowpipe_plugin::message::{
    FRAME, FrameNote, GESTURE_OUTCOME, GESTURES, GestureOutcome, Gestures, METRICS, Metrics,
    OVERLAY, Overlay,
};
use flowpipe_plugin::{Check, Host, Judgement, Message, Result};
use serde::de::DeserializeOwned;

struct MessageCheck;

impl Check for MessageCheck {
    const NAME: &'static str = flowpipe_plugin::message::CHECK;
    const DOC: &'static str = "Judges the messages that belong to no domain. A frame comes with pixels, and with a place on \
                               the screen that makes sense. Gestures name the window of the frame that they descend from, stay \
                               inside of their bounds and these inside of the frame, press no button twice, and wait for \
                               possible times. Metrics and overlays have finite numbers and short texts, and not too many of \
                               them.";
    const SCHEMAS: &'static [&'static str] = &[FRAME, GESTURES, GESTURE_OUTCOME, METRICS, OVERLAY];

    fn new(_: &Host) -> Result<Self> {
        Ok(Self)
    }

    fn judge(&self, _parent: Option<&Message<'_>>, message: &Message<'_>) -> Result<Judgement> {
        let judged = match message.schema() {
            FRAME => judge_frame(message),
            GESTURES => judge_gestures(message),
            GESTURE_OUTCOME => parse::<GestureOutcome>(message).and_then(|it| it.check()),
            METRICS => parse::<Metrics>(message).and_then(|it| it.check()),
            OVERLAY => parse::<Overlay>(message).and_then(|it| it.check()),
            other => Err(format!("a message of schema {other}")),
        };
        Ok(judged.map_or_else(Judgement::Refuse, |()| Judgement::Accept))
    }
}

type Judged = std::result::Result<(), String>;

fn parse<T: DeserializeOwned>(message: &Message<'_>) -> std::result::Result<T, String> {
    Ok(message.parse()?)
}

fn judge_gestures(message: &Message<'_>) -> Judged {
    let gestures: Gestures = message.parse()?;
    gestures.frame.check()?;
    gestures
        .frame
        .check_descent(message.captured_note().as_ref())?;
    gestures.check()
}

fn judge_frame(message: &Message<'_>) -> Judged {
    let note: FrameNote = message.parse()?;
    if message.frame().is_none() {
        return Err("a frame without pixels".to_owned());
    }
    note.check()
}

flowpipe_plugin::export!(MessageCheck);

#[cfg(test)]
mod tests;
