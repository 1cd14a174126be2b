//! Numbers in place of terminals, as in Numberlink on paper: which cells hold one, and which are equal.
//!
//! No digit is known here: two terminals are a pair if their pictures are equal.

mod glyph;
mod marks;

use flowpipe_plugin::puzzle::{Cell, Rules};

use crate::find::grid::Grid;
use crate::picture::Picture;
use crate::picture::colour::mean;
use crate::read::contents::cell_layout::{CellLayout, INSIDE};
use crate::read::contents::colours::{PipeLook, TerminalColours, no_partner};
use crate::read::contents::numbers::glyph::Glyph;
use crate::read::contents::pairing::Pairs;
use crate::read::contents::terminals::BoardColours;
use crate::refuse::refusal::Refusal;

/// What a solution must keep: Numberlink on paper asks for no more than that flows do not cross.
pub const RULES: Rules = Rules {
    cover: false,
    touch: true,
};
/// A number stands out by at least this share of what the strongest does.
const FAINTEST: f64 = 0.5;
/// The partner is nearer than the second nearest by this factor. Over the real levels that are drawn with
/// numbers, equal ones are apart by 0.03 and at most 0.09, the nearest others (6 and 8) by 0.12.
const MARGIN: f64 = 0.5;
/// And than this, by the same factor: so that two whose partners are not seen make no pair.
const OTHER: f64 = 0.2;

/// Finds the numbers, notes them as terminals and pairs them.
///
/// # Errors
/// [`Refusal::NoTerminals`], [`Refusal::OddTerminals`], [`Refusal::NoPartner`].
pub fn pair(
    picture: &Picture<'_>,
    places: &CellLayout<'_>,
    grid: &Grid,
    looks: &mut BoardColours,
) -> Result<TerminalColours, Refusal> {
    let mut found: Vec<(Cell, Glyph)> = looks
        .there()
        .filter_map(|(cell, look)| {
            let centre = places.centre(cell);
            let glyph = picture.recall::<Glyph>(
                || (places.key(centre, 0.0), places.area(centre, INSIDE)),
                || Glyph::find(picture, places, centre, look.background),
            )?;
            Some((cell, glyph))
        })
        .collect();
    let most = found
        .iter()
        .map(|(_, glyph)| glyph.contrast)
        .fold(0.0, f64::max);
    found.retain(|(_, glyph)| glyph.contrast >= FAINTEST * most);
    match found.len() {
        0 => {
            return Err(Refusal::NoTerminals {
                rows: grid.rows(),
                cols: grid.cols(),
            });
        }
        count if count % 2 != 0 => return Err(Refusal::OddTerminals(count)),
        _ => {}
    }
    let apart = |a: usize, b: usize| found[a].1.apart(&found[b].1);
    let pairs = Pairs::find(found.len(), MARGIN, 0.0, apart, |_| OTHER)
        .map_err(|index| no_partner(found[index].0, grid))?;
    let unlike = |&&(a, b): &&(usize, usize)| apart(a, b) > MARGIN * OTHER;
    if let Some(&(index, _)) = pairs.pairs.iter().find(unlike) {
        return Err(no_partner(found[index].0, grid));
    }
    looks.faintest = f64::INFINITY;
    for (cell, glyph) in &found {
        looks.faintest = looks.faintest.min(glyph.contrast);
        if let Some(look) = &mut looks.cells[*cell] {
            look.terminal = Some(glyph.colour);
        }
    }
    let ink = |&(a, b): &(usize, usize)| mean(found[a].1.colour, found[b].1.colour);
    Ok(TerminalColours {
        terminals: pairs.terminals(|index| found[index].0),
        palette: pairs.pairs.iter().map(ink).collect(),
        pipes: PipeLook::Inked,
        clearness: pairs.clearness,
    })
}

#[cfg(test)]
mod tests {
    use flowpipe_plugin::puzzle::Terminal;
    use flowpipe_plugin::{Format, PixelInfo};

    use super::*;
    use crate::read::shape::board_shape::BoardShape;

    /// Strokes of digits, each left, top, right and bottom, in tenths of a span from the centre.
    const ONE: &[[f64; 4]] = &[[-0.4, -2.5, 0.4, 2.5]];
    const SIX: &[[f64; 4]] = &[
        [-1.5, -2.5, -0.8, 2.5],
        [-1.5, -2.5, 1.5, -1.8],
        [-1.5, -0.3, 1.5, 0.4],
        [-1.5, 1.8, 1.5, 2.5],
        [0.8, -0.3, 1.5, 2.5],
    ];
    const EIGHT: &[[f64; 4]] = &[
        [-1.5, -2.5, -0.8, 2.5],
        [-1.5, -2.5, 1.5, -1.8],
        [-1.5, -0.3, 1.5, 0.4],
        [-1.5, 1.8, 1.5, 2.5],
        [0.8, -2.5, 1.5, 2.5],
    ];

    /// Digits in a row of cells of a number of pixels, each at its own part of a pixel.
    fn read(span: f64, digits: &[&[[f64; 4]]]) -> Result<Vec<Terminal>, Refusal> {
        let (width, height) = ((span * digits.len() as f64) as usize + 2, span as usize + 2);
        let mut bytes = Vec::new();
        for index in 0..width * height {
            let ink = (0..16).filter(|sub| {
                let x = (index % width) as f64 + f64::from(sub % 4) / 4.0 + 0.125;
                let y = (index / width) as f64 + f64::from(sub / 4) / 4.0 + 0.125;
                let cell = ((x / span) as usize).min(digits.len() - 1);
                let off = [x - (cell as f64 + 0.5) * span, y - 0.5 * span];
                let [x, y] = off.map(|off| 10.0 * off / span);
                digits[cell]
                    .iter()
                    .any(|it| (it[0]..it[2]).contains(&x) && (it[1]..it[3]).contains(&y))
            });
            bytes.push(255 - 15 * ink.count() as u8);
        }
        let info = PixelInfo::new(Format::Grey8, width as u32, height as u32);
        let picture = Picture::new(&bytes, info).unwrap();
        let xs = (0..=digits.len()).map(|line| line as f64 * span);
        let grid = Grid::squares(xs.collect(), vec![0.0, span], span);
        let places = CellLayout::new(&grid);
        let mut looks = crate::read::contents::terminals::look(
            &picture,
            &places,
            &grid,
            &BoardShape::default(),
        );
        pair(&picture, &places, &grid, &mut looks).map(|paints| paints.terminals)
    }

    #[test]
    fn equal_numbers_are_pairs_wherever_their_pixels_fall() {
        for span in [24.3, 33.7, 41.9, 58.1, 77.7, 110.3] {
            let terminals = read(span, &[SIX, ONE, EIGHT, EIGHT, ONE, SIX]).unwrap();
            let colours: Vec<_> = terminals.iter().map(|it| it.colour).collect();
            assert_eq!(colours, [0, 1, 2, 2, 1, 0], "{span}");
        }
    }

    #[test]
    fn numbers_without_an_equal_one_are_refused() {
        let odd = read(40.3, &[SIX, ONE, SIX]);
        assert_eq!(odd, Err(Refusal::OddTerminals(3)));
        let other = read(40.3, &[SIX, ONE]);
        assert_eq!(other, Err(Refusal::NoPartner { row: 1, col: 1 }));
    }
}
