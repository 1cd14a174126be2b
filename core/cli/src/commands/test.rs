//! `flowpipe test FILE...`: runs the tests of pipeline files. Nothing touches a screen or a mouse.

use std::io::Write as _;
use std::sync::Arc;

use flowpipe_config::reader::pipeline_test::PipelineTest;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_terminal::{counted, escape, stdout};

use crate::args::{Global, RunTests};
use crate::exit::{Ended, Failure};
use crate::pipeline_file::{self, TestedFile};
use crate::pipeline_test::execution::Execution;
use crate::pipeline_test::printer::TestPrinter;
use crate::show::colour;
use crate::{outputs, plugins, signals};

/// The results of all tests.
#[derive(Default)]
struct TestTotals {
    passed: usize,
    failed: usize,
    left_out: usize,
}

pub fn run(global: &Global, args: &RunTests) -> Result<Ended, Failure> {
    signals::at_once();
    let catalogue = Arc::new(plugins::load(global));
    let mut totals = TestTotals::default();
    let mut ended = Ended::Done;
    for file in &args.files {
        let tested = pipeline_file::find(file)
            .and_then(|file| pipeline_file::read_tested(&file, &catalogue));
        match tested {
            Ok(Ok(file)) => test(&file, &catalogue, global, args, &mut totals)?,
            Ok(Err(errors)) => {
                pipeline_file::show(errors, global);
                ended = ended.or_worse(Ended::BadConfig);
            }
            // The other files are tested all the same.
            Err(failure) => {
                failure.show();
                ended = ended.or_worse(Ended::Unopened);
            }
        }
    }
    let TestTotals {
        passed,
        failed,
        left_out,
    } = totals;
    if failed > 0 {
        ended = ended.or_worse(Ended::TestFailed);
    }
    if passed + failed == 0 && left_out > 0 && ended == Ended::Done {
        let why = format!(
            "--filter: none of {} has such a name",
            counted(left_out, "test")
        );
        return Err(Failure::Usage(why));
    }
    if !args.json && (passed + failed > 0 || ended == Ended::Done) {
        let tests = counted(passed + failed, "test");
        let more = match left_out {
            0 => String::new(),
            left_out => format!(", {left_out} left out"),
        };
        writeln!(stdout(), "{tests}: {passed} passed, {failed} failed{more}")?;
    }
    // An abandoned plugin may still use its library.
    if let Ok(catalogue) = Arc::try_unwrap(catalogue) {
        catalogue.close();
    }
    Ok(ended)
}

/// Runs the tests of a file.
fn test(
    file: &TestedFile,
    catalogue: &Arc<Catalogue>,
    global: &Global,
    args: &RunTests,
    totals: &mut TestTotals,
) -> Result<(), Failure> {
    outputs::note_input(&file.path);
    let is_wanted = |test: &&PipelineTest| {
        let mut filters = args.filter.iter();
        args.filter.is_empty() || filters.any(|text| test.name.contains(text))
    };
    let wanted: Vec<_> = file.tests.iter().filter(is_wanted).collect();
    totals.left_out += file.tests.len() - wanted.len();
    let printer = TestPrinter {
        json: args.json,
        colours: colour::on_stdout(global),
    };
    let heading = match (file.tests.len(), wanted.len()) {
        (0, _) => "no tests".to_owned(),
        (_, wanted) => counted(wanted, "test"),
    };
    printer.heading(&mut stdout(), &file.path, &heading)?;
    let widths = wanted.iter().map(|it| escape(&it.name).chars().count());
    let width = widths.max().unwrap_or_default();
    for test in wanted {
        let execution = Execution {
            pipeline: test.pipeline(&file.pipeline),
            test: test.clone(),
            folder: file.folder.clone(),
            catalogue: catalogue.clone(),
        };
        let result = execution.run();
        match result.findings.is_empty() {
            true => totals.passed += 1,
            false => totals.failed += 1,
        }
        printer.result(&mut stdout(), &file.path, (&test.name, width), &result)?;
    }
    Ok(())
}
