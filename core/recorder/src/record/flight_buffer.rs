//! The last seconds of a run in memory. Each lineage buffer holds what descends from one frame, so that lineages stay
//! whole.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};

use flowpipe_engine::payload::payload;
use flowpipe_host::message::Message;
use flowpipe_recording::entry::{AboutEdge, Call, Dropped};
use flowpipe_recording::{Packed, PayloadKind, Topic};

use crate::record::item_size::size_without_pixels;
use crate::record::{Item, Picture};

/// The last seconds of a run.
///
/// A lineage buffer is dropped when nothing was added to it for the configured time and all its messages were taken.
/// The message of a call that hangs for minutes is therefore still there when the plugin is abandoned.
pub(crate) struct FlightBuffer {
    lineages: HashMap<LineageKey, LineageBuffer>,
    /// The lineage of each message.
    of: HashMap<(Topic, u64), LineageKey>,
    edges: Vec<OpenEdge>,
    /// By hash, so that an unchanged screen is kept once.
    pictures: HashMap<u128, Weak<Packed>>,
    /// Bytes in memory.
    held: usize,
    /// Those of them that are kept beside the buffer, for the whole run.
    reserved: usize,
    most: usize,
    /// The number of items so far.
    count: u64,
    /// Whether nothing was dropped yet.
    is_whole: bool,
}

/// The key of a lineage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LineageKey {
    /// The frame that a stage captured: the stage and the message's sequence number.
    Frame(usize, u64),
    /// An item without a frame.
    Alone(u64),
}

#[derive(Default)]
struct LineageBuffer {
    /// With their numbers.
    items: Vec<(u64, Item)>,
    /// When something was last added, by the run's clock.
    last_ns: i64,
    /// Bytes, without pixels.
    size: usize,
}

/// The messages of an edge that were not taken yet, as far as known.
struct OpenEdge {
    from: Topic,
    to: String,
    /// The capacity of the queue, plus one message at each end.
    most: usize,
    open: VecDeque<u64>,
}

/// The items in the buffer, in order.
pub(crate) struct Kept {
    pub items: Vec<Item>,
    /// The time of the first item, by the run's clock. `None`: the buffer holds the whole run.
    pub since_ns: Option<i64>,
}

impl FlightBuffer {
    /// Creates an empty buffer that holds at most `most` bytes.
    pub(crate) fn new(edges: &[AboutEdge], most: usize) -> Self {
        Self {
            lineages: HashMap::new(),
            of: HashMap::new(),
            edges: edges.iter().map(OpenEdge::new).collect(),
            pictures: HashMap::new(),
            held: 0,
            reserved: 0,
            most,
            count: 0,
            is_whole: true,
        }
    }

    /// Adds edges. Known edges are kept: their receivers still drain them.
    pub(crate) fn join(&mut self, edges: &[AboutEdge]) {
        for edge in edges {
            let new = OpenEdge::new(edge);
            let is_it = |it: &&mut OpenEdge| it.from == new.from && it.to == new.to;
            match self.edges.iter_mut().find(is_it) {
                Some(known) => known.most = known.most.max(new.most),
                None => self.edges.push(new),
            }
        }
    }

