//! The terminal: shows a run, reads keys, switches between runs.

use std::io;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError};
use flowpipe_game::terminal::{Colours, TerminalScreen};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use thiserror::Error;

use super::client::{self, ConnectError, Connection};
use super::history::RunHistory;
use super::protocol::Line;
use super::view;

/// How often keys and messages are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often a run is searched while there is none.
const SEARCH_INTERVAL: Duration = Duration::from_millis(500);

/// Which run is shown.
pub struct Selection {
    /// The process. `None`: the newest run.
    pub pid: Option<u32>,
    /// Whether to wait for a run if there is none, and for the next one after it.
    pub waits: bool,
}

/// How the viewer ended.
#[derive(Debug, PartialEq)]
pub enum Exit {
    /// By a key.
    Quit,
    /// By Ctrl-C.
    Interrupted,
    /// The run is over; as text.
    Over(String),
}

/// Why no run can be shown.
#[derive(Debug, Error)]
pub enum TopError {
    /// No run.
    #[error(
        "no pipeline runs: start one with `flowpipe run FILE`, or wait for one with `flowpipe top --wait`"
    )]
    Nothing,
    /// The run.
    #[error(transparent)]
    Look(#[from] ConnectError),
    /// The terminal.
    #[error("can't use the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// Shows a run until the user quits, or it is over.
///
/// # Errors
/// See [`TopError`].
pub fn watch(selection: &Selection, colours: Colours) -> Result<Exit, TopError> {
    let mut viewer = Viewer {
        waits: selection.waits,
        run: None,
        others: 0,
        searched: None,
        ended: None,
        colours,
    };
    viewer.connect(selection.pid)?;
    if viewer.run.is_none() && !selection.waits {
        return Err(TopError::Nothing);
    }
    let mut screen = TerminalScreen::open(false)?;
    let exit = viewer.show(&mut screen);
    drop(screen);
    exit
}

struct Viewer {
    waits: bool,
    /// `None`: waits for one.
    run: Option<ViewedRun>,
    /// The number of other runs at the last search.
    others: usize,
    searched: Option<Instant>,
    /// The run that is over, which a search skips.
    ended: Option<(u32, u64)>,
    colours: Colours,
}

struct ViewedRun {
    history: RunHistory,
    lines: Receiver<Line>,
}

impl Viewer {
    /// Connects to the run of a process, or to the newest one if there is any.
    fn connect(&mut self, pid: Option<u32>) -> Result<(), TopError> {
        self.searched = Some(Instant::now());
        let runs = client::all()?;
        let is_new =
            |run: &&super::protocol::Hello| Some((run.pid, run.started_unix_ns)) != self.ended;
        let newest = runs.iter().rfind(is_new).map(|run| run.pid);
        let Some(pid) = pid.or(newest) else {
            return Ok(());
        };
        self.others = runs.iter().filter(|run| run.pid != pid).count();
        match client::connect(pid) {
            Ok(Connection { hello, lines }) => {
                self.run = Some(ViewedRun {
                    history: RunHistory::new(hello),
                    lines,
                });
                Ok(())
            }
            // It has ended meanwhile, and another may start.
            Err(ConnectError::NoSuchRun(_)) if newest == Some(pid) && self.waits => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Switches to the run that started before this one; from the oldest to the newest.
    fn connect_next(&mut self) -> Result<(), TopError> {
        let Some(run) = &self.run else {
            return Ok(());
        };
        let pid = run.history.hello.pid;
        let runs = client::all()?;
        let here = runs.iter().position(|run| run.pid == pid).unwrap_or(0);
        let others = runs[..here].iter().rev().chain(runs[here..].iter().rev());
        match others.map(|run| run.pid).find(|&other| other != pid) {
            Some(other) => self.connect(Some(other)),
            None => {
                self.others = 0;
                Ok(())
            }
        }
    }

    fn show(&mut self, screen: &mut TerminalScreen) -> Result<Exit, TopError> {
        let mut is_new = true;
        loop {
            is_new |= self.receive();
            if is_new {
                screen.draw(|buffer| match &self.run {
                    Some(run) => view::draw(&run.history, self.others, self.colours, buffer),
                    None => view::draw_waiting(buffer),
                })?;
                is_new = false;
            }
            if let Some(exit) = self.is_over() {
                return Ok(exit);
            }
            self.search();
            let mut has_keys = event::poll(POLL_INTERVAL)?;
            while has_keys {
                match event::read()? {
                    Event::Key(key) if key.kind != KeyEventKind::Release => {
                        if let Some(exit) = self.key(key)? {
                            return Ok(exit);
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

    fn key(&mut self, key: KeyEvent) -> Result<Option<Exit>, TopError> {
        Ok(match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                Some(Exit::Interrupted)
            }
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(Exit::Quit),
            KeyCode::Tab => {
                self.connect_next()?;
                None
            }
            _ => None,
        })
    }

    /// Takes the messages of the run. Whether there were any.
    fn receive(&mut self) -> bool {
        let Some(run) = &mut self.run else {
            return false;
        };
        let mut has_news = false;
        loop {
            match run.lines.try_recv() {
                Ok(line) => {
                    run.history.add(line);
                    has_news = true;
                }
                Err(TryRecvError::Empty) => return has_news,
                Err(TryRecvError::Disconnected) => {
                    has_news |= run.history.over.is_none();
                    run.history.end_without_notice();
                    return has_news;
                }
            }
        }
    }

    /// The end of the viewer, if the run is over and it waits for no other.
    fn is_over(&mut self) -> Option<Exit> {
        let run = self.run.as_ref()?;
        let over = run.history.over.as_ref()?;
        let hello = &run.history.hello;
        self.ended = Some((hello.pid, hello.started_unix_ns));
        (!self.waits).then(|| {
            Exit::Over(format!(
                "{} (process {}) is over after {:.1} s: {}",
                hello.pipeline,
                hello.pid,
                run.history.seconds(),
                over.how
            ))
        })
    }

    /// Searches for a run now and then, while there is none.
    fn search(&mut self) {
        let goes_on = |run: &ViewedRun| run.history.over.is_none();
        if self.run.as_ref().is_some_and(goes_on)
            || self
                .searched
                .is_some_and(|at| at.elapsed() < SEARCH_INTERVAL)
        {
            return;
        }
        if let Err(error) = self.connect(None) {
            tracing::info!("{error}");
        }
    }
}
