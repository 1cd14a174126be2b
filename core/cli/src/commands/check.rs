//! `flowpipe check FILE...`: every error in pipeline files, and the effects of those without errors. Nothing is
//! started.

use std::io::Write as _;

use flowpipe_config::effects::{StageEffects, listing};
use flowpipe_config::pipeline::Pipeline;
use flowpipe_terminal::{eprintln, escape, escaped, stdout};
use serde_json::json;

use crate::args::{Check, Global};
use crate::exit::{Ended, Failure};
use crate::{pipeline_file, plugins};

pub fn run(global: &Global, check: &Check) -> Result<Ended, Failure> {
    let catalogue = plugins::load(global);
    let mut stdout = stdout();
    let mut wrong = 0;
    for file in &check.files {
        match pipeline_file::read(file, &catalogue)? {
            Ok(file_read) if !check.json => {
                let pipeline = file_read.pipeline;
                let (stages, queues) = (pipeline.stages.len(), pipeline.edges.len());
                writeln!(
                    stdout,
                    "{}: OK: {stages} stage{}, {queues} queue{}",
                    escaped(file.display()),
                    plural(stages),
                    plural(queues)
                )?;
                write!(
                    stdout,
                    "{}",
                    effect_lines(&pipeline, &listing(&pipeline, &catalogue))
                )?;
            }
            Ok(file_read) => {
                let pipeline = file_read.pipeline;
                let stages = listing(&pipeline, &catalogue);
                let record = pipeline.record.as_ref().map(|record| &record.file);
                let all = json!({ "file": file, "record": record, "stages": stages });
                serde_json::to_writer(&mut stdout, &all).map_err(std::io::Error::from)?;
                writeln!(stdout)?;
            }
            Err(errors) => {
                wrong += errors.len();
                if check.json {
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
    if wrong == 0 {
        return Ok(Ended::Done);
    }
    eprintln!("flowpipe: {wrong} error{}", plural(wrong));
    Ok(Ended::BadConfig)
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// The effects of a pipeline's stages, one a line.
fn effect_lines(pipeline: &Pipeline, stages: &[StageEffects]) -> String {
    let mut text = String::new();
    let names = stages.iter().map(|it| escape(&it.stage).chars().count());
    let width = names.max().unwrap_or_default();
    for StageEffects {
        stage,
        plugin,
        effects,
    } in stages
    {
        let races = stages.iter().filter(|it| it.stage == *stage).count() > 1;
        let plugin = if races {
            format!("{plugin}: ")
        } else {
            String::new()
        };
        let lines = match effects {
            None => vec!["unknown effects: its manifest does not declare any".to_owned()],
            Some(effects) if effects.is_empty() => vec!["no effects".to_owned()],
            Some(effects) => effects.iter().map(|effect| effect.words.clone()).collect(),
        };
        for line in lines {
            let stage = escape(stage);
            text += &format!("  {stage:width$}  {}{}\n", escaped(&plugin), escaped(line));
        }
    }
    if let Some(record) = &pipeline.record {
        text += &format!("  the run is recorded to {}\n", escaped(&record.file));
    }
    text
}
