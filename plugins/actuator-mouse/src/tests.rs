//! The player on a mouse that only records its calls. The real mouse is tested with the whole
//! program (tests/program/live.rs).

use std::cell::RefCell;

use flowpipe_guardian::Input as Pressed;
use flowpipe_plugin::harness::Harness;
use flowpipe_plugin::message::{Button, Gesture, Rectangle};
use flowpipe_plugin::puzzle::message::{Hold, Outcome, Pace, Reading, SeenBoard, Sighting};
use flowpipe_plugin::puzzle::{Board, Flow, Geometry, Puzzle, Rules, Solution, Terminal};
use flowpipe_plugin::{Actuator, JsonSchema};
use serde::Deserialize;
use serde_json::json;

use super::*;
use crate::guard::Trouble;
use crate::mouse::Mouse;

mod gestures;
mod manners;
#[cfg(all(unix, not(target_os = "macos")))]
mod real_windows;
mod shown;
mod surroundings;
mod world;

thread_local! {
    static LOG: RefCell<MouseLog> = RefCell::default();
}

/// The calls of the mouse, and how it misbehaves.
#[derive(Default)]
struct MouseLog {
    events: Vec<String>,
    place: [i32; 2],
    mischief: Mischief,
    guard: Option<Arc<Guard>>,
    /// How many looks at the screen it takes until it shows something else. `None`: it can't be looked at.
    changes_after: Option<usize>,
    looks: usize,
    /// How often the window was raised.
    raises: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
enum Mischief {
    #[default]
    None,
    /// A person takes the mouse at the third move.
    Person,
    /// A person takes the mouse at the fourth look.
    PersonWhileWaiting,
    /// Something covers the board at the third move.
    Cover,
    /// All stands still for a second at the third move, as when the program was stopped.
    StandStill,
    /// The mouse fails at the third move.
    Fail,
    /// It panics at the third move.
    Panic,
    /// From the third move on no guardian runs.
    Unguarded,
    /// The button is not released at once.
    Stuck,
    /// What is sent is passed on late: two questions are answered with no.
    Frames,
    /// Nothing is ever passed on.
    Asleep,
    /// The monitors change places after the first press.
    Monitors,
    /// It can't be asked where the pointer is.
    Blind,
    /// The place of the pointer is reported late, as behind a window manager that looks at presses first.
    Late,
    /// The desktop answers late whether the board can be played, after so many moves, presses and releases: in milliseconds.
    LateAnswer(usize, u64),
    /// The desktop that is asked nothing else answers the mouse late, before the first press.
    LateAnswerToMouse,
    /// The desktop answers late the move that goes before a press.
    LateMove,
    /// Pictures contain the pointer.
    Captured,
    /// A person holds the right button from the third move on.
    Held,
    /// A person holds the right button from the start.
    HeldBefore,
    /// Another window takes the keyboard after the first press, until the window is raised again.
    Keyboard,
}

struct RecordingMouse;

impl Mouse for RecordingMouse {
    fn place(&mut self) -> Result<Option<[i32; 2]>> {
        LOG.with_borrow(|log| Ok((log.mischief != Mischief::Blind).then_some(log.place)))
    }

    fn held_buttons(&self) -> Vec<u8> {
        LOG.with_borrow(|log| {
            let moves = log.events.iter().filter(|it| it.contains(',')).count();
            // The left one is this mouse's own then.
            match log.mischief {
                Mischief::Held if moves == 3 => vec![1, 3],
                Mischief::Held if moves > 3 => vec![3],
                Mischief::HeldBefore => vec![3],
                _ => Vec::new(),
            }
        })
    }