    /// Counts bytes that are kept beside the buffer for the whole run: the buffer holds less.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.reserved += bytes;
        self.held += bytes;
        if self.held > self.most {
            self.make_room();
        }
    }

    /// Adds an item. If it has a picture, returns whether that was known already.
    pub(crate) fn add(&mut self, item: Item) -> Option<bool> {
        self.count += 1;
        let mut repeated = None;
        let (key, item, at_ns) = match item {
            Item::Message(topic, message, picture) => {
                let key = self.of_message(&message);
                self.of
                    .insert((topic.clone(), message.lineage().sequence), key);
                for edge in self.edges.iter_mut().filter(|edge| edge.from == topic) {
                    edge.add(message.lineage().sequence);
                }
                let at_ns = message.emitted_ns();
                let (message, picture) = match picture {
                    Picture::Frame => {
                        let (picture, known) = self.pack(&message);
                        repeated = Some(known);
                        (Arc::new(message.without_frame()), picture)
                    }
                    other => (message, other),
                };
                (key, Item::Message(topic, message, picture), at_ns)
            }
            Item::Call(call) => {
                self.settle_call(&call);
                let (key, at_ns) = (self.of_call(&call), call.ended_ns);
                (key, Item::Call(call), at_ns)
            }
            Item::Dropped(dropped) => {
                self.settle_drop(&dropped);
                let message = (Topic::new(&dropped.from, &dropped.output), dropped.sequence);
                let at_ns = dropped.at_ns;
                (self.known(&message), Item::Dropped(dropped), at_ns)
            }
            // `FlightSink` keeps these.
            Item::Change(_) => return None,
            Item::DroppedLineages(dropped) => {
                let at_ns = dropped.until_ns;
                let item = Item::DroppedLineages(dropped);
                (LineageKey::Alone(self.count), item, at_ns)
            }
            Item::Problem(problem) => {
                let at_ns = problem.at_ns;
                let item = Item::Problem(problem);
                (LineageKey::Alone(self.count), item, at_ns)
            }
        };
        let size = size_without_pixels(&item);
        let lineage = self.lineages.entry(key).or_default();
        lineage.items.push((self.count, item));
        lineage.last_ns = lineage.last_ns.max(at_ns);
        lineage.size += size;
        self.held += size;
        if self.held > self.most {
            self.make_room();
        }
        repeated
    }

    /// Drops the lineages that ended before this time of the run's clock.
    pub(crate) fn forget_before(&mut self, ns: i64) {
        let open = self.open();
        self.forget(|key, lineage| lineage.last_ns < ns && !open.contains(key));
    }

    /// Returns everything in the buffer.
    pub(crate) fn kept(&self) -> Kept {
        let mut items: Vec<_> = self.lineages.values().flat_map(|it| &it.items).collect();
        items.sort_by_key(|(number, _)| *number);
        let times = items.iter().map(|(_, item)| item.began_ns());
        Kept {
            since_ns: (!self.is_whole).then(|| times.min().unwrap_or_default()),
            items: items.into_iter().map(|(_, item)| item.clone()).collect(),
        }
    }

    /// Drops the oldest lineages.
    fn make_room(&mut self) {
        let mut ages: Vec<_> = self.lineages.values().map(|it| it.last_ns).collect();
        ages.sort_unstable();
        for share in 1..=8 {
            if self.held <= self.most / 8 * 7 {
                break;
            }
            let oldest = ages.get(ages.len() * share / 8);
            let before = oldest.copied().unwrap_or(i64::MAX);
            self.forget(|_, lineage| lineage.last_ns < before);
        }
    }

    fn forget(&mut self, goes: impl Fn(&LineageKey, &LineageBuffer) -> bool) {
        let before = self.lineages.len();
        self.lineages.retain(|key, lineage| !goes(key, lineage));
        if self.lineages.len() == before {
            return;
        }
        self.is_whole = false;
        let lineages = &self.lineages;
        self.of.retain(|_, key| lineages.contains_key(key));
        self.pictures
            .retain(|_, picture| picture.strong_count() > 0);
        let pictures = self.pictures.values().filter_map(Weak::upgrade);
        let texts = lineages.values().map(|lineage| lineage.size);
        let items: usize = texts.chain(pictures.map(|it| it.size())).sum();
        self.held = self.reserved + items;
    }

    fn pack(&mut self, message: &Message) -> (Picture, bool) {
        let Some(payload) = message.frame().and_then(payload) else {
            // Recordings do not support its format; those of buffers they do.
            return (Picture::LeftOut(PayloadKind::Picture), false);
        };
        let hash = payload.hash();
        if let Some(known) = self.pictures.get(&hash).and_then(Weak::upgrade) {
            return (Picture::Packed(known), true);
        }
        let Some(packed) = Packed::new(&payload).map(Arc::new) else {
            return (Picture::LeftOut(payload.kind()), false);
        };
        self.held += packed.size();
        self.pictures.insert(hash, Arc::downgrade(&packed));
        (Picture::Packed(packed), false)
    }

    fn of_message(&self, message: &Message) -> LineageKey {
        message
            .lineage()
            .origin
            .map_or(LineageKey::Alone(self.count), |origin| {
                LineageKey::Frame(origin.stage, origin.sequence)
            })
    }

    fn of_call(&self, call: &Call) -> LineageKey {
        let taken = call.took.as_ref();
        let taken = taken.map(|it| (Topic::new(&it.from, &it.output), it.sequence));
        let emitted = call.emitted.first();
        let emitted = emitted.map(|it| (Topic::new(&call.stage, &it.port), it.sequence));
        match taken.or(emitted) {
            Some(message) => self.known(&message),
            None => LineageKey::Alone(self.count),
        }
    }

    fn known(&self, message: &(Topic, u64)) -> LineageKey {
        let known = self.of.get(message);
        known.copied().unwrap_or(LineageKey::Alone(self.count))
    }

    fn settle_call(&mut self, call: &Call) {
        let Some(taken) = &call.took else { return };
        for edge in &mut self.edges {
            if edge.to == call.stage && edge.comes_from(&taken.from, &taken.output) {
                // Queues are ordered: earlier messages were taken or dropped before.
                edge.open.retain(|number| *number > taken.sequence);
            }
        }
    }

    fn settle_drop(&mut self, dropped: &Dropped) {
        for edge in &mut self.edges {
            if edge.to == dropped.to.0 && edge.comes_from(&dropped.from, &dropped.output) {
                edge.open.retain(|number| *number != dropped.sequence);
            }
        }
    }

    /// The lineages with messages that were not taken yet.
    fn open(&self) -> HashSet<LineageKey> {
        let open = self.edges.iter().flat_map(|edge| {
            let key = |number: &u64| self.of.get(&(edge.from.clone(), *number)).copied();
            edge.open.iter().filter_map(key)
        });
        open.collect()
    }
}

