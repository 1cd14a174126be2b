//! `flowpipe top [PID]`: watches a run.

use crate::args::{Global, Top};
use crate::exit::{Ended, Failure};

/// Where there are no Unix sockets.
#[cfg(not(unix))]
pub fn run(_: &Global, _: &Top) -> Result<Ended, Failure> {
    let why = "`flowpipe top` finds runs by Unix sockets, which this system does not have";
    Err(Failure::Run(why.to_owned()))
}

#[cfg(unix)]
pub fn run(global: &Global, args: &Top) -> Result<Ended, Failure> {
    if args.list {
        unix::list(args.json)
    } else if args.json || args.once {
        unix::print(args)
    } else {
        unix::show(global, args)
    }
}

#[cfg(unix)]
mod unix {
    use std::io::{IsTerminal as _, Write as _};
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use comfy_table::presets::UTF8_BORDERS_ONLY;
    use comfy_table::{CellAlignment, Table};
    use flowpipe_game::terminal::{Colours, TerminalScreen};
    use flowpipe_terminal::{eprintln, escape, stdout, stdout_is_terminal};

    use crate::args::{Global, Top};
    use crate::exit::{Ended, Failure};
    use crate::show::colour;
    use crate::signals;
    use crate::top::client;
    use crate::top::json_lines::{self, JsonLinesError};
    use crate::top::viewer::{Exit, Selection, watch};

    pub fn list(json: bool) -> Result<Ended, Failure> {
        let runs = client::all().map_err(|error| Failure::Run(error.to_string()))?;
        if json {
            for run in &runs {
                let line = serde_json::to_string(run).map_err(std::io::Error::from)?;
                writeln!(stdout(), "{line}")?;
            }
            return Ok(Ended::Done);
        }
        if runs.is_empty() {
            eprintln!("no pipeline runs");
            return Ok(Ended::Done);
        }
        let mut table = Table::new();
        table.load_preset(UTF8_BORDERS_ONLY);
        let have_machines = runs.iter().any(|run| run.machine.is_some());
        let mut header = vec!["process", "pipeline", "since", "stages"];
        if have_machines {
            header.insert(2, "machine");
        }
        table.set_header(header);
        for run in &runs {
            let started = UNIX_EPOCH + Duration::from_nanos(run.started_unix_ns);
            // If the clock was set back meanwhile, the start is in the future.
            let since = SystemTime::now().duration_since(started);
            // Those of the other machines are in the rows of their programs.
            let stages = run
                .stages
                .iter()
                .filter(|it| it.is_on(run.machine.as_deref()));
            let stages: Vec<_> = stages.map(|stage| &*stage.name).collect();
            let mut row = vec![
                run.pid.to_string(),
                escape(&run.pipeline).into_owned(),
                format!("{} s", since.unwrap_or_default().as_secs()),
                escape(&stages.join(", ")).into_owned(),
            ];
            if have_machines {
                let machine = run.machine.as_deref().unwrap_or_default();
                row.insert(2, escape(machine).into_owned());
            }
            table.add_row(row);
        }
        for column in [0, 2 + usize::from(have_machines)] {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        writeln!(stdout(), "{table}")?;
        Ok(Ended::Done)
    }

    pub fn print(args: &Top) -> Result<Ended, Failure> {
        let selection = Selection {
            pid: args.pid,
            waits: args.wait,
        };
        match json_lines::print(&selection, args.once, stdout()) {
            Ok(()) => Ok(Ended::Done),
            Err(JsonLinesError::Output(error)) => Err(Failure::Output(error)),
            Err(JsonLinesError::Run(error)) => Err(Failure::Run(error.to_string())),
        }
    }

    pub fn show(global: &Global, args: &Top) -> Result<Ended, Failure> {
        for (is_terminal, name) in [
            (std::io::stdin().is_terminal(), "input"),
            (stdout_is_terminal(), "output"),
        ] {
            if !is_terminal {
                let why = format!("can't show a run: standard {name} is not a terminal");
                return Err(Failure::Run(why));
            }
        }
        // At once: reading keys from a closed terminal never returns.
        signals::on_interrupt(|| {
            TerminalScreen::give_back();
            signals::leave();
        });
        let selection = Selection {
            pid: args.pid,
            waits: args.wait,
        };
        let colours = Colours::of_terminal(colour::on_stdout(global));
        let left = watch(&selection, colours).map_err(|error| Failure::Run(error.to_string()))?;
        Ok(match left {
            Exit::Quit => Ended::Done,
            Exit::Interrupted => Ended::Interrupted,
            Exit::Over(how) => {
                writeln!(stdout(), "{}", escape(&how))?;
                Ended::Done
            }
        })
    }
}
