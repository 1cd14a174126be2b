//! The fitness of each generation of a genetic solver, as a plot.

use flowpipe_puzzle::message::Effort;
use plotters::coord::Shift;
use plotters::prelude::*;

type PlotError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

const SIZE: (u32, u32) = (900, 520);
/// Up to this many generations get dots: a single one has no line.
const DOTS: usize = 40;
/// The plotted series, and their colours.
const SERIES: [(&str, RGBColor); 3] = [
    ("best", RGBColor(0x22, 0x88, 0x33)),
    ("average", RGBColor(0x44, 0x77, 0xAA)),
    ("worst", RGBColor(0xEE, 0x66, 0x77)),
];

/// Draws the best, average and worst fitness by generation, counted from 0, as SVG. `None`: the
/// solver reports no such series.
pub fn svg(effort: &Effort, title: &str) -> Option<String> {
    let plotted: Vec<(&str, RGBColor, &[f64])> = SERIES
        .iter()
        .filter_map(|&(name, colour)| {
            let values = effort.series.get(name)?;
            (!values.is_empty()).then_some((name, colour, &values[..]))
        })
        .collect();
    if plotted.is_empty() {
        return None;
    }
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
    let drawn = draw(&area, &plotted, title);
    drop(area);
    // Drawing into memory does not fail.
    drawn.ok().map(|()| text)
}

fn draw<'a>(
    area: &DrawingArea<SVGBackend<'a>, Shift>,
    plotted: &[(&str, RGBColor, &[f64])],
    title: &str,
) -> Result<(), PlotError<'a>> {
    area.fill(&WHITE)?;
    let values = || {
        plotted
            .iter()
            .flat_map(|(_, _, values)| values.iter().copied())
    };
    let finite = || values().filter(|value| value.is_finite());
    let least = finite().fold(f64::INFINITY, f64::min);
    let most = finite().fold(f64::NEG_INFINITY, f64::max);
    // A margin above and below, also if all values are equal or none is finite.
    let (least, most) = if least <= most {
        (least, most)
    } else {
        (0.0, 1.0)
    };
    let room = if most > least {
        (most - least) * 0.05
    } else {
        1.0
    };
    let last = plotted
        .iter()
        .map(|(_, _, values)| values.len())
        .max()
        .unwrap_or(1);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(0..last.saturating_sub(1).max(1), least - room..most + room)?;
    chart
        .configure_mesh()
        .light_line_style(RGBColor(0xF4, 0xF4, 0xF4))
        .bold_line_style(RGBColor(0xDD, 0xDD, 0xDD))
        .x_desc("generation")
        .y_desc("fitness")
        .draw()?;
    for &(name, colour, values) in plotted {
        let points = values.iter().copied().enumerate();
        let points = points.filter(|(_, value)| value.is_finite());
        if values.len() <= DOTS {
            let dot = |point| Circle::new(point, 3, colour.filled());
            chart.draw_series(points.clone().map(dot))?;
        }
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(0xCC, 0xCC, 0xCC))
        .draw()?;
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effort(series: &[(&str, &[f64])]) -> Effort {
        let series = series
            .iter()
            .map(|(name, values)| (name.to_string(), values.to_vec()));
        let mut effort = Effort::default();
        effort.series = series.collect();
        effort
    }

    #[test]
    fn three_lines_with_axes_and_a_legend() {
        let effort = effort(&[
            ("best", &[1.0, 4.0, 9.0]),
            ("average", &[0.5, 2.0, 5.0]),
            ("worst", &[0.0, f64::NAN, -1.0]),
        ]);
        let svg = svg(&effort, "9x9 <&>").unwrap();
        assert!(svg.matches("<polyline").count() >= 6, "{svg}");
        for word in [
            "generation",
            "fitness",
            "best",
            "average",
            "worst",
            "9x9 &lt;&amp;&gt;",
        ] {
            assert!(svg.contains(word), "no {word} in {svg}");
        }
    }

    #[test]
    fn one_generation_is_drawn_and_no_series_is_not() {
        assert!(svg(&effort(&[("best", &[1.0])]), "").is_some());
        assert!(svg(&effort(&[("best", &[f64::NAN])]), "").is_some());
        assert!(svg(&effort(&[("frontier", &[1.0])]), "").is_none());
        assert!(svg(&effort(&[("best", &[])]), "").is_none());
    }
}
