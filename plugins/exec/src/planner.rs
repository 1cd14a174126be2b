//! A command as a planner.

use flowpipe_plugin::puzzle::message::{GameNeeds, SeenBoard};
use flowpipe_plugin::puzzle::{Solution, place};
use flowpipe_plugin::{Cancel, Effect, Host, Plan, Planner, Result};

use crate::config::Config;
use crate::effects::RUNS_ITS_COMMAND;
use crate::protocol::{PlannerReply, PlannerRequest};
use crate::session::Session;

/// The stage.
pub struct PlannerExec(Session);

impl Planner for PlannerExec {
    const NAME: &'static str = "planner-exec";
    const DOC: &'static str = "A command in any language as a planner: it gets each solution as a line of JSON on \
         standard input, and answers with a line on standard output. \
         See the chapter \"Stages in any language\" of the book.";
    const DETERMINISTIC: bool = false;
    const EFFECTS: Option<&'static [Effect]> = Some(RUNS_ITS_COMMAND);
    type Config = Config;

    fn new(config: Config, host: &Host) -> Result<Self> {
        Session::start(config, "planner", *host).map(Self)
    }

    fn plan(
        &mut self,
        board: &SeenBoard,
        solution: &Solution,
        needs: GameNeeds,
        cancel: &Cancel<'_>,
    ) -> Result<Plan> {
        let cells = 0..board.puzzle.board().len();
        let request = PlannerRequest {
            board,
            solution,
            profile: needs.profile,
            stroke_end: needs.stroke_end,
            centres: cells
                .map(|cell| place::centre(board.puzzle.board(), cell))
                .collect(),
        };
        let reply: PlannerReply = self.0.call(&request, &mut { *cancel })?;
        let mut plan = Plan::new(reply.strokes);
        plan.profile = reply.profile;
        plan.manner = reply.manner;
        Ok(plan)
    }
}
