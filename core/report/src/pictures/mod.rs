//! The pictures of a recording, small enough for a page.
//!
//! [`shrink`] makes them smaller, [`pack`] encodes them; of a picture that differs from one before in some places only,
//! these [`tiles`] are kept. [`reel`] has the frames for the scrubber, [`stills`] the boards before and after.

mod pack;
mod reel;
mod shrink;
mod stills;
mod tiles;

pub use reel::Reel;
pub use stills::{Still, stills};

use serde::{Serialize, Serializer};

/// An encoded picture: WebP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded(Vec<u8>);

impl Encoded {
    /// How many characters it takes in the page.
    pub fn characters(&self) -> usize {
        self.0.len().div_ceil(3) * 4
    }
}

impl Serialize for Encoded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use base64::Engine as _;
        let text = base64::engine::general_purpose::STANDARD.encode(&self.0);
        serializer.serialize_str(&text)
    }
}

/// Returns the places of `count` items of a list, spread evenly from the first to the last.
pub fn evenly(length: usize, count: usize) -> Vec<usize> {
    match count.min(length) {
        0 => Vec::new(),
        1 => vec![0],
        count => (0..count)
            .map(|place| place * (length - 1) / (count - 1))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_choices() {
        assert_eq!(evenly(5, 9), [0, 1, 2, 3, 4]);
        assert_eq!(evenly(9, 5), [0, 2, 4, 6, 8]);
        assert_eq!(evenly(10, 4), [0, 3, 6, 9]);
        assert_eq!(evenly(7, 1), [0]);
        assert_eq!(evenly(0, 3), [] as [usize; 0]);
    }

    #[test]
    fn characters_are_counted_as_they_are_written() {
        for length in 0..8 {
            let encoded = Encoded(vec![7; length]);
            let json = serde_json::to_string(&encoded).unwrap();
            assert_eq!(json.len() - 2, encoded.characters());
        }
    }
}
