//! Recordings as pages, opened in a real browser.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::browser::{Browser, Display};
use flowpipe_recording::entry::{About, AboutStage};
use flowpipe_recording::{Encoding, Pixels, Schemas, Topic, Writer};
use flowpipe_tests::{pipeline, ready, run};

const DESK: Display = Display {
    width: 1280,
    height: 900,
    scheme: "light",
};
const PHONE: Display = Display {
    width: 360,
    height: 800,
    scheme: "dark",
};

/// An expression: nothing is wider than the page.
const NO_OVERFLOW: &str = "document.documentElement.scrollWidth <= innerWidth";

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs a pipeline with a recorder, and makes the page of it.
fn page(folder: &Path, pipeline: &str) -> PathBuf {
    let recording = folder.join("run.mcap");
    run(&["run", pipeline, "-q", "--record", text(&recording)]).expect(0);
    report(&recording)
}

fn report(recording: &Path) -> PathBuf {
    let ran = run(&["report", text(recording)]).expect(0);
    let page = recording.with_extension("html");
    assert!(ran.stderr.contains(text(&page)), "{ran:#?}");
    page
}

/// Opens a page that must show itself without a complaint, and ask for nothing.
fn open(browser: &mut Browser, page: &Path) {
    browser.open(page);
    browser.wait_for("document.documentElement.dataset.ready === 'true'");
    assert_eq!(browser.complaints(), [""; 0]);
    assert_eq!(browser.requests(), [format!("file://{}", page.display())]);
}

/// An expression: how many colours a canvas shows, of some of its pixels.
fn colours(canvas: &str) -> String {
    format!(
        "(() => {{ const it = document.querySelector('{canvas}');
            const {{ data }} = it.getContext('2d').getImageData(0, 0, it.width, it.height);
            const seen = new Set();
            for (let at = 0; at < data.length; at += 28) seen.add(data.slice(at, at + 3).join());
            return seen.size; }})()"
    )
}

