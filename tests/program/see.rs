//! `flowpipe see`: its output, its options, its exit codes.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use flowpipe_tests::{Ran, project, run};
use serde_json::Value;

const BOARD: &str = "pipelines/frames/phone-5x5-01.png";
const OTHER: &str = "pipelines/frames/phone-8x8-05.png";

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Each line of JSON.
fn records(ran: &Ran) -> Vec<Value> {
    let lines = ran.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Letters by when they come first, so that grids can be compared whatever their letters are.
fn renamed(grid: &Value) -> Vec<String> {
    let mut names = HashMap::new();
    let rows = grid.as_array().unwrap().iter();
    rows.map(|row| {
        let letters = row.as_str().unwrap().chars();
        letters
            .map(|letter| match letter {
                '.' | '#' => letter,
                letter => {
                    let next = char::from_u32('a' as u32 + names.len() as u32).unwrap();
                    *names.entry(letter).or_insert(next)
                }
            })
            .collect()
    })
    .collect()
}

/// Width, height, and red, green and blue of each pixel.
fn picture(path: &Path) -> (u32, u32, Vec<[u8; 3]>) {
    let decoder = png::Decoder::new(BufReader::new(File::open(path).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let pixels = bytes.chunks_exact(info.color_type.samples());
    let pixels = pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    (info.width, info.height, pixels)
}

/// A picture of one shade, on which there is no board.
fn blank(path: &Path) {
    save(
        path,
        (400, 300),
        png::ColorType::Rgb,
        png::BitDepth::Eight,
        &[40; 400 * 300 * 3],
    );
}

/// Writes a PNG. Palettes are those of [`palette`].
fn save(
    path: &Path,
    (width, height): (u32, u32),
    kind: png::ColorType,
    depth: png::BitDepth,
    bytes: &[u8],
) {
    let mut encoder = png::Encoder::new(File::create(path).unwrap(), width, height);
    encoder.set_color(kind);
    encoder.set_depth(depth);
    if kind == png::ColorType::Indexed {
        encoder.set_palette(palette());
    }
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(bytes).unwrap();
}

/// Six levels of red, green and blue.
fn palette() -> Vec<u8> {
    let levels = |index: u8| [index / 36, index / 6 % 6, index % 6];
    (0..216)
        .flat_map(|index| levels(index).map(|level| 51 * level))
        .collect()
}

/// What each line of JSON holds, whatever became of the file.
const FIELDS: [&str; 10] = [
    "file",
    "status",
    "reason",
    "rows",
    "cols",
    "grid",
    "state",
    "board_quad",
    "confidence",
    "ms",
];

#[test]
fn a_board_as_text() {
    let ran = run(&["see", BOARD]).expect(0);
    let (board, table) = ran.stdout.split_once('┌').unwrap();
    // Without the time, and how sure it is.
    let text: Vec<&str> = board
        .lines()
        .filter_map(|line| line.split(" in ").next())
        .filter_map(|line| line.split(", confidence").next())
        .collect();
    snapshot("text", &text.join("\n"));
    assert!(
        board.contains("confidence 0.") && board.contains(" read in "),
        "{board}"
    );
    for row in ["│ step ", "│ terminals ", "│ in all "] {
        assert!(table.contains(row), "{row} in\n{table}");
    }
}

#[test]
fn the_frames_of_the_ready_pipelines_as_json() {
    let truth = std::fs::read_to_string(project().join("pipelines/frames/truth.jsonl")).unwrap();
    let truth: Vec<Value> = truth
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let files: Vec<String> = truth
        .iter()
        .map(|truth| format!("pipelines/frames/{}", truth["file"].as_str().unwrap()))
        .collect();
    let mut args = vec!["see", "--json"];
    args.extend(files.iter().map(String::as_str));
    let records = records(&run(&args).expect(0));
    assert_eq!(records.len(), truth.len());
    for ((record, truth), file) in records.iter().zip(&truth).zip(&files) {
        assert_eq!(record["file"], **file);
        assert_eq!(
            (&record["status"], &record["reason"]),
            (&"board".into(), &Value::Null)
        );
        for key in ["rows", "cols", "state"] {
            assert_eq!(record[key], truth[key], "{key} of {file}");
        }
        assert_eq!(renamed(&record["grid"]), renamed(&truth["grid"]), "{file}");
        let number = |value: &Value| value.as_f64().unwrap();
        let [x, y, width, height] = [0, 1, 2, 3].map(|side| number(&truth["board_xywh"][side]));
        let corners = [
            [x, y],
            [x + width, y],
            [x + width, y + height],
            [x, y + height],
        ];
        for (index, corner) in corners.iter().enumerate() {
            for axis in 0..2 {
                let off = number(&record["board_quad"][index][axis]) - corner[axis];
                assert!(off.abs() < 3.0, "corner {index} of {file} is off by {off}");
            }
        }
        assert!((0.0..=1.0).contains(&number(&record["confidence"])));
        let steps = record["steps"].as_object().unwrap().values();
        let steps: f64 = steps.map(number).sum();
        assert!(0.0 < steps && steps <= number(&record["ms"]), "{record}");
    }
}

#[test]
fn what_is_no_board_is_refused_with_step_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("blank.png");
    blank(&file);
    let (file, overlay) = (file.display().to_string(), folder.path().join("over.png"));
    let record = run(&["see", "--json", &file]).expect(4).json();
    assert_eq!(record["status"], "refused");
    assert!(
        record["step"].is_string() && record["reason"].is_string(),
        "{record}"
    );
    for key in ["rows", "cols", "grid", "state", "board_quad"] {
        assert_eq!(record.get(key), Some(&Value::Null), "{key}");
    }
    assert_eq!(record["confidence"], 0.0);
    let ran = run(&["see", &file, "--overlay", &overlay.display().to_string()]).expect(4);
    assert!(ran.stdout.contains("refused at step"), "{}", ran.stdout);
    let (width, height, pixels) = picture(&overlay);
    assert_eq!((width, height), (400, 300));
    assert!(
        pixels[..400 * 30].iter().any(|pixel| pixel[0] > 150),
        "the reason"
    );
    assert_eq!(pixels.last(), Some(&[40; 3]));
}

#[test]
fn what_was_made_out_is_drawn_over_the_picture() {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one.png").display().to_string();
    run(&["see", BOARD, "--overlay", &one]).expect(0);
    let before = picture(&project().join(BOARD));
    let after = picture(Path::new(&one));
    assert_eq!((before.0, before.1), (after.0, after.1));
    // The board's corners, as in pipelines/frames/truth.jsonl, and the picture's.
    let changed = |x: u32, y: u32| {
        let mut around = (y.saturating_sub(5)..(y + 5).min(before.1))
            .flat_map(|y| (x.saturating_sub(5)..(x + 5).min(before.0)).map(move |x| (x, y)));
        around.any(|(x, y)| {
            let place = (y * before.0 + x) as usize;
            before.2[place] != after.2[place]
        })
    };
    for (x, y) in [(2, 382), (718, 382), (718, 1098), (2, 1098)] {
        assert!(changed(x, y), "corner at {x}, {y}");
    }
    assert!(!changed(5, 5) && !changed(700, 1400));

    // Several: by their number, into a folder or beside each other.
    let into = format!("{}/over/", folder.path().display());
    run(&["see", BOARD, OTHER, "--overlay", &into]).expect(0);
    run(&["see", BOARD, OTHER, "--overlay", &one]).expect(0);
    for name in ["over/1.png", "over/2.png", "one-1.png", "one-2.png"] {
        assert_eq!(picture(&folder.path().join(name)).0, before.0, "{name}");
    }
}

#[test]
fn each_step_leaves_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let steps = folder.path().join("steps");
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    };
    run(&["see", BOARD, "--steps", &steps.display().to_string()]).expect(0);
    let one = names(&steps);
    assert!(one.len() >= 3 && one[0].starts_with("01-"), "{one:?}");
    for name in &one {
        assert_eq!(picture(&steps.join(name)).0, 720, "{name}");
    }
    let several = folder.path().join("several");
    run(&[
        "see",
        BOARD,
        OTHER,
        "--steps",
        &several.display().to_string(),
    ])
    .expect(0);
    assert_eq!(names(&several), ["1", "2"]);
    assert_eq!(names(&several.join("1")), one);
}

