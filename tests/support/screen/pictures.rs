//! What the screen shows.

use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat};

use super::Screen;

impl Screen {
    /// Writes what the screen shows into a file, as a portable pixmap (PPM).
    pub fn picture(&self, path: &std::path::Path) {
        let size = self
            .connection
            .get_geometry(self.root)
            .expect("the server is there")
            .reply()
            .expect("a screen has a size");
        let image = self
            .connection
            .get_image(
                ImageFormat::Z_PIXMAP,
                self.root,
                0,
                0,
                size.width,
                size.height,
                u32::MAX,
            )
            .expect("the server is there")
            .reply()
            .expect("a picture");
        let mut ppm = format!("P6 {} {} 255\n", size.width, size.height).into_bytes();
        let pixels = image.data.chunks_exact(4);
        ppm.extend(pixels.flat_map(|bgra| [bgra[2], bgra[1], bgra[0]]));
        std::fs::write(path, ppm).expect("a file can be written");
    }

    /// Red, green, blue of a point on the screen.
    pub fn pixel(&self, [x, y]: [i16; 2]) -> [u8; 3] {
        let image = self
            .connection
            .get_image(ImageFormat::Z_PIXMAP, self.root, x, y, 1, 1, u32::MAX)
            .expect("the server is there")
            .reply()
            .expect("a pixel");
        [image.data[2], image.data[1], image.data[0]]
    }
}
