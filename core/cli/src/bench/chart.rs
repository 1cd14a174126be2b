//! Rows as a chart: the median time of each solver by size of board.

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::bench::row::BenchRow;

type ChartError<'a> = DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>;

const SIZE: (u32, u32) = (900, 520);
/// Distinguishable on white, also with most colour blindness (P. Tol's bright and muted colours).
const COLOURS: [RGBColor; 10] = [
    RGBColor(0x44, 0x77, 0xAA),
    RGBColor(0xEE, 0x66, 0x77),
    RGBColor(0x22, 0x88, 0x33),
    RGBColor(0xCC, 0xBB, 0x44),
    RGBColor(0x66, 0xCC, 0xEE),
    RGBColor(0xAA, 0x33, 0x77),
    RGBColor(0x88, 0x88, 0x88),
    RGBColor(0x33, 0x22, 0x88),
    RGBColor(0x00, 0x99, 0x88),
    RGBColor(0x88, 0x22, 0x55),
];

/// Draws the medians of all sizes of plain rectangles that a solver solved more than half of, on a
/// logarithmic axis, as SVG. `None`: there is no such row.
pub fn svg(rows: &[BenchRow]) -> Option<String> {
    let shown: Vec<&BenchRow> = rows
        .iter()
        .filter(|row| row.is_size && 2 * row.solved > row.boards && row.median_us.is_some())
        .collect();
    let mut sizes: Vec<&'static str> = Vec::new();
    let mut solvers: Vec<&str> = Vec::new();
    for row in rows {
        if shown.iter().any(|it| it.class == row.class) && !sizes.contains(&row.class) {
            sizes.push(row.class);
        }
        if shown.iter().any(|it| it.solver == row.solver) && !solvers.contains(&row.solver.as_str())
        {
            solvers.push(&row.solver);
        }
    }
    if shown.is_empty() {
        return None;
    }
    let mut text = String::new();
    let drawn = draw(
        &SVGBackend::with_string(&mut text, SIZE).into_drawing_area(),
        &shown,
        &sizes,
        &solvers,
    );
    // Drawing into memory does not fail.
    drawn.ok().map(|()| text)
}

fn draw<'a>(
    area: &DrawingArea<SVGBackend<'a>, Shift>,
    rows: &[&BenchRow],
    sizes: &[&'static str],
    solvers: &[&str],
) -> Result<(), ChartError<'a>> {
    area.fill(&WHITE)?;
    let times = rows.iter().filter_map(|row| row.median_us);
    let least = times.clone().fold(f64::INFINITY, f64::min);
    let most = times.fold(0.0, f64::max);
    let range = (least / 2.0)..(most * 2.0);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d((0..sizes.len()).into_segmented(), range.log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(sizes.len() + 1)
        .light_line_style(RGBColor(0xEE, 0xEE, 0xEE))
        .bold_line_style(RGBColor(0xCC, 0xCC, 0xCC))
        .x_desc("boards")
        .y_desc("median time to a solution")
        .y_label_formatter(&|us| micros(*us))
        .x_label_formatter(&|at| match at {
            SegmentValue::CenterOf(at) => sizes.get(*at).copied().unwrap_or_default().to_owned(),
            SegmentValue::Exact(_) | SegmentValue::Last => String::new(),
        })
        .draw()?;
    for (at, solver) in solvers.iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let points: Vec<_> = sizes
            .iter()
            .enumerate()
            .filter_map(|(at, size)| {
                let row = rows
                    .iter()
                    .find(|row| row.solver == *solver && row.class == *size)?;
                Some((SegmentValue::CenterOf(at), row.median_us?))
            })
            .collect();
        chart
            .draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)))?
            .label(*solver)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(3)));
        chart.draw_series(
            points
                .into_iter()
                .map(|point| Circle::new(point, 3, colour.filled())),
        )?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(RGBColor(0xCC, 0xCC, 0xCC))
        .draw()?;
    area.present()
}

/// A tick of the time axis.
fn micros(us: f64) -> String {
    match us {
        _ if us < 0.99 => format!("{:.0} ns", us * 1e3),
        _ if us < 990.0 => format!("{us:.0} µs"),
        _ if us < 990_000.0 => format!("{:.0} ms", us / 1e3),
        _ => format!("{:.0} s", us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use flowpipe_puzzle::text;

    use super::*;
    use crate::bench::class::Class;
    use crate::bench::sample::{Sample, SampleOutcome};

    #[test]
    fn each_solver_has_a_line_over_the_sizes_that_it_solved() {
        let class = |cells: usize| {
            let text = format!("A{}A", ".".repeat(cells - 2));
            Class::of(&text::read(&text).remove(0).puzzle.unwrap().0)
        };
        let row = |solver: &str, cells, search_us, outcome| {
            let sample = Sample {
                outcome,
                search_us: Some(search_us),
                call_us: None,
                nodes: None,
            };
            BenchRow::new(solver, &class(cells), 1, &[sample], None)
        };
        let rows = [
            row("solver-quick", 25, 1.5, SampleOutcome::Solved),
            row("solver-slow", 25, 150.0, SampleOutcome::Solved),
            row("solver-quick", 81, 4.0, SampleOutcome::Solved),
            row("solver-slow", 81, 1e6, SampleOutcome::GaveUp),
        ];
        let svg = svg(&rows).expect("something was solved");
        for text in ["solver-quick", "solver-slow", "5x5", "9x9", "</svg>"] {
            assert!(svg.contains(text), "{text}");
        }
        let dots = svg.matches("<circle").count();
        assert_eq!(dots, 3, "no dot where it was not solved");
        assert_eq!(super::svg(&rows[3..]), None);
    }
}
