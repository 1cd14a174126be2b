//! Encodes pictures.

use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;

use super::Encoded;
use super::shrink::Picture;

/// As JPEG, `quality` from 1 to 100. `None`: the encoder takes no picture of that size.
pub fn jpeg(picture: &Picture, quality: u8) -> Option<Encoded> {
    let mut bytes = Vec::new();
    let (width, height) = (picture.width, picture.height);
    JpegEncoder::new_with_quality(&mut bytes, quality)
        .encode(&picture.rgb, width, height, ExtendedColorType::Rgb8)
        .ok()?;
    Some(Encoded(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finer_ones_are_larger() {
        let stripes = |at: u32| if at / 3 % 2 == 0 { 255 } else { at as u8 };
        let picture = Picture {
            width: 64,
            height: 64,
            rgb: (0..64 * 64 * 3).map(stripes).collect(),
        };
        let [coarse, fine] = [30, 95].map(|quality| jpeg(&picture, quality).unwrap());
        assert!(coarse.0.starts_with(&[0xff, 0xd8]));
        assert!(coarse.characters() < fine.characters());
    }
}
