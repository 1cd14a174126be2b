//! The writing above the board and the buttons about it. They are pictures only.

use flowpipe_puzzle::Point;

use super::canvas::{Canvas, Ink};
use super::layout::Button;
use super::{Area, Layout, Scene, Style, Theme, font};

pub(super) fn draw(canvas: &mut Canvas, scene: &Scene, layout: &Layout) {
    match scene.style {
        Style::Phone => {
            draw_back_and_settings(canvas, scene.theme, layout);
            draw_title(canvas, scene, layout, layout.unit * 0.13);
            let faint = Ink {
                paint: scene.theme.ink(),
                opacity: 0.45,
            };
            draw_buttons(canvas, scene.theme, layout, Icon::Hint, faint);
        }
        Style::Window => {
            draw_title(canvas, scene, layout, layout.text_span.0);
            draw_window_buttons(canvas, scene.theme, layout);
        }
        Style::Desktop => draw_desktop(canvas, scene, layout),
        Style::EdgeToEdge { .. } => return,
    }
    draw_status(canvas, scene, layout);
}

/// The buttons of [`Style::Window`].
pub(super) fn draw_window_buttons(canvas: &mut Canvas, theme: Theme, layout: &Layout) {
    if layout.has_header {
        draw_buttons(canvas, theme, layout, Icon::Next, theme.ink().into());
    }
}

/// A text and where it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Text {
    text: String,
    /// Where the feet of its letters begin.
    feet: Point,
    /// The height of its tall letters, in pixels.
    size: f64,
    ink: Ink,
}

impl Text {
    pub(super) fn draw(&self, canvas: &mut Canvas) {
        write(canvas, &self.text, self.feet, self.size, self.ink);
    }

    /// The pixels that it may cover in a picture of a size.
    pub(super) fn area(&self, size: (u32, u32)) -> Option<Area> {
        let [x, y] = self.feet;
        let width = font::width(&self.text, self.size);
        // Tails hang down by a third of the letters' height; strokes are a pixel thick at least.
        let around = self.size * 0.1 + 2.0;
        Area::between(
            [x - around, y - self.size - around],
            [x + width + around, y + self.size * 0.34 + around],
            size,
        )
    }
}

/// All that [`Style::Window`] writes.
pub(super) fn texts(scene: &Scene, layout: &Layout) -> Vec<Text> {
    if !layout.has_header {
        return Vec::new();
    }
    let titles = titles(scene, layout, layout.text_span.0);
    titles.into_iter().chain(status(scene, layout)).collect()
}

fn draw_status(canvas: &mut Canvas, scene: &Scene, layout: &Layout) {
    status(scene, layout)
        .iter()
        .for_each(|text| text.draw(canvas));
}

fn status(scene: &Scene, layout: &Layout) -> [Text; 3] {
    let header = &scene.header;
    let best = header.best.map_or("-".to_owned(), |best| best.to_string());
    let (left, right) = layout.text_span;
    let size = status_size(layout);
    let flows = format!("flows: {}/{}", header.flows, scene.puzzle.flow_count());
    let moves = format!("moves: {}   best: {best}", header.moves);
    let pipe = format!("pipe: {}%", header.pipe_percent);
    let middle = (left + right - font::width(&moves, size)) / 2.0;
    let end = right - font::width(&pipe, size);
    [(flows, left), (moves, middle), (pipe, end)].map(|(text, x)| Text {
        text,
        feet: [x, layout.status_y],
        size,
        ink: scene.theme.ink().into(),
    })
}

/// The height of the letters of the line with flows, moves and pipe.
fn status_size(layout: &Layout) -> f64 {
    layout.unit * 0.033
}

/// The height of the phone's title.
fn title_size(layout: &Layout) -> f64 {
    layout.unit * 0.06
}

fn draw_back_and_settings(canvas: &mut Canvas, theme: Theme, layout: &Layout) {
    let ink = theme.ink().into();
    let (unit, width) = (layout.unit, canvas.width() as f64);
    let row = layout.title_y - title_size(layout) / 2.0;
    let radius = unit * 0.042;
    button(canvas, [unit * 0.06, row], radius, Icon::Back, ink);
    let right = [width - unit * 0.06, row];
    button(canvas, right, radius, Icon::Settings, ink);
}

fn draw_title(canvas: &mut Canvas, scene: &Scene, layout: &Layout, left: f64) {
    titles(scene, layout, left)
        .iter()
        .for_each(|text| text.draw(canvas));
}

fn titles(scene: &Scene, layout: &Layout, left: f64) -> [Text; 2] {
    let (feet, size) = (layout.title_y, title_size(layout));
    let header = &scene.header;
    let x = left + font::width(&header.title, size) + layout.unit * 0.035;
    [
        Text {
            text: header.title.clone(),
            feet: [left, feet],
            size,
            ink: scene.theme.title(scene.line).into(),
        },
        Text {
            text: header.note.clone(),
            feet: [x, feet],
            size: size * 0.75,
            ink: scene.theme.grey().into(),
        },
    ]
}

