//! A race: several plugins process one message, and the first answer that the validators accept wins.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use flowpipe_abi as abi;
use flowpipe_host::message::Message;
use flowpipe_sync::lock;

use crate::check::Judgement;
use crate::run::work::Work;
use crate::watch::{Reason, Watch};

/// A race for one message.
pub(crate) struct Race {
    pub work: Work,
    entrants: Vec<(usize, Arc<Watch>)>,
    /// The contestant that won, or [`NOBODY`].
    winner: AtomicUsize,
    closed: AtomicBool,
    weak: Mutex<Option<WeakAnswers>>,
}

/// The weak answers of the first contestant that gave one. They count only when no contestant gives a better one.
pub(crate) struct WeakAnswers {
    pub contestant: usize,
    pub reason: String,
    pub answers: Vec<(usize, Message)>,
    /// The bytes of their texts and frames.
    bytes: usize,
}

/// A contestant in a race.
pub(crate) struct Entrant<'a> {
    pub race: &'a Race,
    pub contestant: usize,
}

const NOBODY: usize = usize::MAX;
/// The most bytes of weak answers that are kept, unless the first one has more: no queue slows their contestant down.
const MOST_WEAK_BYTES: usize = 16 << 20;

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

    /// Ends the race: later answers are ignored, contestants that still run are cancelled. Returns the
    /// weak answers when no contestant won.
    pub(crate) fn close(&self) -> Option<WeakAnswers> {
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
    /// Whether this contestant's answers no longer count.
    pub(crate) fn has_lost(&self) -> bool {
        match self.race.winner() {
            Some(winner) => winner != self.contestant,
            None => self.race.closed.load(Ordering::SeqCst),
        }
    }

    /// Takes a valid answer: sends it with `send` if the contestant wins or has won, keeps it if it is weak. The error is
    /// the reason why it is refused.
    pub(crate) fn offer(
        &self,
        port: usize,
        message: Message,
        judgement: Judgement,
        send: impl FnOnce(usize, Message) -> abi::Status,
    ) -> Result<abi::Status, String> {
        let race = self.race;
        let wins = {
            // Held while the race is decided, so that it can't be closed in between.
            let mut weak = lock(&race.weak);
            if self.has_lost() {
                return Ok(abi::STOPPED);
            }
            match judgement {
                Judgement::Weak(reason) if race.winner().is_none() => {
                    let contestant = self.contestant;
                    let kept = weak.get_or_insert_with(|| WeakAnswers {
                        contestant,
                        reason,
                        answers: Vec::new(),
                        bytes: 0,
                    });
                    if kept.contestant == contestant {
                        kept.add(port, message)?;
                    }
                    return Ok(abi::OK);
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
        Ok(send(port, message))
    }
}

impl WeakAnswers {
    /// Keeps an answer. The error is the reason why there is no room for it.
    fn add(&mut self, port: usize, message: Message) -> Result<(), String> {
        let frame = message.frame().map_or(0, |frame| frame.bytes().len());
        let bytes = self.bytes.saturating_add(message.json().len() + frame);
        if bytes > MOST_WEAK_BYTES && !self.answers.is_empty() {
            let most = MOST_WEAK_BYTES >> 20;
            return Err(format!(
                "it emitted more than {most} MiB of weak answers to one message"
            ));
        }
        self.bytes = bytes;
        self.answers.push((port, message));
        Ok(())
    }
}
