//! What a flow can do in a cell, as bits: the shapes of squares and of hexes.
//!
//! A *way* is a direction's number. A *turn* `k` joins two ways and leaves a cell *ahead*, the one
//! across from it: on squares it joins `k` and `k + 1`, and ahead lies the cell between them, on
//! the diagonal; on hexes it joins `k` and `k + 2`, and ahead lies the neighbour at `k + 1`.

/// A set of shapes, one bit each.
pub type Domain = u32;

/// The shapes of a lattice.
///
/// Bits from 0: the turns, the straights, on hexes the sharp turns (`k` and `k + 1`), then the
/// terminals that leave by one way.
pub trait Shapes {
    /// Ways out of a cell, and turns.
    const WAYS: usize;
    /// Shapes that use a way.
    const WITH: [Domain; 6];
    /// Shapes of a cell that lies ahead of turn `k`: it is joined to neither of the two
    /// cells that the turn joins.
    const CHAIN: [Domain; 6];
    /// Every shape of a cell without a terminal.
    const THROUGH: Domain;
    /// Every shape of a terminal.
    const TERMINAL: Domain;

    /// What a domain implies, in four lanes of `WAYS` bits: ways that every shape uses; ways that
    /// none uses; turns `k` that the cell no longer allows behind itself (no shape of
    /// `CHAIN[k]` is left); turns `k` that it takes for certain.
    fn facts(domain: Domain) -> u32;
}

/// The ways that a shape of squares uses.
const SQUARE_WAYS: [u32; 10] = [
    0b0011, 0b0110, 0b1100, 0b1001, // turns
    0b0101, 0b1010, // straights
    0b0001, 0b0010, 0b0100, 0b1000, // terminals
];

/// The ways that a shape of hexes uses.
const HEX_WAYS: [u32; 21] = [
    0b00_0101, 0b00_1010, 0b01_0100, 0b10_1000, 0b01_0001, 0b10_0010, // turns
    0b00_1001, 0b01_0010, 0b10_0100, // straights
    0b00_0011, 0b00_0110, 0b00_1100, 0b01_1000, 0b11_0000, 0b10_0001, // sharp turns
    0b00_0001, 0b00_0010, 0b00_0100, 0b00_1000, 0b01_0000, 0b10_0000, // terminals
];

/// Cells with four ways.
pub struct Square;

/// Cells with six ways.
pub struct Hex;

impl Shapes for Square {
    const WAYS: usize = 4;
    const WITH: [Domain; 6] = with(&SQUARE_WAYS);
    const CHAIN: [Domain; 6] = chain(&SQUARE_WAYS, 4, 2);
    const THROUGH: Domain = 0x3f;
    const TERMINAL: Domain = 0x3c0;

    #[inline(always)]
    fn facts(domain: Domain) -> u32 {
        static TABLE: [u16; 1024] = square_table();
        u32::from(TABLE[domain as usize & 1023])
    }
}

impl Shapes for Hex {
    const WAYS: usize = 6;
    const WITH: [Domain; 6] = with(&HEX_WAYS);
    const CHAIN: [Domain; 6] = chain(&HEX_WAYS, 6, 3);
    const THROUGH: Domain = 0x7fff;
    const TERMINAL: Domain = 0x1f_8000;

    /// Three look-ups: each lane is a union over the shapes, or the complement of one.
    #[inline(always)]
    fn facts(domain: Domain) -> u32 {
        static TABLE: [[u32; 128]; 3] = hex_table();
        let part = |index: usize| TABLE[index][domain as usize >> (7 * index) & 127];
        let union = !(part(0) | part(1) | part(2));
        let on = union & 0x3f;
        // Both ways of turn k are used.
        let turns = on & (on >> 2 | on << 4) & 0x3f;
        // A terminal uses one way only, so two certain ways are a turn.
        union & 0x3_ffff | turns << 18
    }
}

/// The shapes that use any of some ways.
pub fn using<S: Shapes>(ways: u32) -> Domain {
    (0..S::WAYS)
        .filter(|&way| ways >> way & 1 != 0)
        .fold(0, |shapes, way| shapes | S::WITH[way])
}

