//! A picture of the screen, for tests of the desktop.

use flowpipe_desktop::{Grabber, Rect};

/// A picture: its place, scale, size and pixels as red, green, blue.
#[derive(Debug)]
pub struct Look {
    pub place: Rect,
    pub scale: f64,
    pub size: [u32; 2],
    pub pixels: Vec<[u8; 3]>,
}

/// A picture of a part of the screen.
pub fn look(grabber: &mut Grabber, rect: Rect) -> Look {
    let picture = grabber.grab(rect).unwrap().unwrap();
    let pixels = picture.pixels.chunks_exact(4);
    let look = Look {
        place: picture.place,
        scale: picture.scale,
        size: [picture.width, picture.height],
        pixels: pixels.map(|it| [it[2], it[1], it[0]]).collect(),
    };
    assert_eq!(look.pixels.len() as u32, look.size[0] * look.size[1]);
    look
}
