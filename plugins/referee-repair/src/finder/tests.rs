use proptest::prelude::*;

use super::*;

/// A number of flows, the first of them missed.
fn flows(missed: usize, all: usize) -> impl Iterator<Item = bool> {
    (0..all).map(move |flow| flow < missed)
}

#[test]
fn many_misses_slow_down_and_luck_does_not() {
    let mut finder = Finder::new(Some(Profile::Events), false);
    for _ in 0..5 {
        finder.judge(flows(0, 8));
    }
    // One of 40: chance.
    finder.judge(flows(1, 1));
    assert_eq!(finder.profile(), Profile::Events);
    // Three of 40 are less than 8 %, four are more.
    finder.judge(flows(2, 8));
    assert_eq!(finder.profile(), Profile::Events);
    finder.judge(flows(1, 1));
    assert_eq!(finder.profile(), Profile::Slow);
    // What was missed before does not count against it.
    finder.judge(flows(1, 9));
    assert_eq!(finder.settled(), Profile::Slow);
}

#[test]
fn where_each_is_too_bad_the_best_stays() {
    let mut finder = Finder::new(Some(Profile::Events), false);
    let mut judge = |missed| {
        let profile = finder.profile();
        (profile, finder.judge(flows(missed, 10)), finder.profile())
    };
    assert_eq!(judge(10), (Profile::Events, false, Profile::Slow));
    assert_eq!(judge(6), (Profile::Slow, false, Profile::Frames));
    assert_eq!(judge(9), (Profile::Frames, false, Profile::Cells));
    assert_eq!(judge(10), (Profile::Cells, false, Profile::Turns));
    assert_eq!(judge(3), (Profile::Turns, false, Profile::Segments));
    assert_eq!(
        judge(6),
        (Profile::Segments, true, Profile::Turns),
        "the best"
    );
    for missed in [4, 10, 10] {
        assert_eq!(judge(missed), (Profile::Turns, true, Profile::Turns));
    }
    assert_eq!(judge(10), (Profile::Turns, true, Profile::Segments));
    let mut finder = Finder::new(Some(Profile::Clicks), false);
    assert!(finder.judge(flows(3, 3)));
    assert!(!finder.judge(flows(0, WINDOW)));
    assert_eq!(finder.profile(), Profile::Clicks);
}

#[test]
fn what_was_found_slow_may_be_too_slow_for_the_game() {
    let mut finder = Finder::new(Some(Profile::Slow), false);
    assert!(!finder.judge(flows(3, 3)));
    assert_eq!(finder.profile(), Profile::Frames);
}

#[test]
fn a_faster_profile_is_tried_after_longer_and_longer() {
    let mut finder = Finder::new(Some(Profile::Turns), false);
    finder.note_repair();
    let mut until_trial = || {
        let mut flows_taken = 0;
        while finder.profile() == Profile::Turns {
            finder.judge([false]);
            flows_taken += 1;
        }
        assert_eq!(finder.profile(), Profile::Segments);
        assert_eq!(finder.settled(), Profile::Turns, "until it has passed");
        finder.judge(flows(2, 3));
        assert_eq!(finder.profile(), Profile::Turns);
        flows_taken
    };
    assert_eq!([(); 3].map(|()| until_trial()), [30, 60, 120]);
    // One that passes stays.
    finder.judge(flows(0, 240));
    finder.judge(flows(0, PASSED));
    assert_eq!(finder.settled(), Profile::Segments);
}

/// Plays flows one by one in a game that takes some profiles, and returns the profiles in their order.
fn play(finder: &mut Finder, takes: &[Profile], flows: usize) -> Vec<Profile> {
    let mut asked = Vec::new();
    for _ in 0..flows {
        let profile = finder.profile();
        if asked.last() != Some(&profile) {
            asked.push(profile);
        }
        let missed = !takes.contains(&profile);
        finder.judge([missed]);
        if missed {
            finder.note_repair();
        }
    }
    asked
}

#[test]
fn an_unknown_game_is_begun_slowly_and_soon_played_as_fast_as_it_takes() {
    use Profile::{Cells, Events, Segments, Slow, Turns};
    let begin = |takes: &[Profile], flows| {
        let mut finder = Finder::new(None, false);
        let asked = play(&mut finder, takes, flows);
        (asked, finder.settled())
    };
    let found = begin(&[Segments, Turns, Slow], 3 + PASSED);
    assert_eq!(found, (vec![Slow, Segments], Segments));
    let found = begin(&[Events, Cells, Slow], 3 + 2 + 3 + PASSED);
    assert_eq!(found, (vec![Slow, Segments, Slow, Events], Events));
    let found = begin(&[Cells, Slow], 4 * 3 + 3 * 2 + PASSED);
    let asked = vec![Slow, Segments, Slow, Events, Slow, Turns, Slow, Cells];
    assert_eq!(found, (asked, Cells));
    let (asked, settled) = begin(&[Slow], 100);
    assert_eq!(
        (asked.len(), settled),
        (13, Slow),
        "each is tried, then one again: {asked:?}"
    );
}

