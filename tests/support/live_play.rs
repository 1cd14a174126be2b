//! The practice game in a window on a screen of its own, and the program that plays it with the mouse.

#![allow(dead_code, reason = "each test file uses some of it")]
#![expect(
    clippy::expect_used,
    reason = "a test that lacks what it needs should panic"
)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use flowpipe_tests::signals::send_signal;
use flowpipe_tests::{Ran, flowpipe, game_log, project};
use serde_json::Value;

use crate::screen::{Screen, wait_for};

/// What the game's window is called.
pub const TITLE: &str = "flowpipe play";

/// What the game's window and the mouse are on.
pub trait LiveScreen {
    /// Has a program started there.
    fn set(&self, command: &mut Command);
    /// Waits for a window.
    fn wait_for_window(&self, title: &str);
    /// Saves what it shows, for whoever looks into a failure.
    fn save_picture(&self, path: &Path);
}

impl LiveScreen for Screen {
    fn set(&self, command: &mut Command) {
        command
            .env("DISPLAY", self.display())
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WAYLAND_SOCKET");
    }

    fn wait_for_window(&self, title: &str) {
        self.window(title);
    }

    fn save_picture(&self, path: &Path) {
        self.picture(path);
    }
}

/// A screen with a window manager, the game, and its log.
pub struct Table<S: LiveScreen = Screen> {
    // Fields are dropped in this order: first the game, then its screen.
    game: Option<Child>,
    /// The screen.
    pub screen: S,
    folder: tempfile::TempDir,
    log: PathBuf,
}

/// The program, while it plays. It ends with the test, however that ends.
pub struct Player(Option<Child>);

impl Table {
    /// Starts all three.
    pub fn set(args: &[&str]) -> Self {
        Self::on_a_screen_of([1280, 1200], args)
    }

    /// The same on a screen of a width and height in pixels.
    pub fn on_a_screen_of(size: [u16; 2], args: &[&str]) -> Self {
        Self::on(Screen::start_with_manager_of(size), args)
    }
}

impl<S: LiveScreen> Table<S> {
    /// Starts the game on a screen.
    pub fn on(screen: S, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut table = Self {
            game: None,
            screen,
            log: folder.path().join("game.log"),
            folder,
        };
        table.open_game(args);
        table
    }

    /// Opens the game's window, again if it was closed, with a new log.
    pub fn open_game(&mut self, args: &[&str]) {
        let log = self.log.display().to_string();
        let game = self
            .on_screen(&[&["play", "--log", &log], args].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn();
        self.game = Some(game.expect("the game can be started"));
        self.screen.wait_for_window(TITLE);
    }

    /// Ends the game: its window goes.
    pub fn close_game(&mut self) {
        if let Some(mut game) = self.game.take() {
            // It may have ended by itself.
            let _ = game.kill();
            let _ = game.wait();
        }
    }

    fn on_screen(&self, args: &[&str]) -> Command {
        let mut command = flowpipe(args);
        self.screen.set(&mut command);
        // Nothing is found out of games before, nor kept for the next table.
        command.env("XDG_STATE_HOME", self.folder.path());
        command
    }

    /// Starts a pipeline.
    pub fn play(&self, pipeline: &str, args: &[&str]) -> Player {
        self.play_as(pipeline, args, |_| {})
    }

    /// The folder of the pipeline that is played, which is `pipeline.toml`.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The same, with changes to how the program is started.
    pub fn play_as(
        &self,
        pipeline: &str,
        args: &[&str],
        change: impl FnOnce(&mut Command),
    ) -> Player {
        let path = flowpipe_tests::pipeline(self.folder.path(), pipeline);
        let mut command = self.on_screen(&[&["run", &path], args].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        change(&mut command);
        let player = command.spawn();
        Player(Some(player.expect("the program can be started")))
    }

    /// Changes the pipeline that is played, as editors do: another file takes its name.
    pub fn change(&self, pipeline: &str) {
        let half = self.folder.path().join("pipeline.half");
        std::fs::write(&half, pipeline).expect("the temporary folder is writable");
        let path = self.folder.path().join("pipeline.toml");
        std::fs::rename(half, path).expect("the temporary folder is writable");
    }

    /// What the game has logged.
    pub fn log(&self) -> Vec<Value> {
        game_log(&self.log)
    }

    /// What the game has logged of one kind.
    pub fn logged(&self, event: &str) -> Vec<Value> {
        let mut all = self.log();
        all.retain(|line| line["event"] == event);
        all
    }

    /// How often the game has logged something of one kind: much cheaper than to read it all.
    pub fn count(&self, event: &str) -> usize {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.matches(&format!("\"event\":\"{event}\"")).count()
    }

    /// Waits until the game has logged so much of one kind.
    pub fn wait_for(&self, event: &str, count: usize) {
        wait_for(event, || {
            let enough = self.count(event) >= count;
            if !enough {
                // Whoever plays needs the processor more.
                std::thread::sleep(std::time::Duration::from_millis(50));
            }
            enough.then_some(())
        });
    }
}

impl<S: LiveScreen> Drop for Table<S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let path = std::env::temp_dir().join("flowpipe-live.ppm");
            self.screen.save_picture(&path);
            eprintln!("what the screen shows: {}", path.display());
        }
        self.close_game();
    }
}

impl Player {
    /// Sends a signal, by its name.
    pub fn signal(&self, name: &str) {
        send_signal(name, self.id());
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child().id()
    }

    /// Waits for its end.
    pub fn ended(mut self) -> Ran {
        let child = self.0.take().expect("it is taken only here");
        child
            .wait_with_output()
            .expect("its output can be read")
            .into()
    }

    fn child(&self) -> &Child {
        self.0.as_ref().expect("it is taken only at the end")
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        if self.0.is_some() {
            // Only when a test fails: the output may show why.
            self.signal("INT");
            if let Some(Ok(output)) = self.0.take().map(Child::wait_with_output) {
                eprintln!("{:#?}", Ran::from(output));
            }
        }
    }
}

/// A ready pipeline, with the configs of some stages replaced.
pub fn ready(name: &str, configs: &[(&str, &str)]) -> String {
    let path = project().join("pipelines").join(name);
    let text = std::fs::read_to_string(path).expect("a ready pipeline");
    let mut pipeline: toml::Table = text.parse().expect("it is TOML");
    for (stage, config) in configs {
        let config: toml::Value = format!("config = {{ {config} }}")
            .parse::<toml::Table>()
            .expect("a table")["config"]
            .clone();
        let stages = pipeline["stages"].as_table_mut().expect("stages");
        let stage = stages[*stage].as_table_mut().expect("a stage");
        stage.insert("config".to_owned(), config);
    }
    pipeline.to_string()
}

/// A pipeline with the plugin of one stage replaced.
pub fn with_plugin(pipeline: &str, stage: &str, plugin: &str) -> String {
    let mut pipeline: toml::Table = pipeline.parse().expect("it is TOML");
    pipeline["stages"][stage]["plugin"] = plugin.into();
    pipeline.to_string()
}
