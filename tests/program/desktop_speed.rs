//! How fast each desktop is played, as a share of X11's boards in the same run. Most ways to be slow, such as a fall-back
//! that works, are no error.

use crate::desktop_trials::{NAMES, Trial, on_each_desktop};

/// The least share. On two processors without a graphics card that do nothing else, sway plays nearly as many boards as X11,
/// and Mutter 0.85 of them; on a very busy machine 0.70 and 0.41.
const LEAST: f64 = 0.3;
/// Interleaved trials on each desktop, so that a moment in which the machine is busy counts for all of them.
const TRIALS: u64 = 3;

#[test]
#[ignore = "takes minutes: `./x test full` runs it"]
fn a_time_trial_on_each_desktop() {
    let mut boards = [0; 3];
    for seed in 1..=TRIALS {
        for (boards, trial) in boards.iter_mut().zip(on_each_desktop(seed)) {
            *boards += solved(&trial);
        }
    }
    let [x11, ..] = boards;
    assert!(x11 > 0, "nothing was played on X11");
    for (name, boards) in NAMES.iter().zip(boards) {
        let share = f64::from(boards) / f64::from(x11);
        println!("{name}: {boards} boards, {share:.2} of X11's");
        assert!(share >= LEAST, "{name}: {boards} boards, and X11 {x11}");
    }
}

fn solved(trial: &Trial) -> u32 {
    let solved = trial.log.iter().filter(|it| it["event"] == "solved");
    solved.map(|_| 1).sum()
}
