//! A command as an actuator.

use flowpipe_plugin::puzzle::message::Strokes;
use flowpipe_plugin::{Acting, Actuator, Cancel, Effect, Error, Host, Played, Result};

use crate::config::Config;
use crate::effects::RUNS_ITS_COMMAND;
use crate::protocol::{Act, Acted};
use crate::session::{Asker, Session};

/// The stage.
pub struct ActuatorExec {
    /// `None` in a dry run, in which nothing is started.
    session: Option<Session>,
}

impl Actuator for ActuatorExec {
    const NAME: &'static str = "actuator-exec";
    const DOC: &'static str = "A command in any language as an actuator: it gets the strokes as a line of JSON on \
         standard input, in board units and in pixels of the screen, and answers with a line on standard output what \
         became of them. In a dry run it is not started. See docs/exec.md.";
    const EFFECTS: Option<&'static [Effect]> = Some(RUNS_ITS_COMMAND);
    type Config = Config;

    fn new(config: Config, host: &Host) -> Result<Self> {
        let session = match host.is_dry() {
            true => None,
            false => Some(Session::start(config, "actuator", *host)?),
        };
        Ok(Self { session })
    }

    fn act(
        &mut self,
        strokes: &Strokes,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> Result<Played> {
        let Some(session) = &mut self.session else {
            return Ok(Played::refused("this is a dry run"));
        };
        let board = strokes
            .sighting
            .board()
            .ok_or_else(|| Error::bad_message("strokes that belong to no board"))?;
        let acted: Acted = session.ask(&Act::of(strokes, board), &mut Asking { acting, cancel })?;
        let mut played = Played::new(acted.strokes);
        played.solved = acted.solved;
        played.drawn = acted.drawn;
        played.refused = acted.refused;
        played.pace = acted.pace;
        Ok(played)
    }
}

/// The call that the command serves.
struct Asking<'a, 'b, 'c> {
    acting: &'a mut Acting<'b, 'c>,
    cancel: &'a Cancel<'a>,
}

impl Asker for Asking<'_, '_, '_> {
    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// `pressed`: the button goes down now.
    fn mark(&mut self, name: &str) {
        if name == "pressed" {
            self.acting.pressed();
        }
    }
}
