//! `flowpipe check FILE...`: every error in pipeline files, and of those without errors the effects, with the config that
//! they have, and the machines. Nothing is started.

use std::io::Write as _;

use flowpipe_config::effects::{Described, StageEffects, listing};
use flowpipe_config::manifest::{Direction, Manifest};
use flowpipe_config::pipeline::{Isolation, Pipeline};
use flowpipe_engine::check::{self, ListedCheck};
use flowpipe_host::catalogue::Catalogue;
use flowpipe_isolation::confinement::Confinement;
use flowpipe_terminal::{counted, eprintln, escape, escaped, stdout};
use serde_json::{Value, json};

use crate::args::{Check, Global};
use crate::exit::{Ended, Failure};
use crate::machines::placement::placements;
use crate::{pipeline_file, plugins};

pub fn run(global: &Global, args: &Check) -> Result<Ended, Failure> {
    let catalogue = plugins::load_all(global);
    let mut stdout = stdout();
    let mut wrong = 0;
    let mut unreadable = 0;
    for file in &args.files {
        let found = pipeline_file::find(file);
        let read = found.and_then(|file| {
            let read = pipeline_file::read_tested(&file, &catalogue)?;
            Ok((file, read))
        });
        let (file, read) = match read {
            Ok(read) => read,
            // The other files are checked all the same.
            Err(failure) => {
                failure.show();
                unreadable += 1;
                continue;
            }
        };
        match read {
            Ok(file_read) if !args.json => {
                let pipeline = file_read.pipeline;
                let (stages, queues) = (pipeline.stages.len(), pipeline.edges.len());
                let tests = match file_read.tests.len() {
                    0 => String::new(),
                    tests => format!(", {}", counted(tests, "test")),
                };
                writeln!(
                    stdout,
                    "{}: OK: {}, {}{tests}",
                    escaped(file.display()),
                    counted(stages, "stage"),
                    counted(queues, "queue")
                )?;
                write!(stdout, "{}", effect_lines(&pipeline, &catalogue))?;
            }
            Ok(file_read) => {
                let pipeline = file_read.pipeline;
                let stages = listing(&pipeline, &catalogue);
                let record = pipeline.record.as_ref().map(|record| &record.file);
                let checks = checks(&pipeline, &catalogue, |listed| {
                    listed.iter().map(check_record).collect::<Vec<_>>()
                });
                let mut all = json!({
                    "file": file.display().to_string(),
                    "record": record,
                    "stages": stages,
                    "checks": checks,
                });
                let machines = placements(&pipeline);
                if !machines.is_empty() {
                    all["machines"] = json!(machines);
                }
                serde_json::to_writer(&mut stdout, &all).map_err(std::io::Error::from)?;
                writeln!(stdout)?;
            }
            Err(errors) => {
                wrong += errors.len();
                if args.json {
                    for error in &errors {
                        serde_json::to_writer(&mut stdout, &error.record())
                            .map_err(std::io::Error::from)?;
                        writeln!(stdout)?;
                    }
                } else {
                    pipeline_file::show(errors, global);
                }
            }
        }
    }
    if wrong > 0 {
        eprintln!("flowpipe: {}", counted(wrong, "error"));
    }
    Ok(match (wrong, unreadable) {
        (0, 0) => Ended::Done,
        (0, _) => Ended::Unopened,
        _ => Ended::BadConfig,
    })
}

