//! Where things lie in a picture.

use flowpipe_puzzle::{Board, Geometry, Lattice, Point};

use super::lines;

/// The look of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Style {
    /// Blurred lights, the board as wide as the picture, round buttons below.
    #[default]
    Phone,
    /// Sharp lights, the board in the middle of a wide picture.
    Desktop,
    /// The practice game's own: as the phone's, with the buttons that work.
    Window,
    /// The board fills the picture, whatever its shape: no writing and no buttons.
    EdgeToEdge {
        /// Whether the last line at the right and at the bottom lies outside, not inside.
        is_cut: bool,
    },
}

/// A button of [`Style::Window`] that works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Button {
    /// Takes the last drag back.
    Undo,
    /// Empties the board.
    Restart,
    /// Goes to the next board.
    Next,
}

/// Where the board and the writing lie in a picture of a certain size. All in frame pixels.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The board.
    pub geometry: Geometry,
    /// Width and height of a cell.
    pub cell: Point,
    /// A length that the writing and the buttons are measured in.
    pub(super) unit: f64,
    /// Left, top, width and height of all that belongs to the board.
    pub(super) extent: [f64; 4],
    /// First and last column of the writing.
    pub(super) text_span: (f64, f64),
    /// Foot of the letters of the line with flows, moves and pipe.
    pub(super) status_y: f64,
    /// Foot of the phone's and the window's title.
    pub(super) title_y: f64,
    /// Middle of the row of buttons below the board.
    pub(super) buttons_y: f64,
    /// Whether there are writing and buttons about the board.
    pub(super) has_header: bool,
}

/// A hexagon's width is 4/3 columns: how much it stands out to each side.
const HEX_OVERHANG: f64 = 1.0 / 6.0;
/// The room on each side, in cells' heights, for thick lines, and for those that go on outwards where a
/// board warps.
const THICK_ROOM: f64 = 0.1;
const STUB_ROOM: f64 = 0.35;
/// The distance of a regular hexagon's columns, by its height: √3 / 2.
const HEX_COLUMN: f64 = 0.866_025_403_784_438_6;

impl Layout {
    /// Lays out a picture.
    #[must_use]
    pub fn new(style: Style, board: &Board, width: u32, height: u32) -> Self {
        let (width, height) = (f64::from(width), f64::from(height));
        let (overhang, lowered, squeeze) = match board.description().lattice {
            Lattice::Square => (0.0, 0.0, 1.0),
            Lattice::Hex => (HEX_OVERHANG, 0.5, HEX_COLUMN),
        };
        let room_for_lines = match board {
            plain if plain.is_plain_rectangle() => 0.0,
            warped if warped.description().warps => STUB_ROOM,
            _ => THICK_ROOM,
        };
        // The board's size in cells' heights, and the room for it.
        let wide = (board.cols() as f64 + 2.0 * overhang) * squeeze + 2.0 * room_for_lines;
        let high = board.rows() as f64 + lowered + 2.0 * room_for_lines;
        let (room, middle) = match style {
            Style::Phone | Style::Window => ([width * 0.994, height * 0.66], height * 0.5),
            Style::Desktop => ([width * 0.9, height * 0.626], height * 0.465),
            Style::EdgeToEdge { .. } => ([width, height], height * 0.5),
        };
        let size = (room[0] / wide).min(room[1] / high);
        // From cells' heights to pixels, across and down.
        let (scale, [left, top]) = match style {
            Style::EdgeToEdge { is_cut } => {
                // Of the first lines all is inside, of the last ones all or nothing.
                let line = lines::width_of(size);
                let inset = if is_cut { -line / 2.0 } else { line };
                let stretched = |side: f64, cells: f64| (side - inset).max(1.0) / cells;
                let scale = [stretched(width, wide), stretched(height, high)];
                (scale, [line / 2.0; 2])
            }
            _ => (
                [size; 2],
                [(width - wide * size) / 2.0, middle - high * size / 2.0],
            ),
        };
        let cell = [scale[0] * squeeze, scale[1]];
        let around = [
            overhang * cell[0] + room_for_lines * scale[0],
            room_for_lines * scale[1],
        ];
        let geometry = Geometry::axis_aligned(
            left + around[0],
            top + around[1],
            cell[0] * board.cols() as f64,
            cell[1] * board.rows() as f64,
            board.rows(),
            board.cols(),
        );
        let [[grid_left, grid_top], _, [grid_right, grid_bottom], _] = geometry.corners;
        let extent = [
            grid_left - around[0],
            grid_top - around[1],
            grid_right - grid_left + 2.0 * around[0],
            grid_bottom - grid_top + 2.0 * around[1] + lowered * cell[1],
        ];
        let bottom = top + high * scale[1];
        let (unit, text_span) = match style {
            Style::Phone | Style::Window | Style::EdgeToEdge { .. } => {
                (width.min(height * 0.6), (width * 0.01, width * 0.99))
            }
            Style::Desktop => (
                height.min(width) * 0.41,
                (left + 2.0, left + wide * scale[0] - 2.0),
            ),
        };
        let status_y = top - unit * 0.03;
        let buttons_y = match style {
            Style::Phone | Style::Window | Style::EdgeToEdge { .. } => {
                bottom + (height - bottom) * 0.35
            }
            Style::Desktop => bottom + unit * 0.115,
        };
        Self {
            geometry,
            cell,
            unit,
            extent,
            text_span,
            status_y,
            title_y: (status_y - unit * 0.1).min(height * 0.1),
            buttons_y,
            has_header: !matches!(style, Style::EdgeToEdge { .. }),
        }
    }

    /// Left, top, width and height of the board's bounding grid.
    #[must_use]
    pub fn board_xywh(&self) -> [f64; 4] {
        let [[left, top], _, [right, bottom], _] = self.geometry.corners;
        [left, top, right - left, bottom - top]
    }

    /// The button of [`Style::Window`] at a point.
    #[must_use]
    pub fn button_at(&self, [x, y]: Point) -> Option<Button> {
        let is_hit = |([middle_x, middle_y], radius): (Point, f64)| {
            (x - middle_x).hypot(y - middle_y) <= radius
        };
        [Button::Undo, Button::Next, Button::Restart]
            .into_iter()
            .find(|&button| self.has_header && is_hit(self.button(button)))
    }

    /// Middle and radius of a button below the board, in pixels, in the phone's and in the window's style.
    #[must_use]
    pub fn button(&self, button: Button) -> (Point, f64) {
        let (unit, width) = (self.unit, self.text_span.0 + self.text_span.1);
        let (x, radius) = match button {
            Button::Undo => (unit * 0.06, unit * 0.042),
            Button::Next => (width / 2.0, unit * 0.068),
            Button::Restart => (width - unit * 0.06, unit * 0.042),
        };
        ([x, self.buttons_y], radius)
    }

    /// From board units to frame pixels.
    pub(super) fn to_frame(&self, [x, y]: Point) -> Point {
        let [left, top] = self.geometry.corners[0];
        [left + x * self.cell[0], top + y * self.cell[1]]
    }

    /// The shorter side of a cell.
    pub(super) fn cell_size(&self) -> f64 {
        self.cell[0].min(self.cell[1])
    }
}
