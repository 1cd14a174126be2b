//! Gestures on real windows of X11, with a pointer of XTEST, while the windows and the pointer do what they should not.

#[path = "../../../../tests/support/screen.rs"]
mod screen;

use std::cell::Cell;

use screen::Screen;

use super::world::{InWorld, World};
use super::*;

const RED: [u8; 3] = [200, 10, 20];
const BLUE: [u8; 3] = [50, 60, 220];
/// Where the windows begin on the screen.
const CORNER: [i16; 2] = [100, 100];

/// What stays so long has to be interrupted.
const LONG_MS: f64 = 8_000.0;

thread_local! {
    static TABLE: RefCell<Option<Table>> = const { RefCell::new(None) };
    /// A window that takes the keyboard.
    static TAKEN_BY: Cell<u32> = const { Cell::new(0) };
    /// A window that gets another title.
    static RENAMED: Cell<u32> = const { Cell::new(0) };
}

/// What the mouse works on.
#[derive(Clone)]
struct Table {
    screen: Arc<Screen>,
    /// Happens after each event of the mouse, which is its argument.
    mischief: fn(&Screen, &str),
}

/// The pointer of the screen.
struct ScreenMouse(Table);

impl ScreenMouse {
    fn log(&self, event: String) {
        (self.0.mischief)(&self.0.screen, &event);
        LOG.with_borrow_mut(|log| log.events.push(event));
    }
}

impl Mouse for ScreenMouse {
    fn place(&mut self) -> Result<Option<[i32; 2]>> {
        Ok(Some(self.0.screen.pointer().map(i32::from)))
    }

    fn held_buttons(&self) -> Vec<u8> {
        (1..=3).filter(|&it| self.0.screen.is_held(it)).collect()
    }

    fn put(&mut self, at: [i32; 2]) -> Result<()> {
        self.0.screen.move_to(at.map(|value| value as i16));
        self.log(format!("{},{}", at[0], at[1]));
        Ok(())
    }

    fn press(&mut self, input: Pressed) -> Result<Option<String>> {
        if let Pressed::Button(button) = input {
            self.0.screen.hold_button(button);
        }
        self.log(format!("{}down", prefix(input)));
        Ok(None)
    }

    fn check(&mut self) -> Result<()> {
        Ok(())
    }

    fn release(&mut self, input: Pressed) -> Result<()> {
        if let Pressed::Button(1) = input {
            self.0.screen.release();
        }
        self.log(format!("{}up", prefix(input)));
        Ok(())
    }
}

impl World for Table {
    fn mechanism(config: &Config, host: &Host) -> Result<Mechanism> {
        let table = TABLE.with_borrow(|table| table.clone().unwrap());
        let desktop = Desktop::connect_x11(table.screen.display())?;
        let guard = Arc::new(Guard::default());
        let mouse = Box::new(ScreenMouse(table));
        Ok(Mechanism {
            player: Player::new(mouse, Arc::clone(&guard), config),
            monitors: Surroundings::monitors(&desktop),
            surroundings: Box::new(desktop.clone()),
            raised: None,
            without_keyboard_since: None,
            _watch: Watch::start(
                config,
                Arc::clone(&guard),
                Box::new(desktop),
                None,
                None,
                *host,
            )?,
            guard,
        })
    }
}

/// Opens a window.
fn open(screen: &Screen, title: &str, size: [u16; 2]) -> u32 {
    screen.open(title, CORNER, size, RED)
}

/// Gestures on a window, of which the planner says that its frame has a size. The bounds leave out 5 pixels at each edge.
fn gestures(window: u32, size: [u32; 2], of: Vec<Action>) -> Gestures {
    let frame = FrameNote::of("game")
        .with_origin(CORNER.map(f64::from))
        .with_window(u64::from(window))
        .with_size(size);
    let [width, height] = size.map(|length| f64::from(length) - 10.0);
    let each = of.into_iter().map(|action| vec![action]);
    let each = each.map(|actions| Gesture::new("test", actions)).collect();
    Gestures::new(
        "planner-test",
        frame,
        Rectangle::new(5.0, 5.0, width, height),
        each,
    )
}