#[test]
fn a_run_has_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), "pipelines/replay.toml");
    let mut browser = Browser::start();
    browser.display(DESK);
    open(&mut browser, &page);

    assert_eq!(
        browser.value("document.querySelector('h1').textContent"),
        "replay"
    );
    assert_eq!(
        browser.value("document.querySelectorAll('#cards > li').length"),
        11
    );
    assert_eq!(
        browser.value("document.querySelectorAll('#cards .badge.good').length"),
        11
    );
    let stages = "[...document.querySelectorAll('.stages tbody th')].map((it) => it.firstChild.nextSibling.data).join()";
    assert_eq!(
        browser.value(stages),
        "frames,vision,solver,planner,actuator"
    );
    assert_eq!(
        browser.value("document.querySelectorAll('[data-name=Restarts]').length"),
        0
    );
    assert_eq!(
        browser.value("document.querySelectorAll('.distribution .bars').length"),
        6
    );
    // Both axes have ticks with their units.
    let mut ticks = |of: &str| {
        let texts = format!(
            "[...document.querySelectorAll('{of} span')].map((it) => it.textContent).join()"
        );
        browser.value(&texts).as_str().unwrap().to_owned()
    };
    let times = ticks(".distribution .axis");
    for unit in ["µs", "ms"] {
        assert!(times.contains(unit), "{times}");
    }
    assert!(times.split(',').count() >= 4, "{times}");
    let counts = ticks(".distribution .counts");
    assert_eq!(counts.matches(",0").count(), 6, "{counts}");
    let page_text = browser.value("document.body.innerText");
    let page_text = page_text.as_str().unwrap();
    for word in [
        "Nothing went wrong.",
        "No queue dropped anything.",
        "Count",
        "Both times are below the name",
        " segments",
        "solver-search",
    ] {
        assert!(page_text.contains(word), "{word}: {page_text}");
    }
    browser.wait_for("document.querySelectorAll('#cards canvas[data-drawn]').length >= 2");
    for canvas in ["#cards canvas", ".screen canvas", ".lanes canvas"] {
        browser.wait_for(&format!("{} > 5", colours(canvas)));
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn the_scrubber_moves() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), "pipelines/replay.toml");
    let mut browser = Browser::start();
    browser.display(DESK);
    open(&mut browser, &page);
    let shown = "document.querySelector('.screen canvas').dataset.frame";
    let at = |frame: usize| {
        format!(
            "{shown} === '{frame}' && document.querySelector('.where').textContent.startsWith('Frame {} of 11')",
            frame + 1
        )
    };
    let drawing = "document.querySelector('.screen canvas').toDataURL()";
    // By hand. The picture that the page begins with may have been drawn before the page had its final layout.
    let slide = |browser: &mut Browser, frame: usize| {
        browser.value(&format!(
            "(() => {{ const slider = document.querySelector('.player input[type=range]');
                slider.value = {frame}; slider.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()"
        ));
        browser.wait_for(&at(frame));
    };
    browser.wait_for(&at(0));
    slide(&mut browser, 1);
    slide(&mut browser, 0);
    let first = browser.value(drawing);
    slide(&mut browser, 4);
    assert!(
        browser.value(drawing) != first,
        "the picture is another one"
    );
    // By keys, on the picture and on the slider.
    browser.value("document.querySelector('.screen').focus()");
    browser.key("ArrowRight");
    browser.wait_for(&at(5));
    browser.key("ArrowLeft");
    browser.key("ArrowLeft");
    browser.wait_for(&at(3));
    browser.key("End");
    browser.wait_for(&at(10));
    browser.key("Home");
    browser.wait_for(&at(0));
    assert!(
        browser.value(drawing) == first,
        "it is the first picture again"
    );
    // What the stages did with it stands beside it.
    let doings = browser.value("document.querySelector('.doings').innerText");
    let doings = doings.as_str().unwrap();
    for stage in ["frames", "vision", "solver", "planner", "actuator"] {
        assert!(doings.contains(stage), "{stage}: {doings}");
    }
    assert!(doings.contains("the board is solved"), "{doings}");
    // What lies over the picture can be switched off.
    browser.value("document.querySelector('#player-toggles input').click()");
    browser.wait_for(&format!("{drawing} !== {first}"));
    // A board leads to its frame, and a click on the timeline to the frame there.
    browser.value("document.querySelectorAll('#cards .go button')[6].click()");
    browser.wait_for(&at(6));
    let lanes = "document.querySelector('.lanes canvas').toDataURL()";
    let all = browser.value(lanes);
    browser.value("document.querySelector('.lanes').focus()");
    browser.key("+");
    browser.wait_for(&format!("{lanes} !== {all}"));
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn it_is_read_on_a_phone_in_light_and_dark() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), "pipelines/replay.toml");
    let mut browser = Browser::start();
    let mut pictures = Vec::new();
    for scheme in ["light", "dark"] {
        for display in [DESK, PHONE] {
            browser.display(Display { scheme, ..display });
            open(&mut browser, &page);
            assert!(
                browser.value(NO_OVERFLOW) == true,
                "{scheme}, {}",
                display.width
            );
            let ground = browser.value("getComputedStyle(document.body).backgroundColor");
            pictures.push((ground, browser.picture()));
        }
    }
    assert_eq!(pictures[0].0, pictures[1].0);
    assert_ne!(pictures[0].0, pictures[2].0);
    assert_ne!(pictures[1].1, pictures[3].1);
}