    fn put(&mut self, at: [i32; 2]) -> Result<()> {
        LOG.with_borrow_mut(|log| {
            log.events.push(format!("{},{}", at[0], at[1]));
            let third = log.events.iter().filter(|it| it.contains(',')).count() == 3;
            if log.mischief != Mischief::Late {
                log.place = at;
            }
            match log.mischief {
                Mischief::Person if third => log.place = [400, 300],
                Mischief::Cover if third => {
                    let guard = log.guard.as_ref().unwrap();
                    guard.warn(Trouble::Board("covered".to_owned()));
                }
                Mischief::StandStill if third => std::thread::sleep(Duration::from_secs(1)),
                Mischief::Fail if third => return Err(Error::new("unplugged")),
                Mischief::Panic if third => panic!("a fault"),
                _ => {}
            }
            Ok(())
        })
    }

    fn press(&mut self, input: Pressed) -> Result<Option<String>> {
        LOG.with_borrow_mut(|log| {
            if log.mischief == Mischief::LateMove {
                return Ok(Some("late".to_owned()));
            }
            log.events.push(format!("{}down", prefix(input)));
            Ok(None)
        })
    }

    fn prepare_press(&mut self) -> Result<()> {
        if LOG.with_borrow(|log| log.mischief == Mischief::LateAnswerToMouse) {
            std::thread::sleep(Duration::from_secs(1));
        }
        Ok(())
    }

    fn is_passed_on(&mut self) -> Result<bool> {
        LOG.with_borrow_mut(|log| match log.mischief {
            Mischief::Asleep => Ok(false),
            Mischief::Frames => {
                let is_second = log.events.ends_with(&["no".to_owned(), "no".to_owned()]);
                let answer = if is_second { "yes" } else { "no" };
                log.events.push(answer.to_owned());
                Ok(is_second)
            }
            _ => Ok(true),
        })
    }

    fn check(&mut self) -> Result<()> {
        LOG.with_borrow(|log| {
            let moves = log.events.iter().filter(|it| it.contains(','));
            match log.mischief {
                Mischief::Unguarded if moves.count() >= 3 => Err(Error::new("unguarded")),
                _ => Ok(()),
            }
        })
    }

    fn release(&mut self, input: Pressed) -> Result<()> {
        LOG.with_borrow_mut(|log| {
            if log.mischief == Mischief::Stuck && !log.events.iter().any(|it| it == "stuck") {
                log.events.push("stuck".to_owned());
                return Err(Error::new("stuck"));
            }
            log.events.push(format!("{}up", prefix(input)));
            Ok(())
        })
    }

    fn is_captured(&self) -> bool {
        LOG.with_borrow(|log| log.mischief == Mischief::Captured)
    }

    fn pixels(&mut self, _: Rect) -> Option<Vec<u8>> {
        LOG.with_borrow_mut(|log| {
            let changes_after = log.changes_after?;
            log.events.push("look".to_owned());
            if log.mischief == Mischief::PersonWhileWaiting && log.looks == 3 {
                log.place = [400, 300];
            }
            let picture = log.looks / changes_after;
            log.looks += 1;
            Some(vec![picture as u8])
        })
    }
}

/// Nothing for the left button.
fn prefix(input: Pressed) -> String {
    match input {
        Pressed::Button(1) => String::new(),
        Pressed::Button(number) => format!("button-{number}-"),
        Pressed::Key(code) => format!("key-{code}-"),
    }
}

/// The player as a stage.
struct Playing(Player, Arc<Guard>, Config);

impl Actuator for Playing {
    const NAME: &'static str = "actuator-playing";
    type Config = Config;

    fn new(config: Config, _: &Host) -> Result<Self> {
        let guard = Arc::new(Guard::default());
        LOG.with_borrow_mut(|log| log.guard = Some(Arc::clone(&guard)));
        let player = Player::new(Box::new(RecordingMouse), Arc::clone(&guard), &config);
        Ok(Self(player, guard, config))
    }

