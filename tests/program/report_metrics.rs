//! Pages of pipelines that know nothing of boards: their metrics, notes and overlays, in a real browser.

use std::path::{Path, PathBuf};

use flowpipe_tests::{Ran, pipeline, run};
use serde_json::Value;

use crate::browser::{Browser, Display};

/// A stage that finds spots in pictures. Over the first frame it draws twice, over the third nothing.
const SPOTS: &str = r##"
import json, sys
number = 0
for asked in map(json.loads, sys.stdin):
    answer = {"id": asked["id"]}
    if "message" in asked:
        number += 1
        width, height = (asked["message"]["frame"][side] for side in ("width", "height"))
        whole = {"rectangle": {"x": 0, "y": 0, "width": width, "height": height}}
        middle = [width / 2, height / 2]
        circle = {"circle": {"at": middle, "radius": min(width, height) / 3}}
        shapes = [
            {"form": circle, "colour": [255, 0, 0], "is_filled": True, "label": f"spot {number}"},
            {"form": {"line": {"points": [[0, 0], middle]}}},
            {"form": {"polygon": {"points": [[0, 0], middle, [0, height]]}}, "colour": [0, 255, 0]},
            {"form": {"text": {"at": middle, "text": "here", "size": height / 8}}},
        ]
        overlays = [] if number == 3 else [shapes]
        if number == 1:
            overlays.insert(0, [{"form": whole, "colour": [0, 0, 255], "is_filled": True}])
        metrics = [
            {"kind": "counter", "name": "spots found", "add": 1200},
            {"kind": "gauge", "name": "width", "value": width, "unit": "px"},
            {"kind": "distribution", "name": "distance", "values": [number, number + 0.5], "unit": "mm"},
        ]
        if number in (2, 5):
            note = {"kind": "note", "text": f"<b>spot</b> {number}", "tone": "bad" if number == 5 else "good"}
            metrics.append(note)
        answer["messages"] = [{"port": "overlay", "body": {"shapes": shapes}} for shapes in overlays]
        answer["messages"] += [
            {"port": "metrics", "body": {"metrics": metrics}},
            {"port": "spots", "body": {"number": number}},
        ]
    print(json.dumps(answer), flush=True)
"##;

const PIPELINE: &str = r#"
name = "spots"

[stages.frames]
plugin = "capture-files"
config = { paths = ["pipelines/frames/phone-[5689]x*.png"], fps = 20 }

[stages.finder]
plugin = "exec"
from = "frames"
queue = { capacity = 8, when_full = "block" }
[stages.finder.config]
command = ["python3", "spots.py"]
inputs = { frame = { schema = "flowpipe.frame/1" } }
outputs = { spots = { schema = "spots.spot/1" }, metrics = { schema = "flowpipe.metrics/1" }, overlay = { schema = "flowpipe.overlay/1" } }
"#;

/// Records the pipeline, and makes the page of it.
fn page(folder: &Path) -> (PathBuf, Ran) {
    page_of(folder, SPOTS, PIPELINE)
}

/// The same with another stage or pipeline.
fn page_of(folder: &Path, spots: &str, of: &str) -> (PathBuf, Ran) {
    std::fs::write(folder.join("spots.py"), spots).unwrap();
    let recording = folder.join("spots.mcap").display().to_string();
    let pipeline = pipeline(folder, of);
    run(&["run", &pipeline, "-q", "--record", &recording]).expect(0);
    let ran = run(&["report", &recording]).expect(0);
    (folder.join("spots.html"), ran)
}

fn open(browser: &mut Browser, page: &Path, scheme: &'static str, width: u32) {
    browser.display(Display {
        width,
        height: 900,
        scheme,
    });
    browser.open(page);
    browser.wait_for("document.documentElement.dataset.ready === 'true'");
    assert_eq!(browser.complaints(), [""; 0]);
}

