use std::collections::HashSet;

use super::*;

#[test]
fn every_kind_has_a_name_of_its_own_and_differs_from_the_practice_game() {
    let names: HashSet<_> = KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), KINDS.len());
    for kind in &KINDS {
        let is_name = |part: &str| !part.is_empty() && part.chars().all(char::is_alphanumeric);
        assert!(kind.name.split('-').all(is_name), "{}", kind.name);
        assert!(!kind.summary.is_empty() && kind.summary.len() < 90);
        assert_eq!(Kind::named(kind.name), Some(kind));
        let has_own_look = kind.look != Look::OWN;
        let has_own_manner = kind.manner != Manner::OWN && kind.manner != NO_FLIP;
        assert!(has_own_look || has_own_manner, "{}", kind.name);
    }
    assert_eq!(Kind::named("another"), None);
}

#[test]
fn every_theme_of_other_kinds_is_that_of_a_kind() {
    for theme in Theme::of_other_kinds() {
        assert!(KINDS.iter().any(|kind| kind.look.theme == theme));
        assert!(!Theme::all().contains(&theme));
    }
}

#[test]
fn a_window_without_margins_has_the_shape_of_its_board() {
    let edge = look(Style::EdgeToEdge { is_cut: false }, Theme::Dark);
    for (rows, cols, window) in [
        (5, 5, (600, 600)),
        (8, 5, (600, 960)),
        (18, 4, (236, 1062)),
        (4, 18, (594, 132)),
    ] {
        let board = Board::rectangle(rows, cols).expect("a board");
        assert_eq!(edge.window(&board), window);
        assert_eq!(Look::OWN.window(&board), (600, 1067));
    }
}
