//! Packets: what a transport moves. Each has at most [`MAX_PACKET`] bytes, little-endian, and begins with its kind.

use crate::violation::Violation;

/// The most bytes of a packet.
pub const MAX_PACKET: usize = 48 << 10;
/// The most bytes of a message's body in one packet.
pub(crate) const MAX_FRAGMENT: usize = 32 << 10;
/// The version of the packets. Both ends must have the same.
pub(crate) const VERSION: u16 = 4;

const MAGIC: [u8; 8] = *b"flowlink";

mod kind {
    pub const HELLO: u8 = 1;
    pub const WELCOME: u8 = 2;
    pub const ITEM: u8 = 3;
    pub const ACK: u8 = 4;
    pub const PING: u8 = 5;
    pub const PONG: u8 = 6;
    pub const OCCUPIED: u8 = 7;
    pub const GIVEN_UP: u8 = 8;
}

mod tag {
    pub const FRAGMENT: u8 = 0;
    pub const LAST_FRAGMENT: u8 = 1;
    pub const CREDIT: u8 = 2;
    pub const DONE: u8 = 3;
    pub const END: u8 = 4;
    pub const FINISH: u8 = 5;
}

/// One execution of a program: a restarted program has another one. Random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Incarnation(pub u128);

/// A packet. `B` is the body of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packet<B> {
    /// The first packet of each end on a connection.
    Hello(Hello),
    /// The answer to [`Packet::Hello`].
    Welcome(Welcome),
    /// Instead of a welcome: another program is connected as this machine.
    Occupied,
    /// Instead of a welcome: this program counts as dead.
    GivenUp {
        /// The nonce of the hello that this answers.
        nonce: u64,
    },
    /// An item of the reliable stream.
    Item(Numbered<B>),
    /// All items up to this number have arrived.
    Ack { received: u64 },
    /// Requests a [`Packet::Pong`].
    Ping {
        /// The sender's clock, in nanoseconds.
        sent_ns: i64,
        /// The number of the last item that was sent before.
        last_item: u64,
    },
    /// The answer to [`Packet::Ping`]. The times are nanoseconds.
    Pong {
        /// The time in the ping.
        ping_sent_ns: i64,
        /// When the ping arrived, by the clock of the pong's sender.
        received_ns: i64,
        /// When the pong was sent, by the same clock.
        sent_ns: i64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub version: u16,
    pub incarnation: Incarnation,
    /// The number of the connection, counted by the end that opens connections; 0 from the other end.
    pub attempt: u64,
    /// To be repeated in the answer, which proves that the other program is alive.
    pub nonce: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Welcome {
    /// The nonce of the hello that this answers.
    pub nonce: u64,
    /// The incarnation of the hello that this answers.
    pub incarnation: Incarnation,
    /// The number of the last item that arrived from that incarnation; 0: none.
    pub received: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered<B> {
    /// From 1, without gaps, for each direction and pair of incarnations.
    pub sequence: u64,
    /// All items of the other direction up to this number have arrived.
    pub received: u64,
    pub item: Item<B>,
}

/// An item of the reliable stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item<B> {
    /// A part of a message. Parts of messages of one channel are in order and not mixed.
    Fragment {
        channel: u32,
        is_last: bool,
        body: B,
    },
    /// So many messages in all may be sent on the channel.
    Credit { channel: u32, limit: u64 },
    /// The receiver has finished these messages of the channel.
    Done { channel: u32, first: u64, last: u64 },
    /// The channel's last message was sent.
    End { channel: u32 },
    /// The sender's last item.
    Finish,
}

impl<B: AsRef<[u8]>> Packet<B> {
    /// Replaces the content of `buffer` by the packet.
    pub(crate) fn encode(&self, buffer: &mut Vec<u8>) {
        buffer.clear();
        let mut write = Writer(buffer);
        match self {
            Self::Hello(hello) => {
                write.byte(kind::HELLO);
                write.bytes(&MAGIC);
                write.bytes(&hello.version.to_le_bytes());
                write.bytes(&hello.incarnation.0.to_le_bytes());
                write.long(hello.attempt);
                write.long(hello.nonce);
            }
            Self::Welcome(welcome) => {
                write.byte(kind::WELCOME);
                write.long(welcome.nonce);
                write.bytes(&welcome.incarnation.0.to_le_bytes());
                write.long(welcome.received);
            }
            Self::Occupied => write.byte(kind::OCCUPIED),
            Self::GivenUp { nonce } => {
                write.byte(kind::GIVEN_UP);
                write.long(*nonce);
            }
            Self::Item(numbered) => {
                write.byte(kind::ITEM);
                write.long(numbered.sequence);
                write.long(numbered.received);
                write.item(&numbered.item);
            }
            Self::Ack { received } => {
                write.byte(kind::ACK);
                write.long(*received);
            }
            Self::Ping { sent_ns, last_item } => {
                write.byte(kind::PING);
                write.bytes(&sent_ns.to_le_bytes());
                write.long(*last_item);
            }
            Self::Pong {
                ping_sent_ns,
                received_ns,
                sent_ns,
            } => {
                write.byte(kind::PONG);
                for time in [ping_sent_ns, received_ns, sent_ns] {
                    write.bytes(&time.to_le_bytes());
                }
            }
        }
    }
}

impl<'a> Packet<&'a [u8]> {
    /// Reads a packet.
    ///
    /// # Errors
    /// When the bytes are none.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, Violation> {
        if bytes.len() > MAX_PACKET {
            return Err(Violation::Malformed("it is too long"));
        }
        let mut read = Reader(bytes);
        let packet = match read.byte()? {
            kind::HELLO => {
                if read.array()? != MAGIC {
                    return Err(Violation::Malformed("it is of another protocol"));
                }
                let version = u16::from_le_bytes(read.array()?);
                if version != VERSION {
                    // What follows may differ.
                    return Err(Violation::Version {
                        theirs: version,
                        ours: VERSION,
                    });
                }
                Self::Hello(Hello {
                    version,
                    incarnation: read.incarnation()?,
                    attempt: read.long()?,
                    nonce: read.long()?,
                })
            }
            kind::WELCOME => Self::Welcome(Welcome {
                nonce: read.long()?,
                incarnation: read.incarnation()?,
                received: read.long()?,
            }),
            kind::OCCUPIED => Self::Occupied,
            kind::GIVEN_UP => Self::GivenUp {
                nonce: read.long()?,
            },
            kind::ITEM => Self::Item(Numbered {
                sequence: read.long()?,
                received: read.long()?,
                item: read.item()?,
            }),
            kind::ACK => Self::Ack {
                received: read.long()?,
            },
            kind::PING => Self::Ping {
                sent_ns: read.time()?,
                last_item: read.long()?,
            },
            kind::PONG => Self::Pong {
                ping_sent_ns: read.time()?,
                received_ns: read.time()?,
                sent_ns: read.time()?,
            },
            _ => return Err(Violation::Malformed("its kind is unknown")),
        };
        match read.0.is_empty() {
            true => Ok(packet),
            false => Err(Violation::Malformed("it is longer than its content")),
        }
    }
}

