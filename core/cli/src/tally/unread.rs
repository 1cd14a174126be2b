//! What is printed where no board is read for some time.

use flowpipe_desktop::DesktopChoice;
use flowpipe_message::FrameNote;
use flowpipe_terminal::escaped;

/// What to do. The reason names the keys of vision that change it.
const ADVICE: &str = "show the whole board with nothing over it, or capture another window: `window` of capture-screen \
     (--window TITLE)";
/// The same where windows can't be captured.
const PLACE_ADVICE: &str = "show the whole board with nothing over it, or capture its place: `region` of capture-screen (--set \
     'capture-screen.region={ x = 0, y = 0, width = 800, height = 600 }')";
/// Where the compositor may draw the pointer into pictures.
const POINTER_ADVICE: &str =
    "; if the mouse pointer lies on the board, move the mouse away from the board";
const COVERED: &str =
    "another window lies over the captured one: move it away, or raise the captured one";

/// Why nothing is read for some time, by which an obstacle is known.
pub fn reason<'a>(frame: &FrameNote, reason: &'a str) -> &'a str {
    match frame.covered.is_empty() {
        true => reason,
        false => COVERED,
    }
}

/// The notice for a frame that shows no board. `refusal`: what vision says of it, `SOURCE: REASON (step: STEP)`.
pub fn notice(frame: &FrameNote, refusal: &str) -> String {
    if !frame.covered.is_empty() {
        return format!("{}: {COVERED}\n  {refusal}", escaped(&frame.source));
    }
    let desktop = frame.desktop.as_deref();
    let (advice, pointer) = match desktop.and_then(DesktopChoice::of_session_name) {
        Some(DesktopChoice::Mutter | DesktopChoice::Portal) => (PLACE_ADVICE, ""),
        Some(DesktopChoice::Wlroots) => (ADVICE, POINTER_ADVICE),
        _ => (ADVICE, ""),
    };
    format!("{refusal}\n  {advice}{pointer}")
}

#[cfg(test)]
mod tests {
    use flowpipe_message::Rectangle;

    use super::*;

    #[test]
    fn a_window_is_advised_where_windows_are_found() {
        let advised =
            |desktop: &str| notice(&FrameNote::of("a").with_desktop(desktop), "a: no board");
        for desktop in ["x11 :0", "wlroots /run/user/1000/wayland-1", ""] {
            assert!(advised(desktop).contains("--window TITLE"), "{desktop}");
        }
        for desktop in ["mutter unix:path=/run/bus", "portal unix:path=/run/bus"] {
            let text = advised(desktop);
            assert!(!text.contains("window of"), "{text}");
            assert!(!text.contains("--window"), "{text}");
            assert!(
                text.contains("--set 'capture-screen.region={ x = 0,"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_pointer_is_named_where_pictures_may_contain_it() {
        let advises = |desktop: &str| {
            let frame = FrameNote::of("a").with_desktop(desktop);
            notice(&frame, "a: no board").ends_with("move the mouse away from the board")
        };
        assert!(advises("wlroots /run/user/1000/wayland-1"));
        for desktop in [
            "x11 :0",
            "mutter unix:path=/run/bus",
            "portal unix:path=/run/bus",
            "",
        ] {
            assert!(!advises(desktop), "{desktop}");
        }
    }

    #[test]
    fn what_lies_over_a_window_comes_before_what_vision_says() {
        let free = FrameNote::of("Flow");
        let covered = free
            .clone()
            .with_covered(vec![Rectangle::new(1.0, 2.0, 3.0, 4.0)]);
        assert_eq!(reason(&free, "no lines"), "no lines");
        assert_eq!(reason(&covered, "no lines"), COVERED);
        let words = "Flow: another window lies over the captured one: move it away, or raise the captured one\n  Flow: no lines";
        assert_eq!(notice(&covered, "Flow: no lines"), words);
    }
}
