//! Draws and shows pictures without making events wait.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use winit::event_loop::EventLoopProxy;
use winit::window::Window;

use super::screen::WindowScreen;
use super::{Call, WindowError};
use crate::render::Painter;
use crate::session::View;

/// Where only the main thread may draw, or may have to, the artist works there.
const IS_APART: bool = cfg!(all(unix, not(target_vendor = "apple")));

/// A picture to be shown.
pub(super) struct Job {
    pub(super) view: View,
    /// Of the window's inside, in pixels.
    pub(super) size: (u32, u32),
    /// Whether the screen may have lost what it showed.
    pub(super) whole: bool,
}

/// Draws and shows pictures, each followed by [`Call::Shown`].
pub(super) enum Artist {
    /// On a thread of its own.
    Apart {
        /// `None` once it is asked to stop.
        jobs: Option<Sender<Job>>,
        thread: Option<JoinHandle<()>>,
    },
    /// On the thread that asks.
    Here(Box<Easel>),
}

impl Artist {
    /// An artist for a window, who paints on with a painter.
    pub(super) fn start(
        window: Arc<Window>,
        painter: Painter,
        calls: EventLoopProxy<Call>,
    ) -> Result<Self, WindowError> {
        if !IS_APART {
            return Ok(Self::Here(Box::new(Easel::new(window, painter, calls)?)));
        }
        let (jobs, todo) = channel::<Job>();
        let work = move || {
            let end = End(calls.clone());
            match Easel::new(window, painter, calls) {
                Ok(mut easel) => todo.into_iter().for_each(|job| easel.work(&job)),
                Err(error) => end.fail(error),
            }
        };
        let thread = thread::Builder::new()
            .name("artist".to_owned())
            .spawn(work)
            .map_err(|error| WindowError::Draw(error.to_string()))?;
        Ok(Self::Apart {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    pub(super) fn show(&mut self, job: Job) {
        match self {
            Self::Apart { jobs, .. } => {
                if let Some(jobs) = jobs {
                    // An artist that has ended has logged why.
                    let _ = jobs.send(job);
                }
            }
            Self::Here(easel) => easel.work(&job),
        }
    }
}

impl Drop for Artist {
    /// Waits for the artist, who must not outlive the window's connection.
    fn drop(&mut self) {
        if let Self::Apart { jobs, thread } = self {
            *jobs = None;
            // One that panicked has reported it.
            let _ = thread.take().map(JoinHandle::join);
        }
    }
}

/// What an artist works with.
pub(super) struct Easel {
    painter: Painter,
    screen: WindowScreen,
    calls: EventLoopProxy<Call>,
}

impl Easel {
    fn new(
        window: Arc<Window>,
        painter: Painter,
        calls: EventLoopProxy<Call>,
    ) -> Result<Self, WindowError> {
        Ok(Self {
            painter,
            screen: WindowScreen::new(window)?,
            calls,
        })
    }

    fn work(&mut self, job: &Job) {
        let shown = self.show(job);
        // The only error is that the receiver is gone.
        let _ = self
            .calls
            .send_event(shown.map_or_else(Call::Failed, Call::Shown));
        // What is needed next is drawn while no picture is due. A size that can't be drawn has failed
        // above.
        let _ = self.painter.prepare(&job.view);
    }

    fn show(&mut self, job: &Job) -> Result<Instant, WindowError> {
        let (width, height) = job.size;
        let picture = self
            .painter
            .update(&job.view, width, height)
            .map_err(|error| WindowError::Draw(error.to_string()))?;
        self.screen.show(&picture, job.whole)?;
        Ok(Instant::now())
    }
}

/// Reports an artist's end that was not requested.
struct End(EventLoopProxy<Call>);

impl End {
    fn fail(&self, error: WindowError) {
        // The only error is that the receiver is gone.
        let _ = self.0.send_event(Call::Failed(error));
    }
}

impl Drop for End {
    fn drop(&mut self) {
        if thread::panicking() {
            self.fail(WindowError::Draw(
                "the drawing thread broke down".to_owned(),
            ));
        }
    }
}