#[test]
fn a_profile_that_is_left_is_tried_again() {
    use Profile::{Cells, Frames, Slow, Turns};
    let mut finder = Finder::new(Some(Turns), false);
    finder.judge(flows(0, 40));
    // Few of all, and many of one larger board.
    finder.judge(flows(6, 15));
    assert_eq!(finder.settled(), Slow);
    // What is slower than it is tried at once, and it is tried again later; what is faster is not.
    let asked = play(&mut finder, &[Turns, Slow], 3 + 2 + 3 + 2 + 30 + PASSED);
    assert_eq!(asked, [Slow, Cells, Slow, Frames, Slow, Turns]);
    assert_eq!(finder.settled(), Turns);
}

#[test]
fn after_many_misses_few_flows_are_drawn_at_once() {
    let mut finder = Finder::new(Some(Profile::Slow), false);
    assert_eq!(finder.batch(), None);
    finder.judge(flows(2, 4));
    let mut batches = Vec::new();
    while let Some(batch) = finder.batch() {
        batches.push(batch);
        finder.judge(flows(0, batch));
    }
    assert_eq!(batches, [1, 1, 2, 4]);
}

#[test]
fn a_trial_risks_few_flows_at_once() {
    let mut finder = Finder::new(None, false);
    assert_eq!(finder.batch(), None);
    finder.judge(flows(0, 5));
    let mut batches = Vec::new();
    while let Some(batch) = finder.batch() {
        batches.push(batch);
        finder.judge(flows(0, batch));
    }
    assert_eq!(batches, [1, 1, 2, 4, 8]);
    assert_eq!(finder.settled(), Profile::Segments);
}

#[test]
fn where_nothing_was_ever_repaired_a_trial_comes_late() {
    let flows_before = |is_repaired| {
        let mut finder = Finder::new(Some(Profile::Segments), false);
        if is_repaired {
            finder.note_repair();
        }
        let mut flows = 0;
        while finder.batch().is_none() {
            finder.judge([false]);
            flows += 1;
        }
        flows
    };
    assert_eq!([true, false].map(flows_before), [30, 240]);
}

#[test]
fn strokes_that_leave_a_board_unreadable_slow_down() {
    let mut finder = Finder::new(None, false);
    finder.judge(flows(0, 5));
    assert_eq!(finder.profile(), Profile::Segments);
    finder.spoil();
    assert_eq!(finder.profile(), Profile::Slow);
    finder.spoil();
    assert_eq!(finder.profile(), Profile::Slow, "never faster");
    let mut finder = Finder::new(Some(Profile::Segments), false);
    finder.spoil();
    assert_eq!(finder.settled(), Profile::Turns);
}

#[test]
fn where_damage_stays_nothing_is_tried_for_its_speed() {
    let mut finder = Finder::new(Some(Profile::Turns), false);
    finder.be_careful();
    finder.be_careful();
    assert_eq!(finder.profile(), Profile::Cells, "once");
    finder.judge(flows(0, 2000));
    assert_eq!(finder.profile(), Profile::Cells);
    assert!(finder.is_careful());
}

proptest! {
    /// A game that takes a profile always, and all others never, is found within a board of three flows for each.
    #[test]
    fn the_only_profile_that_works_is_found(rung in 0..Profile::LADDER.len(), begins in prop::option::of(0..6_usize)) {
        let works = Profile::LADDER[rung];
        let mut finder = Finder::new(begins.map(|it| Profile::LADDER[it]), false);
        for _ in 0..Profile::LADDER.len() {
            let misses = finder.profile() != works;
            finder.judge([misses; 3]);
        }
        prop_assert_eq!(finder.settled(), works);
    }

    /// Whatever a game takes, a profile is asked for that is on the ladder, and a trial is faster.
    #[test]
    fn it_never_leaves_the_ladder(boards in prop::collection::vec((0..6_usize, 1..12_usize), 0..60)) {
        let mut finder = Finder::new(None, false);
        for (missed, all) in boards {
            finder.judge(flows(missed.min(all), all));
            prop_assert!(Profile::LADDER.contains(&finder.settled()));
            prop_assert!(finder.profile() <= finder.settled());
            let (share, count) = finder.confidence();
            prop_assert!((0.0..=1.0).contains(&share) && count <= WINDOW);
        }
    }
}