struct Writer<'a>(&'a mut Vec<u8>);

impl Writer<'_> {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn long(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    fn head(&mut self, tag: u8, channel: u32) {
        self.byte(tag);
        self.bytes(&channel.to_le_bytes());
    }

    fn item<B: AsRef<[u8]>>(&mut self, item: &Item<B>) {
        match item {
            Item::Fragment {
                channel,
                is_last,
                body,
            } => {
                let tag = match is_last {
                    true => tag::LAST_FRAGMENT,
                    false => tag::FRAGMENT,
                };
                self.head(tag, *channel);
                self.bytes(body.as_ref());
            }
            Item::Credit { channel, limit } => {
                self.head(tag::CREDIT, *channel);
                self.long(*limit);
            }
            Item::Done {
                channel,
                first,
                last,
            } => {
                self.head(tag::DONE, *channel);
                self.long(*first);
                self.long(*last);
            }
            Item::End { channel } => self.head(tag::END, *channel),
            Item::Finish => self.byte(tag::FINISH),
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Violation> {
        let (first, rest) = self
            .0
            .split_first_chunk()
            .ok_or(Violation::Malformed("it is too short"))?;
        self.0 = rest;
        Ok(*first)
    }

    fn byte(&mut self) -> Result<u8, Violation> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    fn int(&mut self) -> Result<u32, Violation> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn long(&mut self) -> Result<u64, Violation> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    fn time(&mut self) -> Result<i64, Violation> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    fn incarnation(&mut self) -> Result<Incarnation, Violation> {
        Ok(Incarnation(u128::from_le_bytes(self.array()?)))
    }

    fn item(&mut self) -> Result<Item<&'a [u8]>, Violation> {
        Ok(match self.byte()? {
            tag @ (tag::FRAGMENT | tag::LAST_FRAGMENT) => {
                let channel = self.int()?;
                let body = std::mem::take(&mut self.0);
                let is_last = tag == tag::LAST_FRAGMENT;
                if body.len() > MAX_FRAGMENT {
                    return Err(Violation::Malformed("its fragment is too long"));
                }
                if body.is_empty() && !is_last {
                    return Err(Violation::Malformed("its fragment is empty"));
                }
                Item::Fragment {
                    channel,
                    is_last,
                    body,
                }
            }
            tag::CREDIT => Item::Credit {
                channel: self.int()?,
                limit: self.long()?,
            },
            tag::DONE => Item::Done {
                channel: self.int()?,
                first: self.long()?,
                last: self.long()?,
            },
            tag::END => Item::End {
                channel: self.int()?,
            },
            tag::FINISH => Item::Finish,
            _ => return Err(Violation::Malformed("its item is unknown")),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn items() -> impl Strategy<Value = Item<Vec<u8>>> {
        prop_oneof![
            (any::<u32>(), vec(any::<u8>(), 1..99)).prop_map(|(channel, body)| Item::Fragment {
                channel,
                is_last: body.len() % 2 == 0,
                body
            }),
            any::<[u32; 2]>().prop_map(|[channel, limit]| Item::Credit {
                channel,
                limit: limit.into()
            }),
            any::<(u32, u64, u64)>().prop_map(|(channel, first, last)| Item::Done {
                channel,
                first,
                last
            }),
            any::<u32>().prop_map(|channel| Item::End { channel }),
            Just(Item::Finish),
        ]
    }

    fn packets() -> impl Strategy<Value = Packet<Vec<u8>>> {
        let hello = any::<(u128, u64, u64)>().prop_map(|(id, attempt, nonce)| {
            Packet::Hello(Hello {
                version: VERSION,
                incarnation: Incarnation(id),
                attempt,
                nonce,
            })
        });
        let welcome = any::<(u64, u128, u64)>().prop_map(|(nonce, id, received)| {
            Packet::Welcome(Welcome {
                nonce,
                incarnation: Incarnation(id),
                received,
            })
        });
        prop_oneof![
            hello,
            welcome,
            (any::<[u64; 2]>(), items()).prop_map(|([sequence, received], item)| {
                Packet::Item(Numbered {
                    sequence,
                    received,
                    item,
                })
            }),
            any::<u64>().prop_map(|nonce| Packet::GivenUp { nonce }),
            any::<u64>().prop_map(|received| Packet::Ack { received }),
            any::<(i64, u64)>()
                .prop_map(|(sent_ns, last_item)| Packet::Ping { sent_ns, last_item }),
            any::<[i64; 3]>().prop_map(|[ping_sent_ns, received_ns, sent_ns]| Packet::Pong {
                ping_sent_ns,
                received_ns,
                sent_ns
            }),
        ]
    }

    fn encoded<B: AsRef<[u8]>>(packet: &Packet<B>) -> Vec<u8> {
        let mut bytes = vec![7; 3];
        packet.encode(&mut bytes);
        bytes
    }

    proptest! {
        #[test]
        fn packets_are_read_as_they_were_written(packet in packets()) {
            let bytes = encoded(&packet);
            let read = Packet::decode(&bytes).unwrap();
            // Written again, the same bytes: so it has the same content.
            prop_assert_eq!(encoded(&read), bytes);
        }

        #[test]
        fn fuzz_packets(bytes in vec(any::<u8>(), 0..99), kind in 0u8..9) {
            let bytes = [&[kind], bytes.as_slice()].concat();
            if let Ok(packet) = Packet::decode(&bytes) {
                prop_assert_eq!(encoded(&packet), bytes);
            }
        }

        #[test]
        fn a_truncated_packet_is_malformed(packet in packets(), cut in any::<prop::sample::Index>()) {
            let bytes = encoded(&packet);
            let bytes = &bytes[..cut.index(bytes.len())];
            match Packet::decode(bytes) {
                // A shorter fragment is a fragment.
                Ok(Packet::Item(Numbered { item: Item::Fragment { .. }, .. })) => {}
                other => prop_assert!(other.is_err(), "{:?}", other),
            }
        }
    }

    #[test]
    fn long_packets_are_refused() {
        let fragment = |length| {
            let body = vec![0; length];
            let item = Item::Fragment {
                channel: 0,
                is_last: true,
                body,
            };
            encoded(&Packet::Item(Numbered {
                sequence: 1,
                received: 0,
                item,
            }))
        };
        assert!(Packet::decode(&fragment(MAX_FRAGMENT)).is_ok());
        assert!(fragment(MAX_FRAGMENT).len() <= MAX_PACKET);
        assert!(Packet::decode(&fragment(MAX_FRAGMENT + 1)).is_err());
        assert!(Packet::decode(&fragment(MAX_PACKET)).is_err());
    }

    #[test]
    fn another_version_is_named() {
        let hello = Packet::<&[u8]>::Hello(Hello {
            version: VERSION + 1,
            incarnation: Incarnation(1),
            attempt: 1,
            nonce: 1,
        });
        let mut bytes = encoded(&hello);
        bytes.push(0);
        assert_eq!(
            Packet::decode(&bytes),
            Err(Violation::Version {
                theirs: VERSION + 1,
                ours: VERSION,
            })
        );
    }
}
