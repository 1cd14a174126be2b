//! Annotations that viewers draw over a recorded picture, in Foxglove's format.
//!
//! Source of the layout: <https://docs.foxglove.dev/docs/visualization/message-schemas/image-annotations>.

use flowpipe_host::message::Message;
use flowpipe_puzzle::message::{SIGHTING, STROKES, SeenBoard, Sighting, Strokes};
use flowpipe_puzzle::{Point, place};
use flowpipe_recorder::record::{Annotator, Extra};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::accepted::read;

/// Draws what vision read and what the planner planned.
pub struct Foxglove;

/// The name of the schema.
pub const SCHEMA: &str = "foxglove.ImageAnnotations";

/// The schema, without references: viewers don't follow them.
pub fn schema() -> Schema {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    settings
        .into_generator()
        .into_root_schema_for::<ImageAnnotations>()
}

/// Array of annotations for a picture.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "foxglove.ImageAnnotations")]
struct ImageAnnotations {
    circles: Vec<Circle>,
    points: Vec<Points>,
    texts: Vec<Text>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Circle {
    timestamp: Time,
    position: Point2,
    diameter: f64,
    thickness: f64,
    fill_color: Color,
    outline_color: Color,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Points {
    timestamp: Time,
    /// 1 points, 2 a closed line, 3 a line, 4 pairs of ends.
    r#type: u8,
    points: Vec<Point2>,
    outline_color: Color,
    outline_colors: Vec<Color>,
    fill_color: Color,
    thickness: f64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Text {
    timestamp: Time,
    position: Point2,
    text: String,
    font_size: f64,
    text_color: Color,
    background_color: Color,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Time {
    sec: u64,
    nsec: u64,
}

/// Frame pixels.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Point2 {
    x: f64,
    y: f64,
}

/// From 0 to 1.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Color {
    r: f64,
    g: f64,
    b: f64,
    a: f64,
}

const LINE_STRIP: u8 = 3;
const LINE_LIST: u8 = 4;
const NONE: Color = Color {
    r: 0.0,
    g: 0.0,
    b: 0.0,
    a: 0.0,
};
/// A colour that no puzzle uses.
const GRID: Color = Color {
    r: 1.0,
    g: 0.0,
    b: 0.86,
    a: 0.9,
};
const INK: Color = Color {
    r: 1.0,
    g: 1.0,
    b: 1.0,
    a: 1.0,
};
const SHADE: Color = Color {
    r: 0.0,
    g: 0.0,
    b: 0.0,
    a: 0.6,
};

impl Annotator for Foxglove {
    fn annotate(&mut self, message: &Message, captured_unix_ns: u64) -> Vec<Extra> {
        let time = Time {
            sec: captured_unix_ns / 1_000_000_000,
            nsec: captured_unix_ns % 1_000_000_000,
        };
        let drawn = match message.schema() {
            SIGHTING => read::<Sighting>(message).map(|sighting| seen(&sighting, time)),
            STROKES => read::<Strokes>(message).map(|strokes| planned(&strokes, time)),
            _ => None,
        };
        // Numbers and lists always serialize.
        let body = drawn.and_then(|drawn| serde_json::to_vec(&drawn).ok());
        let extra = |body| Extra {
            name: "annotations",
            schema: SCHEMA,
            body,
        };
        body.map(extra).into_iter().collect()
    }
}

/// The grid, and a ring around each terminal. Without a board, nothing: this clears the previous picture's.
fn seen(sighting: &Sighting, timestamp: Time) -> ImageAnnotations {
    let Some(board) = sighting.board() else {
        return ImageAnnotations::default();
    };
    let cell = cell_width(board);
    let mut shown = ImageAnnotations::default();
    shown.points.push(Points {
        timestamp,
        r#type: LINE_LIST,
        points: sides(board),
        outline_color: GRID,
        outline_colors: Vec::new(),
        fill_color: NONE,
        thickness: (cell / 40.0).max(1.0),
    });
    let puzzle = &board.puzzle;
    for terminal in puzzle.terminals() {
        let centre = place::centre(puzzle.board(), terminal.cell);
        let position = to_frame(board, centre);
        shown.circles.push(Circle {
            timestamp,
            position,
            diameter: rounded(cell * 0.8),
            thickness: (cell / 16.0).max(1.0),
            fill_color: NONE,
            outline_color: colour(board, usize::from(terminal.colour)),
        });
        shown.texts.push(Text {
            timestamp,
            position,
            text: flowpipe_puzzle::colour::name(terminal.colour),
            font_size: rounded((cell / 4.0).max(8.0)),
            text_color: INK,
            background_color: SHADE,
        });
    }
    shown
}

/// The path of the pointer in each stroke.
fn planned(strokes: &Strokes, timestamp: Time) -> ImageAnnotations {
    let Some(board) = strokes.sighting.board() else {
        return ImageAnnotations::default();
    };
    let thickness = (cell_width(board) / 12.0).max(1.5);
    let points = strokes.strokes.iter().map(|stroke| {
        let points = stroke.points.iter();
        Points {
            timestamp,
            r#type: LINE_STRIP,
            points: points.map(|&point| to_frame(board, point)).collect(),
            outline_color: colour(board, usize::from(stroke.colour)),
            outline_colors: Vec::new(),
            fill_color: NONE,
            thickness,
        }
    });
    ImageAnnotations {
        points: points.collect(),
        ..ImageAnnotations::default()
    }
}

/// The sides of all cells as pairs of ends.
fn sides(board: &SeenBoard) -> Vec<Point2> {
    let sides = place::sides(board.puzzle.board()).into_iter().flatten();
    sides.map(|point| to_frame(board, point)).collect()
}

fn to_frame(board: &SeenBoard, point: Point) -> Point2 {
    let [x, y] = board.geometry.to_frame(point);
    Point2 {
        x: rounded(x),
        y: rounded(y),
    }
}

/// Rounds to a tenth of a pixel.
fn rounded(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn cell_width(board: &SeenBoard) -> f64 {
    let [[x0, y0], [x1, y1], ..] = board.geometry.corners;
    (x1 - x0).hypot(y1 - y0) / board.geometry.cols.max(1) as f64
}

fn colour(board: &SeenBoard, number: usize) -> Color {
    let [r, g, b] = board.palette.get(number).copied().unwrap_or([255; 3]);
    let share = |value: u8| (f64::from(value) / 255.0 * 1000.0).round() / 1000.0;
    Color {
        r: share(r),
        g: share(g),
        b: share(b),
        a: 1.0,
    }
}
