//! The five boards of the notebook, its figures and ours.

use std::fmt::Write as _;

use flowpipe_plugin::puzzle::message::Verdict;
use flowpipe_plugin::puzzle::{Board, Puzzle, Rules, Terminal};

use super::{ask, note, paths};
use crate::config::{Choice, Config, GoalText, Heuristic, Ties};

/// A board of the notebook: its colours in the notebook's order, which decides between colours that
/// are equally close; the board; its goal.
struct Given {
    colours: &'static str,
    board: &'static str,
    goal: &'static str,
    /// By heuristic (Manhattan, misplaced, trapped), the expansions and the frontier that the notebook
    /// reports, where it does.
    figures: [Option<(u64, usize)>; 3],
}

const GIVEN: [Given; 5] = [
    Given {
        colours: "ABCDE",
        board: ".ABC. ...D. ..D.. A..E. B.EC.",
        goal: "AABCC ABBDC ABDDC ABEEC BBECC",
        figures: [Some((103, 19)), Some((56, 26)), Some((328, 0))],
    },
    Given {
        colours: "OGBYR",
        board: ".....O .G...Y .R.R.. ...... ..B.B. O.GY..",
        goal: "OOOOOO OGGGGY ORRRGY OGGGGY OGBBBY OGGYYY",
        figures: [Some((1426, 479)), Some((55, 38)), Some((16_952, 6))],
    },
    Given {
        colours: "GPBORYT",
        board: "....... .G...Y. ..Y..BR ......P .....OT PRGB... .....OT",
        goal: "RRRRRRR RGYYYYR RGYBBBR RGGBPPP RRGBPOT PRGBPOT PPPPPOT",
        figures: [Some((32_164, 7524)), Some((331, 254)), Some((319_310, 1))],
    },
    Given {
        colours: "GPOTBRY",
        board: "G.....PG ....O... ....T... ..R.B... O...Y... Y.R..... ..TB..P. ........",
        goal: "GGGGGGPG OOOOOGPG OTTTTGPG OTRBBGPG OTRBYGPG YTRBYGPG YTTBYGPG YYYYYGGG",
        figures: [None, Some((1510, 1206)), None],
    },
    Given {
        colours: "PMNRBGYOT",
        board: "........T ....N.R.. ......P.. ...P..... ...BGY... .....M.M. .....O... .NRB..G.. ......YOT",
        goal: "YYYYYYYYT YNNNNRRYT YNRRRRPYT YNRPPPPYT YNRBGYYYT YNRBGMMMT YNRBGOOOT YNRBGGGOT YYYYYYYOT",
        figures: [None, Some((432, 252)), None],
    },
];

const HEURISTICS: [Heuristic; 3] = [
    Heuristic::Manhattan,
    Heuristic::MisplacedFirst,
    Heuristic::Trapped,
];

impl Given {
    fn side(&self) -> usize {
        self.board.split(' ').count()
    }

    fn puzzle(&self) -> Puzzle {
        let letters = self.board.split(' ').collect::<String>();
        let terminals = letters.chars().enumerate().filter_map(|(cell, letter)| {
            let colour = u16::try_from(self.colours.find(letter)?).unwrap();
            Some(Terminal { cell, colour })
        });
        let board = Board::rectangle(self.side(), self.side()).unwrap();
        Puzzle::new(board, terminals.collect(), Rules::default()).unwrap()
    }

    /// The notebook's goal, as the config takes it: found by our own search, and the same.
    fn goal(&self) -> GoalText {
        let Verdict::Solution { solution, .. } = ask(&self.puzzle(), &Config::default()).0 else {
            panic!("no solution");
        };
        let letters: Vec<char> = self.goal.split(' ').collect::<String>().chars().collect();
        let mut covered = 0;
        for flow in &solution.flows {
            let letter = self.colours.chars().nth(usize::from(flow.colour));
            for &cell in &flow.cells {
                assert_eq!(Some(letters[cell]), letter);
                covered += 1;
            }
        }
        assert_eq!(covered, letters.len());
        paths(&solution)
    }

    fn effort(&self, config: &Config) -> (u64, usize) {
        let (verdict, effort) = ask(&self.puzzle(), config);
        assert!(matches!(verdict, Verdict::Solution { .. }), "{verdict:?}");
        (effort.nodes.unwrap(), effort.figures["frontier"] as usize)
    }
}

fn as_the_notebook(heuristic: Heuristic, goal: GoalText) -> Config {
    Config {
        heuristic,
        choice: Choice::Closest,
        prune: false,
        ties: Ties::Heap,
        goal: Some(goal),
        ..Config::default()
    }
}

#[test]
fn expands_the_very_states_that_the_notebook_does() {
    let mut compared = 0;
    for given in &GIVEN {
        let goal = given.goal();
        for (heuristic, figures) in HEURISTICS.into_iter().zip(given.figures) {
            let Some(theirs) = figures else { continue };
            let ours = given.effort(&as_the_notebook(heuristic, goal.clone()));
            let side = given.side();
            note!(
                "{side}x{side} {heuristic:?}: {} expansions, frontier {}, as in the notebook",
                ours.0,
                ours.1
            );
            assert_eq!(ours, theirs, "{side}x{side} {heuristic:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, 11);
}

/// Everything that is better than the notebook, by how much.
#[test]
fn expansions_on_the_boards_of_the_notebook() {
    let mut table = String::new();
    writeln!(
        table,
        "expansions / frontier at the end, pruned, deepest first"
    )
    .unwrap();
    write!(table, "{:14} {:>16}", "heuristic", "choice").unwrap();
    for given in &GIVEN {
        write!(table, " {:>13}", format!("{0}x{0}", given.side())).unwrap();
    }
    for heuristic in [
        Heuristic::Remaining,
        Heuristic::Manhattan,
        Heuristic::Misplaced,
        Heuristic::MisplacedFirst,
        Heuristic::Trapped,
    ] {
        for choice in [Choice::MostConstrained, Choice::Closest] {
            write!(
                table,
                "\n{:14} {:>16}",
                format!("{heuristic:?}"),
                format!("{choice:?}")
            )
            .unwrap();
            for given in &GIVEN {
                let config = Config {
                    heuristic,
                    choice,
                    goal: Some(given.goal()),
                    ..Config::default()
                };
                let (expansions, frontier) = given.effort(&config);
                write!(table, " {:>13}", format!("{expansions} / {frontier}")).unwrap();
            }
        }
    }
    note!("{table}");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(true);
    settings.bind(|| insta::assert_snapshot!("expansions", table));
}

/// The notebook's eleven runs, and the same boards in our own way.
#[test]
#[ignore = "prints times: run it by hand in a release build"]
fn print_times() {
    let time = |given: &Given, config: &Config| {
        let begin = std::time::Instant::now();
        let (expansions, frontier) = given.effort(config);
        let milliseconds = begin.elapsed().as_secs_f64() * 1e3;
        format!("{expansions} expansions, frontier {frontier}, {milliseconds:.3} ms")
    };
    for given in &GIVEN {
        let (goal, side) = (given.goal(), given.side());
        for (heuristic, figures) in HEURISTICS.into_iter().zip(given.figures) {
            if figures.is_some() {
                let config = as_the_notebook(heuristic, goal.clone());
                note!(
                    "{side}x{side} {heuristic:?} as the notebook: {}",
                    time(given, &config)
                );
            }
        }
        note!(
            "{side}x{side} our own way: {}",
            time(given, &Config::default())
        );
    }
}