impl OpenEdge {
    fn new(edge: &AboutEdge) -> Self {
        Self {
            from: Topic::new(&edge.from.0, &edge.from.1),
            to: (&edge.to.0).into(),
            most: edge.capacity + 2,
            open: VecDeque::new(),
        }
    }

    fn add(&mut self, number: u64) {
        self.open.push_back(number);
        // A stage that has ended takes nothing more.
        while self.open.len() > self.most {
            self.open.pop_front();
        }
    }

    fn comes_from(&self, stage: &str, output: &str) -> bool {
        self.from.stage == stage && self.from.port == output
    }
}

impl Item {
    /// When it began, by the run's clock.
    fn began_ns(&self) -> i64 {
        match self {
            Self::Message(_, message, _) => message.emitted_ns(),
            Self::Call(call) => call.taken_ns,
            Self::Dropped(dropped) => dropped.at_ns,
            Self::Problem(problem) => problem.at_ns,
            Self::DroppedLineages(dropped) => dropped.at_ns,
            Self::Change(change) => change.at_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use flowpipe_config::pipeline::PortRef;
    use flowpipe_host::document::Document;
    use flowpipe_host::message::{Lineage, Origin};
    use flowpipe_recording::entry::{Emitted, Event, Mark, Taken};

    use super::*;

    const MILLISECOND: i64 = 1_000_000;

    fn edges() -> Vec<AboutEdge> {
        let edge = |from: &str, to: &str| AboutEdge {
            from: (from.into(), "out".into()),
            to: (to.into(), "in".into()),
            capacity: 1,
            when_full: "block".into(),
        };
        vec![edge("screen", "vision"), edge("vision", "solver")]
    }

    /// The message of a frame, emitted at this millisecond.
    fn message(stage: usize, frame: u64, at: i64) -> Item {
        let message = Message {
            schema: CString::new("a/1").unwrap().into(),
            body: Document::new(format!("\"{}\"", "x".repeat(1000)).as_bytes()).unwrap(),
            frame: None,
            lineage: Lineage {
                sequence: frame,
                origin: Some(Origin {
                    stage: 0,
                    sequence: frame,
                    captured_ns: 0,
                }),
                captured: None,
                hops: [flowpipe_abi::Hop {
                    stage: stage as u32,
                    reserved: 0,
                    taken_ns: 0,
                    emitted_ns: at * MILLISECOND,
                }]
                .into_iter()
                .collect(),
                root: None,
            },
            source: PortRef { stage, port: 0 },
        };
        let topic = Topic::new(["screen", "vision"][stage], "out");
        Item::Message(topic, Arc::new(message), Picture::None)
    }

    /// The call of a stage that took the message of a frame.
    fn call(stage: &str, from: &str, frame: u64, at: i64) -> Item {
        Item::Call(Box::new(Call {
            stage: stage.into(),
            event: Event::Message,
            took: Some(Taken {
                port: "in".into(),
                from: from.into(),
                output: "out".into(),
                sequence: frame,
            }),
            ended_ns: at * MILLISECOND,
            emitted: vec![Emitted {
                port: "out".into(),
                sequence: frame,
                at_ns: at * MILLISECOND,
                origin: None,
            }],
            ..Call::default()
        }))
    }

    /// The frames in the buffer.
    fn frames(buffer: &FlightBuffer) -> Vec<u64> {
        let frame = |item: &Item| match item {
            Item::Message(topic, message, _) if topic.stage == "screen" => {
                Some(message.lineage().sequence)
            }
            _ => None,
        };
        buffer.kept().items.iter().filter_map(frame).collect()
    }

    #[test]
    fn old_lineages_are_dropped_whole() {
        let mut buffer = FlightBuffer::new(&edges(), usize::MAX);
        for frame in 1..=4 {
            let at = frame as i64 * 100;
            buffer.add(message(0, frame, at));
            buffer.add(message(1, frame, at + 10));
            buffer.add(call("vision", "screen", frame, at + 11));
            buffer.add(call("solver", "vision", frame, at + 20));
        }
        assert_eq!(buffer.kept().since_ns, None, "it is the whole run");
        buffer.forget_before(300 * MILLISECOND);
        assert_eq!(frames(&buffer), [3, 4]);
        let kept = buffer.kept();
        assert_eq!(kept.items.len(), 8);
        assert_eq!(kept.since_ns, Some(0), "calls that began at 0");
    }

    #[test]
    fn a_message_in_a_hanging_call_is_kept() {
        let mut buffer = FlightBuffer::new(&edges(), usize::MAX);
        buffer.add(message(0, 1, 0));
        buffer.add(message(1, 1, 10));
        buffer.add(call("vision", "screen", 1, 11));
        // The solver has taken it, and its call does not return.
        buffer.forget_before(1_000 * MILLISECOND);
        assert_eq!(frames(&buffer), [1]);
        buffer.add(call("solver", "vision", 1, 60_000));
        buffer.forget_before(60_001 * MILLISECOND);
        assert!(frames(&buffer).is_empty());
    }

    #[test]
    fn untaken_messages_are_bounded() {
        let mut buffer = FlightBuffer::new(&edges(), usize::MAX);
        for frame in 1..=100 {
            buffer.add(message(0, frame, frame as i64));
        }
        buffer.forget_before(1_000 * MILLISECOND);
        assert_eq!(
            frames(&buffer),
            [98, 99, 100],
            "the queue and both its ends"
        );
    }

    #[test]
    fn memory_is_bounded() {
        let mut buffer = FlightBuffer::new(&edges(), 100_000);
        for frame in 1..=1000 {
            buffer.add(message(0, frame, frame as i64));
            buffer.add(call("vision", "screen", frame, frame as i64));
            assert!(buffer.held <= 100_000);
        }
        let frames = frames(&buffer);
        assert_eq!(frames.last(), Some(&1000));
        assert!(frames.len() > 30, "{}", frames.len());
        // What is kept beside it counts, too.
        buffer.reserve(95_000);
        assert_eq!(buffer.held, 95_000);
        buffer.add(message(0, 1001, 1001));
        assert_eq!(self::frames(&buffer), [1001]);
    }

    #[test]
    fn the_names_of_marks_take_room() {
        let mut buffer = FlightBuffer::new(&edges(), 100_000);
        for at in 1..=1000 {
            let mark = Mark {
                name: "x".repeat(1000).as_str().into(),
                at_ns: 0,
            };
            buffer.add(Item::Call(Box::new(Call {
                ended_ns: at,
                marks: vec![mark],
                ..Call::default()
            })));
        }
        assert!(buffer.kept().items.len() < 100);
    }
}
