//! Boards that are no plain rectangles.

use super::*;

/// Without lights, so that each pixel shows what lines are drawn.
const THEME: Theme = Theme::Numbers;

fn board(description: Description) -> Board {
    Board::new(description).expect("a board")
}

fn square(rows: usize, cols: usize) -> Description {
    Description {
        rows,
        cols,
        ..Description::default()
    }
}

/// A picture of a board with terminals in its first and last cell, of nearly so many pixels a cell.
fn draw(board: &Board, size: u32) -> (Pixels, Layout) {
    let (width, height) = (board.cols() as u32 * size, board.rows() as u32 * size * 2);
    let cells = [board.cells().next(), board.cells().last()];
    let terminals = cells.into_iter().flatten();
    let terminals = terminals.map(|cell| Terminal { cell, colour: 0 }).collect();
    let puzzle = Puzzle::new(board.clone(), terminals, Rules::default()).expect("a puzzle");
    let scene = Scene {
        theme: THEME,
        ..scene(&puzzle, &[], Style::Phone)
    };
    let pixels = render(&scene, width, height).expect("a picture");
    (pixels, Layout::new(Style::Phone, board, width, height))
}

/// How much ink a straight cut crosses, in pixels of the darkest: `along` is 0 for a cut to the right, 1
/// for one downwards, about a point in board units by half a cell's third.
fn ink(pixels: &Pixels, layout: &Layout, at: [f64; 2], along: usize) -> f64 {
    let [x, y] = layout.to_frame(at);
    let reach = (layout.cell_size() / 6.0) as i64;
    let ground = f64::from(THEME.ground()[0]);
    let seen = (-reach..=reach).filter_map(|step| {
        let mut pixel = [x as i64, y as i64];
        pixel[along] += step;
        pixels.at(u32::try_from(pixel[0]).ok()?, u32::try_from(pixel[1]).ok()?)
    });
    seen.map(|[red, ..]| (ground - f64::from(red)) / ground)
        .sum()
}

#[test]
fn outlines_are_three_times_as_thick_as_inner_lines() {
    // A hole in the middle and a wall beside it.
    let special = board(Description {
        holes: vec![12],
        walls: vec![(5, 6)],
        ..square(5, 5)
    });
    let (pixels, layout) = draw(&special, 80);
    let crossed = |at, along| ink(&pixels, &layout, at, along);
    // Thin lines are lighter than thick ones.
    let scale = |paint: [u8; 3]| f64::from(THEME.ground()[0] - paint[0]) / 250.0;
    let thin = crossed([3.5, 1.0], 1) / scale(THEME.line([0; 3]));
    assert!((1.5..2.5).contains(&thin), "{thin}");
    for (at, along) in [
        ([0.0, 2.5], 0),
        ([5.0, 2.5], 0),
        ([3.5, 0.0], 1),
        ([3.5, 5.0], 1),
        ([2.0, 2.5], 0),
        ([2.5, 3.0], 1),
        ([1.0, 1.5], 0),
    ] {
        let thick = crossed(at, along) / scale(THEME.outline([0; 3]));
        assert!(
            (2.7..3.3).contains(&(thick / thin)),
            "{at:?}: {thick}, {thin}"
        );
    }
    let (pixels, layout) = draw(&board(square(5, 5)), 80);
    let border = ink(&pixels, &layout, [3.5, 5.0], 1);
    assert!(border < 2.5, "{border}");
}

