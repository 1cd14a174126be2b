use proptest::prelude::*;

use super::*;

/// The small board with its first flows drawn.
fn draw(theme: Theme, palette: &[[u8; 3]], lights: u64, flows: usize, style: Style) -> Pixels {
    let (puzzle, solution) = small();
    let scene = Scene {
        theme,
        palette,
        lights,
        ..scene(&puzzle, &solution.flows[..flows], style)
    };
    render(&scene, 360, 740).expect("a picture")
}

/// The pixels of a cell that are no further than a share of it from its middle, across and down.
fn middle<'a>(
    pixels: &'a Pixels,
    layout: &Layout,
    board: &Board,
    cell: usize,
    share: f64,
) -> impl Iterator<Item = [u8; 3]> + use<'a> {
    let [x, y] = layout.to_frame(centre(board, cell));
    let reach = share * layout.cell_size();
    let range = |at: f64| (at - reach).ceil() as u32..=(at + reach - 1.0) as u32;
    let (across, down) = (range(x), range(y));
    down.flat_map(move |y| across.clone().filter_map(move |x| pixels.at(x, y)))
}

#[test]
fn no_two_themes_look_the_same() {
    let pictures = Theme::all().map(|theme| draw(theme, &[], 4, 2, Style::Phone));
    for (index, one) in pictures.iter().enumerate() {
        assert!(pictures[..index].iter().all(|other| one != other));
    }
}

#[test]
fn terminals_differ_from_empty_cells_in_every_theme() {
    let (puzzle, _) = small();
    let board = puzzle.board();
    let layout = Layout::new(Style::Phone, board, 360, 740);
    for theme in Theme::all() {
        let pixels = draw(theme, &[], 4, 0, Style::Phone);
        for cell in board.cells() {
            let seen = |share| middle(&pixels, &layout, board, cell, share);
            let Some(colour) = puzzle.terminal_at(cell) else {
                let most = seen(0.4).map(|seen| contrast(seen, theme.ground())).max();
                assert!(most < Some(60), "{theme}: {most:?}");
                continue;
            };
            let paint = theme.paint(&[], colour);
            let count = seen(0.24).count();
            let painted = seen(0.24).filter(|&seen| seen == paint).count();
            let written = seen(0.24).filter(|&seen| contrast(seen, theme.ground()) > 200);
            match theme {
                Theme::Dark | Theme::Light | Theme::Blocks => assert_eq!(painted, count),
                Theme::Letters => assert!(painted * 2 > count && painted < count),
                Theme::Tiles | Theme::Flat | Theme::Digits => {
                    unreachable!("{theme} is a theme of another kind")
                }
                Theme::Numbers => {
                    let share = written.count() as f64 / count as f64;
                    assert!((0.08..0.4).contains(&share), "{share}");
                }
            }
        }
    }
}

#[test]
fn blocks_are_square() {
    let (puzzle, _) = small();
    let layout = Layout::new(Style::Phone, puzzle.board(), 360, 740);
    let terminal = puzzle.terminals()[0];
    let painted = |theme| {
        let pixels = draw(theme, &[], 4, 0, Style::Phone);
        let seen = middle(&pixels, &layout, puzzle.board(), terminal.cell, 0.45);
        let count = seen
            .filter(|&seen| seen == paint::colour(terminal.colour))
            .count();
        count as f64 / layout.cell_size().powi(2)
    };
    let (disc, block) = (painted(Theme::Dark), painted(Theme::Blocks));
    assert!((0.33..0.39).contains(&disc), "{disc}");
    assert!((0.44..0.49).contains(&block), "{block}");
}

#[test]
fn pipes_by_pencil_are_thin_and_end_short_of_numbers() {
    let (puzzle, solution) = small();
    let board = puzzle.board();
    let layout = Layout::new(Style::Phone, board, 360, 740);
    let drawn = draw(Theme::Numbers, &[], 4, solution.flows.len(), Style::Phone);
    let empty = draw(Theme::Numbers, &[], 4, 0, Style::Phone);
    let pencil = Theme::Numbers.paint(&[], 0);
    for flow in &solution.flows {
        let inner = &flow.cells[1..flow.cells.len() - 1];
        for &cell in inner {
            let seen = |share| middle(&drawn, &layout, board, cell, share);
            assert!(seen(0.05).all(|seen| seen == pencil));
            let share =
                seen(0.4).filter(|&seen| seen == pencil).count() as f64 / seen(0.4).count() as f64;
            assert!((0.15..0.4).contains(&share), "{share}");
        }
        for &end in &board::ends(flow) {
            let seen = [&drawn, &empty]
                .map(|pixels| middle(pixels, &layout, board, end, 0.3).collect::<Vec<_>>());
            assert_eq!(seen[0], seen[1]);
        }
    }
}

#[test]
fn themes_from_afar() {
    let (puzzle, solution) = small();
    for theme in [Theme::Light, Theme::Blocks, Theme::Letters, Theme::Numbers] {
        let scene = Scene {
            theme,
            ..scene(&puzzle, &solution.flows[1..3], Style::Phone)
        };
        assert_picture(theme.name(), &scene, (360, 740), (60, 54));
    }
}

#[test]
fn no_two_classic_paints_are_alike_on_paper() {
    let paints: Vec<_> = (0..16)
        .map(|number| Theme::Light.paint(&[], number))
        .collect();
    for (index, &one) in paints.iter().enumerate() {
        for &other in &paints[..index] {
            assert!(contrast(one, other) >= 50, "{one:?} {other:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_paint_differs_from_paper(
        paint in any::<[u8; 3]>(),
        pale in 0_u8..80,
        lights in any::<u64>(),
        style in prop_oneof![Just(Style::Phone), Just(Style::Desktop)],
    ) {
        let (puzzle, _) = small();
        let board = puzzle.board();
        let layout = Layout::new(style, board, 360, 740);
        // Light paints are rare among all: half of what is tried is one.
        let pale = paint.map(|value| 255 - value % (pale + 1));
        let pixels = draw(Theme::Light, &[], lights, 0, style);
        for paint in [paint, pale].map(|paint| Theme::Light.paint(&[paint], 0)) {
            for cell in board.cells().filter(|&cell| puzzle.terminal_at(cell).is_none()) {
                let mut seen = middle(&pixels, &layout, board, cell, 0.4);
                prop_assert!(seen.all(|seen| contrast(seen, paint) >= 60), "{paint:?}");
            }
        }
    }
}