/// Pictures of steps have names that somebody else's files may have too: those of what is read, for one.
#[test]
fn pictures_of_steps_replace_no_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let board = folder.path().join("01-lines.png");
    std::fs::copy(project().join(BOARD), &board).unwrap();
    let before = std::fs::read(&board).unwrap();
    let steps = folder.path().display().to_string();
    let ran = run(&["see", &board.display().to_string(), "--steps", &steps]);
    assert_ne!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.stderr.contains("new or empty folder"), "{ran:#?}");
    assert_eq!(std::fs::read(&board).unwrap(), before);
}

#[test]
fn files_that_are_no_pictures_spoil_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("text.png"), "no picture").unwrap();
    let whole = std::fs::read(project().join(BOARD)).unwrap();
    std::fs::write(path("half.png"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(path("board.jpg"), &whole).unwrap();
    let files = [path("text.png"), path("half.png"), path("board.jpg")];
    let mut args = vec!["see", "--json", "--repeat", "2"];
    args.extend(files.iter().map(String::as_str));
    let ran = run(&args).expect(65);
    let found = records(&ran);
    let statuses: Vec<&Value> = found.iter().map(|record| &record["status"]).collect();
    assert_eq!(statuses, ["refused", "refused", "board"], "{ran:#?}");
    assert_eq!(found[0]["step"], "file");
    assert_eq!(found[0]["reason"], "this is no PNG or JPEG picture");
    for file in &files[..2] {
        assert!(
            ran.stderr.contains(&format!("flowpipe: {file}: ")),
            "{ran:#?}"
        );
    }

    let missing = path("missing.png");
    let folder = folder.path().display().to_string();
    let ran = run(&["see", "--json", &missing, &folder, &files[0], BOARD]).expect(2);
    let found = records(&ran);
    let statuses: Vec<&Value> = found.iter().map(|record| &record["status"]).collect();
    assert_eq!(statuses, ["refused", "refused", "refused", "board"]);
    assert!(
        ran.stderr.contains(&format!("{missing}: No such file")),
        "{ran:#?}"
    );
    let ran = run(&["see", &missing]).expect(2);
    assert_eq!(ran.stdout, "");
}

/// A board however its pixels are stored, and files of all kinds that are none.
#[test]
fn every_file_has_its_line_of_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (width, height, pixels) = picture(&project().join(BOARD));
    let size = (width, height);
    let bytes = |channels: &dyn Fn(&[u8; 3]) -> Vec<u8>| -> Vec<u8> {
        pixels.iter().flat_map(channels).collect()
    };
    use png::BitDepth::{Eight, Sixteen};
    use png::ColorType::{Grayscale, Indexed, Rgb, Rgba};
    let wide = bytes(&|rgb| rgb.iter().flat_map(|&value| [value, 0]).collect());
    save(&path("wide.png"), size, Rgb, Sixteen, &wide);
    let alpha = bytes(&|&[red, green, blue]| vec![red, green, blue, 255]);
    save(&path("alpha.png"), size, Rgba, Eight, &alpha);
    let level = |value: u8| value.saturating_add(25) / 51;
    let indexed = bytes(&|rgb| {
        let [red, green, blue] = rgb.map(level);
        vec![36 * red + 6 * green + blue]
    });
    save(&path("palette.png"), size, Indexed, Eight, &indexed);
    // Several paints are as bright as can be.
    let grey = bytes(&|rgb| rgb.iter().copied().max().into_iter().collect());
    save(&path("grey.png"), size, Grayscale, Eight, &grey);
    save(&path("dot.png"), (1, 1), Rgb, Eight, &[9; 3]);
    blank(&path("blank.png"));
    std::fs::write(path("nothing.png"), []).unwrap();
    let whole = std::fs::read(path("alpha.png")).unwrap();
    std::fs::write(path("half.png"), &whole[..whole.len() / 2]).unwrap();
    std::fs::create_dir(path("folder")).unwrap();

    // What becomes of each, the step that refuses it, and the exit code for it alone.
    let expected = [
        ("wide.png", "board", None, 0),
        ("alpha.png", "board", None, 0),
        ("palette.png", "board", None, 0),
        ("grey.png", "refused", Some("colours"), 4),
        ("dot.png", "refused", Some("find board"), 4),
        ("blank.png", "refused", Some("find board"), 4),
        ("nothing.png", "refused", Some("file"), 65),
        ("half.png", "refused", Some("file"), 65),
        ("folder", "refused", Some("file"), 2),
        ("missing.png", "refused", Some("file"), 2),
    ];
    let names = expected.map(|(name, ..)| path(name).display().to_string());
    let mut args = vec!["see", "--json"];
    args.extend(names.iter().map(String::as_str));
    let found = records(&run(&args).expect(2));
    assert_eq!(found.len(), expected.len());
    let truth = run(&["see", "--json", BOARD]).expect(0).json();
    for ((record, (name, status, step, code)), file) in found.iter().zip(expected).zip(&names) {
        assert_eq!(
            (&record["file"], &record["status"]),
            (&file.as_str().into(), &status.into())
        );
        for key in FIELDS {
            assert!(record.get(key).is_some(), "{key} of {name}: {record}");
        }
        assert_eq!(record.get("step").and_then(Value::as_str), step, "{record}");
        assert_eq!(record["reason"].is_null(), status == "board", "{record}");
        assert_eq!(record["grid"].is_null(), status == "refused", "{record}");
        if status == "board" {
            assert_eq!(renamed(&record["grid"]), renamed(&truth["grid"]), "{name}");
        }
        run(&["see", file]).expect(code);
    }
    let reason = found[3]["reason"].as_str().unwrap();
    assert!(reason.contains("terminals are all grey"), "{reason}");
}