/// For each way the shapes that use it.
const fn with(shapes: &[u32]) -> [Domain; 6] {
    let mut with = [0; 6];
    let mut shape = 0;
    while shape < shapes.len() {
        let mut way = 0;
        while way < 6 {
            with[way] |= (shapes[shape] >> way & 1) << shape;
            way += 1;
        }
        shape += 1;
    }
    with
}

/// For each turn the shapes of the cell ahead: those that use none but the `away` ways from `k` on.
const fn chain(shapes: &[u32], ways: usize, away: usize) -> [Domain; 6] {
    let mut chain = [0; 6];
    let mut turn = 0;
    while turn < ways {
        let mut free = 0_u32;
        let mut step = 0;
        while step < away {
            free |= 1 << ((turn + step) % ways);
            step += 1;
        }
        let mut shape = 0;
        while shape < shapes.len() {
            if shapes[shape] & !free == 0 {
                chain[turn] |= 1 << shape;
            }
            shape += 1;
        }
        turn += 1;
    }
    chain
}

const fn square_table() -> [u16; 1024] {
    let mut table = [0; 1024];
    let mut domain: u32 = 1;
    while domain < 1024 {
        let mut facts = 0;
        let mut k = 0;
        while k < 4 {
            if domain & !Square::WITH[k] == 0 {
                facts |= 1 << k;
            }
            if domain & Square::WITH[k] == 0 {
                facts |= 1 << (4 + k);
            }
            if domain & Square::CHAIN[k] == 0 {
                facts |= 1 << (8 + k);
            }
            if domain == 1 << k {
                facts |= 1 << (12 + k);
            }
            k += 1;
        }
        table[domain as usize] = facts;
        domain += 1;
    }
    table
}

/// For each seventh of a domain: ways that some shape leaves out, ways that some shape uses, turns
/// that some shape allows behind itself.
const fn hex_table() -> [[u32; 128]; 3] {
    let mut table = [[0; 128]; 3];
    let mut part = 0;
    while part < 3 {
        let mut bits = 0;
        while bits < 128 {
            let domain = (bits as u32) << (7 * part);
            let mut k = 0;
            while k < 6 {
                if domain & !Hex::WITH[k] != 0 {
                    table[part][bits] |= 1 << k;
                }
                if domain & Hex::WITH[k] != 0 {
                    table[part][bits] |= 1 << (6 + k);
                }
                if domain & Hex::CHAIN[k] != 0 {
                    table[part][bits] |= 1 << (12 + k);
                }
                k += 1;
            }
            bits += 1;
        }
        part += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The facts as they are defined, shape by shape.
    fn facts<S: Shapes>(shapes: &[u32], domain: Domain) -> u32 {
        let left = || (0..shapes.len()).filter(move |shape| domain >> shape & 1 != 0);
        (0..S::WAYS).fold(0, |facts, k| {
            let on = left().all(|shape| shapes[shape] >> k & 1 != 0);
            let off = left().all(|shape| shapes[shape] >> k & 1 == 0);
            let dead = left().all(|shape| S::CHAIN[k] >> shape & 1 == 0);
            let turns = domain == 1 << k;
            [on, off, dead, turns]
                .iter()
                .enumerate()
                .fold(facts, |facts, (lane, &fact)| {
                    facts | u32::from(fact) << (lane * S::WAYS + k)
                })
        })
    }

    #[test]
    fn facts_of_squares_are_as_defined() {
        for domain in 1..1024 {
            assert_eq!(Square::facts(domain), facts::<Square>(&SQUARE_WAYS, domain));
        }
    }

    #[test]
    fn facts_of_hexes_are_as_defined() {
        // A cell has a terminal or has none, for all time.
        for domain in (1..1 << 15).chain((1..64).map(|ends| ends << 15)) {
            assert_eq!(
                Hex::facts(domain),
                facts::<Hex>(&HEX_WAYS, domain),
                "{domain:b}"
            );
        }
    }

    #[test]
    fn ahead_of_a_turn_lies_the_same_turn_or_a_terminal() {
        // On squares; the turn of north and east is shape 0, its terminals are shapes 6 and 7.
        assert_eq!(Square::CHAIN[0], 0b00_1100_0001);
        // On hexes two sharp turns besides, where a wall allows them.
        assert_eq!(Hex::CHAIN[0], 1 | 0b11 << 9 | 0b111 << 15);
    }
}
