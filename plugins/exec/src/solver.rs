//! A command as a solver.

use flowpipe_plugin::puzzle::Puzzle;
use flowpipe_plugin::puzzle::message::{Effort, Verdict};
use flowpipe_plugin::{Cancel, Effect, Host, Result, Solver};

use crate::config::SolverConfig;
use crate::effects::RUNS_ITS_COMMAND;
use crate::protocol::{Graph, SolverReply, SolverRequest};
use crate::session::Session;

/// The stage.
pub struct SolverExec {
    session: Session,
    config: SolverConfig,
    effort: Effort,
}

impl Solver for SolverExec {
    const NAME: &'static str = "solver-exec";
    const DOC: &'static str = "A command in any language as a solver: it gets each puzzle with its graph as a line of \
         JSON on standard input, and answers with a line on standard output. \
         See the chapter \"Stages in any language\" of the book.";
    /// The behaviour of a command is unknown.
    const DETERMINISTIC: bool = false;
    const EFFECTS: Option<&'static [Effect]> = Some(RUNS_ITS_COMMAND);
    type Config = SolverConfig;

    fn new(config: SolverConfig, host: &Host) -> Result<Self> {
        Ok(Self {
            session: Session::start(config.run.clone(), "solver", *host)?,
            config,
            effort: Effort::default(),
        })
    }

    fn solve(&mut self, puzzle: &Puzzle, cancel: &Cancel<'_>) -> Result<Verdict> {
        self.effort = Effort::default();
        let request = SolverRequest {
            puzzle,
            rules: puzzle.rules(),
            graph: Graph::of(puzzle),
            want: self.config.want,
            limit: self.config.limit,
        };
        let reply: SolverReply = self.session.call(&request, &mut { *cancel })?;
        self.effort = reply.effort;
        Ok(reply.answer)
    }

    fn effort(&mut self) -> Effort {
        self.effort.clone()
    }
}
