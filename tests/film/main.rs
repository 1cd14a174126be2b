//! Films the program while it plays a time trial of the practice game, on a screen of its own, and
//! writes `docs/timetrial.png`, an animation (APNG). `./x film` builds all that it needs and runs it.

#![expect(clippy::expect_used, reason = "a film that can't be made should panic")]

mod animation;
#[path = "../support/live_play.rs"]
mod live_play;
mod recording;
#[path = "../support/screen.rs"]
mod screen;

use std::time::Duration;

use flowpipe_desktop::Desktop;
use flowpipe_tests::project;
use live_play::{TITLE, Table, ready};
use recording::{Camera, Frame};

/// The inside of the window, in pixels.
const WINDOW: [u32; 2] = [560, 996];
/// What is filmed of it: the header and the board. The buttons below never change.
const FRAME: Frame = Frame {
    top: 36,
    bottom: 780,
    scale: 2,
};
/// The same boards every time.
const SEED: &str = "4";
/// How long the untouched board is seen, and how long the play.
const BEFORE: Duration = Duration::from_millis(700);
const PLAY: Duration = Duration::from_millis(8300);
/// Bytes that a picture in a README may have.
const LIMIT: usize = 1_000_000;

fn main() {
    let [width, height] = WINDOW;
    let window = format!("{width}x{height}");
    let table = Table::set(&[
        "--size",
        "5",
        "--seed",
        SEED,
        "--time-trial",
        "30s",
        "--input",
        "events",
        "--window",
        &window,
    ]);
    let desktop = Desktop::connect_x11(table.screen.display()).expect("the screen is there");
    let window = desktop.find(TITLE).expect("the screen can be asked");
    let mut camera = Camera::new(
        desktop.grabber().expect("the screen can be grabbed"),
        window.expect("the game's window"),
        WINDOW,
        FRAME,
    );
    camera.wait_for_stillness();

    let player = table.play(
        &ready("timetrial.toml", &[("planner", "profile = \"events\"")]),
        &[],
    );
    let shots = camera.record(BEFORE, PLAY);
    let solved = table.count("solved");
    player.signal("INT");
    player.ended().expect(130);

    let film = animation::encode(&shots, BEFORE + PLAY);
    let path = project().join("docs/timetrial.png");
    assert!(film.len() < LIMIT, "{} bytes are too many", film.len());
    std::fs::write(&path, &film).expect("docs/ can be written to");
    println!(
        "docs/timetrial.png: {:.1} s, {} pictures, {solved} boards solved, {} kB",
        (BEFORE + PLAY).as_secs_f64(),
        shots.len(),
        film.len() / 1000,
    );
}