/// Plays gestures. Returns what became of them, and the events.
fn play(
    screen: &Arc<Screen>,
    gestures: &Gestures,
    mischief: fn(&Screen, &str),
) -> (GestureOutcome, String) {
    LOG.with_borrow_mut(|log| *log = MouseLog::default());
    TABLE.set(Some(Table {
        screen: Arc::clone(screen),
        mischief,
    }));
    // However busy this machine is. The pointer may be moved, so that the other checks have to do.
    let config = json!({ "max_age_ms": 60_000, "by_hand": false });
    let mut harness = flowpipe_plugin::harness!(InWorld<Table>, config).unwrap();
    let sent = harness.send(1, GESTURES, gestures).unwrap();
    let outcome = serde_json::from_value(sent[0].body.clone()).unwrap();
    (outcome, LOG.with_borrow(|log| log.events.join(" ")))
}

fn nothing(_: &Screen, _: &str) {}

#[test]
fn a_click_beside_the_window_is_refused() {
    let screen = Arc::new(Screen::start());
    let window = open(&screen, "game", [300, 300]);
    let other = screen.open("other", [500, 100], [300, 300], BLUE);
    screen.count_pointer_events(other);
    let inside = gestures(window, [300, 300], vec![Action::click([294.5, 50.5])]);
    let (outcome, events) = play(&screen, &inside, nothing);
    assert_eq!((outcome.refused, outcome.played), (None, 1));
    assert_eq!(events, "394,150 down up");
    let clicks = [[100.0, 100.0], [450.0, 50.0]].map(Action::click);
    let mut beside = gestures(window, [300, 300], clicks.to_vec());
    beside.bounds = Rectangle::new(0.0, 0.0, 900.0, 900.0);
    // Without the size of what was captured, the window's own counts.
    beside.frame.size = None;
    let (outcome, events) = play(&screen, &beside, nothing);
    let reason = outcome.refused.unwrap();
    assert!(reason.contains("leave the window, at 550, 150"), "{reason}");
    assert_eq!((events.as_str(), screen.pointer_events()), ("", 0));
}

#[test]
fn a_window_that_has_another_size_than_was_captured_is_not_played() {
    let screen = Arc::new(Screen::start());
    let window = open(&screen, "game", [300, 300]);
    for captured in [[200, 200], [300, 299], [100_000, 100_000]] {
        let it = gestures(window, captured, vec![Action::click([100.0, 100.0])]);
        let (outcome, events) = play(&screen, &it, nothing);
        let reason = outcome.refused.unwrap();
        assert!(reason.contains("has changed its size"), "{reason}");
        assert_eq!(events, "");
    }
}

#[test]
fn a_window_that_moves_beyond_the_edge_of_the_screen_is_noticed() {
    let screen = Arc::new(Screen::start());
    let window = open(&screen, "game", [300, 300]);
    screen.move_window("game", [-50, 100]);
    // 250 pixels of it are on the screen.
    let mut it = gestures(window, [250, 300], vec![Action::click([100.0, 100.0])]);
    it.frame.origin = [0.0, 100.0];
    let (outcome, events) = play(&screen, &it, nothing);
    assert_eq!(
        (outcome.refused, events.as_str()),
        (None, "100,200 down up")
    );
    screen.move_window("game", [-150, 100]);
    let (outcome, events) = play(&screen, &it, nothing);
    let reason = outcome.refused.unwrap();
    assert!(
        reason.contains("moved beyond the screen's edge"),
        "{reason}"
    );
    assert_eq!(events, "");
}

#[test]
fn a_window_that_opens_between_two_clicks_gets_none() {
    let screen = Arc::new(Screen::start());
    let window = open(&screen, "game", [300, 300]);
    let dialog = |screen: &Screen, event: &str| {
        if event == "up" {
            screen.open("dialog", CORNER, [300, 300], BLUE);
        }
    };
    let clicks = [100.0, 120.0, 140.0].map(|x| Action::click([x, 100.0]));
    let it = gestures(window, [300, 300], clicks.to_vec());
    let (outcome, events) = play(&screen, &it, dialog);
    let reason = outcome.refused.unwrap();
    assert!(reason.contains("covers the board"), "{reason}");
    assert_eq!(outcome.played, 1);
    assert_eq!(events.matches("down").count(), 1, "{events}");
}

