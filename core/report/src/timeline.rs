//! Who was busy when.

use std::collections::{BTreeMap, HashMap};

use flowpipe_recording::entry::{AboutStage, Call, CancelReason, Event};
use flowpipe_recording::{Recording, Topic};
use serde::Serialize;

use crate::lineage::Lineage;
use crate::story::Story;

/// A plugin of a worker of a stage, and what it was called for.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Lane {
    /// Index of the stage.
    pub stage: usize,
    /// Its name, unless it is the stage's: the plugin where several raced, and the worker where there were several.
    pub name: Option<String>,
    /// When each call began: nanoseconds since the one before began.
    start: Vec<i64>,
    /// How long each took, nanoseconds.
    length: Vec<i64>,
    /// By call: of that, nanoseconds spent waiting.
    waited: Vec<i64>,
    /// By call: its frame, or -1.
    frame: Vec<i64>,
    /// By call: what it gave, as an index of the texts, or -1.
    text: Vec<i64>,
    /// Calls that failed or were called off: the call, and why, as an index of the texts.
    wrong: Vec<(usize, usize)>,
    /// Neighbours were put together, because there are too many calls.
    thinned: bool,
}

/// All lanes.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// In the pipeline's order.
    pub lanes: Vec<Lane>,
    /// What calls gave; each once.
    texts: Vec<String>,
    #[serde(skip)]
    known: HashMap<String, usize>,
}

/// The greatest number of calls in a lane; of more, neighbours are put together.
const MOST: usize = 20_000;

/// The most workers of a stage that have lanes. No run has more.
const MOST_WORKERS: usize = 64;

/// A call, or several put together.
#[derive(Clone, Debug)]
struct Span {
    start: i64,
    end: i64,
    waited: i64,
    frame: Option<usize>,
    text: Option<usize>,
    wrong: Option<usize>,
}

impl Timeline {
    /// That of a recording.
    pub fn of(recording: &Recording, story: &Story) -> Self {
        let lineage = Lineage::of(recording, &story.frames);
        let mut timeline = Self::default();
        for (stage, about) in recording.about().stages.iter().enumerate() {
            let calls = lineage.calls().iter().copied();
            let calls = calls.filter(|call| call.stage == about.name && shown(call));
            let mut lanes: BTreeMap<(usize, usize), Vec<Span>> = BTreeMap::new();
            for place in 0..about.plugins.len() {
                // Each plugin has a lane, also without a call.
                lanes.insert((0, place), Vec::new());
            }
            let workers = about.workers.min(MOST_WORKERS);
            let is_known =
                |call: &&Call| call.worker < workers && call.plugin < about.plugins.len();
            for call in calls.filter(is_known) {
                let span = timeline.span(call, &lineage, recording, story);
                let lane = lanes.entry((call.worker, call.plugin)).or_default();
                lane.push(span);
            }
            for ((worker, plugin), spans) in lanes {
                let name = lane_name(about, worker, plugin);
                timeline.lanes.push(Lane::of(stage, name, spans));
            }
        }
        timeline
    }

    fn span(
        &mut self,
        call: &Call,
        lineage: &Lineage<'_>,
        recording: &Recording,
        story: &Story,
    ) -> Span {
        let words = call.emitted.iter().filter_map(|emitted| {
            let topic = Topic::new(call.stage.clone(), emitted.port.clone());
            let buffer = recording.buffer_info(&topic, emitted.sequence);
            let buffer = buffer.map(|info| format!("a buffer {info}"));
            let words = story.words.get(&(topic, emitted.sequence)).cloned();
            let words = words.or(buffer)?;
            // A stage of several outputs names the output.
            Some(match emitted.port.as_str() {
                "out" => words,
                port => format!("{port}: {words}"),
            })
        });
        let words: Vec<String> = words.collect();
        let is_picture = || {
            call.emitted.first().is_some_and(|emitted| {
                let topic = Topic::new(call.stage.clone(), emitted.port.clone());
                recording.has_pixels(&topic, emitted.sequence)
            })
        };
        let text = match (words.is_empty(), call.emitted.len(), call.event) {
            (false, ..) => Some(words.join("; ")),
            (true, 0, Event::Message) => Some("nothing to pass on".to_owned()),
            (true, 0, _) => None,
            (true, 1, Event::Tick) if is_picture() => Some("a frame".to_owned()),
            (true, count, _) => Some(flowpipe_terminal::counted(count, "message")),
        };
        let wrong = match (&call.failed, call.cancelled) {
            (Some(reason), _) => Some(reason.clone()),
            (None, Some(cancelled)) => Some(called_off(cancelled.reason).to_owned()),
            (None, None) => None,
        };
        Span {
            start: call.taken_ns,
            end: call.ended_ns.max(call.taken_ns),
            waited: call.waited_ns,
            frame: lineage.frame_of_call(call),
            text: text.map(|text| self.text(text)),
            wrong: wrong.map(|wrong| self.text(wrong)),
        }
    }

