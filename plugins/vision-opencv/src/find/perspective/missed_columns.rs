//! Columns of a turned board that were missed: its upper and lower borders continue beyond those that were detected.
//!
//! Bright flows hide most of a line. The edge of the picture may cut a board off.

use flowpipe_plugin::puzzle::Point;

use crate::find::perspective::rest_pose::RestPose;
use crate::find::perspective::turned_board::TurnedBoard;
use crate::picture::Picture;
use crate::picture::top_hat::TopHatResponse;

/// Columns that may be missed.
const MOST_MISSED: usize = 4;
/// How far the borders are followed beyond where they should end, in columns.
const BEYOND: f64 = 0.5;
/// Fewer points there decide nothing.
const LEAST_BEYOND: usize = 3;
/// The share of these points that a border shows at which goes on.
const GOES_ON: f64 = 0.7;
/// A line is so near to where it should be, in frame pixels.
const NEAR: f64 = 3.0;
/// The share of its points that a line shows at where it can be placed.
const CLEAR: f64 = 0.3;
/// Points of a line that are examined.
const POINTS: usize = 64;

/// A board with the columns that were missed. `None` where the picture's edge cuts it off.
#[must_use]
pub fn widened(
    board: TurnedBoard,
    thin: &TopHatResponse<'_>,
    rest: &RestPose,
    picture: &Picture<'_>,
) -> Option<TurnedBoard> {
    let mut wider = placed(&board, thin, rest).unwrap_or(board);
    for _ in 0..=MOST_MISSED {
        let goes_on = |at_right: &bool| goes_on(&wider, thin, rest, picture, *at_right);
        let Some(at_right) = [true, false].into_iter().find(goes_on) else {
            return Some(wider);
        };
        let one_more = wider.with_column(at_right)?;
        wider = placed(&one_more, thin, rest).unwrap_or(one_more);
        let corners = wider.geometry().corners;
        if !corners.iter().all(|corner| is_inside(picture, *corner)) {
            return None;
        }
    }
    None
}

/// Whether the upper and the lower border go on beyond the right border, or beyond the left one.
fn goes_on(
    board: &TurnedBoard,
    thin: &TopHatResponse<'_>,
    rest: &RestPose,
    picture: &Picture<'_>,
    at_right: bool,
) -> bool {
    let level = rest.level();
    let outwards = if at_right { 1.0 } else { -1.0 };
    // From where the border line's own pixels end.
    let start = board.across(outwards) + outwards * (rest.thickness + 1.5);
    let end = board.across(outwards * (1.0 + 2.0 * BEYOND / board.cols as f64));
    let count = (outwards * (end - start)) as usize;
    let share = |down: f64| {
        let points = (0..count).map(|step| {
            let x = start + outwards * (step as f64 + 0.5);
            let half_height = board.half_height() * board.shrink(board.along(x));
            [board.middle[0] + x, board.middle[1] + down * half_height]
        });
        let points: Vec<Point> = points.filter(|point| is_inside(picture, *point)).collect();
        let shows = |[x, y]: Point| (-1..=1).any(|off| thin.at(x, y + f64::from(off)) >= level);
        let seen = points.iter().filter(|point| shows(**point)).count();
        (points.len() >= LEAST_BEYOND).then(|| seen as f64 / points.len() as f64)
    };
    let mut shares = [-1.0, 1.0].into_iter().filter_map(share).peekable();
    shares.peek().is_some() && shares.all(|share| share >= GOES_ON)
}

/// A board with its vertical lines where they are seen.
fn placed(board: &TurnedBoard, thin: &TopHatResponse<'_>, rest: &RestPose) -> Option<TurnedBoard> {
    let level = rest.level();
    let lines = (0..=board.cols).filter_map(|column| {
        let along = 2.0 * column as f64 / board.cols as f64 - 1.0;
        let x = board.middle[0] + board.across(along);
        let half_height = board.half_height() * board.shrink(along);
        let count = |x: f64| {
            let down = |point: usize| (point as f64 + 0.5) / POINTS as f64 * 2.0 - 1.0;
            let shows =
                |point: &usize| thin.at(x, board.middle[1] + down(*point) * half_height) >= level;
            (0..POINTS).filter(shows).count()
        };
        let first = (x - NEAR).floor() + 0.5;
        let near = (0..=2 * NEAR as u32).map(|step| first + f64::from(step));
        let counts: Vec<(f64, f64)> = near.map(|x| (x, count(x) as f64)).collect();
        let most = counts.iter().map(|(_, count)| *count).fold(0.0, f64::max);
        let (sum, moment) = counts.iter().fold((0.0, 0.0), |(sum, moment), (x, count)| {
            (sum + count, moment + count * x)
        });
        (most >= CLEAR * POINTS as f64).then(|| (column, moment / sum))
    });
    board.with_lines(&lines.collect::<Vec<_>>())
}

fn is_inside(picture: &Picture<'_>, [x, y]: Point) -> bool {
    let inside = |at: f64, length: usize| (0.0..=length as f64).contains(&at);
    inside(x, picture.width()) && inside(y, picture.height())
}
