//! `flowpipe plugin check FILE|NAME`.

use std::io::Write;

use flowpipe_config::manifest::Manifest;
use flowpipe_terminal::{counted, escape, escape_indented, escaped, stdout, was};

use crate::args::{Global, PluginCheck};
use crate::exit::{Ended, Failure};
use crate::input;
use crate::plugin_check::{self, Grade, StageResult};
use crate::plugins;
use crate::show::colour::{self, BAD, HEADING, QUIET, paint};

pub fn run(global: &Global, args: &PluginCheck) -> Result<Ended, Failure> {
    if let Some(check) = &args.within {
        return plugin_check::run_worker(global, args, check);
    }
    plugin_check::answer_timeout(args)?;
    let named = by_name(global, args)?;
    let is_named = named.is_some();
    let args = named.as_ref().unwrap_or(args);
    if let Err(error) = input::is_regular(&args.file) {
        let path = args.file.display().to_string();
        return Err(Failure::File { path, error });
    }
    let stages = match plugin_check::stages(global, args)? {
        Ok(stages) => stages,
        Err(reason) => return refused(global, args, &reason),
    };
    let stages: Vec<(Manifest, Option<String>)> = stages
        .into_iter()
        .map(|manifest| {
            let lacks = plugin_check::check_config(args, &manifest).err();
            (manifest, lacks)
        })
        .collect();
    let not_checked = stages.iter().filter(|(_, lacks)| lacks.is_some()).count();
    if not_checked == stages.len() {
        return Err(nothing_to_check(&stages));
    }
    let mut stdout = stdout();
    let colours = colour::on_stdout(global);
    let mut all: Vec<StageResult> = Vec::new();
    let (mut checks, mut failed) = (0, 0);
    if is_named && !args.json {
        let file = args.file.display().to_string();
        writeln!(stdout, "{}", paint(&file, QUIET, colours))?;
    }
    for (manifest, lacks) in stages {
        if !args.json {
            let name = paint(&manifest.name, HEADING, colours);
            let (version, role) = (escape(&manifest.version), escape(&manifest.role));
            writeln!(stdout, "{name} {version}, {role}")?;
        }
        let mut results = Vec::new();
        if let Some(lacks) = lacks {
            if !args.json {
                let word = paint("skip", QUIET, colours);
                writeln!(stdout, "  {word}  not checked: {}", escape_indented(&lacks))?;
            }
            all.push(StageResult {
                manifest,
                results,
                skipped: Some(lacks),
            });
            continue;
        }
        plugin_check::judge(global, args, &manifest.name, |result| {
            checks += 1;
            failed += usize::from(result.grade == Grade::Failed);
            if !args.json {
                plugin_check::print(&mut stdout, &result, colours)?;
            }
            results.push(result);
            Ok(())
        })?;
        all.push(StageResult {
            manifest,
            results,
            skipped: None,
        });
    }
    let also = match not_checked {
        0 => "",
        several => &format!(
            "; {} {} not checked",
            counted(several, "stage"),
            was(several)
        ),
    };
    if args.json {
        plugin_check::print_json(&mut stdout, &args.file, &all)?;
    } else if failed > 0 {
        let text = format!("{failed} of {} failed", counted(checks, "check"));
        writeln!(stdout, "{}{also}", paint(&text, BAD, colours))?;
    } else {
        writeln!(stdout, "{}, none failed{also}", counted(checks, "check"))?;
    }
    Ok(if failed > 0 {
        Ended::StageFailed
    } else {
        Ended::Done
    })
}

/// The file of the plugin that was named in place of a file, and its stage. `None`: it is no name. A file of that name in
/// the working directory is never meant: it may be a stranger's.
fn by_name(global: &Global, args: &PluginCheck) -> Result<Option<PluginCheck>, Failure> {
    let is_name =
        args.file.file_name() == Some(args.file.as_os_str()) && args.file.extension().is_none();
    let Some(name) = args.file.to_str().filter(|_| is_name) else {
        return Ok(None);
    };
    let catalogue = plugins::load(global);
    let Some(found) = catalogue.find(name) else {
        let hint = match args.file.is_file() {
            true => format!(" (for the file of that name, write ./{name})"),
            false => String::new(),
        };
        let unknown = plugins::unknown(&catalogue, name);
        return Err(Failure::Usage(format!("{unknown}{hint}")));
    };
    Ok(Some(PluginCheck {
        file: found.path.clone(),
        stage: args.stage.clone().or_else(|| Some(name.to_owned())),
        ..args.clone()
    }))
}

/// No stage can be checked: each with the reason.
fn nothing_to_check(stages: &[(Manifest, Option<String>)]) -> Failure {
    let each = stages.iter().filter_map(|(manifest, lacks)| {
        let lacks = lacks.as_ref()?;
        Some(format!("{}: {lacks}", manifest.name))
    });
    Failure::Config(each.collect::<Vec<_>>().join("\n"))
}

/// Reports that the file can't be used.
fn refused(global: &Global, args: &PluginCheck, reason: &str) -> Result<Ended, Failure> {
    let mut stdout = stdout();
    let file = escaped(args.file.display());
    if args.json {
        let value = serde_json::json!({ "file": args.file, "refused": reason });
        writeln!(stdout, "{value:#}")?;
    } else {
        let word = paint("FAIL", BAD, colour::on_stdout(global));
        let reason = escape_indented(reason);
        writeln!(stdout, "{file}\n  {word}  load        {reason}")?;
    }
    Ok(Ended::StageFailed)
}
