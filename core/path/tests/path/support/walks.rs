//! Self-avoiding walks, as legs for the crate and as polygons for the exhaustive method.

use flowpipe_path::{End, Inner, Leg};
use flowpipe_puzzle::{Lattice, place};

use super::oracle::Polygons;

/// Directions, one step after the other, as in [`flowpipe_puzzle::Direction`].
pub type Walk = Vec<u8>;

pub fn ways(lattice: Lattice) -> u8 {
    match lattice {
        Lattice::Square => 4,
        Lattice::Hex => 6,
    }
}

/// A step in half cells, `y` downwards.
fn step(lattice: Lattice, way: u8) -> [i64; 2] {
    place::offset(lattice, flowpipe_puzzle::Direction(way)).map(|value| (2.0 * value) as i64)
}

/// The cells' centres in half cells, from the first.
pub fn centres(lattice: Lattice, walk: &[u8]) -> Vec<[i64; 2]> {
    let mut at = [0, 0];
    let mut centres = vec![at];
    for &way in walk {
        let [dx, dy] = step(lattice, way);
        at = [at[0] + dx, at[1] + dy];
        centres.push(at);
    }
    centres
}

fn visits_none_twice(lattice: Lattice, walk: &[u8]) -> bool {
    let centres = centres(lattice, walk);
    let last = centres[centres.len() - 1];
    !centres[..centres.len() - 1].contains(&last)
}

/// All walks of so many steps; those that are another one turned are left out, on squares also those
/// that are another one mirrored.
pub fn all(lattice: Lattice, steps: usize) -> Vec<Walk> {
    let mut walks: Vec<Walk> = vec![vec![1]];
    for _ in 1..steps {
        walks = walks
            .iter()
            .flat_map(|walk| (0..ways(lattice)).map(move |way| [walk.as_slice(), &[way]].concat()))
            .filter(|walk| visits_none_twice(lattice, walk))
            .filter(|walk| lattice == Lattice::Hex || first_turn(walk) != Some(0))
            .collect();
    }
    walks
}

fn first_turn(walk: &[u8]) -> Option<u8> {
    walk.iter().copied().find(|&way| way != walk[0])
}

/// A random walk of so many steps.
pub fn random(lattice: Lattice, steps: usize, random: &mut fastrand::Rng) -> Walk {
    loop {
        let mut walk = vec![random.u8(..ways(lattice))];
        while walk.len() < steps {
            walk.push(random.u8(..ways(lattice)));
            if !visits_none_twice(lattice, &walk) {
                break;
            }
        }
        if walk.len() == steps && visits_none_twice(lattice, &walk) {
            return walk;
        }
    }
}

/// The leg of a walk; the cells' numbers do not matter.
pub fn leg(lattice: Lattice, walk: &[u8], end: End) -> Leg {
    let centres: Vec<[f64; 2]> = centres(lattice, walk)
        .iter()
        .map(|&[x, y]| [40.5 + x as f64 / 2.0, 40.5 + y as f64 / 2.0])
        .collect();
    let end = if centres.len() < 3 { End::InLast } else { end };
    Leg {
        cells: vec![0; centres.len()],
        centres,
        end,
    }
}

/// The corridor of a leg made from a walk, as polygons in the plane.
pub fn polygons(lattice: Lattice, walk: &[u8], end: End, inner: Inner) -> Polygons {
    let [numerator, denominator] = inner.fraction();
    let sixths: &[[i64; 2]] = match lattice {
        Lattice::Square => &[[-3, -3], [3, -3], [3, 3], [-3, 3]],
        Lattice::Hex => &[[-2, -3], [2, -3], [4, 0], [2, 3], [-2, 3], [-4, 0]],
    };
    let centres = centres(lattice, walk);
    let last = centres.len() - 1 - usize::from(end == End::BesideTerminal && centres.len() > 2);
    let cell = |index: usize| -> Vec<[i64; 2]> {
        let [x, y] = centres[index];
        let corner = |&[dx, dy]: &[i64; 2]| {
            [
                3 * denominator * x + numerator * dx,
                3 * denominator * y + numerator * dy,
            ]
        };
        sixths.iter().map(corner).collect()
    };
    let sides = ways(lattice);
    let side = |index: usize, way: u8| {
        let corners = cell(index);
        let corner = |number: u8| corners[usize::from(number % sides)];
        [corner(way), corner(way + 1)]
    };
    let mut pieces = vec![cell(0)];
    let mut on_joins = Vec::new();
    for index in 1..=last {
        let way = walk[index - 1];
        let (from, to) = (side(index - 1, way), side(index, way + sides / 2));
        on_joins.extend([from, to].concat());
        // Clockwise sides: the end of one lies across from the beginning of the other.
        pieces.push(vec![from[0], to[1], to[0], from[1]]);
        pieces.push(cell(index));
    }
    let goal = if end == End::BesideTerminal && centres.len() > 2 {
        let way = walk[last];
        let corners = cell(last);
        let corner = |number: u8| corners[usize::from(number % sides)];
        let half = |a: [i64; 2], b: [i64; 2]| [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
        let [left, right] = match lattice {
            Lattice::Square => [
                half(corner(way + 3), corner(way)),
                half(corner(way + 1), corner(way + 2)),
            ],
            Lattice::Hex => [corner(way + 5), corner(way + 2)],
        };
        vec![left, corner(way), corner(way + 1), right]
    } else {
        cell(last)
    };
    let joins = |corner: &[i64; 2]| on_joins.iter().filter(|&other| other == corner).count();
    let enough = match lattice {
        Lattice::Square => 2,
        Lattice::Hex => 1,
    };
    let mut reflex: Vec<[i64; 2]> = on_joins
        .iter()
        .copied()
        .filter(|corner| joins(corner) >= enough)
        .collect();
    reflex.sort_unstable();
    reflex.dedup();
    Polygons {
        start: cell(0),
        pieces,
        goal,
        reflex,
    }
}
