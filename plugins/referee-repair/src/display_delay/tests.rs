use super::*;

const MS: i64 = 1_000_000;

/// A game that got its longest time before.
fn known() -> DisplayDelay {
    DisplayDelay {
        has_waited: true,
        ..DisplayDelay::default()
    }
}

/// How long a game gets that gets at least 150 ms.
fn wait_ms(delay: &DisplayDelay) -> i64 {
    delay.wait(150 * MS) / MS
}

#[test]
fn a_slow_display_is_waited_for_until_it_is_fast_again() {
    let mut delay = known();
    delay.shown(500 * MS, 490 * MS, false);
    assert_eq!(wait_ms(&delay), 150, "nothing was played yet");
    delay.played(600 * MS, 700 * MS, 1, true);
    delay.shown(760 * MS, 750 * MS, false);
    assert_eq!(wait_ms(&delay), 150, "twice 60 ms are less");
    delay.played(900 * MS, 1000 * MS, 1, false);
    delay.shown(1140 * MS, 1130 * MS, false);
    assert_eq!(wait_ms(&delay), 280);
    for strokes in 2..=9 {
        let at = strokes * 1000;
        delay.played(at * MS, (at + 100) * MS, 1, false);
        delay.shown((at + 90) * MS, (at + 80) * MS, false);
        assert_eq!(wait_ms(&delay), 280, "what appears meanwhile is no delay");
    }
    for strokes in 10..=17 {
        let at = strokes * 1000;
        delay.played(at * MS, (at + 100) * MS, 1, false);
        delay.shown((at + 110) * MS, (at + 100) * MS, false);
    }
    assert_eq!(wait_ms(&delay), 150);
}

#[test]
fn what_appears_one_after_another_gets_its_time_from_the_last() {
    let mut delay = known();
    assert_eq!(delay.deadline(150 * MS), None);
    delay.played(0, 100 * MS, 2, true);
    assert_eq!(delay.deadline(150 * MS), Some(250 * MS));
    delay.shown(130 * MS, 120 * MS, false);
    assert_eq!(delay.deadline(150 * MS), Some(280 * MS));
    delay.played(300 * MS, 400 * MS, 1, false);
    assert_eq!(delay.deadline(150 * MS), Some(550 * MS));
}

/// A game that always takes 300 ms: its flows are missed after 150 ms, and appear while they are drawn again.
#[test]
fn a_delay_above_the_wait_is_learnt_from_what_appears_during_the_next_strokes() {
    let mut delay = known();
    delay.played(0, 100 * MS, 2, true);
    delay.shown(400 * MS, 390 * MS, true);
    delay.played(260 * MS, 430 * MS, 1, false);
    assert_eq!(wait_ms(&delay), 600);
    // Two strokes, the first of which ends before the flow appears: it may be that one's.
    let mut delay = known();
    delay.played(0, 100 * MS, 2, true);
    delay.shown(400 * MS, 390 * MS, true);
    delay.played(260 * MS, 430 * MS, 2, false);
    assert_eq!(wait_ms(&delay), 150);
}

#[test]
fn a_game_of_which_nothing_is_known_gets_the_longest_time_once() {
    let mut delay = DisplayDelay::default();
    delay.played(0, 100 * MS, 1, true);
    assert_eq!(delay.deadline(150 * MS), Some(1100 * MS));
    delay.played(1200 * MS, 1300 * MS, 1, false);
    assert_eq!(delay.deadline(150 * MS), Some(1450 * MS));
}

#[test]
fn what_appears_after_a_gap_may_have_been_there_sooner() {
    let mut delay = known();
    delay.played(0, 100 * MS, 1, true);
    delay.shown(800 * MS, 180 * MS, false);
    assert_eq!(wait_ms(&delay), 160, "it was missing 80 ms later");
    delay.played(900 * MS, 1000 * MS, 1, false);
    delay.shown(6000 * MS, 5990 * MS, false);
    assert_eq!(wait_ms(&delay), 160, "somebody else drew it");
}

#[test]
fn the_wait_has_an_end_and_another_game_inherits_none() {
    let mut delay = DisplayDelay::default();
    delay.meet(Some(7));
    delay.played(0, 100 * MS, 1, true);
    delay.shown(1000 * MS, 990 * MS, false);
    assert_eq!(wait_ms(&delay), 1000);
    delay.meet(Some(7));
    assert_eq!(wait_ms(&delay), 1000);
    delay.meet(Some(8));
    assert_eq!(delay.deadline(0), None);
    delay.played(2000 * MS, 2100 * MS, 1, true);
    assert_eq!(delay.deadline(0), Some(3100 * MS));
}
