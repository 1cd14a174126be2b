//! Reads pictures one after the other: in place where a board is known, else turned about there, else anywhere.

use flowpipe_plugin::Cancel;
use flowpipe_plugin::puzzle::message::{BoardState, GameRules, Reading, SeenBoard};
use flowpipe_plugin::puzzle::{Lattice, Puzzle};

use crate::config::Config;
use crate::find::hatch::HatchedPage;
use crate::find::perspective::missed_columns::widened;
use crate::find::perspective::rest_pose::RestPose;
use crate::find::perspective::turned_board::TurnedBoard;
use crate::picture::Picture;
use crate::picture::cut_out::CutOut;
use crate::picture::top_hat::TopHat;
use crate::read::board::{BoardReading, read_known, read_solvable_or_not};
use crate::read::edge_search;
use crate::read::error::ReadError;
use crate::read::flip_search::{self, FlipSearch};
use crate::read::illustration;
use crate::read::search::BoardSearch;
use crate::read::shape::surroundings::Surroundings;
use crate::read::tilt_search::TiltSearch;
use crate::refuse::refusal::Refusal;
use crate::refuse::{size, solvability};
use crate::rule_finder::RuleFinder;
use crate::steps::Steps;
use crate::track::hex_positions::HexPositions;
use crate::track::last_reading::LastReading;
use crate::track::line_positions::LinePositions;
use crate::track::line_strength::line_strength;
use crate::track::tracks::{Track, Tracks};

/// Reads boards, one picture after the other.
///
/// Where boards were at rest is all that it remembers: equal pictures in the same order give equal
/// readings, and so does a reader that was reset.
#[derive(Default)]
pub struct Reader {
    config: Config,
    search: BoardSearch,
    tracks: Tracks,
    last: LastReading,
    /// Of the part of the picture that is read in place.
    thin: TopHat,
    flips: FlipSearch,
    straight: TiltSearch,
    rules: RuleFinder,
    /// When the picture was captured, by the host's clock, in nanoseconds.
    captured_ns: i64,
    /// What was read last at rest.
    rested: Option<Puzzle>,
    /// How many more pictures are only searched for a board that was read while it turned.
    landing: u32,
    /// What the last reading cost.
    steps: Steps,
}

/// As many pictures as half a flip has on a screen of 120 Hz.
const LANDING: u32 = 30;