/// The effects of a pipeline's stages, one a line, and its machines.
fn effect_lines(pipeline: &Pipeline, catalogue: &Catalogue) -> String {
    let mut text = String::new();
    let stages = listing(pipeline, catalogue);
    let names = stages.iter().map(|it| escape(&it.stage).chars().count());
    let width = names.max().unwrap_or_default();
    let contestants = pipeline.stages.iter().flat_map(|stage| {
        let is_isolated = stage.isolation == Isolation::Process;
        let contestants = stage.contestants.iter();
        contestants.map(move |contestant| (contestant, is_isolated))
    });
    for (listed, (contestant, is_isolated)) in stages.iter().zip(contestants) {
        let StageEffects {
            stage,
            plugin,
            effects,
        } = listed;
        let lines = match effects {
            None => vec!["unknown effects: its manifest does not declare any".to_owned()],
            Some(effects) if effects.is_empty() => vec!["no effects".to_owned()],
            Some(effects) => effects.iter().map(words).collect(),
        };
        let confinement = catalogue
            .find(plugin.as_str())
            .map(|found| found.with_config(&contestant.config))
            .map(|found| Confinement::of(&found.manifest, &contestant.config));
        let confined = match confinement {
            Some(Confinement::To(_)) if is_isolated => ", and confined to that",
            _ => "",
        };
        for line in lines {
            let stage = escape(stage);
            let line = escaped(line);
            text += &format!("  {stage:width$}  {}: {line}{confined}\n", escaped(plugin));
        }
        let has_effects = effects.as_ref().is_none_or(|effects| !effects.is_empty());
        if let (true, Some(config)) = (has_effects, config_text(&contestant.config)) {
            text += &format!("  {:width$}    config: {}\n", "", escaped(config));
        }
    }
    for machine in placements(pipeline) {
        text += &format!("  {}\n", escaped(machine.line()));
    }
    if let Some(record) = &pipeline.record {
        text += &format!(
            "  the run is recorded to {}, which is replaced if it exists\n",
            escaped(&record.file)
        );
    }
    text += &checks(pipeline, catalogue, check_lines);
    text += "Plugins declare these effects; only stages with isolation = \"process\" are confined to them.\n";
    text
}

/// An effect, and what it needs and is not there.
fn words(effect: &Described) -> String {
    let words = &effect.words;
    match effect.missing.as_slice() {
        [] => words.clone(),
        [path] => format!("{words} (not there: '{}')", path.display()),
        [path, rest @ ..] => format!(
            "{words} (not there: '{}' and {} more)",
            path.display(),
            rest.len()
        ),
    }
}

/// What a function makes of the checks of a pipeline's messages.
fn checks<T>(
    pipeline: &Pipeline,
    catalogue: &Catalogue,
    show: impl FnOnce(&[ListedCheck<'_>]) -> T,
) -> T {
    let contestants = pipeline.stages.iter().flat_map(|stage| &stage.contestants);
    let found = contestants.filter_map(|contestant| {
        let found = catalogue.find(&contestant.plugin)?;
        Some(found.manifest.with_config(&contestant.config))
    });
    let found: Vec<_> = found.collect();
    let manifests: Vec<&Manifest> = found.iter().map(|manifest| &**manifest).collect();
    show(&check::listing(&manifests, catalogue))
}

/// The checks, one a line.
fn check_lines(listed: &[ListedCheck<'_>]) -> String {
    let mut text = String::new();
    for check in listed {
        let line = match check.judges {
            true => format!(
                "{} judges {} in flowpipe's own process: {}",
                check.found.manifest.name,
                check.schemas.join(", "),
                check.found.path.display()
            ),
            false => check.unused(),
        };
        text += &format!("  {}\n", escaped(line));
    }
    text
}

fn check_record(check: &ListedCheck<'_>) -> Value {
    json!({
        "check": check.found.manifest.name,
        "schemas": check.schemas,
        "file": check.found.path.display().to_string(),
        "judges": check.judges,
    })
}

/// The keys that a config sets, each with its value. `None`: it sets none.
fn config_text(config: &Value) -> Option<String> {
    let keys = config.as_object().filter(|keys| !keys.is_empty())?;
    let keys = keys.iter().map(|(key, value)| match key {
        key if is_ports(key) => format!("{key} = {}", without_schemas(value)),
        key => format!("{key} = {value}"),
    });
    Some(keys.collect::<Vec<_>>().join(", "))
}

fn is_ports(key: &str) -> bool {
    Direction::ALL
        .iter()
        .any(|direction| direction.key() == key)
}

/// Declared ports without the JSON Schemas of their messages, which are long, and are read from files that are named.
fn without_schemas(ports: &Value) -> Value {
    let mut ports = ports.clone();
    let declared = ports.as_object_mut().into_iter().flatten();
    for (_, port) in declared {
        if let Value::Object(port) = port
            && port.contains_key("file")
        {
            port.remove("json_schema");
        }
    }
    ports
}