#[test]
fn lines_go_on_outwards_only_where_an_edge_is_open() {
    // Closed between the first and last row in columns 1 and 2, between the first and last column in
    // row 3; open elsewhere.
    let special = board(Description {
        warps: true,
        walls: vec![(1, 16), (2, 17), (15, 19)],
        ..square(4, 5)
    });
    let (pixels, layout) = draw(&special, 60);
    // Which of the lines, from the first border on, go out over an edge.
    let across = [true, true, false, true, true, true];
    let down = [true, true, true, true, false];
    for beyond in [0.1, 0.2, 0.25] {
        for (line, is_open) in across.into_iter().enumerate() {
            for y in [-beyond, 4.0 + beyond] {
                let seen = ink(&pixels, &layout, [line as f64, y], 0);
                assert_eq!(seen > 0.7, is_open, "column {line} at {y}: {seen}");
                assert_eq!(seen > 0.01, is_open, "column {line} at {y}: {seen}");
            }
        }
        for (line, is_open) in down.into_iter().enumerate() {
            for x in [-beyond, 5.0 + beyond] {
                let seen = ink(&pixels, &layout, [x, line as f64], 1);
                assert_eq!(seen > 0.7, is_open, "row {line} at {x}: {seen}");
                assert_eq!(seen > 0.01, is_open, "row {line} at {x}: {seen}");
            }
        }
    }
    // An open side is thin, a closed one thick.
    let thin = ink(&pixels, &layout, [0.5, 0.0], 1);
    let thick = ink(&pixels, &layout, [1.5, 0.0], 1);
    assert!(thick > 2.7 * thin, "{thick} {thin}");
}

#[test]
fn all_lines_of_special_boards_lie_in_the_picture() {
    let warps = Description {
        warps: true,
        ..square(4, 5)
    };
    let hexes = Description {
        lattice: Lattice::Hex,
        ..square(4, 5)
    };
    let walls = Description {
        walls: vec![(0, 1)],
        ..square(4, 5)
    };
    for description in [warps.clone(), hexes, walls] {
        for size in [24, 60, 130] {
            let (pixels, layout) = draw(&board(description.clone()), size);
            let [_, top, _, height] = layout.extent;
            let edges =
                (top as u32..(top + height) as u32).flat_map(|y| [(0, y), (pixels.width - 1, y)]);
            // A line may end within the last pixel.
            let seen = edges.filter_map(|(x, y)| pixels.at(x, y));
            let most = seen.map(|seen| contrast(seen, THEME.ground())).max();
            assert!(most < Some(64), "{description:?} at {size}: {most:?}");
        }
    }
    // Stubs have the room that they need.
    let layout = Layout::new(Style::Phone, &board(warps), 500, 500);
    let [left, top, width, height] = layout.extent;
    let [x, y, w, h] = layout.board_xywh();
    for around in [
        x - left,
        y - top,
        left + width - x - w,
        top + height - y - h,
    ] {
        assert!(around >= lines::STUB * layout.cell_size());
    }
}

#[test]
fn a_bridge_differs_from_an_empty_cell_at_24_pixels() {
    let special = board(Description {
        bridges: vec![12],
        ..square(5, 5)
    });
    let (pixels, layout) = draw(&special, 24);
    assert!(layout.cell_size() < 26.0);
    let dark = |row: f64, col: f64| {
        let [x, y] = layout.to_frame([col, row]);
        let cell = 3..(layout.cell_size() - 2.0) as u32;
        let seen = cell
            .clone()
            .flat_map(|dy| cell.clone().map(move |dx| (dx, dy)));
        let seen = seen.filter_map(|(dx, dy)| pixels.at(x as u32 + dx, y as u32 + dy));
        seen.filter(|&seen| contrast(seen, THEME.ground()) > 120)
            .count()
    };
    assert!(dark(2.0, 2.0) >= 24, "{}", dark(2.0, 2.0));
    assert_eq!(dark(1.0, 1.0), 0);
}

#[test]
fn special_boards_from_afar() {
    let special = Description {
        bridges: vec![7],
        holes: vec![13, 14],
        walls: vec![(10, 11)],
        ..square(4, 5)
    };
    let warps = Description {
        warps: true,
        walls: vec![(1, 16), (0, 4)],
        ..square(4, 5)
    };
    for (name, description) in [("holes_walls_bridges", special), ("warps", warps)] {
        let terminals = [0, 18].map(|cell| Terminal { cell, colour: 1 }).to_vec();
        let puzzle = Puzzle::new(board(description), terminals, Rules::default());
        let puzzle = puzzle.expect("a puzzle");
        let flows = [Flow {
            colour: 1,
            cells: vec![18, 17, 12, 7, 2],
        }];
        assert_picture(
            name,
            &scene(&puzzle, &flows, Style::Phone),
            (360, 400),
            (72, 60),
        );
    }
}
