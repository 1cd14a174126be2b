//! Messages as bytes: a header of an object, a length and a number, and arguments in units of 32 bits.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;

/// Bytes of a header.
const HEADER: usize = 16;
/// The longest message that is read, in bytes. None of the messages that are understood is longer, but for names.
const LONGEST: usize = 1 << 14;
/// The most files that wait for their message.
const MOST_FILES: usize = 8;

/// Why messages can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    #[error("a message of a length that can't be")]
    Length,
    #[error("a message that ends too early or too late")]
    Arguments,
    #[error("a text that is none")]
    Text,
    #[error("more files than messages that have one")]
    Files,
    #[error("a message that should have a file")]
    NoFile,
}

/// A message of the other side.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub object: u64,
    pub opcode: u32,
    arguments: Vec<u8>,
}

impl Message {
    pub(super) fn arguments(&self) -> Arguments<'_> {
        Arguments(&self.arguments)
    }
}

/// What was received and not read yet.
#[derive(Default)]
pub(super) struct Incoming {
    bytes: VecDeque<u8>,
    files: VecDeque<OwnedFd>,
}

impl Incoming {
    /// # Errors
    /// When files pile up.
    pub(super) fn add(
        &mut self,
        bytes: &[u8],
        files: impl Iterator<Item = OwnedFd>,
    ) -> Result<(), Malformed> {
        self.bytes.extend(bytes);
        self.files.extend(files);
        match self.files.len() <= MOST_FILES {
            true => Ok(()),
            false => Err(Malformed::Files),
        }
    }

    /// The next message, if it is whole.
    ///
    /// # Errors
    /// When it has a length that can't be.
    pub(super) fn next(&mut self) -> Result<Option<Message>, Malformed> {
        let mut header = [0; HEADER];
        if self.bytes.len() < HEADER {
            return Ok(None);
        }
        for (to, from) in header.iter_mut().zip(&self.bytes) {
            *to = *from;
        }
        let mut fields = Arguments(&header);
        let (object, length, opcode) = (fields.id()?, fields.number()?, fields.number()?);
        let length = length as usize;
        if !(HEADER..=LONGEST).contains(&length) || !length.is_multiple_of(4) {
            return Err(Malformed::Length);
        }
        if self.bytes.len() < length {
            return Ok(None);
        }
        let arguments = self.bytes.drain(..length).skip(HEADER).collect();
        Ok(Some(Message {
            object,
            opcode,
            arguments,
        }))
    }

    /// The file of the message that was read last.
    ///
    /// # Errors
    /// When it has none.
    pub(super) fn file(&mut self) -> Result<OwnedFd, Malformed> {
        self.files.pop_front().ok_or(Malformed::NoFile)
    }
}

/// Arguments that are read one by one.
pub(super) struct Arguments<'a>(&'a [u8]);

impl<'a> Arguments<'a> {
    fn take<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed::Arguments)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn number(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_ne_bytes)
    }

    pub(super) fn id(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_ne_bytes)
    }

    pub(super) fn fraction(&mut self) -> Result<f32, Malformed> {
        self.take().map(f32::from_ne_bytes)
    }

    /// A text, or none. It ends with a zero, which its length counts.
    pub(super) fn text(&mut self) -> Result<Option<&'a str>, Malformed> {
        let length = self.number()? as usize;
        if length == 0 {
            return Ok(None);
        }
        let padded = length.checked_next_multiple_of(4);
        let padded = padded.ok_or(Malformed::Arguments)?;
        let (text, rest) = self
            .0
            .split_at_checked(padded)
            .ok_or(Malformed::Arguments)?;
        self.0 = rest;
        match text.get(..length) {
            Some([text @ .., 0]) => std::str::from_utf8(text)
                .map(Some)
                .map_err(|_| Malformed::Text),
            _ => Err(Malformed::Text),
        }
    }

    /// All arguments were read.
    pub(super) fn end(self) -> Result<(), Malformed> {
        match self.0 {
            [] => Ok(()),
            _ => Err(Malformed::Arguments),
        }
    }
}

/// A message to the other side.
pub(super) struct Request(Vec<u8>);