    fn act(
        &mut self,
        strokes: &Strokes,
        acting: &mut Acting<'_, '_>,
        cancel: &Cancel<'_>,
    ) -> Result<Played> {
        let gestures = gestures_of(strokes, &self.2)?;
        self.1.begin(None);
        let bounds = Area::new(&gestures).bounds(None);
        let asked = Asked {
            keys: Keys::default(),
            why_no_key: &|| None,
            why_not_now: &|| None,
            why_too_late: &|| None,
        };
        self.0.begin(acting.host().now_ns());
        let end = playing::play(&mut self.0, &gestures, bounds, &asked, acting, cancel);
        self.1.end(self.0.put());
        let End {
            played, refused, ..
        } = end?;
        let mut played = Played::new(outcomes(&strokes.strokes[..played], |_| None));
        played.refused = refused;
        Ok(played)
    }
}

fn gestures_of(strokes: &Strokes, config: &Config) -> Result<Gestures> {
    let manner = config.manner(strokes.manner)?;
    Ok(strokes.gestures(&manner, config.drags).unwrap())
}

/// An event in every cell, without waiting.
fn manner(hold: Hold) -> Manner {
    Manner::new(Pace {
        step: Some(1.0),
        dwell_ms: 0.0,
        ends_ms: 0.0,
        repeats: 1,
        until_shown_ms: 0.0,
    })
    .with_hold(hold)
}

/// 1 x 4, ten pixels a cell, at 100, 50 on the screen.
fn strokes(rows: &[f64]) -> Strokes {
    let flow = Flow {
        colour: 0,
        cells: vec![0, 1, 2, 3],
    };
    let terminals = [0, 3].map(|cell| Terminal { cell, colour: 0 });
    let board = Board::rectangle(1, 4).unwrap();
    let stroke = |&row: &f64| Stroke::new(0, flow.cells.clone(), vec![[0.5, row], [3.5, row]]);
    Strokes::new(
        "test",
        rows.iter().map(stroke).collect(),
        Solution {
            flows: vec![flow.clone()],
        },
        Sighting::new(
            FrameNote::of("test").with_origin([100.0, 50.0]),
            Reading::Board(Box::new(SeenBoard::new(
                Puzzle::new(board, terminals.to_vec(), Rules::default()).unwrap(),
                Geometry::axis_aligned(0.0, 0.0, 40.0, 10.0, 1, 4),
                vec![[255, 0, 0]],
            ))),
        ),
    )
    .with_manner(manner(Hold::Drag))
}

fn play(mischief: Mischief, rows: &[f64]) -> (Harness, Result<Outcome>, String) {
    play_all(mischief, &json!({}), &strokes(rows))
}

fn play_all(
    mischief: Mischief,
    config: &serde_json::Value,
    strokes: &Strokes,
) -> (Harness, Result<Outcome>, String) {
    LOG.with_borrow_mut(|log| {
        *log = MouseLog {
            mischief,
            ..MouseLog::default()
        };
    });
    let mut harness = flowpipe_plugin::harness!(Playing, config.clone()).unwrap();
    let sent = harness.send(0, STROKES, strokes);
    let outcome = sent.map(|emitted| serde_json::from_value(emitted[0].body.clone()).unwrap());
    let events = LOG.with_borrow(|log| log.events.join(" "));
    (harness, outcome, events)
}

#[test]
fn a_stroke_is_a_press_moves_and_a_release() {
    let (harness, outcome, events) = play(Mischief::None, &[0.5, 0.5]);
    let stroke = "105,55 down 115,55 125,55 135,55 up";
    assert_eq!(events, format!("{stroke} {stroke}"));
    let outcome = outcome.unwrap();
    assert_eq!((outcome.strokes.len(), outcome.refused), (2, None));
    assert_eq!(harness.ended(), None);
}

#[test]
fn the_button_goes_up_when_a_person_takes_the_mouse_and_the_run_ends() {
    let (harness, outcome, events) = play(Mischief::Person, &[0.5, 0.5]);
    assert_eq!(events, "105,55 down 115,55 125,55 up");
    assert!(outcome.is_err());
    let stopped = (Ending::Stopped, MOVED_BY_HAND.to_owned());
    assert_eq!(harness.ended(), Some(stopped));
}

#[test]
fn a_place_that_is_reported_late_is_no_person() {
    let (harness, outcome, _) = play(Mischief::Late, &[0.5]);
    // The pointer is still reported at 0, 0, where it never was put: that is a person …
    assert!(outcome.is_err() && harness.ended().is_some());
    LOG.with_borrow_mut(|log| log.place = [105, 55]);
    let mut player = Player::new(Box::new(RecordingMouse), Arc::default(), &Config::default());
    // … but where it was put before is only late.
    for x in [105, 115, 125] {
        player.note_put([x, 55]);
        assert!(!player.was_moved().unwrap());
    }
}

#[test]
fn a_pointer_that_can_t_be_asked_for_is_where_it_was_put() {
    let (_, outcome, events) = play(Mischief::Blind, &[0.5]);
    assert_eq!(events, "105,55 down 115,55 125,55 135,55 up");
    assert_eq!(outcome.unwrap().refused, None);
}

#[test]
fn the_button_goes_up_when_the_board_is_covered_and_looking_again_may_help() {
    let (harness, outcome, events) = play(Mischief::Cover, &[0.5, 0.5]);
    assert_eq!(events, "105,55 down 115,55 125,55 up");
    let outcome = outcome.unwrap();
    assert_eq!(outcome.refused.as_deref(), Some("covered"));
    assert!(outcome.strokes.is_empty() && harness.ended().is_none());
}

/// The window where it was pressed would get the presses, and before them the moves.
#[test]
fn nothing_is_pressed_while_a_person_holds_a_button() {
    let stroke = "105,55 down 115,55 125,55 135,55 up";
    for (mischief, played, wanted) in [
        (Mischief::Held, 1, format!("{stroke} 105,55")),
        (Mischief::HeldBefore, 0, String::new()),
    ] {
        let (harness, outcome, events) = play(mischief, &[0.5, 0.5]);
        assert_eq!(events, wanted);
        let outcome = outcome.unwrap();
        let reason = outcome.refused.unwrap();
        assert!(reason.contains("is held down by someone"), "{reason}");
        assert_eq!(outcome.strokes.len(), played);
        assert_eq!(harness.ended(), None);
    }
}

#[test]
fn what_was_planned_before_all_stood_still_is_not_played_on() {
    let (_, outcome, events) = play(Mischief::StandStill, &[0.5]);
    assert_eq!(events, "105,55 down 115,55 125,55 up");
    let reason = outcome.unwrap().refused.unwrap();
    assert!(reason.contains("stood still for 1.0 s"), "{reason}");
}

#[test]
fn nothing_is_pressed_when_the_desktop_answers_the_mouse_late() {
    let (_, outcome, events) = play(Mischief::LateAnswerToMouse, &[0.5]);
    assert_eq!(events, "105,55");
    let reason = outcome.unwrap().refused.unwrap();
    assert!(reason.contains("stood still for 1.0 s"), "{reason}");
}

/// The run goes on, and nothing is released that was not pressed.
#[test]
fn a_press_that_would_come_too_late_is_left_out() {
    let (harness, outcome, events) = play(Mischief::LateMove, &[0.5]);
    assert_eq!(events, "105,55");
    let reason = outcome.unwrap().refused.unwrap();
    assert_eq!(reason, "late: the window is looked at again");
    assert_eq!(harness.ended(), None);
}

#[test]
fn the_button_goes_up_on_failures_and_panics() {
    for mischief in [Mischief::Fail, Mischief::Panic, Mischief::Unguarded] {
        let (_, outcome, events) = play(mischief, &[0.5]);
        assert_eq!(events, "105,55 down 115,55 125,55 up", "{mischief:?}");
        assert!(outcome.is_err());
    }
}

#[test]
fn a_release_that_fails_is_tried_again() {
    let (_, outcome, events) = play(Mischief::Stuck, &[0.5]);
    assert_eq!(events, "105,55 down 115,55 125,55 135,55 stuck up");
    assert!(outcome.is_err());
}

#[test]
fn nothing_is_pressed_for_a_stroke_that_leaves_the_board() {
    let (_, outcome, events) = play(Mischief::None, &[0.5, 1.5]);
    assert_eq!(events, "");
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("leave its bounds, at 105, 65"), "{error}");
}

