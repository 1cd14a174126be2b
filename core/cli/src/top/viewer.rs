//! The terminal: shows a run, takes keys, goes from run to run.

use std::io;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError};
use flowpipe_game::terminal::{Colours, Screen};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use thiserror::Error;

use super::guest::{self, Connection, LookError};
use super::memory::Memory;
use super::view;
use super::wire::{Line, Over};

/// How often it is looked for keys and news.
const LISTEN: Duration = Duration::from_millis(50);
/// How often it is looked for a run while none goes on.
const SEARCH: Duration = Duration::from_millis(500);

/// What is to be looked at.
pub struct Wish {
    /// The process; nothing: the newest run.
    pub pid: Option<u32>,
    /// Wait for a run where there is none, and for the next one after it.
    pub waits: bool,
}

/// How looking ended.
#[derive(Debug, PartialEq)]
pub enum Left {
    /// By a key.
    Quit,
    /// By Ctrl-C.
    Interrupted,
    /// The run is over, in words.
    Over(String),
}

/// Why there is nothing to be seen.
#[derive(Debug, Error)]
pub enum TopError {
    /// No run.
    #[error(
        "no pipeline runs: start one with `flowpipe run FILE`, or wait for one with `flowpipe top --wait`"
    )]
    Nothing,
    /// The run.
    #[error(transparent)]
    Look(#[from] LookError),
    /// The terminal.
    #[error("can't use the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Shows a run until somebody leaves, or it is over.
///
/// # Errors
/// See [`TopError`].
pub fn watch(wish: &Wish, colours: Colours) -> Result<Left, TopError> {
    let mut watcher = Watcher {
        waits: wish.waits,
        run: None,
        others: 0,
        searched: None,
        ended: None,
        colours,
    };
    watcher.look_for(wish.pid)?;
    if watcher.run.is_none() && !wish.waits {
        return Err(TopError::Nothing);
    }
    let mut screen = Screen::open(false)?;
    let left = watcher.show(&mut screen);
    drop(screen);
    left
}

struct Watcher {
    waits: bool,
    /// `None`: it waits for one.
    run: Option<Watched>,
    /// How many more runs there were when it was last looked.
    others: usize,
    searched: Option<Instant>,
    /// The process whose run is over, not to be found again.
    ended: Option<(u32, u64)>,
    colours: Colours,
}

struct Watched {
    memory: Memory,
    lines: Receiver<Line>,
}

impl Watcher {
    /// Looks at the run of a process, or the newest one if there is any.
    fn look_for(&mut self, pid: Option<u32>) -> Result<(), TopError> {
        self.searched = Some(Instant::now());
        let runs = guest::all()?;
        let is_new = |run: &&super::wire::Hello| Some((run.pid, run.started_unix_ns)) != self.ended;
        let newest = runs.iter().rfind(is_new).map(|run| run.pid);
        let Some(pid) = pid.or(newest) else {
            return Ok(());
        };
        self.others = runs.iter().filter(|run| run.pid != pid).count();
        match guest::connect(pid) {
            Ok(Connection { hello, lines }) => {
                self.run = Some(Watched {
                    memory: Memory::new(hello),
                    lines,
                });
                Ok(())
            }
            // It has ended meanwhile, and another may come.
            Err(LookError::NoSuchRun(_)) if newest == Some(pid) && self.waits => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Goes to the run that began before this one; before the first comes the newest.
    fn look_at_another(&mut self) -> Result<(), TopError> {
        let Some(run) = &self.run else {
            return Ok(());
        };
        let pid = run.memory.hello.pid;
        let runs = guest::all()?;
        let here = runs.iter().position(|run| run.pid == pid).unwrap_or(0);
        let others = runs[..here].iter().rev().chain(runs[here..].iter().rev());
        match others.map(|run| run.pid).find(|&other| other != pid) {
            Some(other) => self.look_for(Some(other)),
            None => {
                self.others = 0;
                Ok(())
            }
        }
    }

    fn show(&mut self, screen: &mut Screen) -> Result<Left, TopError> {
        let mut is_new = true;
        loop {
            is_new |= self.hear();
            if is_new {
                screen.draw(|buffer| match &self.run {
                    Some(run) => view::draw(&run.memory, self.others, self.colours, buffer),
                    None => view::draw_waiting(buffer),
                })?;
                is_new = false;
            }
            if let Some(left) = self.is_over() {
                return Ok(left);
            }
            self.search();
            let mut has_keys = event::poll(LISTEN)?;
            while has_keys {
                match event::read()? {
                    Event::Key(key) if key.kind != KeyEventKind::Release => {
                        if let Some(left) = self.key(key)? {
                            return Ok(left);
                        }
                        is_new = true;
                    }
                    Event::Resize(..) => is_new = true,
                    _ => {}
                }
                has_keys = event::poll(Duration::ZERO)?;
            }
        }
    }

    fn key(&mut self, key: KeyEvent) -> Result<Option<Left>, TopError> {
        Ok(match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                Some(Left::Interrupted)
            }
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(Left::Quit),
            KeyCode::Tab => {
                self.look_at_another()?;
                None
            }
            _ => None,
        })
    }

    /// Takes what the run tells; whether it told something.
    fn hear(&mut self) -> bool {
        let Some(run) = &mut self.run else {
            return false;
        };
        let mut told = false;
        loop {
            match run.lines.try_recv() {
                Ok(line) => {
                    run.memory.take(line);
                    told = true;
                }
                Err(TryRecvError::Empty) => return told,
                Err(TryRecvError::Disconnected) => {
                    if run.memory.over.is_none() {
                        run.memory.over = Some(Over {
                            how: "it ended without a word, as when it is killed".to_owned(),
                        });
                        told = true;
                    }
                    return told;
                }
            }
        }
    }

    /// What is to be said when the run is over and no other is waited for.
    fn is_over(&mut self) -> Option<Left> {
        let run = self.run.as_ref()?;
        let over = run.memory.over.as_ref()?;
        let hello = &run.memory.hello;
        self.ended = Some((hello.pid, hello.started_unix_ns));
        (!self.waits).then(|| {
            Left::Over(format!(
                "{} (process {}) is over after {:.1} s: {}",
                hello.pipeline,
                hello.pid,
                run.memory.seconds(),
                over.how
            ))
        })
    }

    /// Looks for a run now and then, where none goes on.
    fn search(&mut self) {
        let goes_on = |run: &Watched| run.memory.over.is_none();
        if self.run.as_ref().is_some_and(goes_on)
            || self.searched.is_some_and(|at| at.elapsed() < SEARCH)
        {
            return;
        }
        if let Err(error) = self.look_for(None) {
            tracing::info!("{error}");
        }
    }
}
