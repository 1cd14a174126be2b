use proptest::prelude::*;

use super::*;

/// A number of flows, the first of them missed.
fn flows(missed: usize, all: usize) -> impl Iterator<Item = bool> {
    (0..all).map(move |flow| flow < missed)
}

#[test]
fn many_misses_slow_down_and_luck_does_not() {
    let mut search = ProfileSearch::new(Some(Profile::Events), false);
    for _ in 0..5 {
        search.judge(flows(0, 8));
    }
    // One of 40: chance.
    search.judge(flows(1, 1));
    assert_eq!(search.profile(), Profile::Events);
    // Three of 40 are less than 8 %, four are more.
    search.judge(flows(2, 8));
    assert_eq!(search.profile(), Profile::Events);
    search.judge(flows(1, 1));
    assert_eq!(search.profile(), Profile::Slow);
    // What was missed before does not count against it.
    search.judge(flows(1, 9));
    assert_eq!(search.settled(), Profile::Slow);
}

#[test]
fn where_each_is_too_bad_the_best_stays() {
    let mut search = ProfileSearch::new(Some(Profile::Events), false);
    let mut judge = |missed| {
        let profile = search.profile();
        (profile, search.judge(flows(missed, 10)), search.profile())
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
    let mut search = ProfileSearch::new(Some(Profile::Clicks), false);
    assert!(search.judge(flows(3, 3)));
    assert!(!search.judge(flows(0, WINDOW)));
    assert_eq!(search.profile(), Profile::Clicks);
}

#[test]
fn what_was_found_slow_may_be_too_slow_for_the_game() {
    let mut search = ProfileSearch::new(Some(Profile::Slow), false);
    assert!(!search.judge(flows(3, 3)));
    assert_eq!(search.profile(), Profile::Frames);
}

#[test]
fn a_faster_profile_is_tried_after_longer_and_longer() {
    let mut search = ProfileSearch::new(Some(Profile::Turns), false);
    search.note_repair();
    let mut until_trial = || {
        let mut flows_taken = 0;
        while search.profile() == Profile::Turns {
            search.judge([false]);
            flows_taken += 1;
        }
        assert_eq!(search.profile(), Profile::Segments);
        assert_eq!(search.settled(), Profile::Turns, "until it has passed");
        search.judge(flows(2, 3));
        assert_eq!(search.profile(), Profile::Turns);
        flows_taken
    };
    assert_eq!([(); 3].map(|()| until_trial()), [30, 60, 120]);
    // One that passes stays.
    search.judge(flows(0, 240));
    search.judge(flows(0, PASSED));
    assert_eq!(search.settled(), Profile::Segments);
}

/// Plays flows one by one in a game that takes some profiles, and returns the profiles in their order.
fn play(search: &mut ProfileSearch, takes: &[Profile], flows: usize) -> Vec<Profile> {
    let mut asked = Vec::new();
    for _ in 0..flows {
        let profile = search.profile();
        if asked.last() != Some(&profile) {
            asked.push(profile);
        }
        let missed = !takes.contains(&profile);
        search.judge([missed]);
        if missed {
            search.note_repair();
        }
    }
    asked
}

#[test]
fn an_unknown_game_is_begun_slowly_and_soon_played_as_fast_as_it_takes() {
    use Profile::{Cells, Events, Frames, Segments, Slow, Turns};
    let begin = |takes: &[Profile], flows| {
        let mut search = ProfileSearch::new(None, false);
        let asked = play(&mut search, takes, flows);
        (asked, search.settled())
    };
    let found = begin(&[Segments, Turns, Slow], 3 + PASSED);
    assert_eq!(found, (vec![Slow, Segments], Segments));
    let found = begin(&[Events, Cells, Slow], 3 + 2 + 3 + PASSED);
    assert_eq!(found, (vec![Slow, Segments, Slow, Events], Events));
    let found = begin(&[Cells, Slow], 5 * 3 + 4 * 2 + PASSED);
    let mut asked = vec![Slow, Segments, Slow, Events, Slow, Turns, Slow, Frames];
    asked.extend([Slow, Cells]);
    assert_eq!(found, (asked, Cells));
    // Whatever takes cells takes frames too.
    let found = begin(&[Cells, Frames, Slow], 4 * 3 + 3 * 2 + PASSED + 3 + PASSED);
    let asked = vec![
        Slow, Segments, Slow, Events, Slow, Turns, Slow, Frames, Cells,
    ];
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
    let mut search = ProfileSearch::new(Some(Turns), false);
    search.judge(flows(0, 40));
    // Few of all, and many of one larger board.
    search.judge(flows(6, 15));
    assert_eq!(search.settled(), Slow);
    // What is slower than it is tried at once, and it is tried again later; what is faster is not.
    let asked = play(&mut search, &[Turns, Slow], 3 + 2 + 3 + 2 + 30 + PASSED);
    assert_eq!(asked, [Slow, Frames, Slow, Cells, Slow, Turns]);
    assert_eq!(search.settled(), Turns);
}

#[test]
fn where_strokes_go_wrong_only_what_follows_the_display_is_tried() {
    use Profile::{Frames, Segments, Slow, Turns};
    let mut search = ProfileSearch::new(None, false);
    search.judge(flows(0, 3));
    assert_eq!(search.profile(), Segments);
    search.note_wrong_pipes(Segments);
    search.judge(flows(2, 2));
    let asked = play(&mut search, &[Frames, Slow], 3 + 2 + 3 + PASSED);
    assert_eq!(asked, [Slow, Turns, Slow, Frames]);
    // The next faster one is left out, and the one before it is tried again.
    assert_eq!(play(&mut search, &[Frames], 30 + 2), [Frames, Turns]);
    // What a profile has drawn that waits for the game says nothing of others.
    let mut search = ProfileSearch::new(Some(Slow), false);
    search.note_wrong_pipes(Slow);
    assert!(search.may_try(Segments));
}

#[test]
fn after_many_misses_few_flows_are_drawn_at_once() {
    let mut search = ProfileSearch::new(Some(Profile::Slow), false);
    assert_eq!(search.batch(), None);
    search.judge(flows(2, 4));
    let mut batches = Vec::new();
    while let Some(batch) = search.batch() {
        batches.push(batch);
        search.judge(flows(0, batch));
    }
    assert_eq!(batches, [1, 1, 2, 4]);
}

#[test]
fn a_trial_risks_few_flows_at_once() {
    let mut search = ProfileSearch::new(None, false);
    assert_eq!(search.batch(), None);
    search.judge(flows(0, 5));
    let mut batches = Vec::new();
    while let Some(batch) = search.batch() {
        batches.push(batch);
        search.judge(flows(0, batch));
    }
    assert_eq!(batches, [1, 1, 2, 4, 8]);
    assert_eq!(search.settled(), Profile::Segments);
}

#[test]
fn where_nothing_was_ever_repaired_a_trial_comes_late() {
    let flows_before = |is_repaired| {
        let mut search = ProfileSearch::new(Some(Profile::Segments), false);
        if is_repaired {
            search.note_repair();
        }
        let mut flows = 0;
        while search.batch().is_none() {
            search.judge([false]);
            flows += 1;
        }
        flows
    };
    assert_eq!([true, false].map(flows_before), [30, 240]);
}

#[test]
fn strokes_that_leave_a_board_unreadable_slow_down() {
    let mut search = ProfileSearch::new(None, false);
    search.judge(flows(0, 5));
    assert_eq!(search.profile(), Profile::Segments);
    search.spoil();
    assert_eq!(search.profile(), Profile::Slow);
    search.spoil();
    assert_eq!(search.profile(), Profile::Slow, "never faster");
    let mut search = ProfileSearch::new(Some(Profile::Segments), false);
    search.spoil();
    assert_eq!(search.settled(), Profile::Turns);
}

#[test]
fn where_damage_stays_nothing_is_tried_for_its_speed() {
    let mut search = ProfileSearch::new(Some(Profile::Turns), false);
    search.be_careful();
    search.be_careful();
    assert_eq!(search.profile(), Profile::Cells, "once");
    search.judge(flows(0, 2000));
    assert_eq!(search.profile(), Profile::Cells);
    assert!(search.is_careful());
}

proptest! {
    /// A game that takes a profile always, and all others never, is found within a board of three flows for each.
    #[test]
    fn the_only_profile_that_works_is_found(rung in 0..Profile::LADDER.len(), begins in prop::option::of(0..6_usize)) {
        let works = Profile::LADDER[rung];
        let mut search = ProfileSearch::new(begins.map(|it| Profile::LADDER[it]), false);
        for _ in 0..Profile::LADDER.len() {
            let misses = search.profile() != works;
            search.judge([misses; 3]);
        }
        prop_assert_eq!(search.settled(), works);
    }

    /// Whatever a game takes, a profile is asked for that is on the ladder, and a trial is faster.
    #[test]
    fn it_never_leaves_the_ladder(boards in prop::collection::vec((0..6_usize, 1..12_usize), 0..60)) {
        let mut search = ProfileSearch::new(None, false);
        for (missed, all) in boards {
            search.judge(flows(missed.min(all), all));
            prop_assert!(Profile::LADDER.contains(&search.settled()));
            prop_assert!(search.profile() <= search.settled());
            let (share, count) = search.confidence();
            prop_assert!((0.0..=1.0).contains(&share) && count <= WINDOW);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_may_outrun_the_game_is_chosen_once_that_did_damage(
        earlier in proptest::sample::select(&Profile::LADDER[..]),
        taken in prop::collection::vec(any::<bool>(), 1..400),
        steps in prop::collection::vec(0..12_u8, 400),
    ) {
        let mut search = ProfileSearch::new(Some(earlier), false).with_needs_display(true);
        for (missed, step) in taken.into_iter().zip(steps) {
            let before = search.profile();
            match step {
                0 => search.spoil(),
                1 => search.be_careful(),
                _ => {
                    search.judge([missed]);
                }
            }
            let now = search.profile();
            prop_assert!(now == before || follows_display(now) || now == earlier, "{before:?} {now:?}");
        }
    }
}
