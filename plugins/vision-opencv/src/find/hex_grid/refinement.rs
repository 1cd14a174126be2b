//! Refines the positions of columns of hexagons, at the slanted sides between them.

use flowpipe_plugin::puzzle::Direction;

use crate::find::cell_side;
use crate::find::grid::Grid;
use crate::find::profile::StretchPlace;
use crate::numerics::regression;
use crate::picture::Picture;
use crate::picture::polarity::Polarity;

/// Sides that are measured for each line between columns.
const MOST_MEASURED: usize = 12;

/// A grid with its columns where the slanted sides between them are.
pub(super) fn refined(grid: Grid, picture: &Picture<'_>, polarity: Polarity) -> Grid {
    let places = (1..grid.cols()).filter_map(|line| {
        let mut shifts: Vec<f64> = between(&grid, line, polarity)
            .filter_map(|place| shift(picture, &place, grid.cell))
            .collect();
        shifts.sort_by(f64::total_cmp);
        let shift = shifts.get(shifts.len() / 2)?;
        Some((line as f64, grid.xs[line] + shift))
    });
    let Some((left, column)) = regression::line(places.map(|(x, y)| (x, y, 1.0))) else {
        return grid;
    };
    if (column - grid.cell).abs() > 0.05 * grid.cell {
        return grid;
    }
    let x = |line: usize| left + line as f64 * column;
    Grid::hexes((0..grid.xs.len()).map(x).collect(), grid.ys)
}

/// Stretches of sides between two columns, from top to bottom, evenly chosen.
fn between(
    grid: &Grid,
    line: usize,
    polarity: Polarity,
) -> impl Iterator<Item = StretchPlace> + '_ {
    let every = grid.rows().div_ceil(MOST_MEASURED / 2);
    (0..grid.rows()).step_by(every).flat_map(move |row| {
        let cell = row * grid.cols() + line;
        [4, 5].into_iter().flat_map(move |way| {
            let place = cell_side::place(grid, cell, Direction(way), false, polarity);
            cell_side::stretches(grid.lattice).map(|share| place.part(share))
        })
    })
}

/// How far to the right of its place a slanted line is, in pixels. `None` where none is seen.
fn shift(picture: &Picture<'_>, place: &StretchPlace, cell: f64) -> Option<f64> {
    let far = (0.14 * cell).ceil().max(4.0) as i32;
    let profile = place.profile(picture, far);
    let colours = (-far..=far).map(|off| profile.at(off));
    let grey = colours.map(|colour| Some(colour?.iter().sum::<f64>() / 3.0));
    let grey = grey.collect::<Option<Vec<f64>>>()?;
    let (first, last) = (grey.first()?, grey.last()?);
    // Tints on both sides may differ.
    let beside = first.max(*last);
    let off = |index: usize| (grey[index] - beside).max(0.0);
    let (sum, moment) = (0..grey.len()).fold((0.0, 0.0), |(sum, moment), index| {
        let far = index as f64 - f64::from(far);
        (sum + off(index), moment + off(index) * far)
    });
    let peak = (0..grey.len()).map(off).fold(0.0, f64::max);
    // To the right of who walks along it, and how much of that is to the right in the picture.
    let [dx, dy] = [place.to[0] - place.from[0], place.to[1] - place.from[1]];
    (peak >= 6.0 && sum <= (0.1 * cell).max(5.0) * peak)
        .then(|| -(moment / sum) * dx.hypot(dy) / dy)
}