#[test]
fn what_is_missing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let whole = folder.join("whole.mcap");
    run(&[
        "run",
        "pipelines/replay.toml",
        "-q",
        "--record",
        text(&whole),
    ])
    .expect(0);
    let bytes = std::fs::read(&whole).unwrap();
    let cut = folder.join("cut.mcap");
    std::fs::write(&cut, &bytes[..bytes.len() * 2 / 3]).unwrap();

    let empty = folder.join("empty.mcap");
    writer(&empty, &[]).finish().unwrap();

    // Nothing of puzzles, and nothing but messages.
    let plain = folder.join("plain.mcap");
    let mut writer = writer(&plain, &["<b>\"one\"</b>"]);
    let topic = Topic::new("<b>\"one\"</b>", "out");
    for number in 1..4 {
        let at = number as i64 * 1_000_000;
        writer
            .message(&topic, "else/1", "{\"a\":\"</script>\"}", number, (at, at))
            .unwrap();
    }
    writer.finish().unwrap();

    let mut browser = Browser::start();
    browser.display(PHONE);
    for (recording, words) in [
        (&cut, &["ends early", "Boards"][..]),
        (
            &empty,
            &[
                "Nothing happened in this recording.",
                "No frame was captured.",
                "nothing with a time",
            ],
        ),
        (
            &plain,
            &["no times of the stages", "no pictures", "<b>\"one\"</b>"],
        ),
    ] {
        open(&mut browser, &report(recording));
        let page_text = browser.value("document.body.innerText");
        let page_text = page_text.as_str().unwrap();
        for word in words {
            assert!(
                page_text.contains(word),
                "{}: {word}: {page_text}",
                recording.display()
            );
        }
        if *recording == plain {
            // No warning, and no empty box.
            let notices = browser.value("document.getElementById('notices').textContent");
            assert!(!notices.as_str().unwrap().contains("picture"), "{notices}");
            let is_hidden =
                "document.querySelector('.screen').getBoundingClientRect().height === 0";
            assert_eq!(browser.value(is_hidden), true);
        }
        // Only the first one is about boards.
        let names_boards = page_text.to_lowercase().contains("board");
        assert_eq!(names_boards, *recording == cut, "{page_text}");
        assert_eq!(
            browser.value("document.documentElement.scrollWidth"),
            PHONE.width
        );
        assert_eq!(browser.complaints(), [""; 0]);
    }
}

/// Starts a recording of a run of these stages.
fn writer(path: &Path, stages: &[&str]) -> Writer<File> {
    let file = File::create(path).unwrap();
    Writer::new(file, &about(stages), "", Schemas::new()).unwrap()
}

fn about(stages: &[&str]) -> About {
    let stage = |name: &&str| AboutStage {
        name: (*name).to_owned(),
        role: "capture".to_owned(),
        plugins: Vec::new(),
        inputs: Vec::new(),
        outputs: vec![("out".to_owned(), "*".to_owned())],
        timeout_ns: None,
        isolated: false,
        workers: 1,
        machine: None,
    };
    About {
        format: flowpipe_recording::FORMAT,
        flowpipe: "0".to_owned(),
        name: "made up".to_owned(),
        file: "made-up.toml".to_owned(),
        started_unix_ns: 1_700_000_000_000_000_000,
        since_ns: None,
        excerpt: false,
        dry: false,
        stages: stages.iter().map(stage).collect(),
        edges: Vec::new(),
    }
}

