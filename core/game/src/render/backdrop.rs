//! The lights behind the board.

use super::canvas::{Canvas, Ink};
use super::paint::CLASSIC;
use super::{Style, Theme};
use crate::random::Random;

/// A bar of light, in frame pixels.
struct Bar {
    paint: [u8; 3],
    /// Middle, half of the length and half of the width, across and down.
    middle: [f64; 2],
    half: [f64; 2],
}

/// Draws the lights of a number. On a light ground they are pale tints.
pub(super) fn draw(canvas: &mut Canvas, style: Style, theme: Theme, lights: u64) {
    if theme.light() == 0.0 {
        return;
    }
    let bars = bars(lights, canvas.width() as f64, canvas.height() as f64);
    match style {
        Style::Phone | Style::Window | Style::EdgeToEdge { .. } => {
            draw_blurred(canvas, theme, &bars)
        }
        Style::Desktop => draw_sharp(canvas, theme, &bars),
    }
}

fn bars(seed: u64, width: f64, height: f64) -> Vec<Bar> {
    let mut random = Random::new(seed);
    let thin = width.min(height) * 0.05;
    (0..9)
        .map(|index| {
            let paint = CLASSIC[random.below(11)];
            let middle = [random.unit() * width, random.unit() * height];
            let length = 0.15 + 0.3 * random.unit();
            let half = if index % 2 == 0 {
                [length * width, thin]
            } else {
                [thin, length * height]
            };
            Bar {
                paint,
                middle,
                half,
            }
        })
        .collect()
}

fn draw_blurred(canvas: &mut Canvas, theme: Theme, bars: &[Bar]) {
    let (width, height) = (canvas.width(), canvas.height());
    // A bar's light is the product of what it is across and what it is down.
    let profiles: Vec<_> = bars
        .iter()
        .map(|bar| {
            let soft = bar.half[0].min(bar.half[1]);
            let profile = |axis: usize, count: usize| -> Vec<f32> {
                let distance = |index: usize| index as f64 + 0.5 - bar.middle[axis];
                (0..count)
                    .map(|index| falloff(distance(index), bar.half[axis], soft))
                    .collect()
            };
            let glow = bar.paint.map(|value| glow(theme, value));
            (glow, profile(0, width), profile(1, height))
        })
        .collect();
    canvas.add_light(|y, row| {
        for (glow, across, down) in profiles.iter().filter(|(_, _, down)| down[y] > 0.0) {
            let glow = glow.map(|value| value * down[y]);
            for (light, &strength) in row.iter_mut().zip(across).filter(|(_, one)| **one > 0.0) {
                for (value, glow) in light.iter_mut().zip(glow) {
                    *value += glow * strength;
                }
            }
        }
    });
}

/// What a light adds to the ground at its middle where its paint has a value.
fn glow(theme: Theme, value: u8) -> f32 {
    // Nothing is lighter than paper: there a light takes off what its paint lacks.
    let lack = if theme.is_light() { 255.0 } else { 0.0 };
    (f32::from(value) - lack) * theme.light() as f32
}

/// 1 well within a bar, 0 well outside, smooth between.
fn falloff(distance: f64, half: f64, soft: f64) -> f32 {
    let rise = ((half + soft - distance.abs()) / (2.0 * soft)).clamp(0.0, 1.0);
    (rise * rise * (3.0 - 2.0 * rise)) as f32
}

fn draw_sharp(canvas: &mut Canvas, theme: Theme, bars: &[Bar]) {
    for bar in bars {
        let [x, y] = bar.middle;
        let radius = bar.half[0].min(bar.half[1]) / 2.0;
        let (dx, dy) = (bar.half[0] - 2.0 * radius, bar.half[1] - 2.0 * radius);
        let line = vec![[x - dx, y - dy], [x + dx, y + dy]];
        canvas.lines(
            [line],
            2.0 * radius,
            Ink {
                paint: bar.paint,
                opacity: theme.light(),
            },
        );
    }
}
