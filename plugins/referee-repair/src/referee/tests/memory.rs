//! The state that a referee transfers to its successor.

use super::*;

/// What older versions called `reported`.
const OLDER: &str = "told"; // key of older files

/// Another referee, with another config, in this one's place.
fn swapped(table: Table, config: Config) -> Table {
    swapped_by(table, config, false)
}

/// The same, from a state with the key that older versions wrote.
fn swapped_by(table: Table, config: Config, uses_older_key: bool) -> Table {
    let mut memory = serde_json::to_value(Memory::of(&table.referee)).unwrap();
    if uses_older_key {
        let reported = memory.as_object_mut().unwrap().remove("reported").unwrap();
        memory[OLDER] = reported;
    }
    let mut referee = Referee::new(config, Calibration::new(Games::none()), false);
    let memory: Memory = serde_json::from_value(memory).unwrap();
    memory.restore(&mut referee);
    Table { referee, ..table }
}

#[test]
fn another_in_its_place_plays_no_board_again_and_goes_on_counting() {
    let config = || Config {
        boards: Some(2),
        ..Config::default()
    };
    // At each point of a board another takes over.
    let mut table = Table::new(Config::default());
    assert_eq!(table.see(1, empty(2)), ["ask"]);
    table = swapped(table, config());
    assert_eq!(table.see(1, empty(2)), [""; 0], "it is asked for");
    assert_eq!(table.answer(1, 2), ["play"]);
    table = swapped(table, config());
    assert_eq!(table.see(10, empty(2)), [""; 0], "it is with the planner");
    assert_eq!(table.played(10, 2), [""; 0]);
    table = swapped(table, config());
    let solved = sighting(2, &[0, 1], BoardState::Solved);
    assert_eq!(table.see(500, solved.clone()), ["solved"]);
    table = swapped_by(table, config(), true);
    assert_eq!(table.see(20, solved), [""; 0], "it is reported");
    assert_eq!(table.see(20, empty(3)), ["ask"]);
    assert_eq!(table.answer(1, 3), ["play"]);
    table.played(10, 3);
    table = swapped(table, config());
    let solved = sighting(3, &[0, 1, 2], BoardState::Solved);
    assert_eq!(
        table.see(500, solved),
        ["solved", "end"],
        "the second of two"
    );
}
