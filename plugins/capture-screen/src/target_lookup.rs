//! What is captured, once it is known.

use std::thread::{Builder, JoinHandle};

use flowpipe_desktop::Desktop;
use flowpipe_plugin::{Error, Result};

use crate::config::Subject;
use crate::target::Target;

/// What is captured, once it is known.
pub struct TargetLookup {
    subject: Subject,
    /// Wait for a window when it is not there.
    waits: bool,
    target: Option<Target>,
    /// A person is asked. On a thread of its own: an answer that takes minutes is no work of this stage.
    asking: Option<JoinHandle<Result<Target>>>,
}

impl TargetLookup {
    /// Where a person is asked, that is with the first capture: by then all stages of the run are there, and if the mouse has
    /// asked, its answer serves here too.
    ///
    /// # Errors
    /// When there is no such monitor, or the region is not on the screen.
    pub fn new(subject: Subject, waits: bool, desktop: &Desktop) -> Result<Self> {
        // A window is not searched for where a person is asked.
        let is_asked = desktop.asks() && !matches!(subject, Subject::Window(_));
        let target = match is_asked {
            true => None,
            false => Some(Target::new(subject.clone(), waits, desktop)?),
        };
        Ok(Self {
            subject,
            waits,
            target,
            asking: None,
        })
    }

    /// What is captured. `None`: the person has not answered yet.
    ///
    /// # Errors
    /// As [`Self::new`], and when the person refuses. The next call asks again.
    pub fn known(&mut self, desktop: &Desktop) -> Result<Option<&mut Target>> {
        if self.target.is_none() {
            let asking = match self.asking.take() {
                Some(asking) => asking,
                None => self.ask(desktop.clone())?,
            };
            if !asking.is_finished() {
                self.asking = Some(asking);
                return Ok(None);
            }
            let answer = asking.join();
            let answer = answer.map_err(|_| Error::new("the question to the desktop panicked"))?;
            self.target = Some(answer?);
        }
        Ok(self.target.as_mut())
    }

    fn ask(&self, desktop: Desktop) -> Result<JoinHandle<Result<Target>>> {
        let (subject, waits) = (self.subject.clone(), self.waits);
        let ask = move || {
            desktop.monitors()?;
            Target::new(subject, waits, &desktop)
        };
        let thread = Builder::new().name("capture-asks".to_owned());
        thread
            .spawn(ask)
            .map_err(|error| Error::new(error.to_string()))
    }
}
