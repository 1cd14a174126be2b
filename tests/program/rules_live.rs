//! A game whose boards have solutions by looser rules only: the live pipeline finds the rules, keeps them, and begins
//! with them the next time.

use std::path::Path;

use flowpipe_tests::{Ran, run};
use serde_json::Value;

use crate::live_play::{TITLE, Table, ready};

/// Boards without a solution by Flow Free's rules. The first and the last two have one in which a flow touches itself,
/// the others only one that leaves cells empty.
const BOARDS: [&str; 6] = [
    "D....\n....C\n.DC.B\n...A.\nAB...",
    ".BB..\n.A...\n...C.\n.A...\nC....",
    ".CA..\n..A..\n...B.\n..BC.\n.....",
    ".C...\n..A..\n.....\n...B.\nAC.B.",
    "A..AB\n.....\n.....\n..CB.\n....C",
    ".....\n..C..\nB....\n.BA..\nC...A",
];
/// What the log says where a board is played by rules that are not known of the game.
const FOUND: &str = "have no solution by Flow Free's rules";

/// Captures of a board that is played by unknown rules agree for at least so long (`ENOUGH` of vision-opencv).
const UNKNOWN_LASTS_NS: i64 = 400_000_000;

/// Plays some boards, by what is kept of games in a file.
fn play(table: &Table, boards: usize, games: &Path, recording: &str) -> Ran {
    let before = table.count("solved");
    let referee = format!("boards = {boards}, games = '{}'", games.display());
    // Frames of a busy machine are late.
    let configs = [
        ("referee", referee.as_str()),
        ("mouse", "max_age_ms = 3000"),
    ];
    let player = table.play(
        &ready("live.toml", &configs),
        &["-v", "--record", recording],
    );
    let ran = player.ended().expect(0);
    // By the game's own log.
    table.wait_for("solved", before + boards);
    ran
}

/// For each board that was refused because it has no solution: how long it took until it was read, in nanoseconds.
fn waits(recording: &str) -> Vec<i64> {
    let messages = run(&["messages", recording, "--stage", "vision"]).expect(0);
    let (mut waits, mut since) = (Vec::new(), None);
    for line in messages.stdout.lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let (at, reading) = (
            message["at_ns"].as_i64().unwrap(),
            &message["body"]["reading"],
        );
        let reason = reading["reason"].as_str().unwrap_or_default();
        if reason.contains("without a solution") {
            since.get_or_insert(at);
        } else if let Some(since) = since.take()
            && reading["status"] == "board"
        {
            waits.push(at - since);
        }
    }
    waits
}

#[test]
fn a_game_of_looser_rules_is_known_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let path = |name: &str| file(name).display().to_string();
    let boards = BOARDS.map(|board| format!("rules: empty, touch\n{board}\n"));
    std::fs::write(file("boards.txt"), boards.join("\n")).unwrap();
    let games = file("games.toml");
    let table = Table::set(&[&path("boards.txt")]);

    let first = play(&table, 3, &games, &path("first.mcap"));
    assert!(first.stderr.contains(FOUND), "{first:#?}");
    let kept = || {
        let text = std::fs::read_to_string(&games).unwrap();
        let kept: toml::Table = text.parse().unwrap();
        kept["games"][TITLE]["rules"].as_str().map(str::to_owned)
    };
    assert_eq!(kept().as_deref(), Some("empty, touch"), "{first:#?}");

    let second = play(&table, 2, &games, &path("second.mcap"));
    let begins = format!("{TITLE}: begins with rules \"empty, touch\", found earlier");
    assert_eq!(second.stderr.matches(&begins).count(), 1, "{second:#?}");
    assert!(!second.stderr.contains(FOUND), "{second:#?}");
    assert_eq!(kept().as_deref(), Some("empty, touch"), "{second:#?}");
    let (unknown, known) = (waits(&path("first.mcap")), waits(&path("second.mcap")));
    println!("until a board is read, in ns: {unknown:?}, then {known:?}");
    assert!(
        known.iter().min() < Some(&UNKNOWN_LASTS_NS) && !known.is_empty(),
        "{unknown:?}, {known:?}"
    );
    // What the referee knew is in the recording: the file plays no part in a replay.
    std::fs::remove_file(&games).unwrap();
    let again = run(&["replay", &path("second.mcap"), "--verify", "--json"]).expect(0);
    let differences = &again.json()["verdict"]["differences"];
    assert_eq!(differences, &Value::Array(Vec::new()));

    let nonsense = format!("[games.\"{TITLE}\"]\nrules = \"sloppy\"\n");
    std::fs::write(&games, &nonsense).unwrap();
    let third = play(&table, 1, &games, &path("third.mcap"));
    for part in [&path("games.toml"), "line 2", "\"strict\"", "sloppy"] {
        assert!(third.stderr.contains(part), "{part}: {third:#?}");
    }
    assert_eq!(std::fs::read_to_string(&games).unwrap(), nonsense);
}
