//! Games of other kinds.

use std::sync::Arc;

use super::*;
use crate::kind::{KINDS, Kind, Look};
use crate::session::{Face, Manner, View};

fn look(name: &str) -> Look {
    Kind::named(name).expect("a kind").look
}

#[test]
fn looks_of_other_kinds_from_afar() {
    let (puzzle, solution) = small();
    // One flow is whole, one is not.
    let mut flows = solution.flows[1..3].to_vec();
    flows[0].cells.truncate(2);
    for name in ["edge-to-edge", "whole-cells", "flat-ends", "digits"] {
        let Look { style, theme, .. } = look(name);
        let scene = Scene {
            theme,
            ..scene(&puzzle, &flows, style)
        };
        let size = match style {
            Style::EdgeToEdge { .. } => (300, 360),
            _ => (360, 740),
        };
        assert_picture(name, &scene, size, (60, 36));
    }
}

#[test]
fn a_board_without_margins_ends_at_the_windows_edge_with_its_last_lines_or_without() {
    let (puzzle, _) = small();
    let board = puzzle.board();
    for (name, has_last) in [("edge-to-edge", true), ("edge-to-edge-cut", false)] {
        let Look { style, theme, .. } = look(name);
        // Also where its cells are not square.
        for (width, height) in [(300, 360), (300, 300)] {
            let mut scene = scene(&puzzle, &[], style);
            scene.theme = theme;
            let pixels = render(&scene, width, height).expect("a picture");
            let layout = Layout::new(style, board, width, height);
            let [x, y, w, h] = layout.board_xywh();
            assert!(x < 2.0 && y < 2.0 && x + w > f64::from(width) - 2.0);
            assert!(y + h > f64::from(height) - 2.0);
            let is_line = |x, y| pixels.at(x, y).is_some_and(|seen| seen[1] > 60);
            // In the middle of a cell's side.
            let [along, down] = [layout.cell[0] / 2.0, layout.cell[1] / 2.0].map(|at| at as u32);
            assert!(is_line(along, 0) && is_line(0, down));
            assert_eq!(is_line(along, height - 1), has_last);
            assert_eq!(is_line(width - 1, down), has_last);
            assert_eq!(layout.button_at([30.0, f64::from(height) - 5.0]), None);
        }
    }
}

#[test]
fn pipes_with_flat_ends_stop_at_the_centre_of_a_cell() {
    let (puzzle, solution) = small();
    let board = puzzle.board();
    // The end of a pipe that goes straight on, a step from its terminal.
    let mut flow = solution.flows[0].clone();
    flow.cells.truncate(2);
    let flows = [flow];
    let [from, to] = [0, 1].map(|index| centre(board, flows[0].cells[index]));
    for (name, is_seen) in [("flat-ends", false), ("no-joining", true)] {
        let Look { style, theme, .. } = look(name);
        let mut scene = scene(&puzzle, &flows, style);
        scene.theme = theme;
        let pixels = render(&scene, 360, 740).expect("a picture");
        let layout = Layout::new(style, board, 360, 740);
        let paint = theme.paint(&[], flows[0].colour);
        let seen = |share: f64| {
            let point = [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * share);
            let [x, y] = layout.to_frame(point);
            pixels.at(x as u32, y as u32) == Some(paint)
        };
        assert!(seen(0.95), "{name}");
        assert_eq!(seen(1.1), is_seen, "{name}");
    }
}

#[test]
fn covers_from_afar() {
    let (puzzle, solution) = small();
    let face = Face {
        puzzle: Arc::new(puzzle),
        flows: solution.flows,
    };
    for kind in &KINDS {
        let Manner {
            opening, after_win, ..
        } = kind.manner;
        let covers = opening
            .iter()
            .chain(after_win)
            .filter_map(|step| step.cover);
        for cover in covers {
            let view = View {
                header: Header::default(),
                face: face.clone(),
                flip: None,
                cover: Some(cover),
            };
            let pixels = Painter::new(4).paint(&view, 360, 740).expect("a picture");
            assert_afar(kind.name, &pixels, Theme::Dark, (60, 54));
        }
    }
}
