//! One end of the network, which checks what its session reports and sends.

use super::*;

/// One value for each channel.
type PerChannel<T> = [T; CHANNELS as usize];

/// One end with its program.
pub(super) struct End {
    pub session: Session,
    /// The next number to send on each channel.
    pub next: PerChannel<u64>,
    /// The number that each channel delivers next.
    pub expected: PerChannel<u64>,
    /// The last message of each channel that the peer has, as this end knows.
    pub arrived: PerChannel<u64>,
    /// The channels on which it sends nothing more.
    pub ended: PerChannel<bool>,
    /// The channels on which the peer sends nothing more, as this end knows.
    pub peer_ended: PerChannel<bool>,
    /// Messages that were delivered and not finished.
    pub held: VecDeque<MessageId>,
    /// What the peer has finished: channel and number.
    pub finished: BTreeSet<(u32, u64)>,
    /// What it had finished when it called [`Session::finish`]; `None`: it has not called it.
    pub due: Option<BTreeSet<(u32, u64)>>,
    /// [`Event::Finished`] has come.
    pub peer_has_finished: bool,
    /// The number of its last item, once that was sent.
    last_item: Option<u64>,
    pub events: Vec<Event>,
}

impl End {
    pub fn new(opens: bool, incarnation: u128, keeps_peer: bool) -> Self {
        let settings = Settings {
            keeps_peer,
            ..settings(opens, incarnation)
        };
        let mut session = Session::new(settings, incarnation as u64);
        (0..CHANNELS).for_each(|channel| session.receive_on(channel, CAPACITY));
        Self {
            session,
            next: [1; CHANNELS as usize],
            expected: [1; CHANNELS as usize],
            arrived: [0; CHANNELS as usize],
            ended: [false; CHANNELS as usize],
            peer_ended: [false; CHANNELS as usize],
            held: VecDeque::new(),
            finished: BTreeSet::new(),
            due: None,
            peer_has_finished: false,
            last_item: None,
            events: Vec::new(),
        }
    }

    /// Sends the next message of a channel, if it is accepted. Its body has its number and a length that depends on it.
    pub fn send(&mut self, channel: u32, longest: usize) -> bool {
        let number = &mut self.next[channel as usize];
        let sent = self.session.send(channel, body(*number, longest));
        let has_ended = self.ended[channel as usize] || self.due.is_some();
        assert_eq!(sent == Err(Refusal::Ended), has_ended, "{sent:?}");
        if let Ok(id) = sent {
            assert_eq!((id.channel, id.number), (channel, *number));
            *number += 1;
        }
        sent.is_ok()
    }

    /// Takes what has arrived, and checks it against what the peer has done.
    pub fn take(&mut self, peer: &End, longest: usize) {
        while let Some(event) = self.session.next_event() {
            match &event {
                Event::Message { id, body: got } => {
                    let channel = id.channel as usize;
                    let is_over = self.peer_ended[channel] || self.peer_has_finished;
                    assert!(!is_over, "{id:?}");
                    let expected = &mut self.expected[channel];
                    assert_eq!(id.number, *expected, "channel {channel}");
                    assert!(got[..] == body(*expected, longest)[..], "{id:?}");
                    *expected += 1;
                    self.held.push_back(*id);
                }
                Event::Arrived(id) => {
                    let before = &mut self.arrived[id.channel as usize];
                    let accepted = peer.session.arrived(id.channel);
                    assert!(
                        (*before + 1..=accepted).contains(&id.number),
                        "{id:?}: {before} before, {accepted} accepted"
                    );
                    *before = id.number;
                }
                Event::Done { first, last } => {
                    assert!(!self.peer_has_finished, "{event:?}");
                    for number in first.number..=*last {
                        assert!(peer.has_done(first.channel, number), "{event:?}");
                        assert!(self.finished.insert((first.channel, number)));
                    }
                }
                Event::Ended { channel } => {
                    let index = *channel as usize;
                    let is_over = self.peer_ended[index] || self.peer_has_finished;
                    assert!(!is_over && peer.ended[index], "{event:?}");
                    assert_eq!(self.expected[index], peer.next[index], "{event:?}");
                    self.peer_ended[index] = true;
                }
                Event::Finished => {
                    assert!(!self.peer_has_finished);
                    assert_eq!(self.expected, peer.next);
                    assert_eq!(self.peer_ended, peer.ended);
                    let due = peer.due.as_ref().expect("the peer has called `finish`");
                    assert!(due.is_subset(&self.finished), "{due:?} {:?}", self.finished);
                    self.peer_has_finished = true;
                }
                Event::PeerLost => {
                    self.arrived = [0; CHANNELS as usize];
                    self.ended = [false; CHANNELS as usize];
                    self.peer_ended = [false; CHANNELS as usize];
                    self.events.push(event);
                }
                _ => self.events.push(event),
            }
        }
    }

    /// Finishes one of the messages that it has.
    pub fn finish_one(&mut self, choice: usize) {
        if !self.held.is_empty() {
            let index = choice % self.held.len();
            if let Some(id) = self.held.remove(index) {
                self.session.take(id.channel);
                self.session.done(id);
            }
        }
    }

    /// Sends nothing more on a channel.
    pub fn end(&mut self, channel: u32) {
        // Nothing comes behind the last item, so its peer might not learn of it.
        if self.due.is_none() {
            self.session.end(channel);
            self.ended[channel as usize] = true;
        }
    }

    /// Sends nothing more at all.
    pub fn finish(&mut self) {
        let numbers = |channel: u32| 1..self.expected[channel as usize];
        let taken = (0..CHANNELS).flat_map(|it| numbers(it).map(move |number| (it, number)));
        let due = taken.filter(|&(channel, number)| self.has_done(channel, number));
        self.due = Some(due.collect());
        self.session.finish();
    }

    /// Whether it has taken a message of its peer, and finished it.
    fn has_done(&self, channel: u32, number: u64) -> bool {
        let id = MessageId {
            epoch: self.session.epoch,
            channel,
            number,
        };
        number < self.expected[channel as usize] && !self.held.contains(&id)
    }

    /// Checks a packet that it sends: nothing comes behind its last item.
    pub fn check_sent(&mut self, packet: &[u8]) {
        if let Packet::Item(Numbered { sequence, item, .. }) = Packet::decode(packet).unwrap() {
            let is_over = self.last_item.is_some_and(|last| sequence > last);
            assert!(!is_over, "{sequence}: {item:?}");
            if item == Item::Finish {
                self.last_item = Some(sequence);
            }
        }
    }
}

/// The body of a message.
pub(super) fn body(number: u64, longest: usize) -> Arc<[u8]> {
    let mut body = number.to_le_bytes().to_vec();
    // Every seventh one is long.
    if longest > 0 && number.is_multiple_of(7) {
        body.resize(8 + (number as usize * 7919) % longest, number as u8);
    }
    body.into()
}
