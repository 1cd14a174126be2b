//! What is made keeps the rules and has one solution, by the search and by plain enumeration.

#![allow(
    clippy::expect_used,
    reason = "a test helper that can't go on should panic"
)]
use flowpipe_generate::{
    Difficulty, GenerateError, Generated, Generator, Kind, Random, Recipe, Size, usual_flows,
};
use flowpipe_puzzle::{Flow, Lattice, Node, Puzzle, Solution, check};
use flowpipe_search::{Ended, Limits, Search};

/// Plain boards, those of each kind, and two mixtures.
fn kinds() -> Vec<Vec<Kind>> {
    let mut kinds = vec![vec![]];
    kinds.extend(Kind::ALL.map(|kind| vec![kind]));
    kinds.push(vec![Kind::Walls, Kind::Holes]);
    kinds.push(vec![Kind::Hexes, Kind::Warps]);
    kinds
}

fn recipe(cols: usize, rows: usize, kinds: &[Kind]) -> Recipe {
    let size = Size::new(cols, rows).expect("a size");
    Recipe::new(size, kinds, None).expect("a recipe")
}

fn assert_fit(generated: &Generated, recipe: &Recipe) {
    let Generated {
        puzzle, solution, ..
    } = generated;
    let board = puzzle.board();
    let made = board.description();
    assert_eq!(check(puzzle, solution), Ok(()));
    assert_eq!(solution.clone().canonical(), *solution);
    assert_eq!(
        (made.cols, made.rows),
        (recipe.size().cols(), recipe.size().rows())
    );
    for flow in &solution.flows {
        assert!(flow.cells.len() >= 3, "a trivial pair");
        assert!(!board.touch(flow.cells[0], flow.cells[flow.cells.len() - 1]));
    }
    assert!(usual_flows(board).contains(&solution.flows.len()));
    let has = |kind| recipe.kinds().contains(&kind);
    assert_eq!(has(Kind::Bridges), !made.bridges.is_empty());
    assert_eq!(has(Kind::Hexes), made.lattice == Lattice::Hex);
    assert_eq!(has(Kind::Warps), made.warps);
    assert_eq!(has(Kind::Holes), !made.holes.is_empty());
    // On boards that warp, walls close some of the edges.
    assert!(!made.walls.is_empty() || !has(Kind::Walls));
    assert!(made.walls.is_empty() || has(Kind::Walls) || has(Kind::Warps));
}

#[test]
fn every_kind_and_size_keeps_the_rules_and_has_one_solution() {
    let mut generator = Generator::new();
    let mut search = Search::new();
    for kinds in kinds() {
        for (cols, rows) in [(6, 5), (8, 8), (10, 12)] {
            let recipe = recipe(cols, rows, &kinds);
            for seed in 0..6 {
                let generated = generator.generate(&recipe, seed).expect("a puzzle");
                assert_fit(&generated, &recipe);
                let found = search.run(&generated.puzzle, &Limits::default(), &|| false);
                assert_eq!((found.ended, found.count), (Ended::Complete, 1));
                assert_eq!(found.solutions, [generated.solution]);
                assert_eq!(found.nodes, generated.rating.branchings);
            }
        }
    }
}

