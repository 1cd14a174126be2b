//! From a window to small pictures, each with its time.

use std::thread::sleep;
use std::time::{Duration, Instant};

use flowpipe_desktop::{Capture, Grabber, WindowId};

/// From one look at the window to the next.
const TICK: Duration = Duration::from_millis(50);
/// A window that has shown the same for so long is drawn and waits for the player.
const STILL: Duration = Duration::from_millis(500);
/// How long a player may take to begin.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which rows of a window are filmed, and how many of its pixels, across and down, become one.
pub struct Frame {
    pub top: usize,
    pub bottom: usize,
    pub scale: usize,
}

/// A picture, row by row: red, green, blue.
#[derive(Clone, PartialEq)]
pub struct Picture {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<[u8; 3]>,
}

/// A picture and since when it is to be seen, from the film's beginning.
pub struct Shot {
    pub at: Duration,
    pub picture: Picture,
}

/// Looks at a window again and again.
pub struct Camera {
    grabber: Grabber,
    window: WindowId,
    size: [u32; 2],
    frame: Frame,
}

impl Camera {
    pub fn new(grabber: Grabber, window: WindowId, size: [u32; 2], frame: Frame) -> Self {
        Self {
            grabber,
            window,
            size,
            frame,
        }
    }

    /// Waits until the window is drawn.
    pub fn wait_for_stillness(&mut self) {
        let (mut last, mut since) = (self.look(), Instant::now());
        while since.elapsed() < STILL {
            sleep(TICK);
            let picture = self.look();
            if picture != last {
                (last, since) = (picture, Instant::now());
            }
        }
    }

    /// Films from the first change on, for so long. The film begins so long `before` it with what was
    /// there then. Pictures that are the same as the one before are left out.
    ///
    /// # Panics
    /// When there is no change for long.
    pub fn record(&mut self, before: Duration, length: Duration) -> Vec<Shot> {
        let still = self.look();
        let asked = Instant::now();
        let mut ticks = Ticks(asked);
        let (began, mut last) = loop {
            let now = ticks.wait();
            let picture = self.look();
            if picture != still {
                break (now, picture);
            }
            assert!(asked.elapsed() < PATIENCE, "nothing moves in the window");
        };
        let mut shots = vec![
            Shot {
                at: Duration::ZERO,
                picture: still,
            },
            Shot {
                at: before,
                picture: last.clone(),
            },
        ];
        loop {
            let at = ticks.wait() - began;
            if at >= length {
                return shots;
            }
            let picture = self.look();
            if picture != last {
                shots.push(Shot {
                    at: before + at,
                    picture: picture.clone(),
                });
                last = picture;
            }
        }
    }

    /// What the window shows now.
    ///
    /// # Panics
    /// When it is gone, or has another size.
    fn look(&mut self) -> Picture {
        loop {
            match self.grabber.grab_window(self.window) {
                Ok(Capture::Shown(seen)) => {
                    assert_eq!([seen.width, seen.height], self.size, "the window's size");
                    return shrink(seen.pixels, self.size[0] as usize, &self.frame);
                }
                Ok(Capture::Moving) => {}
                Ok(Capture::Hidden) => panic!("the window is gone"),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// The time of the last look.
struct Ticks(Instant);

impl Ticks {
    /// Waits for the next one. Those that were missed are not made up for.
    fn wait(&mut self) -> Instant {
        self.0 = (self.0 + TICK).max(Instant::now());
        sleep(self.0.saturating_duration_since(Instant::now()));
        self.0
    }
}

/// Each pixel is the mean of a square of `scale` times `scale`. Takes blue, green, red, and one unused.
fn shrink(bgra: &[u8], width: usize, frame: &Frame) -> Picture {
    let scale = frame.scale;
    let mean = |top: usize, left: usize, channel: usize| {
        let square = (top..top + scale).flat_map(|y| (left..left + scale).map(move |x| [x, y]));
        let sum: usize = square
            .map(|[x, y]| usize::from(bgra[(y * width + x) * 4 + channel]))
            .sum();
        let count = scale * scale;
        ((sum + count / 2) / count) as u8
    };
    let (columns, rows) = (width / scale, (frame.bottom - frame.top) / scale);
    let pixels = (0..rows)
        .flat_map(|row| (0..columns).map(move |column| (frame.top + row * scale, column * scale)));
    Picture {
        width: columns,
        height: rows,
        pixels: pixels
            .map(|(top, left)| [2, 1, 0].map(|channel| mean(top, left, channel)))
            .collect(),
    }
}
