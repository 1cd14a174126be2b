//! `flowpipe bench [FILE...]`: measures solvers on the same boards, by size class.

use flowpipe_terminal::counted;
use std::io::Write as _;
use std::path::PathBuf;

use flowpipe_host::catalogue::Catalogue;

use crate::args::{Bench, Global};
use crate::batch::worker_pool::WorkerPool;
use crate::bench::corpus::{self, Corpus};
use crate::bench::measure::{measure, measure_on};
use crate::bench::row::BenchRow;
use crate::bench::{chart, table};
use crate::exit::{Ended, Failure};
use crate::one_off::{FlagValue, OneOffError};
use crate::show::progress::ProgressLine;
use crate::solver_run::SolverOptions;
use crate::{outputs, pipeline_file, plugins, puzzle_file};

/// The solver that the others are compared with, if it is measured.
const FIRST: &str = "solver-search";

pub fn run(global: &Global, args: &Bench) -> Result<Ended, Failure> {
    let corpus = if args.files.is_empty() {
        corpus::generated(args.seed, args.most)?
    } else {
        read(&args.files, args.most)?
    };
    let catalogue = plugins::load(global);
    let mut rows: Vec<BenchRow> = Vec::new();
    let solvers = solvers(args, &catalogue);
    if let Some((other, _)) = args.config.iter().find(|(of, _)| !solvers.contains(of)) {
        return Err(Failure::Usage(format!(
            "--config: {other} is not measured; the solvers are {}",
            solvers.join(", ")
        )));
    }
    let pool = args
        .machines
        .as_deref()
        .map(|it| WorkerPool::open(it, global));
    let mut pool = pool.transpose()?;
    let line = ProgressLine::new();
    for solver in solvers {
        let pool = pool.as_mut();
        match measure_solver(&solver, &corpus, args, &catalogue, pool, &line, &mut rows) {
            Ok(()) => {}
            Err(OneOffError::Config(errors)) => {
                line.end();
                pipeline_file::show(errors, global);
                return Ok(Ended::BadConfig);
            }
            Err(OneOffError::Start(failure) | OneOffError::Failure(failure)) => {
                return Err(failure);
            }
        }
    }
    line.end();
    rows.sort_by_key(|row| corpus.keys().position(|class| class.name == row.class));

    if let Some(path) = &args.svg {
        let picture = chart::svg(&rows).ok_or_else(|| {
            Failure::Run(
                "there is nothing to draw: no solver solved most boards of any size".to_owned(),
            )
        })?;
        outputs::write(path, &picture)?;
    }
    let mut out = flowpipe_terminal::stdout();
    if args.json {
        for row in &rows {
            writeln!(out, "{}", serde_json::to_string(row).unwrap_or_default())?;
        }
    } else if args.markdown {
        write!(out, "{}", table::markdown(&rows))?;
    } else {
        write!(out, "{}", table::text(&rows))?;
    }
    Ok(match rows.iter().any(|row| row.failed > 0) {
        true => Ended::StageFailed,
        false => Ended::Done,
    })
}

/// Measures one solver on all classes. Skips the larger sizes after a size without a solved board.
fn measure_solver(
    solver: &str,
    corpus: &Corpus,
    args: &Bench,
    catalogue: &Catalogue,
    mut pool: Option<&mut WorkerPool>,
    line: &ProgressLine,
    rows: &mut Vec<BenchRow>,
) -> Result<(), OneOffError> {
    let options = SolverOptions {
        solver: FlagValue::new("--solver", solver),
        config: config(args, solver).map(|value| FlagValue {
            value,
            flag: format!(
                "--config {}",
                shell_words::quote(&format!("{solver}={value}"))
            ),
        }),
        planner: None,
        timeout: Some(FlagValue::new("--timeout", &args.timeout)),
        jobs: 1,
    };
    let mut too_large = false;
    for (class, boards) in corpus {
        if class.is_size() && too_large {
            continue;
        }
        line.set(&format!(
            "{solver} on {} of {}",
            counted(boards.len(), "board"),
            class.name
        ));
        let (samples, machines) = match pool.as_deref_mut() {
            Some(pool) => measure_on(pool, boards, &options, catalogue, |text| {
                // What can't be printed there can't be reported there.
                let _ = line.above(|| writeln!(flowpipe_terminal::stderr(), "{text}"));
            })?,
            None => (measure(boards, &options, catalogue)?, Vec::new()),
        };
        let first = rows
            .iter()
            .find(|row| row.solver == FIRST && row.class == class.name);
        let row = BenchRow::new(solver, class, boards.len(), &samples, first).on(machines);
        too_large = too_large || class.is_size() && row.solved == 0;
        rows.push(row);
    }
    Ok(())
}

/// The requested solvers, or all solvers, except those that need a config and have none. [`FIRST`] comes first.
fn solvers(args: &Bench, catalogue: &Catalogue) -> Vec<String> {
    let mut solvers: Vec<String> = if args.solver.is_empty() {
        let stages = catalogue.stages().iter().map(|found| &found.manifest);
        let needs = |config: &serde_json::Value| config.pointer("/required/0").is_some();
        stages
            .filter(|it| it.role == "solver")
            .filter(|it| !needs(&it.config) || config(args, &it.name).is_some())
            .map(|it| it.name.clone())
            .collect()
    } else {
        args.solver.clone()
    };
    solvers.sort_by_key(|name| name != FIRST);
    solvers
}

/// The config of a solver on the command line.
fn config<'a>(args: &'a Bench, solver: &str) -> Option<&'a str> {
    let mut given = args.config.iter().rev();
    let (_, config) = given.find(|(name, _)| name == solver)?;
    Some(config)
}

fn read(files: &[PathBuf], most: usize) -> Result<Corpus, Failure> {
    let texts = files.iter().map(|file| puzzle_file::read_path(file));
    let texts: Vec<String> = texts.collect::<Result<_, _>>()?;
    corpus::of(&texts, most).map_err(|(place, error)| {
        let path = files.get(place).map(|it| it.display().to_string());
        let path = path.unwrap_or_default();
        match error {
            None => puzzle_file::no_puzzles(&path),
            Some(error) => Failure::BadText(format!("{path}: {error}")),
        }
    })
}
