//! Encodes pictures as WebP: of a game's pictures it takes a third of what JPEG does, and every browser shows it.

use webp::{Encoder, WebPConfig};

use super::Encoded;
use super::shrink::Picture;

/// How hard the encoder tries, from 0 to 6: more takes longer, and the picture gets smaller.
const EFFORT: i32 = 2;

/// What a picture is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What can be seen.
    Whole,
    /// Tiles side by side that are no neighbours: nothing is smoothed across.
    Tiles,
}

/// Encodes a picture, `quality` from 1 to 100. `None`: the encoder takes no picture of that size.
pub fn pack(picture: &Picture, kind: Kind, quality: u8) -> Option<Encoded> {
    if picture.width == 0 || picture.height == 0 {
        return None;
    }
    let mut config = WebPConfig::new().ok()?;
    config.quality = f32::from(quality);
    config.method = EFFORT;
    if kind == Kind::Tiles {
        config.filter_strength = 0;
    }
    let encoder = Encoder::from_rgb(&picture.rgb, picture.width, picture.height);
    let packed = encoder.encode_advanced(&config).ok()?;
    Some(Encoded(packed.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finer_ones_are_larger() {
        let stripes = |at: u32| {
            if (at / 3).is_multiple_of(2) {
                255
            } else {
                at as u8
            }
        };
        let picture = Picture {
            width: 64,
            height: 64,
            rgb: (0..64 * 64 * 3).map(stripes).collect(),
        };
        let sizes = [30, 95].map(|quality| pack(&picture, Kind::Whole, quality).unwrap());
        assert!(sizes[0].0.starts_with(b"RIFF"));
        assert!(sizes[0].characters() < sizes[1].characters());
        let empty = Picture {
            width: 0,
            height: 3,
            rgb: Vec::new(),
        };
        assert_eq!(pack(&empty, Kind::Tiles, 80), None);
    }
}