fn draw_buttons(canvas: &mut Canvas, theme: Theme, layout: &Layout, middle: Icon, undo: Ink) {
    let ink = theme.ink().into();
    for (place, icon, ink) in [
        (Button::Undo, Icon::Undo, undo),
        (Button::Next, middle, ink),
        (Button::Restart, Icon::Restart, ink),
    ] {
        let (middle, radius) = layout.button(place);
        button(canvas, middle, radius, icon, ink);
    }
}

fn draw_desktop(canvas: &mut Canvas, scene: &Scene, layout: &Layout) {
    let (unit, left) = (layout.unit, layout.text_span.0);
    let ink = scene.theme.ink().into();
    let grey = scene.theme.grey().into();
    let radius = unit * 0.044;
    button(canvas, [unit * 0.135, unit * 0.2], radius, Icon::Back, ink);
    let feet = layout.status_y - unit * 0.075;
    write(canvas, &scene.header.title, [left, feet], unit * 0.066, ink);
    write(
        canvas,
        &scene.header.note,
        [left, feet - unit * 0.105],
        unit * 0.03,
        grey,
    );
    let middle = (layout.text_span.0 + layout.text_span.1) / 2.0;
    for (place, icon) in [(-1.0, Icon::Back), (0.0, Icon::Restart), (1.0, Icon::Next)] {
        let x = middle + place * unit * 0.18;
        button(canvas, [x, layout.buttons_y], radius, icon, ink);
    }
    button(
        canvas,
        [layout.text_span.1 - radius, layout.buttons_y],
        radius,
        Icon::Hint,
        ink,
    );
}

fn write(canvas: &mut Canvas, text: &str, feet: Point, size: f64, ink: Ink) {
    canvas.stroke(
        font::path(text, feet, size),
        (size * font::WEIGHT).max(1.0),
        ink,
    );
}

/// What is on a button.
#[derive(Clone, Copy)]
enum Icon {
    Back,
    Next,
    Undo,
    Restart,
    Settings,
    Hint,
}

fn button(canvas: &mut Canvas, middle: Point, radius: f64, icon: Icon, ink: Ink) {
    let width = radius * 0.13;
    canvas.ring(middle, radius, width, ink);
    // Points are given in radii from the middle.
    let place = |[x, y]: Point| [middle[0] + x * radius, middle[1] + y * radius];
    let mut lines = |lines: &[&[Point]]| {
        let lines = lines
            .iter()
            .map(|line| line.iter().copied().map(place).collect());
        canvas.lines(lines, width * 1.4, ink);
    };
    match icon {
        Icon::Back => {
            lines(&[
                &[[0.5, 0.0], [-0.5, 0.0]],
                &[[-0.1, -0.4], [-0.5, 0.0], [-0.1, 0.4]],
            ]);
        }
        Icon::Next => {
            lines(&[
                &[[-0.5, 0.0], [0.5, 0.0]],
                &[[0.1, -0.4], [0.5, 0.0], [0.1, 0.4]],
            ]);
        }
        Icon::Undo => lines(&[
            &[[-0.45, -0.1], [0.15, -0.3], [0.45, 0.0], [0.3, 0.45]],
            &[[-0.35, -0.5], [-0.45, -0.1], [-0.05, 0.05]],
        ]),
        Icon::Restart => lines(&[
            &[[-0.5, -0.05], [-0.3, -0.4], [0.15, -0.45], [0.45, -0.15]],
            &[[0.5, -0.5], [0.45, -0.15], [0.1, -0.15]],
            &[[0.5, 0.05], [0.3, 0.4], [-0.15, 0.45], [-0.45, 0.15]],
            &[[-0.5, 0.5], [-0.45, 0.15], [-0.1, 0.15]],
        ]),
        Icon::Settings => {
            lines(&[
                &[[0.0, -0.6], [0.0, -0.4]],
                &[[0.52, -0.3], [0.35, -0.2]],
                &[[0.52, 0.3], [0.35, 0.2]],
                &[[0.0, 0.6], [0.0, 0.4]],
                &[[-0.52, 0.3], [-0.35, 0.2]],
                &[[-0.52, -0.3], [-0.35, -0.2]],
            ]);
            canvas.ring(middle, radius * 0.36, width * 1.4, ink);
        }
        Icon::Hint => {
            let size = radius * 0.9;
            let x = middle[0] - font::width("?", size) / 2.0;
            write(canvas, "?", [x, middle[1] + size / 2.0], size, ink);
        }
    }
}
