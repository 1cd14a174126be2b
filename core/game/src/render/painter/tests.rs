//! Pictures against fresh ones, and against what a screen makes of the reported changes.

use flowpipe_puzzle::{Board, Lattice};

use super::*;
use crate::generate::generate;
use crate::render::render;
use crate::session::Face;

fn face(seed: u64, flows: usize) -> Face {
    let board = Board::rectangle(6, 5).expect("a board");
    let (puzzle, solution) = generate(&board, 5, seed).expect("a puzzle");
    let flows = solution.flows[..flows].to_vec();
    let puzzle = Arc::new(puzzle);
    Face { puzzle, flows }
}

fn view(face: Face, flip: Option<Flip>) -> View {
    View {
        header: Header::default(),
        face,
        flip,
        cover: None,
    }
}

fn paint(painter: &mut Painter, view: &View) -> Pixels {
    painter.paint(view, 300, 600).expect("a picture")
}

/// How many pixels differ by more than a shade, in thousandths.
fn difference(a: &Pixels, b: &Pixels) -> usize {
    let pixels = a.rgba.chunks_exact(4).zip(b.rgba.chunks_exact(4));
    let differ = pixels.filter(|(a, b)| a.iter().zip(*b).any(|(a, b)| a.abs_diff(*b) > 12));
    differ.count() * 1000 / (a.rgba.len() / 4)
}

/// A board with a hole, a wall and a bridge, all drawn; or one of another lattice or that warps.
fn special(lattice: Lattice, warps: bool, bridges: Vec<usize>) -> Face {
    let board = Board::new(flowpipe_puzzle::board::Description {
        rows: 6,
        cols: 5,
        lattice,
        warps,
        holes: vec![0],
        walls: vec![(12, 17)],
        bridges,
    });
    let (puzzle, solution) = generate(&board.expect("a board"), 5, 1).expect("a puzzle");
    let (puzzle, flows) = (Arc::new(puzzle), solution.flows);
    Face { puzzle, flows }
}

#[test]
fn what_is_kept_changes_nothing() {
    let faces = [
        face(1, 5),
        special(Lattice::Square, false, vec![8, 21]),
        special(Lattice::Square, true, Vec::new()),
        special(Lattice::Hex, false, Vec::new()),
    ];
    let themes = Theme::all().into_iter().chain(Theme::of_other_kinds());
    for (theme, full) in themes.flat_map(|theme| faces.iter().map(move |full| (theme, full))) {
        let mut painter = Painter::new(3).with_theme(theme);
        for count in [0, 3, 1, 5] {
            let flows = full.flows[..count].to_vec();
            let puzzle = Arc::clone(&full.puzzle);
            let view = view(Face { puzzle, flows }, None);
            let painted = paint(&mut painter, &view);
            let mut fresh = Painter::new(3).with_theme(theme);
            assert!(
                paint(&mut fresh, &view) == painted,
                "{theme}, {count} flows"
            );
            let look = Appearance {
                lights: 3,
                theme,
                style: Style::Window,
            };
            let scene = look.scene(&view.face.puzzle, &view.face.flows, &view.header);
            let whole = render(&scene, 300, 600).expect("a picture");
            // A line's edge shares a pixel with the tint beside it, of which a quarter is seen.
            let pairs = whole.rgba.iter().zip(&painted.rgba);
            let largest = pairs.map(|(a, b)| a.abs_diff(*b)).max();
            assert!(largest < Some(64), "{theme}: {largest:?} at {count} flows");
            let differ = difference(&whole, &painted);
            // There are more such edges where lines are thick or slanted, and more of a tint is seen
            // where the ground is light. The edges of terminals that are drawn again differ, too: those of
            // tiles are the longest.
            let is_plain = full.puzzle.board().is_plain_rectangle();
            let is_exact = is_plain && !theme.is_light() && theme != Theme::Tiles;
            let most = if is_exact { 8 } else { 30 };
            assert!(differ < most, "{theme}, {count} flows: {differ}");
        }
    }
}

