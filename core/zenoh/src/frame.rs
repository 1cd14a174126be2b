//! What a zenoh message contains: packets of a connection, or a change of it.

use flowpipe_link::MAX_PACKET;

/// The most bytes of a message: zenoh sends it whole, in one batch.
pub const MAX_MESSAGE: usize = 60 << 10;
/// The bytes before the packets: the kind, and the number of the connection.
const HEADER: usize = 1 + 8;
/// The bytes before each packet: its length.
const LENGTH: usize = 4;

const OPEN: u8 = 1;
const ACCEPT: u8 = 2;
const DATA: u8 = 3;
const CLOSE: u8 = 4;

/// What a message is. Each has the number of its connection, which the machine that opens it has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Opens a connection. It is repeated until it is accepted.
    Open,
    /// Accepts it.
    Accept,
    /// Packets.
    Data,
    /// Closes it.
    Close,
}

/// The kind of a message and the number of its connection. `None`: it is malformed.
pub fn decode(message: &[u8]) -> Option<(Kind, u64)> {
    let (&kind, rest) = message.split_first()?;
    let (number, mut rest) = rest.split_first_chunk()?;
    let number = u64::from_le_bytes(*number);
    let kind = match kind {
        OPEN => Kind::Open,
        ACCEPT => Kind::Accept,
        CLOSE => Kind::Close,
        DATA if message.len() <= MAX_MESSAGE => {
            while !rest.is_empty() {
                (_, rest) = split_packet(rest)?;
            }
            return Some((Kind::Data, number));
        }
        _ => return None,
    };
    rest.is_empty().then_some((kind, number))
}

/// A message without packets.
pub fn encode(kind: Kind, number: u64) -> Vec<u8> {
    let kind = match kind {
        Kind::Open => OPEN,
        Kind::Accept => ACCEPT,
        Kind::Data => DATA,
        Kind::Close => CLOSE,
    };
    let mut message = vec![kind];
    message.extend(number.to_le_bytes());
    message
}

/// Whether a message has packets.
pub fn has_packets(message: &[u8]) -> bool {
    message.len() > HEADER
}

/// Whether a packet of this length fits into a message.
pub fn fits(message: &[u8], length: usize) -> bool {
    message.len() + LENGTH + length <= MAX_MESSAGE
}

/// Adds a packet, which fits.
pub fn add_packet(message: &mut Vec<u8>, packet: &[u8]) {
    let length = u32::try_from(packet.len()).unwrap_or(u32::MAX);
    message.extend(length.to_le_bytes());
    message.extend(packet);
}

/// The packets of a message.
pub fn packets(message: &[u8]) -> &[u8] {
    message.get(HEADER..).unwrap_or_default()
}

/// The first packet of some, and the others. `None`: there is none, or it is malformed.
pub fn split_packet(packets: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = packets.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > MAX_PACKET {
        return None;
    }
    rest.split_at_checked(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written() {
        for kind in [Kind::Open, Kind::Accept, Kind::Data, Kind::Close] {
            let message = encode(kind, 0x0123_4567_89ab_cdef);
            assert_eq!(decode(&message), Some((kind, 0x0123_4567_89ab_cdef)));
        }
        let mut message = encode(Kind::Data, 7);
        assert!(!has_packets(&message));
        let longest = vec![9; MAX_PACKET];
        for packet in [&[1, 2, 3][..], &[], &longest] {
            assert!(fits(&message, packet.len()));
            add_packet(&mut message, packet);
        }
        assert!(!fits(&message, longest.len()));
        assert_eq!(decode(&message), Some((Kind::Data, 7)));
        let mut found = Vec::new();
        let mut rest = packets(&message);
        while let Some((packet, others)) = split_packet(rest) {
            found.push(packet);
            rest = others;
        }
        assert_eq!(found, [&[1, 2, 3][..], &[], &longest]);
    }

    #[test]
    fn malformed_messages_are_refused() {
        let mut data = encode(Kind::Data, 1);
        add_packet(&mut data, &[1, 2, 3]);
        // All that is cut off, but the header alone.
        for length in (0..data.len()).filter(|length| *length != HEADER) {
            assert_eq!(decode(&data[..length]), None, "{length}");
        }
        let with = |kind, bytes: &[u8]| [&encode(kind, 1)[..], bytes].concat();
        let too_long = (MAX_PACKET as u32 + 1).to_le_bytes();
        let too_long = [&too_long[..], &[0; MAX_PACKET + 1]].concat();
        for message in [
            with(Kind::Open, &[0]),
            with(Kind::Accept, &[0]),
            with(Kind::Close, &[0]),
            with(Kind::Data, &[0]),
            with(Kind::Data, &[255; 4]),
            with(Kind::Data, &too_long),
            with(Kind::Data, &vec![0; MAX_MESSAGE]),
            [&[0][..], &[0; 8]].concat(),
            [&[5][..], &[0; 8]].concat(),
        ] {
            assert_eq!(decode(&message), None, "{:?}", &message[..9]);
        }
    }
}
