use super::*;
use crate::render::popup::cover;

#[test]
fn a_popup_covers_the_middle_and_nothing_else() {
    let (puzzle, solution) = small();
    let below = render(&scene(&puzzle, &solution.flows, Style::Phone), 301, 600).expect("drawn");
    for share in [0.3, 0.6, 1.0] {
        let covered = cover(&below, share).expect("a picture");
        let half = [301.0, 600.0].map(|side| side * share / 2.0);
        let mut panel = 0;
        for (x, y) in (0..600).flat_map(|y| (0..301).map(move |x| (x, y))) {
            let beside = (f64::from(x) - 150.5).abs() > half[0] + 1.0;
            let above = (f64::from(y) - 300.0).abs() > half[1] + 1.0;
            if beside || above {
                assert_eq!(covered.at(x, y), below.at(x, y));
            }
            panel += u32::from(covered.at(x, y) == covered.at(150, 300));
        }
        let area = 4.0 * half[0] * half[1];
        assert!(f64::from(panel) > 0.6 * area, "{panel} of {area}");
    }
    for nothing in [0.0, -1.0, f64::NAN] {
        assert!(cover(&below, nothing).as_ref() == Ok(&below));
    }
}

#[test]
fn pictures_of_any_size_are_covered() {
    let (puzzle, _) = small();
    for (width, height) in [(1, 1), (2, 90), (500, 3)] {
        let below = render(&scene(&puzzle, &[], Style::Phone), width, height).expect("drawn");
        cover(&below, 0.8).expect("a picture");
    }
    let none = Pixels {
        width: 0,
        height: 4,
        rgba: Vec::new(),
    };
    assert!(cover(&none, 0.5).is_err());
}
