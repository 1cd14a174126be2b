//! Rows and columns, and what must still cross them: the trimming.
//!
//! A lane is a row or a column. Its tips are the loose ends of flows: terminals that no flow has
//! reached yet, and the head of the current flow. Where an odd number of a colour's tips lies before a
//! lane and none on it, one of the paths still to come leads from one side to the other. That path
//! takes a free node of the lane, provided that no single step leads across: then a lane must have as
//! many free nodes as there are such colours.
//!
//! No step leads across a row or a column on squares or hexes, whatever holes, walls and bridges
//! there are (a bridge has a node each way, and both count as room). Where edges wrap around, steps lead
//! from one end to the other: there the lanes of that direction are left out.

use flowpipe_plugin::puzzle::{Node, Puzzle};

/// The lanes of a board with what is free in them and what must cross them.
pub struct Lanes {
    /// The lanes of each direction in which the rule holds.
    directions: Vec<Direction>,
    /// By colour index, the nodes of its loose ends.
    tips: Vec<Vec<Node>>,
}

/// All rows, or all columns.
struct Direction {
    /// What the lanes are called.
    name: &'static str,
    /// By node, its lane.
    lane: Vec<usize>,
    /// By lane, the nodes that no flow and no terminal has, less the colours that must cross.
    room: Vec<i64>,
}

/// A lane that can't be crossed by all that must.
pub struct Blocked {
    /// `row` or `column`.
    pub name: &'static str,
    /// Counted from 0.
    pub lane: usize,
}

impl Lanes {
    /// The lanes of a board with no pipes on it. `colour_of`: the colour index of each node with a
    /// terminal; `colours`: how many there are.
    pub fn new(puzzle: &Puzzle, colour_of: &[Option<usize>], colours: usize) -> Self {
        let board = puzzle.board();
        let graph = board.graph();
        let mut tips = vec![Vec::new(); colours];
        for (node, colour) in colour_of.iter().enumerate() {
            if let Some(colour) = *colour {
                tips[colour].push(node);
            }
        }
        let row_col = |node| board.row_col(graph.cell_of(node));
        let rows = (0..graph.len()).map(|node| row_col(node).0).collect();
        let cols = (0..graph.len()).map(|node| row_col(node).1).collect();
        let all: [(&str, Vec<usize>, usize); 2] =
            [("row", rows, board.rows()), ("column", cols, board.cols())];
        let mut directions = Vec::new();
        for (name, lane, count) in all {
            let across = |node: Node| {
                let mut links = graph.links(node).iter();
                links.any(|link| lane[node].abs_diff(lane[link.node]) > 1)
            };
            if (0..graph.len()).any(across) {
                continue;
            }
            let mut room = vec![0_i64; count];
            for node in (0..graph.len()).filter(|&node| colour_of[node].is_none()) {
                room[lane[node]] += 1;
            }
            let crossings = crossings(&tips, &lane, count);
            for (room, crossings) in room.iter_mut().zip(crossings) {
                *room -= crossings;
            }
            directions.push(Direction { name, lane, room });
        }
        Self { directions, tips }
    }

    /// A lane that is too full, if there is one.
    pub fn blocked(&self) -> Option<Blocked> {
        self.directions.iter().find_map(|direction| {
            let lane = direction.room.iter().position(|&room| room < 0)?;
            let name = direction.name;
            Some(Blocked { name, lane })
        })
    }

    /// How many tips a colour has: a move takes time in proportion.
    pub fn tips(&self, colour: usize) -> usize {
        self.tips[colour].len()
    }

    /// A colour's head moves on to a free node beside it. Whether each lane still has room for what
    /// must cross it.
    pub fn advance(&mut self, colour: usize, head: Node, node: Node) -> bool {
        self.replace(colour, (head, node), -1)
    }

    /// Undoes [`Self::advance`].
    pub fn retreat(&mut self, colour: usize, head: Node, node: Node) {
        self.replace(colour, (node, head), 1);
    }

