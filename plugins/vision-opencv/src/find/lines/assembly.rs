//! Assembles samples to lines: first along one row or column of pixels, then across neighbouring ones.

use crate::find::lines::criteria::LineCriteria;
use crate::find::lines::segment::Segment;

/// A line that may go on.
#[derive(Clone, Copy, Default)]
pub(super) struct OpenPiece {
    from: u32,
    last: u32,
    count: u32,
    sum: u32,
}

impl OpenPiece {
    /// A sample of the line in this lane.
    pub(super) fn on(
        &mut self,
        lane: usize,
        at: u32,
        value: u8,
        far: u32,
        found: &mut LineAssembly,
    ) {
        let span = self.last - self.from;
        if self.count > 0 && at - self.last > (3 + 3 * span / 5).min(far) {
            self.close(lane, found);
        }
        if self.count == 0 {
            self.from = at;
        }
        self.last = at;
        self.count += 1;
        self.sum += u32::from(value);
    }

    pub(super) fn close(&mut self, lane: usize, found: &mut LineAssembly) {
        let span = self.last - self.from + 1;
        if span >= found.shortest && 2 * self.count >= span {
            found.pieces.push(Piece {
                lane,
                from: self.from,
                to: self.last + 1,
                count: self.count,
                sum: self.sum,
            });
        }
        *self = Self::default();
    }
}

/// A part of a line that is one pixel wide.
#[derive(Clone, Copy)]
struct Piece {
    lane: usize,
    /// In samples.
    from: u32,
    to: u32,
    count: u32,
    sum: u32,
}

/// The pieces of lines that were found.
pub(super) struct LineAssembly {
    pieces: Vec<Piece>,
    stride: usize,
    /// In samples.
    shortest: u32,
    /// The greatest distance between pieces of one line, in lanes.
    near: usize,
    /// See [`LineCriteria`].
    gaps: f64,
}

impl LineAssembly {
    pub(super) fn new(criteria: &LineCriteria, stride: usize) -> Self {
        Self {
            pieces: Vec::new(),
            stride,
            shortest: (criteria.shortest / stride as f64).floor().max(3.0) as u32,
            near: criteria.aside,
            gaps: criteria.gaps,
        }
    }

    /// The longest gap, in samples.
    pub(super) fn far(&self, shorter: usize) -> u32 {
        ((self.gaps * shorter as f64 / self.stride as f64).ceil() as u32).max(2)
    }

    /// Pieces that lie side by side are one line.
    pub(super) fn lines(self) -> Vec<Segment> {
        let mut pieces = self.pieces;
        pieces.sort_unstable_by_key(|piece| (piece.lane, piece.from));
        let mut lines: Vec<LineDraft> = Vec::new();
        // Those that may still be widened.
        let mut first = 0;
        for piece in &pieces {
            while lines
                .get(first)
                .is_some_and(|line| line.last + self.near < piece.lane)
            {
                first += 1;
            }
            let beside = |line: &&mut LineDraft| {
                let shared =
                    i64::from(line.to.min(piece.to)) - i64::from(line.from.max(piece.from));
                let shorter = (line.to - line.from).min(piece.to - piece.from);
                line.last + self.near >= piece.lane && 2 * shared > i64::from(shorter)
            };
            match lines[first..].iter_mut().find(beside) {
                Some(line) => line.widen(piece),
                None => lines.push(LineDraft::new(piece)),
            }
        }
        let stride = self.stride as f64;
        let mut runs: Vec<Segment> = lines.iter().map(|line| line.run(stride)).collect();
        runs.sort_by(|a, b| a.at.total_cmp(&b.at));
        runs
    }
}

/// Pieces side by side.
struct LineDraft {
    from: u32,
    to: u32,
    first: usize,
    last: usize,
    count: u32,
    /// Of contrasts, and of contrasts times lanes.
    sum: f64,
    moment: f64,
    /// The highest mean contrast of a piece.
    contrast: f64,
    longest: u32,
}

impl LineDraft {
    pub(super) fn new(piece: &Piece) -> Self {
        let mut line = Self {
            from: piece.from,
            to: piece.to,
            first: piece.lane,
            last: piece.lane,
            count: 0,
            sum: 0.0,
            moment: 0.0,
            contrast: 0.0,
            longest: 0,
        };
        line.widen(piece);
        line
    }

    fn widen(&mut self, piece: &Piece) {
        self.last = self.last.max(piece.lane);
        // Stray samples make single pieces longer than the line is: the fullest one gives its end.
        if piece.count > self.longest {
            self.longest = piece.count;
            (self.from, self.to) = (piece.from, piece.to);
        }
        self.count += piece.count;
        let sum = f64::from(piece.sum);
        self.sum += sum;
        self.moment += sum * (piece.lane as f64 + 0.5);
        self.contrast = self.contrast.max(sum / f64::from(piece.count));
    }

    fn run(&self, stride: f64) -> Segment {
        Segment {
            at: self.moment / self.sum.max(1.0),
            from: f64::from(self.from) * stride,
            to: f64::from(self.to) * stride,
            width: (self.last - self.first + 1) as f64,
            contrast: self.contrast,
        }
    }
}