impl Request {
    pub(super) fn new(object: u64, opcode: u32) -> Self {
        let mut bytes = object.to_ne_bytes().to_vec();
        bytes.extend([0; 4]);
        bytes.extend(opcode.to_ne_bytes());
        Self(bytes)
    }

    pub(super) fn number(mut self, number: u32) -> Self {
        self.0.extend(number.to_ne_bytes());
        self
    }

    pub(super) fn id(mut self, id: u64) -> Self {
        self.0.extend(id.to_ne_bytes());
        self
    }

    pub(super) fn fraction(mut self, fraction: f32) -> Self {
        self.0.extend(fraction.to_ne_bytes());
        self
    }

    pub(super) fn text(self, text: &str) -> Self {
        let length = text.len() + 1;
        let mut request = self.number(length as u32);
        request.0.extend(text.as_bytes());
        let padded = length.next_multiple_of(4);
        request.0.extend((text.len()..padded).map(|_| 0));
        request
    }

    /// The whole message.
    pub(super) fn bytes(mut self) -> Vec<u8> {
        let length = self.0.len() as u32;
        for (to, from) in self.0.iter_mut().skip(8).zip(length.to_ne_bytes()) {
            *to = from;
        }
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<Message>, Malformed> {
        let mut incoming = Incoming::default();
        incoming.add(bytes, std::iter::empty())?;
        std::iter::from_fn(|| incoming.next().transpose()).collect()
    }

    #[test]
    fn what_is_written_is_read_however_it_is_cut() {
        let sent = [
            Request::new(7, 3).number(5).id(u64::MAX).bytes(),
            Request::new(8, 0).bytes(),
            Request::new(9, 1)
                .text("abc")
                .fraction(0.5)
                .text("")
                .bytes(),
        ]
        .concat();
        let mut incoming = Incoming::default();
        let mut read = Vec::new();
        for byte in &sent {
            incoming.add(&[*byte], std::iter::empty()).unwrap();
            read.extend(incoming.next().unwrap());
        }
        let [first, second, third] = &read[..] else {
            panic!("{read:?}");
        };
        assert_eq!((first.object, first.opcode), (7, 3));
        let mut arguments = first.arguments();
        assert_eq!(arguments.number(), Ok(5));
        assert_eq!(arguments.id(), Ok(u64::MAX));
        assert_eq!(arguments.end(), Ok(()));
        assert_eq!(second.arguments().end(), Ok(()));
        let mut arguments = third.arguments();
        assert_eq!(arguments.text(), Ok(Some("abc")));
        assert_eq!(arguments.fraction(), Ok(0.5));
        assert_eq!(arguments.text(), Ok(Some("")));
        assert_eq!(arguments.end(), Ok(()));
    }

    #[test]
    fn lengths_that_can_t_be_are_refused() {
        for length in [0, 15, 17, LONGEST as u32 + 4, u32::MAX] {
            let mut bytes = Request::new(7, 3).bytes();
            bytes[8..12].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(read(&bytes), Err(Malformed::Length), "{length}");
        }
        for length in [5, 100, u32::MAX] {
            let message = Request::new(7, 3).number(length).number(0).bytes();
            let message = &read(&message).unwrap()[0];
            let text = message.arguments().text();
            assert!(text.is_err(), "{length}: {text:?}");
        }
        let without_zero = Request::new(7, 3).number(4).number(u32::MAX).bytes();
        let message = &read(&without_zero).unwrap()[0];
        assert_eq!(message.arguments().text(), Err(Malformed::Text));
    }

    #[test]
    fn files_do_not_pile_up() {
        let file = || OwnedFd::from(std::fs::File::open("/proc/self/stat").unwrap());
        let mut incoming = Incoming::default();
        for _ in 0..MOST_FILES {
            incoming.add(&[], [file()].into_iter()).unwrap();
        }
        let more = incoming.add(&[], [file()].into_iter());
        assert_eq!(more, Err(Malformed::Files));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for message in read(&bytes).into_iter().flatten() {
                let mut arguments = message.arguments();
                while arguments.text().is_ok() {}
                let _ = (arguments.number(), arguments.fraction(), arguments.end());
            }
        }
    }
}
