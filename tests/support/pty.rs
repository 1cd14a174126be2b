//! The program in a pseudo terminal, with a keyboard, and a screen that is read.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{built, project};
use portable_pty::{Child, CommandBuilder, PtyPair, PtySize, native_pty_system};

/// Long enough for the slowest machine; no test passes by waiting.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The program in a terminal of its own.
pub struct Pty {
    pair: PtyPair,
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    /// All that was written to the terminal.
    written: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
    /// The viewer is gone.
    closed: Arc<AtomicBool>,
    /// The terminal's settings before the program.
    settings: String,
}

/// The program, in the project's folder, in a terminal with all colours.
pub fn flowpipe(args: &[&str]) -> CommandBuilder {
    let mut command = CommandBuilder::new(built().join("flowpipe"));
    command.args(args);
    command.cwd(project());
    command.env("TERM", "xterm-256color");
    command.env("COLORTERM", "truecolor");
    command.env_remove("NO_COLOR");
    command
}

fn side(length: u16) -> NonZeroU16 {
    NonZeroU16::new(length).unwrap()
}

fn size((cols, rows): (u16, u16)) -> PtySize {
    PtySize {
        rows,
        cols,
        ..PtySize::default()
    }
}

impl Pty {
    /// Starts a program in a terminal of so many columns and rows.
    pub fn start(command: CommandBuilder, (columns, rows): (u16, u16)) -> Self {
        let pair = native_pty_system().openpty(size((columns, rows))).unwrap();
        let settings = format!("{:?}", pair.master.get_termios());
        let child = pair.slave.spawn_command(command).unwrap();
        let screen = vt100::Parser::new(side(rows), side(columns), 0);
        let screen = Arc::new(Mutex::new(screen));
        let (mut output, shown) = (pair.master.try_clone_reader().unwrap(), Arc::clone(&screen));
        let closed = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&closed);
        let written = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&written);
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The end is an error on some systems.
            while let Ok(count @ 1..) = output.read(&mut bytes)
                && !over.load(Ordering::Relaxed)
            {
                kept.lock().unwrap().extend_from_slice(&bytes[..count]);
                shown.lock().unwrap().process(&bytes[..count]);
            }
        });
        Self {
            keyboard: pair.master.take_writer().unwrap(),
            pair,
            child,
            screen,
            written,
            reader: Some(reader),
            closed,
            settings,
        }
    }

    /// All that was written to the terminal so far, and is from now on.
    pub fn written(&self) -> Arc<Mutex<Vec<u8>>> {
        Arc::clone(&self.written)
    }

    pub fn contents(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    /// Waits until the screen is so, and gives it.
    #[track_caller]
    pub fn wait_until(&self, what: &str, sees: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let contents = self.contents();
            if sees(&contents) {
                return contents;
            }
            assert!(began.elapsed() < PATIENCE, "no {what} in\n{contents}");
            sleep(Duration::from_millis(2));
        }
    }

    /// Waits until a text is on the screen.
    #[track_caller]
    pub fn wait_to_see(&self, text: &str) {
        self.wait_until(&format!("{text:?}"), |contents| contents.contains(text));
    }

    pub fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    pub fn resize(&self, to: (u16, u16)) {
        let mut screen = self.screen.lock().unwrap();
        screen.screen_mut().set_size(side(to.1), side(to.0));
        self.pair.master.resize(size(to)).unwrap();
    }

    /// Asks the program to end, as a system does that shuts down.
    pub fn terminate(&self) {
        send_signal("TERM", self.child.process_id().unwrap());
    }

    /// Whether anything is written in a colour of its own.
    pub fn has_colours(&self) -> bool {
        let screen = self.screen.lock().unwrap();
        let screen = screen.screen();
        let (rows, cols) = screen.size();
        let (rows, cols) = (rows.get(), cols.get());
        let cells = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
        cells
            .filter_map(|(row, col)| screen.cell(row, col))
            .any(|cell| cell.fgcolor() != vt100::Color::Default)
    }

    /// Closes the terminal under a program that goes on writing, and waits for its end.
    #[track_caller]
    pub fn hang_up(mut self) {
        self.closed.store(true, Ordering::Relaxed);
        drop(self.pair);
        drop(self.keyboard);
        self.reader.take().unwrap().join().unwrap();
        let began = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            if began.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("it goes on without a terminal");
            }
            sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the program's end, whatever its exit code, and until all that it wrote is read.
    pub fn finish(mut self) {
        self.child.wait().unwrap();
        drop(self.pair);
        drop(self.keyboard);
        self.reader.take().unwrap().join().unwrap();
    }

    /// Waits for the program's end, and checks that the terminal is restored. Returns what is left on it.
    #[track_caller]
    pub fn ended(mut self, code: u32) -> String {
        assert_eq!(self.child.wait().unwrap().exit_code(), code);
        let settings = format!("{:?}", self.pair.master.get_termios());
        assert_eq!(settings, self.settings);
        // With nobody left who could write, the reader comes to an end.
        drop(self.pair);
        drop(self.keyboard);
        self.reader.take().unwrap().join().unwrap();
        let screen = self.screen.lock().unwrap();
        let screen = screen.screen();
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
        assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None);
        screen.contents()
    }
}
