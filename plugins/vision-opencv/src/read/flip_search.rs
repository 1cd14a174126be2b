//! Searches for boards that turn where none was at rest before, as they flip over, and reads them rectified.
//!
//! Those that turn about a horizontal line are searched in the picture rotated by a quarter, and read as they are in
//! the picture.

use flowpipe_plugin::puzzle::Geometry;
use flowpipe_plugin::puzzle::message::{BoardState, SeenBoard};

use crate::config::Config;
use crate::find::grid::Grid;
use crate::find::perspective::flip_axis::FlipAxis;
use crate::find::perspective::missed_columns::widened;
use crate::find::perspective::quad::Quad;
use crate::find::perspective::rectification::RectifiedBoard;
use crate::find::perspective::turned_board::TurnedBoard;
use crate::picture::Picture;
use crate::picture::polarity::Polarity;
use crate::picture::rotation::{self, RotatedPicture};
use crate::picture::top_hat::TopHat;
use crate::read::board::read_board;
use crate::read::error::ReadError;
use crate::read::illustration;
use crate::read::search::BoardSearch;
use crate::read::shape::surroundings::Surroundings;
use crate::refuse::refusal::Refusal;
use crate::steps::Steps;

/// The greatest distance of a board's corner from that of the upright grid that reads it, in cells.
const NEAR: f64 = 0.12;
/// What may turn is a board when this share of its lines' ends is where a board's would be.
const CLEAR: f64 = 0.6;

/// What may be a board that turns.
#[derive(Clone, Copy, Debug)]
struct Found {
    polarity: Polarity,
    turned: TurnedBoard,
    /// The share of its lines' ends that are seen.
    seen: f64,
}

/// Searches for boards that turn. It keeps nothing of a picture but memory.
#[derive(Default)]
pub struct FlipSearch {
    thin: TopHat,
}

impl FlipSearch {
    /// Reads the board that turns in the picture that was searched last, or returns why it can't be read. `None` where
    /// none is seen to turn.
    ///
    /// # Errors
    /// [`ReadError`]; a board that can't be read is none.
    pub fn read(
        &mut self,
        picture: &Picture<'_>,
        search: &mut BoardSearch,
        config: &Config,
        steps: &mut Steps,
    ) -> Result<Option<Result<Box<SeenBoard>, Refusal>>, ReadError> {
        let mut refused: Option<Refusal> = None;
        let read = self.first(
            picture,
            search,
            config,
            steps,
            |seen, found, axis, steps| {
                Ok(match read_found(seen, found, axis, config, steps)? {
                    Ok(mut board) => {
                        board.confidence = board.confidence.min(found.seen);
                        board.geometry = geometry(picture, &found.turned, axis);
                        Some(Ok(board))
                    }
                    Err(new) => {
                        let is_more = |old: &Refusal| new.progress() > old.progress();
                        if found.seen >= CLEAR && refused.as_ref().is_none_or(is_more) {
                            refused = Some(new);
                        }
                        None
                    }
                })
            },
        )?;
        Ok(read.or_else(|| refused.map(|refusal| Err(refusal.in_perspective()))))
    }

    /// Where a board lies that turns in the picture that was searched last, and is turned so little that it was
    /// read by an upright grid.
    ///
    /// # Errors
    /// See [`ReadError`].
    pub fn place(
        &mut self,
        picture: &Picture<'_>,
        grid: &Grid,
        search: &mut BoardSearch,
        config: &Config,
        steps: &mut Steps,
    ) -> Result<Option<Geometry>, ReadError> {
        self.first(picture, search, config, steps, |_, found, axis, _| {
            let place = geometry(picture, &found.turned, axis);
            Ok(is_near(&place, grid).then_some(place))
        })
    }