#[test]
fn a_flip_goes_from_one_board_to_the_other() {
    let (from, to) = (face(1, 5), face(2, 0));
    let mut painter = Painter::new(3);
    let mut at = |face: &Face, share: Option<f64>| {
        let from = Arc::new(from.clone());
        let flip = share.map(|share| Flip { from, share });
        let view = view(face.clone(), flip);
        paint(&mut painter, &view)
    };
    let (first, last) = (at(&from, None), at(&to, None));
    assert!(difference(&first, &last) > 50);
    assert!(difference(&at(&to, Some(0.0)), &first) < 5);
    assert!(difference(&at(&to, Some(1.0)), &last) < 5);
    // On edge hardly anything of either is seen.
    let edge = at(&to, Some(0.5));
    let middle = edge.at(75, 300).expect("inside");
    assert!(middle.iter().all(|&value| value < 60), "{middle:?}");
}

/// A screen that copies only what is reported as changed.
struct Copied(Vec<u8>);

impl Copied {
    fn take(&mut self, picture: &Picture) {
        self.0.resize(picture.rgba.len(), 0);
        let row_bytes = picture.width as usize * 4;
        for area in &picture.changed {
            for row in area.top..area.bottom() {
                let start = row as usize * row_bytes;
                let from = start + area.left as usize * 4;
                let to = start + area.right() as usize * 4;
                self.0[from..to].copy_from_slice(&picture.rgba[from..to]);
            }
        }
    }
}

#[test]
fn all_that_differs_is_reported_as_changed() {
    let plain = |seed| generate(&Board::rectangle(6, 5).expect("a board"), 5, seed);
    let description = |lattice, warps| flowpipe_puzzle::board::Description {
        rows: 6,
        cols: 5,
        lattice,
        warps,
        ..Default::default()
    };
    let odd = |lattice, warps| {
        let board = Board::new(description(lattice, warps)).expect("a board");
        generate(&board, 5, 1)
    };
    let boards = [
        plain(1),
        plain(2),
        odd(Lattice::Hex, false),
        odd(Lattice::Square, true),
    ];
    let (mut painter, mut screen) = (Painter::new(3), Copied(Vec::new()));
    let mut from: Option<Arc<Face>> = None;
    let mut header = Header::default();
    let mut check = |view: &View, (width, height)| {
        let picture = painter.update(view, width, height).expect("a picture");
        screen.take(&picture);
        let mut fresh = Painter::new(3);
        let fresh = fresh.update(view, width, height).expect("a picture");
        // Not compared by `assert_eq`, which would print them.
        assert!(
            picture.rgba == fresh.rgba,
            "it differs from a fresh picture"
        );
        assert!(screen.0 == fresh.rgba, "a change was not reported");
        painter.prepare(view).expect("prepared");
    };
    for board in boards {
        let (puzzle, solution) = board.expect("a puzzle");
        let puzzle = Arc::new(puzzle);
        let face = |flows| Face {
            puzzle: Arc::clone(&puzzle),
            flows,
        };
        for frame in 0..12 {
            let Some(from) = from.clone() else { break };
            header.note = format!("{}", frame / 5);
            let flip = Some(Flip {
                from,
                share: f64::from(frame) / 11.0,
            });
            let header = header.clone();
            let face = face(Vec::new());
            let cover = None;
            check(
                &View {
                    header,
                    face,
                    flip,
                    cover,
                },
                (250, 430),
            );
        }
        // Pipes come, grow, shrink and go.
        for step in [0, 1, 3, 2, 5, 2, 1] {
            let mut flows = solution.flows.clone();
            for flow in &mut flows {
                flow.cells.truncate(2 + step);
            }
            flows.truncate(step);
            header.moves = step / 2;
            for size in [(250, 430), (23, 17)].into_iter().take(1 + step / 5) {
                let (header, face) = (header.clone(), face(flows.clone()));
                // One picture in three is covered.
                let cover = (step == 2).then_some(&crate::cover::SOLVED);
                let flip = None;
                check(
                    &View {
                        header,
                        face,
                        flip,
                        cover,
                    },
                    size,
                );
            }
        }
        from = Some(Arc::new(face(solution.flows)));
    }
}