#[test]
fn nothing_is_pressed_once_the_run_ends() {
    LOG.with_borrow_mut(|log| *log = MouseLog::default());
    let mut harness = flowpipe_plugin::harness!(Playing, json!({})).unwrap();
    harness.cancel_when(|| true);
    assert!(harness.send(0, STROKES, &strokes(&[0.5])).is_err());
    assert!(LOG.with_borrow(|log| log.events.is_empty()));
}

#[test]
fn what_no_window_is_known_of_is_not_played() {
    let strokes = strokes(&[0.5]);
    let (frame, bounds) = (&strokes.sighting.frame, Rect::default());
    let reason = watched(frame, bounds, &Config::default()).unwrap_err();
    assert!(reason.contains("any_window = true"), "{reason}");
    let any = Config {
        any_window: true,
        ..Config::default()
    };
    assert_eq!(watched(frame, bounds, &any), Ok(None));
}

#[test]
fn a_dry_run_reports_what_it_would_do() {
    let strokes = strokes(&[0.5]);
    let gestures = gestures_of(&strokes, &Config::default()).unwrap();
    let played = would_draw(&strokes, &gestures);
    let reason = played.strokes[0].reason.clone();
    assert_eq!(reason.as_deref(), Some("would drag A by 105,55 135,55"));
    assert_eq!(played.refused.as_deref(), Some(DRY));
}