#[test]
fn a_picture_is_read_as_if_it_was_the_first_however_often() {
    let record = run(&["see", "--json", "--repeat", "5", BOARD, BOARD]).expect(0);
    for record in records(&record) {
        let median = record["steps"].as_object().unwrap();
        let slow = record["steps_p95"].as_object().unwrap();
        // With state from the call before, most calls would run no step but a comparison.
        assert!(median["terminals"].as_f64().unwrap() > 0.0, "{record}");
        for (step, ms) in median {
            assert!(ms.as_f64() <= slow[step].as_f64(), "{step}");
        }
        assert!(record["ms"].as_f64() <= record["ms_p95"].as_f64());
    }
    let ran = run(&["see", "--repeat", "5", BOARD]).expect(0);
    assert!(ran.stdout.contains("of 5 calls"), "{}", ran.stdout);
}

#[test]
fn plugins_and_configs_that_cannot_be_used() {
    let config = |config: &str| run(&["see", BOARD, "--config", config]);
    config("{ min_cells = 6 }").expect(4);
    let ran = config("{ min_cels = 6 }").expect(78);
    assert!(
        ran.stderr.contains("min_cells"),
        "a suggestion: {}",
        ran.stderr
    );
    let ran = run(&["see", BOARD, "--plugin", "solver-search"]).expect(78);
    let words = "--plugin solver-search: its role is solver, and not vision";
    assert!(ran.stderr.contains(words), "{}", ran.stderr);
    let ran = config("min_cells = 6").expect(78);
    assert!(
        ran.stderr.contains("`config` must be a table"),
        "{}",
        ran.stderr
    );
    run(&["see", BOARD, "--plugin", "no-such"]).expect(78);
    run(&["see"]).expect(2);
    run(&["see", BOARD, "--repeat", "0"]).expect(2);
}

#[test]
fn errors_name_the_flag() {
    let refused = |args: &[&str], flag: &str| {
        let stderr = run(&[&["see", BOARD], args].concat()).expect(78).stderr;
        assert!(stderr.contains(flag), "{flag}: {stderr}");
        assert!(!stderr.contains("command line"), "{stderr}");
    };
    refused(&["--plugin", "vision-opnecv"], "--plugin vision-opnecv: ");
    let config = "{ min_cells = true }";
    refused(&["--config", config], "--config '{ min_cells = true }': ");
    refused(&["--config", "{ min_cells ="], "--config '{ min_cells =': ");
}

#[test]
fn the_vision_of_another_plugin() {
    let plugin = ["--plugin", "vision-contours", "--json"];
    let read = |options: &[&str]| records(&run(&[&["see", BOARD], options].concat()).expect(0));
    let (mine, other) = (read(&plugin), read(&["--json"]));
    assert_eq!(mine[0]["status"], "board", "{:#}", mine[0]);
    assert_eq!(renamed(&mine[0]["grid"]), renamed(&other[0]["grid"]));
    assert_eq!(mine[0]["state"], "empty");
}