#[test]
fn an_invisible_window_that_gets_the_clicks_covers_the_board() {
    let screen = Arc::new(Screen::start());
    let window = open(&screen, "game", [300, 300]);
    // Before, the window is brought to the front.
    let menu = |screen: &Screen, event: &str| {
        if event == "up" {
            screen.open_invisible(CORNER, [300, 300]);
        }
    };
    let clicks = [100.0, 120.0].map(|x| Action::click([x, 100.0]));
    let it = gestures(window, [300, 300], clicks.to_vec());
    let (outcome, events) = play(&screen, &it, menu);
    let reason = outcome.refused.unwrap();
    assert!(reason.contains("covers the board"), "{reason}");
    assert_eq!(outcome.played, 1);
    assert_eq!(events.matches("down").count(), 1, "{events}");
}

#[test]
fn bounds_without_a_pixel_are_refused() {
    let screen = Arc::new(Screen::start());
    let window = open(&screen, "game", [300, 300]);
    let mut it = gestures(window, [300, 300], vec![Action::key("F2")]);
    it.bounds = Rectangle::new(10.25, 10.25, 0.5, 0.5);
    let (outcome, events) = play(&screen, &it, nothing);
    let reason = outcome.refused.unwrap();
    assert!(reason.contains("hold no whole pixel"), "{reason}");
    assert_eq!(events, "");
}

#[test]
fn gestures_end_when_the_window_shrinks() {
    let screen = Arc::new(Screen::start());
    let behind = screen.open("behind", CORNER, [700, 300], BLUE);
    screen.count_pointer_events(behind);
    let window = open(&screen, "game", [700, 300]);
    let clicks = vec![
        Action::click([100.0, 100.0]).with_stay_ms(LONG_MS),
        Action::click([450.0, 50.0]),
    ];
    // What is left of the window holds the first click, and not the second.
    let shrink = |screen: &Screen, event: &str| {
        if event == "up" {
            screen.resize_window("game", [300, 300]);
        }
    };
    let (outcome, events) = play(&screen, &gestures(window, [700, 300], clicks), shrink);
    let reason = outcome.refused.unwrap();
    assert!(reason.contains("has changed its size"), "{reason}");
    assert_eq!((events.as_str(), outcome.played), ("200,200 down up", 0));
    assert_eq!(screen.pointer_events(), 0);
}

#[test]
fn nothing_is_pressed_where_somebody_else_has_put_the_pointer() {
    let screen = Arc::new(Screen::start());
    let window = open(&screen, "game", [300, 300]);
    let away = |screen: &Screen, event: &str| {
        if event.contains(',') {
            screen.move_to([600, 150]);
        }
    };
    for actions in [
        vec![Action::move_to([100.0, 100.0]), Action::press_here()],
        vec![Action::press([100.0, 100.0])],
        vec![Action::click([100.0, 100.0])],
    ] {
        let (outcome, events) = play(&screen, &gestures(window, [300, 300], actions), away);
        let reason = outcome.refused.unwrap();
        assert!(
            reason.contains("at 600, 150 on the screen, outside of the bounds"),
            "{reason}"
        );
        assert_eq!(events, "200,200");
    }
    // Inside of the bounds it may be anywhere.
    let here = |screen: &Screen, _: &str| screen.move_to([150, 150]);
    let pressed = vec![Action::move_to([100.0, 100.0]), Action::press_here()];
    let (outcome, events) = play(&screen, &gestures(window, [300, 300], pressed), here);
    assert_eq!(
        (outcome.refused, events.as_str()),
        (None, "200,200 down up")
    );
}