#[test]
fn strokes_that_would_hold_the_mouse_for_too_long_are_refused() {
    let mut slow = manner(Hold::Drag);
    slow.pace.ends_ms = 10_000.0;
    let stroke = strokes(&[0.5]).strokes.remove(0);
    assert_eq!(is_too_much(&slow, &vec![stroke.clone(); 30]), None);
    let reason = is_too_much(&slow, &vec![stroke; 31]).unwrap();
    assert!(
        reason.starts_with("the strokes would take 620 s, the most are 600"),
        "{reason}"
    );
}

#[test]
fn wrong_configs_are_refused() {
    for (config, text) in [
        (
            json!({ "pace": { "step": 0.0, "dwell_ms": 0.0, "ends_ms": 0.0, "repeats": 1 } }),
            "pace.step",
        ),
        (
            json!({ "pace": { "step": 0.5, "dwell_ms": -1.0, "ends_ms": 0.0, "repeats": 1 } }),
            "dwell_ms",
        ),
        (
            json!({ "pace": { "step": 0.5, "dwell_ms": 0.0, "ends_ms": 0.0, "repeats": 0 } }),
            "repeats",
        ),
        (
            json!({ "pace": { "dwell_ms": 0.0, "ends_ms": 0.0, "repeats": 1, "until_shown_ms": 1e9 } }),
            "until_shown_ms",
        ),
    ] {
        let config: Config = serde_json::from_value(config).unwrap();
        let error = config.check().unwrap_err().to_string();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn each_segment_can_be_a_drag_of_its_own() {
    let mut strokes = strokes(&[0.5]);
    strokes.strokes[0].points.insert(1, [2.5, 0.5]);
    let config = json!({ "drags": "segments" });
    let (_, _, events) = play_all(Mischief::None, &config, &strokes);
    assert_eq!(events, "105,55 down 115,55 125,55 up 125,55 down 135,55 up");
}