/// The texts of all elements, one after the other.
fn texts(browser: &mut Browser, of: &str) -> Vec<String> {
    let texts = format!("[...document.querySelectorAll('{of}')].map((it) => it.textContent)");
    let texts = browser.value(&texts);
    let texts = texts.as_array().unwrap().iter();
    texts.map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// An expression: red, green and blue of the player's picture, at shares of its width and height.
fn pixel(across: f64, down: f64) -> String {
    format!(
        "(() => {{ const it = document.querySelector('.screen canvas');
            const at = [Math.floor(it.width * {across}), Math.floor(it.height * {down})];
            return [...it.getContext('2d').getImageData(...at, 1, 1).data.slice(0, 3)]; }})()"
    )
}

/// Goes to a frame, and returns once it is drawn.
fn slide(browser: &mut Browser, frame: usize) {
    browser.value(&format!(
        "(() => {{ const slider = document.querySelector('.player input[type=range]');
            slider.value = {frame}; slider.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
    ));
    browser.wait_for(&format!(
        "document.querySelector('.screen canvas').dataset.frame === '{frame}'"
    ));
}

#[test]
fn it_shows_what_the_stages_count_and_measure() {
    let folder = tempfile::tempdir().unwrap();
    let (page, ran) = page(folder.path());
    assert!(ran.stderr.contains(": 5 frames, 5 different"), "{ran:#?}");
    assert!(!ran.stderr.contains("board"), "{ran:#?}");
    let mut browser = Browser::start();
    open(&mut browser, &page, "light", 1280);
    let figures = texts(&mut browser, ".figure");
    assert_eq!(figures[0], "Spots found6,000finder");
    assert!(figures[1].starts_with("Frames5"), "{figures:?}");
    assert!(!figures.concat().contains("press"), "{figures:?}");
    assert_eq!(
        browser.value("document.querySelector('#figures-more').hidden"),
        true
    );
    assert!(texts(&mut browser, "#when")[0].contains("5 sources, the first "));
    assert_eq!(
        texts(&mut browser, ".metric-name"),
        ["spots found", "width", "distance"]
    );
    let values = texts(&mut browser, ".metric-value");
    assert_eq!(values[0], "6,000in all");
    assert!(values[1].contains("\u{202f}px"), "{values:?}");
    assert_eq!(
        values[2],
        "3\u{202f}mmmedian, 95\u{202f}% 5.5\u{202f}mm, max 5.5\u{202f}mm, 10 samples"
    );
    assert_eq!(
        browser.value("document.querySelectorAll('.metric .bar').length"),
        24
    );
    for chart in [".of-counter canvas", ".of-gauge canvas"] {
        browser.value(&format!(
            "document.querySelector('{chart}').scrollIntoView()"
        ));
        browser.wait_for(&format!(
            "(() => {{ const it = document.querySelector('{chart}');
                const {{ data }} = it.getContext('2d').getImageData(0, 0, it.width, it.height);
                return new Set(data).size > 3; }})()"
        ));
    }
    assert_eq!(
        texts(&mut browser, ".notes .says"),
        ["<b>spot</b> 2", "<b>spot</b> 5"]
    );
    assert_eq!(
        browser.value("document.querySelectorAll('.notes .badge.bad').length"),
        1
    );
    // A note leads to its frame.
    browser.value("document.querySelectorAll('.notes button')[1].click()");
    browser.wait_for("document.querySelector('.screen canvas').dataset.frame === '4'");
    let doings = texts(&mut browser, ".doings")[0].clone();
    assert!(doings.contains("<b>spot</b> 5"), "{doings}");
    // Other messages are shown as JSON.
    assert_eq!(
        texts(&mut browser, ".messages summary"),
        ["finder.spots 5 messagesspots.spot/1"]
    );
    let bodies: Vec<_> = (1..=5)
        .map(|number| format!("{{\"number\": {number}}}"))
        .collect();
    assert_eq!(texts(&mut browser, ".messages code"), bodies);
    // Nothing of it is about boards.
    let page_text = browser.value("document.body.innerText");
    let page_text = page_text.as_str().unwrap().to_lowercase();
    for word in ["board", "solution", "press"] {
        assert!(!page_text.contains(word), "{word}: {page_text}");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_player_draws_overlays() {
    let folder = tempfile::tempdir().unwrap();
    let (page, _) = page(folder.path());
    let mut browser = Browser::start();
    open(&mut browser, &page, "light", 1280);
    let colour = |browser: &mut Browser| -> [i64; 3] {
        // Inside of the circle, beside the text and above the lines.
        let value: Value = browser.value(&pixel(0.5, 0.4));
        serde_json::from_value(value).unwrap()
    };
    let toggle = "document.querySelector('#player-toggles input')";
    assert_eq!(texts(&mut browser, "#player-toggles label"), ["Overlays"]);
    for frame in [0, 2, 4] {
        slide(&mut browser, frame);
        let over = colour(&mut browser);
        browser.value(&format!("{toggle}.click()"));
        let drawing = pixel(0.5, 0.4);
        if frame != 2 {
            browser.wait_for(&format!(
                "{drawing}.join() !== '{}'",
                over.map(|it| it.to_string()).join(",")
            ));
        }
        let plain = colour(&mut browser);
        // Half of what was there, and half of red. Of the two overlays of the first frame the last one counts.
        let half = plain.map(|it| it / 2);
        let expected = match frame {
            2 => plain,
            _ => [half[0] + 127, half[1], half[2]],
        };
        for (is, should) in over.iter().zip(expected) {
            assert!((is - should).abs() <= 2, "{frame}: {over:?}, {expected:?}");
        }
        browser.value(&format!("{toggle}.click()"));
        let back = over.map(|it| it.to_string()).join(",");
        browser.wait_for(&format!("{drawing}.join() === '{back}'"));
        let made = texts(&mut browser, ".made")[0].clone();
        let expected = if frame == 2 {
            ""
        } else {
            "4 shapes by finder."
        };
        assert_eq!(made, expected);
    }
    // The pointer shows what a shape is.
    let point = "(() => { const it = document.querySelector('.screen canvas');
        const { left, top, width, height } = it.getBoundingClientRect();
        it.dispatchEvent(new PointerEvent('pointermove', { clientX: left + width / 2, clientY: top + height / 2 }));
        return it.title; })()";
    assert_eq!(browser.value(point), "finder: spot 5");
    // Only of this test, which reads the picture often.
    let complaints = browser.complaints();
    let is_own = |it: &String| it.contains("willReadFrequently");
    assert!(complaints.iter().all(is_own), "{complaints:?}");
}