    fn text(&mut self, text: String) -> usize {
        if let Some(&known) = self.known.get(&text) {
            return known;
        }
        self.texts.push(text.clone());
        self.known.insert(text, self.texts.len() - 1);
        self.texts.len() - 1
    }
}

/// The name of the lane of a worker's plugin: `stage#2` of the second worker, as in traces. `None`: the stage's.
fn lane_name(about: &AboutStage, worker: usize, plugin: usize) -> Option<String> {
    let races = about.plugins.len() > 1;
    let plugin = about.plugins.get(plugin).filter(|_| races);
    let worker = (about.workers > 1).then(|| format!("{}#{}", about.name, worker + 1));
    match (plugin, worker) {
        (Some(plugin), Some(worker)) => Some(format!("{worker}/{}", plugin.name)),
        (plugin, worker) => plugin.map(|plugin| plugin.name.clone()).or(worker),
    }
}

fn called_off(reason: CancelReason) -> &'static str {
    match reason {
        CancelReason::Timeout => "called off: it took too long",
        CancelReason::Lost => "called off: another plugin was faster",
        CancelReason::Stop => "called off: the run was ending",
    }
}

/// The end of the stream is no work, unless it brought some.
fn shown(call: &Call) -> bool {
    call.event == Event::Message || call.failed.is_some() || !call.emitted.is_empty()
}

impl Lane {
    fn of(stage: usize, name: Option<String>, mut spans: Vec<Span>) -> Self {
        spans.sort_by_key(|span| span.start);
        let thinned = spans.len() > MOST;
        if thinned {
            spans = put_together(&spans, MOST);
        }
        let index = |place: Option<usize>| place.map_or(-1, |place| place as i64);
        let mut lane = Self {
            stage,
            name,
            thinned,
            ..Self::default()
        };
        let mut before = 0;
        for (place, span) in spans.iter().enumerate() {
            lane.start.push(span.start - before);
            before = span.start;
            lane.length.push(span.end - span.start);
            lane.waited.push(span.waited);
            lane.frame.push(index(span.frame));
            lane.text.push(index(span.text));
            if let Some(wrong) = span.wrong {
                lane.wrong.push((place, wrong));
            }
        }
        lane
    }
}

/// Puts neighbours together, those with the smallest gaps between them first, until there are at most `most`.
fn put_together(spans: &[Span], most: usize) -> Vec<Span> {
    let mut gap = 1_000;
    loop {
        let mut together: Vec<Span> = Vec::new();
        for span in spans {
            match together.last_mut() {
                Some(last) if span.start - last.end < gap && last.wrong.is_none() => {
                    last.end = last.end.max(span.end);
                    last.waited = last.waited.saturating_add(span.waited);
                    last.wrong = span.wrong;
                    (last.frame, last.text) = (None, None);
                }
                _ => together.push(span.clone()),
            }
        }
        if together.len() <= most || gap > i64::MAX / 4 {
            return together;
        }
        gap *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_calls_become_fewer_that_are_busy_as_long() {
        let span = |index: i64| Span {
            start: index * 10_000,
            end: index * 10_000 + 4_000 + index % 7 * 100,
            waited: 0,
            frame: Some(1),
            text: None,
            wrong: None,
        };
        let spans: Vec<Span> = (0..1000).map(span).collect();
        let together = put_together(&spans, 300);
        assert!(together.len() <= 300, "{}", together.len());
        assert_eq!(together[0].start, 0);
        assert_eq!(together[together.len() - 1].end, spans[999].end);
        assert!(together.windows(2).all(|pair| pair[0].end < pair[1].start));
    }
}