    /// A colour's head is joined to another tip beside it. Whether each lane still has room: where a
    /// colour has several pairs, others of its tips may now have to cross.
    pub fn join(&mut self, colour: usize, head: Node, end: Node) -> bool {
        self.between(colour, head, end, 1);
        self.tips[colour].retain(|&tip| tip != head && tip != end);
        self.between(colour, head, end, -1)
    }

    /// Undoes [`Self::join`].
    pub fn part(&mut self, colour: usize, head: Node, end: Node) {
        self.between(colour, head, end, 1);
        self.tips[colour].extend([head, end]);
        self.between(colour, head, end, -1);
    }

    /// One tip gives way to another one beside it; the later of the two becomes taken (-1) or free (1).
    /// Only where that leads from lane to lane the crossings change.
    fn replace(&mut self, colour: usize, (from, to): (Node, Node), free: i64) -> bool {
        let changed = if free < 0 { to } else { from };
        let tips = &mut self.tips[colour];
        for Direction { lane, room, .. } in &mut self.directions {
            room[lane[changed]] += free;
            if lane[from] != lane[to] {
                add_crossings(room, [lane[from], lane[to]], tips, lane, 1);
            }
        }
        for tip in tips.iter_mut().filter(|tip| **tip == from) {
            *tip = to;
        }
        let mut roomy = true;
        for Direction { lane, room, .. } in &mut self.directions {
            if lane[from] != lane[to] {
                add_crossings(room, [lane[from], lane[to]], tips, lane, -1);
            }
            roomy &= room[lane[from]] >= 0 && room[lane[to]] >= 0;
        }
        roomy
    }

    /// Gives back (1) or takes (-1) the room that a colour's crossings need in the lanes of two
    /// neighbours. Other lanes lie on the same side of both. Whether these lanes have room.
    fn between(&mut self, colour: usize, a: Node, b: Node, sign: i64) -> bool {
        let tips = &self.tips[colour];
        let mut roomy = true;
        for Direction { lane, room, .. } in &mut self.directions {
            add_crossings(room, [lane[a], lane[b]], tips, lane, sign);
            roomy &= room[lane[a]] >= 0 && room[lane[b]] >= 0;
        }
        roomy
    }
}

/// Gives back (1) or takes (-1) the room that a colour's crossings need in one or two lanes.
fn add_crossings(room: &mut [i64], lanes: [usize; 2], tips: &[Node], lane: &[usize], sign: i64) {
    for &at in &lanes[..1 + usize::from(lanes[0] != lanes[1])] {
        room[at] += sign * i64::from(must_cross(tips, lane, at));
    }
}

/// Whether one of the paths between these tips must cross a lane.
fn must_cross(tips: &[Node], lane: &[usize], at: usize) -> bool {
    let (mut odd_before, mut on) = (false, false);
    for &tip in tips {
        odd_before ^= lane[tip] < at;
        on |= lane[tip] == at;
    }
    odd_before && !on
}

/// For each lane, how many colours must cross it: what lies between the first tip and the second of a
/// colour, between the third and the fourth, and so on.
fn crossings(tips: &[Vec<Node>], lane: &[usize], lanes: usize) -> Vec<i64> {
    // By how much each lane's number differs from that of the lane before.
    let mut steps = vec![0; lanes + 1];
    for tips in tips {
        let mut at: Vec<usize> = tips.iter().map(|&tip| lane[tip]).collect();
        at.sort_unstable();
        for pair in at.chunks_exact(2) {
            if pair[0] < pair[1] {
                steps[pair[0] + 1] += 1;
                steps[pair[1]] -= 1;
            }
        }
    }
    let running = |sum: &mut i64, step: i64| {
        *sum += step;
        Some(*sum)
    };
    steps.into_iter().scan(0, running).take(lanes).collect()
}