#[test]
fn counters_and_outputs_beyond_the_first_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let more = r#"metrics = [{"kind": "counter", "name": f"counter {it}", "add": it} for it in range(8)] + ["#;
    let spots = SPOTS
        .replace("metrics = [\n", &format!("{more}\n"))
        .replace(
            r#"answer["messages"] += ["#,
            r#"answer["messages"] += [
            {"port": "edges", "body": {"shapes": shapes[1:3]}},"#,
        );
    let pipeline = PIPELINE.replace(
        "outputs = { ",
        r#"outputs = { edges = { schema = "flowpipe.overlay/1" }, "#,
    );
    let (page, _) = page_of(folder.path(), &spots, &pipeline);
    let mut browser = Browser::start();
    open(&mut browser, &page, "light", 1280);
    let figures = texts(&mut browser, ".figure");
    assert_eq!(figures[5], "Counter 525finder");
    assert!(figures[6].starts_with("Frames5"), "{figures:?}");
    assert_eq!(
        texts(
            &mut browser,
            r##"#figures-more:not([hidden]) a[href="#metrics"]"##
        ),
        ["and 3 more counters"]
    );
    // Both outputs are drawn over one frame.
    let made = texts(&mut browser, ".made")[0].clone();
    assert!(made.contains("4 shapes by finder.overlay"), "{made}");
    assert!(made.contains("2 shapes by finder.edges"), "{made}");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn it_is_as_wide_as_a_phone() {
    let folder = tempfile::tempdir().unwrap();
    let (page, _) = page(folder.path());
    let mut browser = Browser::start();
    for scheme in ["light", "dark"] {
        open(&mut browser, &page, scheme, 360);
        let width = browser.value("document.documentElement.scrollWidth");
        assert_eq!(width, 360, "{scheme}");
    }
}
