//! A command as an actuator.

use flowpipe_plugin::puzzle::message::Strokes;
use flowpipe_plugin::{Acting, Actuator, Cancel, Effect, Error, Host, Played, Result};

use crate::config::Config;
use crate::effects::RUNS_ITS_COMMAND;
use crate::protocol::{ActuatorReply, ActuatorRequest};
use crate::session::{Caller, Session};

/// The stage.
pub struct ActuatorExec {
    /// `None` in a dry run, in which nothing is started.
    session: Option<Session>,
}

impl Actuator for ActuatorExec {
    const NAME: &'static str = "actuator-exec";
    const DOC: &'static str = "A command in any language as an actuator: it gets the strokes as a line of JSON on \
         standard input, in board units and in pixels of the screen, and answers with a line on standard output what \
         became of them. In a dry run it is not started. \
         See the chapter \"Stages in any language\" of the book.";
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
            return Ok(Played::refused(
                "this is a dry run: run it without --dry-run to play",
            ));
        };
        let board = strokes
            .sighting
            .board()
            .ok_or_else(|| Error::bad_message("strokes that belong to no board"))?;
        let request = ActuatorRequest::of(strokes, board);
        let reply: ActuatorReply = session.call(&request, &mut ActuatorCall { acting, cancel })?;
        let mut played = Played::new(reply.strokes);
        played.solved = reply.solved;
        played.drawn = reply.drawn;
        played.refused = reply.refused;
        played.pace = reply.pace;
        Ok(played)
    }
}

/// The call that the command serves.
struct ActuatorCall<'a, 'b, 'c> {
    acting: &'a mut Acting<'b, 'c>,
    cancel: &'a Cancel<'a>,
}

impl Caller for ActuatorCall<'_, '_, '_> {
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
