//! The terminal itself: taken over, and given back as it was.

use std::io::{self, Stdout};
use std::sync::Once;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// A terminal that is taken over until this is dropped: however that comes, it is then as it was.
pub struct TerminalScreen(Terminal<CrosstermBackend<Stdout>>);

impl TerminalScreen {
    /// Takes the terminal over, and its mouse where that is wanted.
    ///
    /// # Errors
    /// When the terminal refuses.
    pub fn open(takes_mouse: bool) -> io::Result<Self> {
        give_back_in_panic();
        enable_raw_mode()?;
        let mouse = || match takes_mouse {
            true => execute!(io::stdout(), EnableMouseCapture),
            false => Ok(()),
        };
        let opened = execute!(io::stdout(), EnterAlternateScreen)
            .and_then(|()| mouse())
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        if opened.is_err() {
            give_back();
        }
        opened.map(Self)
    }

    /// Width and height in characters.
    ///
    /// # Errors
    /// When the terminal does not report it.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        let size = self.0.size()?;
        Ok((size.width, size.height))
    }

    /// Restores the terminal, whichever thread uses it: for an immediate exit of the program. It may be gone already.
    pub fn give_back() {
        give_back();
    }

    /// Shows what is drawn on an empty buffer.
    ///
    /// # Errors
    /// When the terminal takes nothing any more.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Buffer)) -> io::Result<()> {
        self.0.draw(|frame| draw(frame.buffer_mut()))?;
        Ok(())
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Undoes all that [`TerminalScreen::open`] does, as far as it was done.
fn give_back() {
    // A terminal that is gone has nothing to be given back.
    let _ = execute!(
        io::stdout(),
        DisableMouseCapture,
        LeaveAlternateScreen,
        Show
    );
    let _ = disable_raw_mode();
}

/// A panic's message is to be read on the terminal as it was, before anything is dropped.
fn give_back_in_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            give_back();
            before(info);
        }));
    });
}
