//! Waiting until the program has drawn where the pointer went.

use super::gestures::play_with;
use super::*;

/// A drag over some places, at each of which a change is waited for.
fn drag(limit_ms: f64, to: &[f64]) -> Vec<Gesture> {
    let moves = to.iter().map(|&x| Action::move_to([x, 5.0]));
    let mut actions = vec![Action::press([5.0, 5.0])];
    actions.extend(moves.map(|it| it.with_until_shown_ms(limit_ms)));
    actions.push(Action::release());
    vec![Gesture::new("drag", actions)]
}

#[test]
fn no_place_is_left_before_the_program_has_drawn_there() {
    let (outcome, events) = play_with(Some(3), Mischief::None, drag(10_000.0, &[15.0, 25.0]));
    // The first look at each place is from before the way to it.
    assert_eq!(
        events,
        "look 105,55 down 115,55 look look look look 125,55 look look up"
    );
    assert_eq!(outcome.unwrap().played, 1);
}

#[test]
fn where_nothing_ever_changes_a_gesture_is_played_without_waiting() {
    let to = [15.0, 25.0, 15.0, 25.0, 15.0];
    let (outcome, events) = play_with(Some(usize::MAX), Mischief::None, drag(5.0, &to));
    let places: Vec<&str> = events.split("5,55 ").collect();
    let looks: Vec<usize> = places.iter().map(|it| it.matches("look").count()).collect();
    // One from before the way to the next place, and one that finds no change.
    assert_eq!(looks[5..], [2, 1], "{events}");
    assert!(looks[2..5].iter().all(|looks| *looks >= 3), "{events}");
    assert_eq!(outcome.unwrap().played, 1);
}

#[test]
fn without_pictures_nothing_is_waited_for() {
    let (_, events) = play_with(None, Mischief::None, drag(10_000.0, &[15.0, 25.0]));
    assert_eq!(events, "105,55 down 115,55 125,55 up");
}

#[test]
fn a_person_who_takes_the_mouse_ends_the_waiting() {
    let drag = drag(10_000.0, &[15.0, 25.0]);
    let (outcome, events) = play_with(Some(usize::MAX), Mischief::PersonWhileWaiting, drag);
    assert_eq!(events, "look 105,55 down 115,55 look look look up");
    assert!(outcome.is_err());
}
