//! One of the pipelines that run in parallel, with the thread that gives it puzzles.

use std::cell::Cell;
use std::sync::Arc;

use crossbeam_channel::Sender;
use flowpipe_abi::Hop;
use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::run::remote::{ArrivedMessage, Delivery, IncomingEdge};
use flowpipe_engine::run::{Options, Run};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_puzzle::message::{SIGHTING, Sighting};
use flowpipe_puzzle::{Puzzle, text};

use super::load::LaneLoad;
use super::observer::{SolverEvent, SolverEventKind, SolverObserver};
use super::source::{GivenPuzzle, PuzzleContent, PuzzleSource};
use super::stoppers::Stoppers;
use crate::exit::Failure;
use crate::one_off::OneOffError;

/// The index of the first stage, whose messages are made here.
const SOURCE: usize = 0;

/// What the pipelines of a run share.
pub struct LaneContext<'a> {
    /// The puzzles that each pipeline has.
    pub loads: &'a [Arc<LaneLoad>],
    pub source: &'a dyn PuzzleSource,
    pub pipeline: &'a Pipeline,
    pub catalogue: &'a Catalogue,
    pub stoppers: &'a Stoppers,
}

/// A puzzle in a pipeline: dropped, nothing more comes of it.
struct PuzzleReceipt {
    lane: usize,
    place: usize,
    load: Arc<LaneLoad>,
    events: Sender<SolverEvent>,
}

/// Runs a pipeline on puzzles of the source, until there are no more. Without a puzzle it starts nothing.
///
/// # Errors
/// When the pipeline does not start, or fails.
pub fn run(
    lane: usize,
    context: &LaneContext<'_>,
    events: &Sender<SolverEvent>,
) -> Result<(), OneOffError> {
    let Some(first) = context.source.take(context.loads.len(), &|| false) else {
        return Ok(());
    };
    let options = Options {
        observers: vec![Arc::new(SolverObserver::new(lane, events.clone()))],
        fed: [SOURCE].into(),
        ..Options::default()
    };
    let mut handle = Run::start(context.pipeline.clone(), context.catalogue, options)?;
    context.stoppers.add(handle.stopper());
    let edge = handle.take_remote_ends().incoming.pop();
    let is_fed = edge.is_some_and(|edge| feed(lane, first, edge, context, events));
    let report = handle.wait();
    match report.failure {
        Some(failure) => Err(Failure::Run(failure.to_string()).into()),
        None if is_fed || context.stoppers.have_stopped() => Ok(()),
        None => Err(Failure::Run("the solver has ended before its puzzles".to_owned()).into()),
    }
}

/// Gives puzzles to a pipeline, until it has ended. Returns whether it took all. The stream ends with the edge.
fn feed(
    lane: usize,
    first: Vec<GivenPuzzle>,
    mut edge: IncomingEdge,
    context: &LaneContext<'_>,
    events: &Sender<SolverEvent>,
) -> bool {
    let Some(load) = context.loads.get(lane) else {
        return false;
    };
    let mut batch = first;
    loop {
        let count = batch.len();
        for GivenPuzzle { place, content } in batch {
            let receipt = PuzzleReceipt::new(lane, place, load, events);
            let message = read(content).and_then(|puzzle| message(place, puzzle));
            let accepted = message.and_then(|it| edge.accept(it, Some(Arc::new(receipt))));
            match accepted {
                Ok(Delivery::Queued) => {}
                Ok(Delivery::Gone) => return false,
                Ok(Delivery::NoMemory) => {
                    let reason = "memory is short for its frame".to_owned();
                    send(events, lane, SolverEventKind::Refused(place, reason));
                }
                Err(reason) => send(events, lane, SolverEventKind::Refused(place, reason)),
            }
        }
        // Until the batch before it is done. So there is always one while this thread sleeps.
        if !load.wait_for(count) {
            return false;
        }
        let has_ended = Cell::new(false);
        let ask = || {
            has_ended.set(load.is_closed());
            has_ended.get()
        };
        match context.source.take(context.loads.len(), &ask) {
            Some(next) => batch = next,
            None => return !has_ended.get(),
        }
    }
}

fn read(content: PuzzleContent) -> Result<Puzzle, String> {
    let text = match content {
        PuzzleContent::Read(puzzle) => return Ok(puzzle),
        PuzzleContent::Text(text) => text,
    };
    let entry = text::entries(&text)
        .next()
        .ok_or("a text without a puzzle")?;
    let (puzzle, _) = entry.puzzle.map_err(|error| error.to_string())?;
    Ok(puzzle)
}

/// A puzzle as if vision had seen it. Sightings are numbered by the places of the puzzles, from 1.
fn message(place: usize, puzzle: Puzzle) -> Result<ArrivedMessage, String> {
    let sighting = Sighting::of_text(puzzle, place.to_string());
    let json = serde_json::to_vec(&sighting).map_err(|error| error.to_string())?;
    let hop = Hop {
        stage: SOURCE as u32,
        reserved: 0,
        taken_ns: 0,
        emitted_ns: 0,
    };
    Ok(ArrivedMessage {
        schema: SIGHTING.to_owned(),
        json,
        pixels: None,
        sequence: place as u64 + 1,
        origin: None,
        captured: None,
        hops: vec![hop],
        root: None,
    })
}

fn send(events: &Sender<SolverEvent>, lane: usize, kind: SolverEventKind) {
    // The receiver is gone once a reply broke the loop.
    let _ = events.send(SolverEvent { lane, kind });
}

impl PuzzleReceipt {
    fn new(lane: usize, place: usize, load: &Arc<LaneLoad>, events: &Sender<SolverEvent>) -> Self {
        load.add(place);
        Self {
            lane,
            place,
            load: load.clone(),
            events: events.clone(),
        }
    }
}

impl Drop for PuzzleReceipt {
    fn drop(&mut self) {
        let kind = SolverEventKind::Settled(self.place);
        send(&self.events, self.lane, kind);
        self.load.remove(self.place);
    }
}
