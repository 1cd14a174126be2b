//! The shapes of an overlay, drawn over the picture.

use std::time::{Duration, Instant};

use flowpipe_message::{Form, Point, Shape};

use super::shapes::ShapeSheet;
use super::{Pixels, SizeError, overlay};

/// Large shapes take long to draw. After this time, the rest is left out.
const LONGEST: Duration = Duration::from_secs(3);
/// The longest line of one shape, in pixels inside of the picture: nothing ends the drawing of a shape.
const LONGEST_LINE: f64 = 1e6;

/// Draws shapes over a picture, the first one first, for a few seconds at most. A caption counts those that are left out.
///
/// # Errors
/// When the picture is too large to draw on.
pub fn draw(picture: Pixels, shapes: &[Shape]) -> Result<Pixels, SizeError> {
    let size = [picture.width, picture.height].map(f64::from);
    let mut sheet = ShapeSheet::new(picture)?;
    let began = Instant::now();
    let mut left_out = 0;
    for shape in shapes {
        if began.elapsed() > LONGEST || line_length(&shape.form, size) > LONGEST_LINE {
            left_out += 1;
            continue;
        }
        let colour = shape.colour;
        let (top, middle) = match &shape.form {
            Form::Rectangle(place) => {
                let (right, bottom) = (place.x + place.width, place.y + place.height);
                let corners = vec![
                    [place.x, place.y],
                    [right, place.y],
                    [right, bottom],
                    [place.x, bottom],
                ];
                let ends = ends(&corners);
                sheet.area(corners, colour, shape.is_filled);
                ends
            }
            Form::Circle { at, radius } => {
                sheet.circle(*at, *radius, colour, shape.is_filled);
                (at[1] - radius, at[0])
            }
            Form::Line { points } => {
                sheet.line(points.clone(), colour);
                ends(points)
            }
            Form::Polygon { points } => {
                sheet.area(points.clone(), colour, shape.is_filled);
                ends(points)
            }
            Form::Text { at, text, size } => {
                sheet.text(text, *at, *size, colour);
                (at[1] - size / 2.0, at[0])
            }
        };
        if let Some(label) = &shape.label {
            sheet.label(label, [middle, top], colour);
        }
    }
    if left_out > 0 {
        let all = shapes.len();
        let text = format!("{left_out} of {all} shapes left out: drawing them takes too long");
        return overlay::caption(sheet.into_pixels(), &text);
    }
    Ok(sheet.into_pixels())
}

/// About how many pixels of a picture the line through the points of a form crosses. `size`: of the picture.
fn line_length(form: &Form, size: [f64; 2]) -> f64 {
    let (Form::Line { points } | Form::Polygon { points }) = form else {
        return 0.0;
    };
    let inside = |point: &Point| [0, 1].map(|axis| point[axis].clamp(0.0, size[axis]));
    let steps = points.windows(2).map(|pair| {
        let [from, to] = [inside(&pair[0]), inside(&pair[1])];
        (to[0] - from[0]).abs() + (to[1] - from[1]).abs()
    });
    steps.sum()
}

/// The top of points, and the middle between left and right.
fn ends(points: &[Point]) -> (f64, f64) {
    let fold = |of: usize, start: f64, pick: fn(f64, f64) -> f64| {
        points.iter().map(|point| point[of]).fold(start, pick)
    };
    let top = fold(1, f64::INFINITY, f64::min);
    let (left, right) = (
        fold(0, f64::INFINITY, f64::min),
        fold(0, f64::NEG_INFINITY, f64::max),
    );
    (top, (left + right) / 2.0)
}

#[cfg(test)]
mod tests {
    use flowpipe_message::Rectangle;

    use super::*;

    const GREY: [u8; 3] = [90, 90, 90];
    const RED: [u8; 3] = [255, 0, 0];

    fn drawn(shape: Shape) -> Pixels {
        let picture = Pixels {
            width: 100,
            height: 100,
            rgba: [90, 90, 90, 255].repeat(100 * 100),
        };
        draw(picture, &[shape.with_colour(RED)]).unwrap()
    }

    /// Inside, on the edge, outside.
    #[track_caller]
    fn check(drawn: &Pixels, inside: [u32; 2], edge: [u32; 2]) {
        assert_eq!(drawn.at(inside[0], inside[1]), Some(GREY), "inside");
        assert_eq!(drawn.at(edge[0], edge[1]), Some(RED), "edge");
        assert_eq!(drawn.at(95, 95), Some(GREY), "outside");
    }

    #[test]
    fn every_form_is_drawn_in_its_colour() {
        let place = Rectangle::new(20.0, 30.0, 40.0, 20.0);
        check(&drawn(Shape::rectangle(place)), [40, 40], [20, 40]);
        check(
            &drawn(Shape::circle([50.0, 50.0], 20.0)),
            [50, 50],
            [70, 50],
        );
        let corners = vec![[20.0, 20.0], [80.0, 20.0], [20.0, 80.0]];
        check(&drawn(Shape::polygon(corners.clone())), [40, 40], [20, 50]);
        // A line is not closed.
        let line = drawn(Shape::line(corners));
        check(&line, [40, 40], [50, 20]);
        assert_eq!(line.at(20, 50), Some(GREY));
        let text = drawn(Shape::text([50.0, 50.0], "8", 40.0));
        let is_drawn = |x, y| text.at(x, y) != Some(GREY);
        assert!((0..100).any(|x| is_drawn(x, 50)) && !(0..100).any(|x| is_drawn(x, 95)));
    }

    #[test]
    fn what_is_filled_is_half_transparent_and_labels_are_above() {
        let place = Rectangle::new(20.0, 40.0, 60.0, 20.0);
        let filled = drawn(Shape::rectangle(place).filled());
        let [red, green, _] = filled.at(50, 50).unwrap();
        assert!(red > 90 && red < 255 && green < 90);
        let labelled = drawn(Shape::rectangle(place).with_label("mine"));
        let has_letters = |drawn: &Pixels| (20..80).any(|x| drawn.at(x, 30) != Some(GREY));
        assert!(has_letters(&labelled) && !has_letters(&filled));
    }

    #[test]
    fn a_line_that_crosses_the_picture_too_often_is_left_out() {
        let zigzag = |count: u32| {
            let point = |step: u32| [f64::from(step % 100), f64::from(step % 2) * 100.0];
            (0..count).map(point).collect::<Vec<_>>()
        };
        assert!(
            line_length(
                &Form::Line {
                    points: zigzag(100)
                },
                [100.0; 2]
            ) < LONGEST_LINE
        );
        for shape in [
            Shape::line(zigzag(100_000)),
            Shape::polygon(zigzag(100_000)).filled(),
        ] {
            let began = Instant::now();
            let drawn = drawn(shape);
            // Without the limit it takes minutes.
            assert!(began.elapsed() < Duration::from_secs(60));
            assert_eq!(drawn.at(50, 95), Some(GREY), "it is drawn");
            assert_ne!(drawn.at(1, 1), Some(GREY), "a caption is above");
        }
    }

    #[test]
    fn shapes_may_lie_outside() {
        let far = flowpipe_message::overlay::FARTHEST;
        for shape in [
            Shape::rectangle(Rectangle::new(-far, -far, far, far)).filled(),
            Shape::circle([far, far], far).filled(),
            Shape::line(vec![[-far, -far], [far, far]]),
            Shape::text([0.0, 0.0], "x".repeat(100), far),
        ] {
            drawn(shape.clone().with_label("far away"));
            drawn(shape);
        }
    }
}