/// As a browser does when another tab is chosen.
#[test]
fn a_window_whose_title_lacks_what_was_searched_for_gets_no_click() {
    let screen = Arc::new(Screen::start());
    let window = open(&screen, "The Game, 12:00", [300, 300]);
    RENAMED.set(window);
    let clicks = [100.0, 120.0].map(|x| Action::click([x, 100.0]));
    let mut it = gestures(window, [300, 300], clicks.to_vec());
    it.frame.title = Some("The Game, 12:00".to_owned());
    // The rest of the title may change.
    let clock = |screen: &Screen, event: &str| {
        if event == "up" {
            screen.rename(RENAMED.get(), "The Game, 12:01");
        }
    };
    let (outcome, _) = play(&screen, &it, clock);
    assert_eq!((outcome.refused, outcome.played), (None, 2));
    let other_tab = |screen: &Screen, event: &str| {
        if event == "up" {
            screen.rename(RENAMED.get(), "Mail");
        }
    };
    let (outcome, events) = play(&screen, &it, other_tab);
    let reason = outcome.refused.unwrap();
    let words = "the window has the title \"Mail\" now, without \"game\"";
    assert!(reason.contains(words), "{reason}");
    assert_eq!(outcome.played, 1);
    assert_eq!(events.matches("down").count(), 1, "{events}");
    // Whoever does not name the title has not searched for it.
    it.frame.title = None;
    let (outcome, _) = play(&screen, &it, nothing);
    assert_eq!((outcome.refused, outcome.played), (None, 2));
}

/// As a person does who selects text.
#[test]
fn a_button_that_is_held_in_another_window_keeps_the_clicks_from_it() {
    let screen = Arc::new(Screen::start());
    let window = open(&screen, "game", [300, 300]);
    let other = screen.open("other", [500, 100], [300, 300], BLUE);
    screen.move_to([600, 150]);
    screen.press();
    screen.count_pointer_events(other);
    let click = gestures(window, [300, 300], vec![Action::click([100.0, 100.0])]);
    let (outcome, events) = play(&screen, &click, nothing);
    let reason = outcome.refused.unwrap();
    assert!(reason.contains("held down by someone"), "{reason}");
    assert_eq!((events.as_str(), screen.pointer_events()), ("", 0));
    screen.release();
    let (outcome, events) = play(&screen, &click, nothing);
    assert_eq!(
        (outcome.refused, events.as_str()),
        (None, "200,200 down up")
    );
    // Between two clicks.
    let hold = |screen: &Screen, event: &str| {
        if event == "up" {
            screen.press();
        }
    };
    let clicks = [100.0, 120.0].map(|x| Action::click([x, 100.0]));
    let clicks = gestures(window, [300, 300], clicks.to_vec());
    let (outcome, events) = play(&screen, &clicks, hold);
    let reason = outcome.refused.unwrap();
    assert!(reason.contains("held down by someone"), "{reason}");
    assert_eq!(
        (events.as_str(), outcome.played),
        ("200,200 down up 220,200", 1)
    );
}

#[test]
fn keys_are_played_only_while_the_window_has_the_keyboard() {
    let screen = Arc::new(Screen::start());
    open(&screen, "other", [300, 300]);
    screen.move_window("other", [500, 100]);
    let window = open(&screen, "game", [300, 300]);
    let keys = vec![Action::key("F2"), Action::key("F2")];
    // The first one is played, since the window was raised.
    let take = |screen: &Screen, event: &str| {
        if event == "key-68-up" {
            screen.window("other");
        }
    };
    let it = gestures(window, [300, 300], keys);
    let (outcome, events) = play(&screen, &it, take);
    let reason = outcome.refused.unwrap();
    assert!(reason.contains("does not have the keyboard"), "{reason}");
    assert_eq!(
        (events.as_str(), outcome.played),
        ("key-68-down key-68-up", 1)
    );
    let (outcome, _) = play(&screen, &it, nothing);
    assert_eq!((outcome.refused, outcome.played), (None, 2));
    // In a window of the game's, such as a text field.
    let field = screen.open_in(window);
    TAKEN_BY.set(field);
    let field = |screen: &Screen, _: &str| screen.focus(TAKEN_BY.get());
    let (outcome, _) = play(&screen, &it, field);
    assert_eq!((outcome.refused, outcome.played), (None, 2));
}
