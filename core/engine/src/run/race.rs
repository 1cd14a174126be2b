//! A race: several plugins work on one message, and the first answer that passes the checks wins.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use flowpipe_abi as abi;
use flowpipe_host::message::Message;
use flowpipe_sync::lock;

use crate::check::Judgement;
use crate::run::call::Context;
use crate::run::worker::Work;
use crate::watch::{Reason, Watch};

/// One race: one message.
pub(crate) struct Race {
    pub work: Work,
    entrants: Vec<(usize, Arc<Watch>)>,
    /// The contestant that won; [`NOBODY`] so far.
    winner: AtomicUsize,
    closed: AtomicBool,
    weak: Mutex<Option<Weak>>,
}

/// Answers that count only when nobody gives a better one: those of the first to give any.
pub(crate) struct Weak {
    pub contestant: usize,
    pub reason: String,
    pub answers: Vec<(usize, Message)>,
}

/// A contestant in a race.
pub(crate) struct Entrant<'a> {
    pub race: &'a Race,
    pub contestant: usize,
}

const NOBODY: usize = usize::MAX;

impl Race {
    pub(crate) fn new(work: Work, entrants: Vec<(usize, Arc<Watch>)>) -> Self {
        Self {
            work,
            entrants,
            winner: AtomicUsize::new(NOBODY),
            closed: AtomicBool::new(false),
            weak: Mutex::default(),
        }
    }

    pub(crate) fn winner(&self) -> Option<usize> {
        Some(self.winner.load(Ordering::SeqCst)).filter(|&winner| winner != NOBODY)
    }

    /// Ends the race: later answers are ignored, whoever still works on it is cancelled. Returns the
    /// weak answers when nobody won.
    pub(crate) fn close(&self) -> Option<Weak> {
        let mut weak = lock(&self.weak);
        self.closed.store(true, Ordering::SeqCst);
        self.cancel_others(self.winner());
        if self.winner().is_some() {
            None
        } else {
            weak.take()
        }
    }

    fn cancel_others(&self, winner: Option<usize>) {
        for (contestant, watch) in &self.entrants {
            if Some(*contestant) != winner {
                watch.cancel_current(Reason::Lost);
            }
        }
    }
}

impl Entrant<'_> {
    /// Whether this contestant's answers don't count any more.
    pub(crate) fn has_lost(&self) -> bool {
        match self.race.winner() {
            Some(winner) => winner != self.contestant,
            None => self.race.closed.load(Ordering::SeqCst),
        }
    }

    /// Takes an answer that is not refused: forwards the winner's, keeps weak ones for later.
    pub(crate) fn offer(
        &self,
        context: &Context<'_>,
        port: usize,
        message: Message,
        judgement: Judgement,
    ) -> abi::Status {
        let race = self.race;
        let wins = {
            // Held while the race is decided, so that it can't be closed in between.
            let mut weak = lock(&race.weak);
            if self.has_lost() {
                return abi::STOPPED;
            }
            match judgement {
                Judgement::Weak(reason) if race.winner().is_none() => {
                    let contestant = self.contestant;
                    let kept = weak.get_or_insert_with(|| Weak {
                        contestant,
                        reason,
                        answers: Vec::new(),
                    });
                    if kept.contestant == contestant {
                        kept.answers.push((port, message));
                    }
                    return abi::OK;
                }
                _ => race
                    .winner
                    .compare_exchange(NOBODY, self.contestant, Ordering::SeqCst, Ordering::SeqCst)
                    .is_ok(),
            }
        };
        if wins {
            race.cancel_others(Some(self.contestant));
        }
        context
            .stage
            .send(context.watch, port, message, None, &context.journal)
    }
}