#[test]
fn drops_and_failures_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let ready = ready();
    let text = ready.replace("fps = 20", "times = 5").replace(
        "from = \"frames\"",
        "from = \"frames\"\nqueue = { capacity = 1, when_full = \"latest\" }",
    ) + "\n[stages.fails]\nplugin = \"misbehaving\"\nfrom = \"vision\"\non_error = \"skip\"\n\
           restart = { max = 1000, backoff = \"1ms\" }\nconfig = { how = \"fail\" }\n";
    let page = page(folder.path(), &pipeline(folder.path(), &text));
    let mut browser = Browser::start();
    browser.display(PHONE);
    open(&mut browser, &page);
    let page_text = browser.value("document.body.innerText");
    let page_text = page_text.as_str().unwrap();
    assert!(
        page_text.contains("from frames.out to vision.in"),
        "{page_text}"
    );
    assert!(!page_text.contains("Nothing went wrong."), "{page_text}");
    assert!(
        browser
            .value("document.querySelectorAll('.problems li').length")
            .as_u64()
            > Some(2)
    );
    let restarts =
        "[...document.querySelectorAll('[data-name=Restarts]')].map((it) => it.innerText)";
    let restarts = browser.value(restarts);
    let restarts = restarts.as_array().unwrap();
    assert_eq!(restarts[..5], ["0"; 5], "{restarts:?}");
    assert!(restarts[5].as_str().unwrap().parse::<u64>().unwrap() > 2);
    assert_eq!(
        browser.value("document.documentElement.scrollWidth"),
        PHONE.width
    );
    browser.value("[...document.querySelectorAll('.problems button')].at(-1).click()");
    browser.wait_for("document.querySelector('.screen canvas').dataset.frame > '0'");
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn half_a_minute_at_1080p_stays_small() {
    const FRAMES: u64 = 60;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.mcap");
    let mut writer = writer(&path, &["screen"]);
    let topic = Topic::new("screen", "out");
    let (width, height) = (1920_u32, 1080_u32);
    for number in 1..=FRAMES {
        let at = number as i64 * 30_000_000_000 / FRAMES as i64;
        writer
            .message(
                &topic,
                "flowpipe.frame/1",
                "{\"source\":\"a\"}",
                number,
                (at, at),
            )
            .unwrap();
        // What encoders like least: every pixel differs from its neighbours, and from the picture before.
        let mut state = number;
        let noise = (0..width * height).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        });
        let pixels = Pixels {
            encoding: Encoding::Grey8,
            width,
            height,
            stride: width,
            bytes: &noise.collect::<Vec<u8>>(),
        };
        writer.pixels(&topic, number, &pixels, (at, at)).unwrap();
    }
    writer.finish().unwrap();
    let page = report(&path);
    let bytes = std::fs::metadata(&page).unwrap().len();
    assert!(bytes < 20_000_000, "{bytes}");
    assert!(bytes > 5_000_000, "the room is used: {bytes}");
    let mut browser = Browser::start();
    browser.display(DESK);
    open(&mut browser, &page);
    browser.wait_for(&format!("{} > 5", colours(".screen canvas")));
}

/// Nobody named the page: whoever can write to the folder of the recording may have laid a link there.
#[cfg(unix)]
#[test]
fn a_page_that_nobody_named_leads_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let recording = folder.path().join("a.mcap");
    writer(&recording, &["vision"]).finish().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("theirs"), "theirs").unwrap();
    let page = at("a.html");
    for to in ["theirs", "none"] {
        std::os::unix::fs::symlink(to, &page).unwrap();
        let ran = run(&["report", text(&recording)]).expect(2);
        assert!(ran.stderr.contains("this is a symbolic link"), "{ran:?}");
        assert!(!at("none").exists());
        // Whoever names it means what it leads to.
        run(&["report", text(&recording), "--output", text(&page)]).expect(0);
        assert!(std::fs::read_to_string(at(to)).unwrap().contains("<html"));
        std::fs::remove_file(&page).unwrap();
    }
}

#[test]
fn invalid_files_and_arguments_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(&["report"]).expect(2);
    let ran = run(&["report", text(&folder.join("none.mcap"))]).expect(2);
    assert!(ran.stderr.contains("none.mcap"), "{}", ran.stderr);
    let malformed = folder.join("malformed.mcap");
    std::fs::write(&malformed, "this is no recording").unwrap();
    let ran = run(&["report", text(&malformed)]).expect(65);
    assert!(ran.stderr.contains("is no recording"), "{}", ran.stderr);

    let recording = folder.join("a.html");
    writer(&recording, &[]).finish().unwrap();
    let before = std::fs::read(&recording).unwrap();
    let ran = run(&["report", text(&recording)]).expect(2);
    assert!(
        ran.stderr.contains("this command reads the same file"),
        "{}",
        ran.stderr
    );
    run(&["report", text(&recording), "-o", text(&recording)]).expect(2);
    assert_eq!(std::fs::read(&recording).unwrap(), before);
    run(&["report", text(&recording), "-o", "/dev/null/a.html"]).expect(2);
    let ran = run(&["report", text(&recording), "-o", "-"]).expect(0);
    assert!(ran.stdout.starts_with("<!DOCTYPE html>") && ran.stderr.is_empty());
}