    /// What is taken first of all that may turn in the picture that was searched last, about one axis after the
    /// other. `take` gets it with the picture that it is seen in.
    fn first<T>(
        &mut self,
        picture: &Picture<'_>,
        search: &mut BoardSearch,
        config: &Config,
        steps: &mut Steps,
        mut take: impl FnMut(&Picture<'_>, &Found, FlipAxis, &mut Steps) -> Result<Option<T>, ReadError>,
    ) -> Result<Option<T>, ReadError> {
        for axis in FlipAxis::ALL {
            let quads = search.candidates().quads(config, axis);
            if quads.is_empty() {
                continue;
            }
            let quarter = quarter(picture, axis);
            let seen = quarter
                .as_ref()
                .map_or(Ok(*picture), RotatedPicture::picture)?;
            for found in self.find(&seen, quads, config, steps)? {
                if let Some(taken) = take(&seen, &found, axis, steps)? {
                    return Ok(Some(taken));
                }
            }
        }
        Ok(None)
    }

    /// Those that have rows too, with all of their columns.
    fn find(
        &mut self,
        picture: &Picture<'_>,
        quads: Vec<(Polarity, Quad)>,
        config: &Config,
        steps: &mut Steps,
    ) -> Result<Vec<Found>, ReadError> {
        let mut found = Vec::new();
        for (polarity, quad) in quads {
            let room = picture.region(quad.rest.room());
            self.thin.look_at(picture, room, polarity)?;
            illustration::thin(&self.thin, steps);
            let thin = self.thin.thin()?;
            let turned = quad.turned.find_rows(&thin, &quad.rest, config);
            let whole = turned.and_then(|turned| widened(turned, &thin, &quad.rest, picture));
            found.extend(whole.map(|turned| Found {
                polarity,
                turned,
                seen: quad.seen,
            }));
        }
        Ok(found)
    }
}

/// What a board holds that turns where none was at rest. Its outline ends at its corners: what seems to go on between
/// may be writing that it reaches into.
fn read_found(
    picture: &Picture<'_>,
    found: &Found,
    axis: FlipAxis,
    config: &Config,
    steps: &mut Steps,
) -> Result<Result<Box<SeenBoard>, Refusal>, ReadError> {
    if is_too_far(&found.turned, config) {
        return Ok(Err(Refusal::TurnedTooFar));
    }
    let face = RectifiedBoard::in_full(picture, &found.turned);
    let face = match axis {
        FlipAxis::Vertical => face,
        FlipAxis::Horizontal => face.back()?,
    };
    let read = read_face(&face, Surroundings::Empty, found.polarity, steps)?;
    match read {
        Err(Refusal::GoesOn { .. }) => read_face(&face, Surroundings::Text, found.polarity, steps),
        read => Ok(read),
    }
}

/// What a board holds that turns where one was at rest: seen small, which is quick, or else in full. Its place in the
/// picture is the turned one's.
///
/// # Errors
/// [`ReadError`]; a board that can't be read is none.
pub fn read_known(
    picture: &Picture<'_>,
    turned: &TurnedBoard,
    polarity: Polarity,
    config: &Config,
    steps: &mut Steps,
) -> Result<Result<Box<SeenBoard>, Refusal>, ReadError> {
    if is_too_far(turned, config) {
        return Ok(Err(Refusal::TurnedTooFar));
    }
    let faces = [RectifiedBoard::of, RectifiedBoard::in_full];
    let mut read = Err(Refusal::TurnedTooFar);
    for face in faces {
        read = read_face(&face(picture, turned), Surroundings::Text, polarity, steps)?;
        if let Ok(board) = &mut read {
            board.geometry = turned.geometry();
            break;
        }
    }
    Ok(read)
}

/// Whether too little of a column is seen.
fn is_too_far(turned: &TurnedBoard, config: &Config) -> bool {
    turned.narrowest() < f64::from(config.min_cell_pixels)
}

/// What a rectified board holds. Its place in the picture is not known here.
fn read_face(
    face: &RectifiedBoard,
    beyond: Surroundings,
    polarity: Polarity,
    steps: &mut Steps,
) -> Result<Result<Box<SeenBoard>, Refusal>, ReadError> {
    let (pixels, info) = face.pixels();
    let picture = Picture::new(pixels, info)?;
    steps.done("flip");
    let read = read_board(&picture, &face.grid, beyond, polarity, steps)?;
    Ok(read.map(|read| {
        let mut board = read.board;
        board.state = BoardState::Moving;
        board
    }))
}

/// The picture turned clockwise, where a horizontal axis is looked for.
fn quarter(picture: &Picture<'_>, axis: FlipAxis) -> Option<RotatedPicture> {
    (axis == FlipAxis::Horizontal).then(|| RotatedPicture::clockwise(picture))
}

/// Where a board lies that turns about an axis.
fn geometry(picture: &Picture<'_>, turned: &TurnedBoard, axis: FlipAxis) -> Geometry {
    let geometry = turned.geometry();
    match axis {
        FlipAxis::Vertical => geometry,
        FlipAxis::Horizontal => {
            let [left_bottom, left_top, right_top, right_bottom] =
                rotation::geometry_back(geometry, picture.height()).corners;
            Geometry {
                corners: [left_top, right_top, right_bottom, left_bottom],
                rows: turned.cols,
                cols: turned.rows,
            }
        }
    }
}

/// Whether a board lies about where an upright grid of its size does.
fn is_near(place: &Geometry, grid: &Grid) -> bool {
    let upright = grid.geometry();
    let corners = place.corners.iter().zip(upright.corners);
    let apart = corners.map(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1]));
    (place.rows, place.cols) == (upright.rows, upright.cols)
        && apart.fold(0.0, f64::max) <= NEAR * grid.cell
}