impl Reader {
    /// With nothing seen yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            rules: RuleFinder::new(config.rules),
            config,
            ..Self::default()
        }
    }

    /// With a watch on its steps.
    #[must_use]
    pub fn with_steps(config: Config, steps: Steps) -> Self {
        Self {
            steps,
            ..Self::new(config)
        }
    }

    /// The watch on its steps.
    pub fn steps(&mut self) -> &mut Steps {
        &mut self.steps
    }

    /// Forgets what was seen.
    pub fn reset(&mut self) {
        self.tracks.clear();
        self.last.clear();
        self.rules.reset();
        self.rested = None;
        self.landing = 0;
    }

    /// Sets what the next picture shows, and when it was captured, by the host's clock, in nanoseconds.
    pub fn captured(&mut self, source: &str, captured_ns: i64) {
        self.rules.set_source(source);
        self.captured_ns = captured_ns;
    }

    /// What is known of the rules of a game.
    pub fn rules_are_known(&mut self, known: GameRules) {
        self.rules.set_game_rules(known);
    }

    /// Forgets what was seen in the last picture, but not where boards are.
    #[cfg(test)]
    pub fn forget_pixels(&mut self) {
        self.last.clear();
    }

    /// Whether a board is known to be somewhere.
    #[cfg(test)]
    pub fn is_known(&self) -> bool {
        !self.tracks.all().is_empty()
    }

    /// Reads the next board that turns too, though one that turns was read.
    #[allow(
        dead_code,
        reason = "the tests and the benchmark read every picture of a flip by it"
    )]
    pub fn read_turned_again(&mut self) {
        self.landing = 0;
    }

    /// Reads one picture.
    ///
    /// # Errors
    /// [`ReadError`]; a picture without a readable board is none.
    #[cfg(test)]
    pub fn read(&mut self, picture: &Picture<'_>) -> Result<Reading, ReadError> {
        self.read_unless(picture, &Cancel::never())
    }

    /// Reads one picture, unless it is cancelled. Checks that between steps.
    ///
    /// # Errors
    /// [`ReadError`]; a picture without a readable board is none.
    pub fn read_unless(
        &mut self,
        picture: &Picture<'_>,
        cancel: &Cancel<'_>,
    ) -> Result<Reading, ReadError> {
        self.steps.start();
        if let Err(refusal) = size::check_picture(picture) {
            return Ok(refused(&refusal));
        }
        let last = self.last.reading(picture);
        self.steps.done("same pixels");
        if let Some(reading) = last {
            return Ok(reading.clone());
        }
        if let Some(reading) = self.read_in_place(picture)? {
            self.has_rested(&reading);
            return Ok(reading);
        }
        if self.landing > 0 {
            self.landing -= 1;
            let refusal = Refusal::StillTurns;
            return Ok(refused(&refusal));
        }
        self.steps.done("in place");
        check(cancel)?;
        if let Some(reading) = self.read_turned(picture)? {
            self.landing = if self.lands(picture, &reading) {
                LANDING
            } else {
                0
            };
            return Ok(reading);
        }
        self.steps.done("flip");
        check(cancel)?;
        let found = self.search.search(picture, &self.config, &mut self.steps)?;
        match self.by_rules(found) {
            Ok(found) => self.found(picture, found),
            Err(refusal) => self.read_otherwise(picture, refusal, cancel),
        }
    }

    /// A board that a search found.
    fn found(&mut self, picture: &Picture<'_>, found: BoardReading) -> Result<Reading, ReadError> {
        let reading = self.at_rest_or_not(picture, found)?;
        self.has_rested(&reading);
        self.steps.done("at rest");
        Ok(reading)
    }

    /// What a search found, by the rules of the game.
    fn by_rules(&mut self, found: Result<BoardReading, Refusal>) -> Result<BoardReading, Refusal> {
        match found {
            Ok(mut read) => self.rules.solvable(&mut read.board).map(|()| read),
            Err(Refusal::Unsolvable) => {
                let mut unsolvable = self.search.take_unsolvable().into_iter();
                let mut read = unsolvable.next().ok_or(Refusal::Unsolvable)?;
                // Two readings of one picture: one of them is wrong.
                if unsolvable.any(|other| other.board.puzzle != read.board.puzzle) {
                    self.rules.unseen();
                    return Err(Refusal::Unsolvable);
                }
                let judged = self.rules.unsolvable(&mut read.board, self.captured_ns);
                judged.map(|()| read)
            }
            Err(refusal) => {
                self.rules.unseen();
                Err(refusal)
            }
        }
    }

    /// A board in a picture in which no upright one was found, or why there is none.
    fn read_otherwise(
        &mut self,
        picture: &Picture<'_>,
        mut refusal: Refusal,
        cancel: &Cancel<'_>,
    ) -> Result<Reading, ReadError> {
        let (search, config, steps) = (&mut self.search, &self.config, &mut self.steps);
        if refusal.may_turn() && !search.is_spent() {
            let candidates = search.candidates();
            match edge_search::read(picture, candidates, config, steps)? {
                Some(Ok(board)) => return Ok(by_rules(&mut self.rules, board)),
                Some(Err(edge)) if matches!(refusal, Refusal::GoesOn { .. }) => refusal = edge,
                Some(Err(_)) | None => {}
            }
            check(cancel)?;
            match self.flips.read(picture, search, config, steps)? {
                Some(Ok(board)) => return Ok(by_rules(&mut self.rules, board)),
                Some(Err(turned)) if turned.progress() >= refusal.progress() => refusal = turned,
                Some(Err(_)) | None => {}
            }
            check(cancel)?;
            if let Some(board) = search.search_lying(picture, config, steps)? {
                return Ok(by_rules(&mut self.rules, board));
            }
            check(cancel)?;
            if let Some(board) = self.straight.read(picture, search, config, steps)? {
                return Ok(by_rules(&mut self.rules, board));
            }
        }
        check(cancel)?;
        match self.read_on_hatch(picture)? {
            Some(Ok(reading)) => return Ok(reading),
            Some(Err(other)) if other.progress() >= refusal.progress() => refusal = other,
            Some(Err(_)) | None => {}
        }
        let refusal = refusal.in_picture(picture.width(), picture.height());
        Ok(refused(&refusal))
    }

    /// A board on a hatched page, or why it can't be read. `None` where there is no such page.
    fn read_on_hatch(
        &mut self,
        picture: &Picture<'_>,
    ) -> Result<Option<Result<Reading, Refusal>>, ReadError> {
        let page = HatchedPage::find(picture);
        self.steps.done("hatch");
        let Some(page) = page else {
            return Ok(None);
        };
        let cut = CutOut::new(picture, &page.parts, [page.level; 3]);
        let left = cut.picture()?;
        let found = self.search.search(&left, &self.config, &mut self.steps)?;
        let proved = found.and_then(|read| match solvability::has_solution(&read.board.puzzle) {
            true => Ok(read),
            false => Err(Refusal::Unsolvable),
        });
        let judged = proved.and_then(|mut read| {
            let judged = self.rules.solvable(&mut read.board);
            judged.map(|()| read)
        });
        Ok(Some(match judged {
            Ok(read) => Ok(self.found(&left, read)?),
            Err(refusal) => Err(refusal),
        }))
    }

    /// Notes a board at rest.
    fn has_rested(&mut self, reading: &Reading) {
        if let Reading::Board(board) = reading
            && board.state != BoardState::Moving
        {
            self.landing = 0;
            if self.rested.as_ref() != Some(&board.puzzle) {
                self.rested = Some(board.puzzle.clone());
            }
        }
    }

    /// Whether a board was read while it turns that is new and will lie where one of its size was at
    /// rest: until then there is nothing more to learn, and the picture in which it has landed should
    /// not have to wait.
    fn lands(&self, picture: &Picture<'_>, reading: &Reading) -> bool {
        let Reading::Board(board) = reading else {
            return false;
        };
        let is_new = self.rested.as_ref().is_some_and(|it| *it != board.puzzle);
        let size = (board.geometry.rows, board.geometry.cols);
        let fits = |track: &Track| {
            track.has_size_of(picture)
                && track.rest.is_some()
                && (track.grid.rows(), track.grid.cols()) == size
        };
        is_new && self.tracks.all().iter().any(fits)
    }

    /// A board where one was at rest before, if there is one that can be read.
    fn read_in_place(&mut self, picture: &Picture<'_>) -> Result<Option<Reading>, ReadError> {
        for (index, track) in self.tracks.all().iter().enumerate() {
            let seen = self.last.remembered(picture, &track.grid);
            if !track.holds(seen.as_ref().unwrap_or(picture)) {
                continue;
            }
            if seen.is_none() {
                self.last.begin(picture, track.part(picture), &track.grid);
            }
            let seen = self.last.remembered(picture, &track.grid);
            let seen = seen.as_ref().unwrap_or(picture);
            self.steps.done("in place");
            let beyond = Surroundings::Empty;
            let (grid, polarity, steps) = (&track.grid, track.polarity, &mut self.steps);
            let read = read_solvable_or_not(seen, grid, beyond, polarity, steps)?;
            let (rules, captured_ns) = (&mut self.rules, self.captured_ns);
            let mut judge = |mut read: BoardReading| {
                let judged = match solvability::check(&read.board.puzzle) {
                    Ok(()) => rules.solvable(&mut read.board),
                    Err(_) => rules.unsolvable(&mut read.board, captured_ns),
                };
                judged.map(|()| read)
            };
            let judged = read.and_then(&mut judge);
            self.steps.done("solvable");
            let read = match (judged, &track.known) {
                (Ok(read), _) => Some(read),
                (Err(_), Some(known)) => {
                    let steps = &mut self.steps;
                    let read = read_known(seen, grid, polarity, known, steps)?;
                    read.and_then(|read| judge(read).ok())
                }
                (Err(_), None) => None,
            };
            if let Some(read) = read {
                self.tracks.learn(index, picture, &read);
                let reading = Reading::Board(read.board);
                self.last.keep(&reading);
                self.tracks.touch(index);
                return Ok(Some(reading));
            }
        }
        Ok(None)
    }

    /// A board that turns where one was at rest, or why it can't be read. `None` where none is seen
    /// to turn.
    fn read_turned(&mut self, picture: &Picture<'_>) -> Result<Option<Reading>, ReadError> {
        let mut tried: Vec<RestPose> = Vec::new();
        for track in self.tracks.all() {
            let Some(rest) = &track.rest else { continue };
            let is_near = |other: &RestPose| {
                let [x, y] = [0, 1].map(|axis| other.middle[axis] - rest.middle[axis]);
                x.hypot(y) < 1.0
            };
            if !track.has_size_of(picture) || tried.iter().any(is_near) {
                continue;
            }
            tried.push(*rest);
            let room = picture.region(rest.room());
            self.thin.look_at(picture, room, track.polarity)?;
            illustration::thin(&self.thin, &mut self.steps);
            let thin = self.thin.thin()?;
            let turned = TurnedBoard::find(&thin, rest, &self.config);
            let Some(turned) = turned.and_then(|it| widened(it, &thin, rest, picture)) else {
                continue;
            };
            let (config, steps) = (&self.config, &mut self.steps);
            return Ok(Some(
                match flip_search::read_known(picture, &turned, track.polarity, config, steps)? {
                    Ok(board) => by_rules(&mut self.rules, board),
                    Err(refusal) => refused(&refusal.in_perspective()),
                },
            ));
        }
        Ok(None)
    }

    /// A board that was found: it is kept for the next picture if it is at rest.
    fn at_rest_or_not(
        &mut self,
        picture: &Picture<'_>,
        mut read: BoardReading,
    ) -> Result<Reading, ReadError> {
        if let Some(places) = HexPositions::find(picture, &read.home, read.lines) {
            self.tracks.insert(Track::of_hexes(picture, &read, places));
            self.last.clear();
            return Ok(Reading::Board(read.board));
        }
        match LinePositions::find(picture, &read.grid, read.lines) {
            Some(places) if !places.upright() => {
                read.board.geometry.corners = places.corners();
                read.board.state = BoardState::Moving;
                Ok(Reading::Board(read.board))
            }
            Some(places) => {
                let polarity = read.lines.polarity;
                let strength = line_strength(picture, &read.grid, polarity, &mut self.thin)?;
                self.tracks
                    .insert(Track::of_squares(picture, &read, strength, places));
                // What is remembered may be of the one whose place it takes.
                self.last.clear();
                Ok(Reading::Board(read.board))
            }
            // Lines that can't be placed to a part of a pixel may be slanted.
            None if read.grid.lattice == Lattice::Square => {
                let (search, steps) = (&mut self.search, &mut self.steps);
                let turned = self
                    .flips
                    .place(picture, &read.grid, search, &self.config, steps)?;
                if let Some(geometry) = turned {
                    read.board.geometry = geometry;
                    read.board.state = BoardState::Moving;
                }
                Ok(Reading::Board(read.board))
            }
            None => Ok(Reading::Board(read.board)),
        }
    }
}

fn check(cancel: &Cancel<'_>) -> Result<(), ReadError> {
    match cancel.is_cancelled() {
        true => Err(ReadError::Cancelled),
        false => Ok(()),
    }
}

/// A board with a solution, by the rules of the game.
fn by_rules(rules: &mut RuleFinder, mut board: Box<SeenBoard>) -> Reading {
    match rules.solvable(&mut board) {
        Ok(()) => Reading::Board(board),
        Err(refusal) => refused(&refusal),
    }
}

fn refused(refusal: &Refusal) -> Reading {
    let reason = format!("not a board that I can read: {refusal}");
    let reading = Reading::refused(refusal.step(), reason).with_confidence(refusal.confidence());
    match refusal.state() {
        Some(state) => reading.with_state(state),
        None => reading,
    }
}