#[test]
fn plain_enumeration_finds_the_one_solution_of_small_boards() {
    let mut generator = Generator::new();
    for kinds in kinds() {
        let recipe = recipe(4, 5, &kinds);
        for seed in 0..25 {
            let generated = generator.generate(&recipe, seed).expect("a puzzle");
            assert_fit(&generated, &recipe);
            assert_eq!(
                solutions(&generated.puzzle),
                [generated.solution],
                "{kinds:?}, seed {seed}"
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_puzzles_whatever_was_made_before() {
    let recipe = recipe(7, 7, &[Kind::Bridges]);
    let mut used = Generator::new();
    let all: Vec<Generated> = (0..10)
        .map(|place| {
            let seed = Random::seed_of(5, place);
            used.generate(&recipe, seed).expect("a puzzle")
        })
        .collect();
    for place in (0..all.len()).rev() {
        let again = Generator::new().generate(&recipe, Random::seed_of(5, place as u64));
        assert_eq!(again.as_ref(), Ok(&all[place]));
    }
    assert!((1..all.len()).all(|at| all[at].puzzle != all[at - 1].puzzle));
}

#[test]
fn difficulty_is_as_asked_for() {
    let mut generator = Generator::new();
    for difficulty in [Difficulty::Easy, Difficulty::Medium, Difficulty::Hard] {
        let size = Size::new(9, 9).expect("a size");
        let recipe = Recipe::new(size, &[], Some(difficulty)).expect("a recipe");
        for seed in 0..3 {
            let generated = generator.generate(&recipe, seed).expect("a puzzle");
            assert_eq!(generated.rating.difficulty(), difficulty);
            assert_fit(&generated, &recipe);
        }
    }
}

#[test]
fn large_boards_come_out_too() {
    let mut generator = Generator::new();
    for (cols, rows) in [(3, 3), (3, 60), (15, 18), (40, 40)] {
        let recipe = recipe(cols, rows, &[]);
        let generated = generator.generate(&recipe, 1).expect("a puzzle");
        assert_fit(&generated, &recipe);
    }
}

#[test]
fn what_cannot_be_is_reported() {
    let board = flowpipe_puzzle::Board::rectangle(1, 2).expect("a board");
    let error = Generator::new().on_board(&board, 5..=5, 0);
    assert_eq!(
        error.expect_err("two cells hold no five flows").to_string(),
        "5 flows of 3 cells or more do not fit on a board of 2 cells"
    );
    // No tiling of 3x3 needs a trial.
    let size = Size::new(3, 3).expect("a size");
    let recipe = Recipe::new(size, &[], Some(Difficulty::Hard)).expect("a recipe");
    let error = Generator::new().generate(&recipe, 0).expect_err("none");
    assert!(matches!(error, GenerateError::NoneOfRecipe { .. }));
    assert!(
        error
            .to_string()
            .starts_with("no hard puzzle of 3x3 was found in"),
        "{error}"
    );
}

/// Every solution, by trying all paths of one colour after the other.
fn solutions(puzzle: &Puzzle) -> Vec<Solution> {
    let mut all = Vec::new();
    let mut enumeration = Enumeration {
        puzzle,
        taken: vec![false; puzzle.board().graph().len()],
        flows: Vec::new(),
        all: &mut all,
    };
    enumeration.next_colour();
    all
}

struct Enumeration<'a> {
    puzzle: &'a Puzzle,
    /// The nodes that earlier colours and the path so far pass.
    taken: Vec<bool>,
    flows: Vec<Flow>,
    all: &'a mut Vec<Solution>,
}

impl Enumeration<'_> {
    fn next_colour(&mut self) {
        let colours = self.puzzle.colours();
        let Some(&colour) = colours.get(self.flows.len()) else {
            let flows = self.flows.clone();
            let solution = Solution { flows }.canonical();
            if check(self.puzzle, &solution).is_ok() {
                self.all.push(solution);
            }
            return;
        };
        let mut ends = self.puzzle.terminals().iter();
        let start = ends.find(|end| end.colour == colour).expect("a terminal");
        let node = self.puzzle.board().graph().nodes_of(start.cell)[0];
        let cells = Vec::new();
        self.flows.push(Flow { colour, cells });
        self.extend(node, &mut Vec::new());
        self.flows.pop();
    }

    fn extend(&mut self, node: Node, path: &mut Vec<Node>) {
        let graph = self.puzzle.board().graph();
        let cell = graph.cell_of(node);
        let touches = graph
            .links(node)
            .iter()
            .any(|link| path.contains(&link.node) && path.last() != Some(&link.node));
        let place = self.flows.len() - 1;
        let colour = self.flows[place].colour;
        let foreign = self.puzzle.terminal_at(cell).is_some_and(|it| it != colour);
        if self.taken[node] || foreign || touches {
            return;
        }
        self.taken[node] = true;
        path.push(node);
        self.flows[place].cells.push(cell);
        if path.len() > 1 && self.puzzle.terminal_at(cell) == Some(colour) {
            self.next_colour();
        } else {
            for link in graph.links(node) {
                self.extend(link.node, path);
            }
        }
        self.flows[place].cells.pop();
        path.pop();
        self.taken[node] = false;
    }
}

/// `cargo test --release -p flowpipe-generate -- --ignored --nocapture`: how hard what is made is.
#[test]
#[ignore = "prints statistics, and takes a minute"]
fn statistics() {
    let mut generator = Generator::new();
    for kinds in kinds() {
        for (cols, rows, count) in [(6, 5, 1000), (10, 10, 1000), (14, 18, 200), (20, 20, 50)] {
            let recipe = recipe(cols, rows, &kinds);
            let mut grades = [0; 3];
            let (mut flows, mut steps) = (0, 0.0);
            for seed in 0..count {
                let generated = generator.generate(&recipe, seed).expect("a puzzle");
                grades[generated.rating.difficulty() as usize] += 1;
                flows += generated.solution.flows.len();
                steps += generated.rating.steps_per_cell;
            }
            let mean = |sum: f64| sum / count as f64;
            println!(
                "{kinds:?} {cols}x{rows}: easy, medium, hard {grades:?} of {count}; {:.1} flows, {:.1} steps a cell",
                mean(flows as f64),
                mean(steps)
            );
        }
    }
}
