use super::*;

/// Flows along rows of five cells.
fn flows(rows: std::ops::Range<usize>) -> Vec<Flow> {
    let flow = |row: usize| Flow::new(row as u16, (5 * row..5 * row + 5).collect());
    rows.map(flow).collect()
}

/// The same, drawn to their second cell.
fn begun(rows: std::ops::Range<usize>) -> Vec<Flow> {
    let mut flows = flows(rows);
    flows.iter_mut().for_each(|flow| flow.cells.truncate(2));
    flows
}

fn played(calibration: &mut Calibration, profile: Profile) {
    let outcome = Outcome::new("mouse", FrameNote::of("window"), Vec::new());
    calibration.played(&outcome.with_act_ns(1).with_profile(profile));
}

/// Plays what is missing of eight flows, in a game in which clicks clear what is left of them. Misses the first of them,
/// and returns the profile that was asked for.
fn attempt(
    calibration: &mut Calibration,
    missing: usize,
    leftovers: &[Flow],
    missed: usize,
    is_late: bool,
) -> Profile {
    let all = flows(0..8);
    let mut asked = calibration.ask(&all, flows(0..missing), leftovers);
    if matches!(asked.1, Draw::Clear(_)) {
        played(calibration, Profile::Slow);
        asked = calibration.ask(&all, flows(0..missing), &[]);
    }
    let profile = asked.0.profile.unwrap();
    played(calibration, profile);
    calibration.look(&all, &flows(0..missed), &begun(0..missed), is_late);
    profile
}

fn calibration() -> Calibration {
    let mut calibration = Calibration::new(Games::none());
    calibration.meet(&FrameNote::of("window"));
    calibration.state.search = ProfileSearch::new(Some(Profile::Events), false);
    calibration
}

#[test]
fn a_board_that_stays_half_drawn_has_every_profile_tried() {
    let mut calibration = calibration();
    let mut asked = vec![attempt(&mut calibration, 8, &[], 3, false)];
    for _ in 0..Profile::LADDER.len() {
        asked.push(attempt(&mut calibration, 3, &begun(0..3), 3, false));
    }
    asked.truncate(Profile::LADDER.len());
    use Profile::{Cells, Events, Frames, Segments, Slow, Turns};
    assert_eq!(asked, [Events, Slow, Frames, Cells, Turns, Segments]);
}

#[test]
fn one_flow_that_is_missed_twice_slows_down() {
    let mut calibration = calibration();
    attempt(&mut calibration, 8, &[], 1, false);
    assert_eq!(calibration.state.search.profile(), Profile::Events);
    attempt(&mut calibration, 1, &begun(0..1), 1, false);
    assert_eq!(calibration.state.search.profile(), Profile::Slow);
}

#[test]
fn what_is_left_of_a_flow_is_cleared_before_it_is_drawn_again() {
    let mut calibration = calibration();
    let all = flows(0..8);
    attempt(&mut calibration, 8, &[], 2, false);
    let (_, draw) = calibration.ask(&all, flows(0..2), &begun(0..1));
    assert_eq!(draw, Draw::Clear(vec![0]));
    // Clicks that were not played have cleared nothing.
    let (_, draw) = calibration.ask(&all, flows(0..2), &begun(0..1));
    assert_eq!(draw, Draw::Clear(vec![0]));
    played(&mut calibration, Profile::Slow);
    // Where they clear nothing, the flow is drawn over it.
    let (_, draw) = calibration.ask(&all, flows(0..2), &begun(0..1));
    assert_eq!(draw, Draw::All);
}

#[test]
fn leftovers_that_are_in_the_way_once_say_nothing() {
    let mut calibration = calibration();
    let all = flows(0..8);
    let draw = |calibration: &mut Calibration, missing, drawn: &[Flow]| {
        calibration.ask(&all, missing, drawn);
        played(calibration, Profile::Events);
    };
    draw(&mut calibration, flows(0..8), &begun(0..3));
    draw(&mut calibration, flows(0..8), &begun(0..3));
    calibration.look(&all, &flows(0..3), &begun(0..3), false);
    assert_eq!(calibration.confidence(), (1.0, 5));
    draw(&mut calibration, flows(0..3), &begun(0..3));
    calibration.look(&all, &[], &[], false);
    assert_eq!(calibration.state.search.profile(), Profile::Events);
}

#[test]
fn a_busy_machine_excuses_one_attempt() {
    let mut calibration = calibration();
    attempt(&mut calibration, 8, &[], 3, true);
    assert_eq!(calibration.confidence(), (0.0, 0));
    attempt(&mut calibration, 3, &begun(0..3), 3, true);
    assert_eq!(calibration.state.search.profile(), Profile::Slow);
}

#[test]
fn damage_that_stays_is_kept_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let games = || Games::new(Some(folder.path().join("games.toml")));
    let mut calibration = Calibration::new(games());
    calibration.meet(&FrameNote::of("window").with_window(7));
    let all = flows(0..3);
    let across = [Flow::new(0, vec![0, 5, 6])];
    let mut seen = Vec::new();
    // Clicks clear nothing, and neither do two strokes.
    for profile in [Profile::Slow; 3] {
        calibration.ask(&all, flows(0..1), &across);
        played(&mut calibration, profile);
        seen.push(
            calibration
                .look(&all, &flows(0..1), &across, false)
                .is_damaged,
        );
    }
    assert_eq!(seen, [false, false, true]);
    let known = games().get("window").unwrap();
    assert!(known.careful && known.profile == Some(Profile::Slow));
    // The next run begins slowly, and tries nothing.
    let mut calibration = Calibration::new(games());
    calibration.meet(&FrameNote::of("window").with_window(8));
    for _ in 0..9 {
        assert_eq!(attempt(&mut calibration, 8, &[], 0, false), Profile::Slow);
    }
}
