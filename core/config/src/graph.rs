//! A pipeline as a diagram, in the languages of Mermaid and Graphviz.
//!
//! Stages are boxes with the names of their plugins; edges carry their schema and their queue. Edges
//! that may drop messages are broken lines.

use std::fmt::Write as _;

use crate::manifest::Port;
use crate::pipeline::{Edge, Isolation, Pipeline, Stage, WhenFull};
use crate::reader::Plugins;
use crate::reader::keywords::Keyword;

/// A Mermaid flow chart.
#[must_use]
pub fn mermaid(pipeline: &Pipeline, plugins: &dyn Plugins) -> String {
    let join = |lines: Vec<String>| {
        lines
            .iter()
            .map(|line| mermaid_text(line))
            .collect::<Vec<_>>()
            .join("<br/>")
    };
    let mut chart = "flowchart LR\n".to_owned();
    for (number, stage) in pipeline.stages.iter().enumerate() {
        line(
            &mut chart,
            format_args!(
                "    s{number}[\"{}\"]",
                join(stage_lines(stage, pipeline, number))
            ),
        );
    }
    for edge in &pipeline.edges {
        let (from, to) = (edge.from.stage, edge.to.stage);
        let arrow = if drops(edge) { "-.->" } else { "-->" };
        let label = join(edge_lines(edge, pipeline, plugins));
        line(
            &mut chart,
            format_args!("    s{from} {arrow}|\"{label}\"| s{to}"),
        );
    }
    chart
}

/// A Graphviz graph in the DOT language.
#[must_use]
pub fn dot(pipeline: &Pipeline, plugins: &dyn Plugins) -> String {
    let join = |lines: Vec<String>| {
        lines
            .iter()
            .map(|line| dot_text(line))
            .collect::<Vec<_>>()
            .join("\\n")
    };
    let mut graph = format!("digraph \"{}\" {{\n", dot_text(&pipeline.name));
    graph.push_str("    rankdir=LR;\n    node [shape=box, style=rounded];\n");
    for (number, stage) in pipeline.stages.iter().enumerate() {
        line(
            &mut graph,
            format_args!(
                "    s{number} [label=\"{}\"];",
                join(stage_lines(stage, pipeline, number))
            ),
        );
    }
    for edge in &pipeline.edges {
        let (from, to) = (edge.from.stage, edge.to.stage);
        let style = if drops(edge) { ", style=dashed" } else { "" };
        let label = join(edge_lines(edge, pipeline, plugins));
        line(
            &mut graph,
            format_args!("    s{from} -> s{to} [label=\"{label}\"{style}];"),
        );
    }
    graph.push_str("}\n");
    graph
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a String can't fail.
    let _ = writeln!(text, "{line}");
}

fn drops(edge: &Edge) -> bool {
    edge.queue.when_full != WhenFull::Block
}

/// `number`: the stage's index in the pipeline.
fn stage_lines(stage: &Stage, pipeline: &Pipeline, number: usize) -> Vec<String> {
    let plugins = stage
        .contestants
        .iter()
        .map(|contestant| contestant.plugin.clone());
    let race = (stage.contestants.len() > 1).then(|| "a race of".to_owned());
    let apart = stage.isolation == Isolation::Process;
    let apart = match (apart, stage.workers) {
        (false, 1) => None,
        (true, 1) => Some("in a process of its own".to_owned()),
        (false, workers) => Some(format!("{workers} workers")),
        (true, workers) => Some(format!("{workers} workers in processes of their own")),
    };
    let ordered = stage.ordered || stage.workers == 1;
    let unordered = (!ordered).then(|| "in any order".to_owned());
    let machines = pipeline.machines.names(number);
    let machines = machines.map(|names| format!("on {names}"));
    std::iter::once(stage.name.clone())
        .chain(race)
        .chain(plugins)
        .chain(apart)
        .chain(unordered)
        .chain(machines)
        .collect()
}

fn edge_lines(edge: &Edge, pipeline: &Pipeline, plugins: &dyn Plugins) -> Vec<String> {
    let manifest = |stage: usize| {
        let contestant = pipeline.stages.get(stage)?.contestants.first()?;
        let manifest = plugins.manifest(&contestant.plugin)?;
        Some(manifest.with_config(&contestant.config))
    };
    let (from, to) = (manifest(edge.from.stage), manifest(edge.to.stage));
    let outputs = from.as_ref().map_or(&[][..], |m| &m.outputs);
    let inputs = to.as_ref().map_or(&[][..], |m| &m.inputs);
    let (output, input) = (outputs.get(edge.from.port), inputs.get(edge.to.port));

    // A port needs its name only where there are others.
    let port = |ports: &[Port], port: Option<&Port>| {
        port.filter(|_| ports.len() > 1)
            .map(|port| port.name.clone())
    };
    let ports = match (port(outputs, output), port(inputs, input)) {
        (None, None) => None,
        (from, to) => Some(format!(
            "{} → {}",
            from.unwrap_or_default(),
            to.unwrap_or_default()
        )),
    };
    // If the output's schema is `*`, the input's may be narrower.
    let schema = [output, input]
        .into_iter()
        .flatten()
        .map(|port| port.schema.clone());
    let schema = schema.reduce(|gives, takes| if gives == "*" { takes } else { gives });
    let queue = format!("{} {}", edge.queue.when_full.word(), edge.queue.capacity);
    ports
        .map(|ports| ports.trim().to_owned())
        .into_iter()
        .chain(schema)
        .chain([queue])
        .collect()
}

/// Mermaid has no escapes in quoted text but its own form of character references.
fn mermaid_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '#' | '&' | ';' | '<' | '>' | '`' | '\\' => {
                escaped.push_str(&format!("#{};", u32::from(c)));
            }
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

fn dot_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::read;
    use crate::reader::testing::{plugins, snapshot};

    #[track_caller]
    fn check(name: &str, text: &str) {
        let plugins = plugins();
        let pipeline = read("pipeline.toml", text, &plugins).unwrap();
        let diagrams = format!(
            "{}\n{}",
            mermaid(&pipeline, &plugins),
            dot(&pipeline, &plugins)
        );
        snapshot!(name, diagrams);
    }

    #[test]
    fn straight() {
        check(
            "straight",
            r#"
            name = "live \"now\" \\"
            [stages.screen]
            plugin = "capture-screen"
            [stages.vision_1]
            plugin = "vision-opencv"
            from = "screen"
            queue = { capacity = 1, when_full = "drop-oldest" }
            [stages.solver]
            plugin = ["solver-search", "solver-varisat"]
            from = "vision_1"
            isolation = "process"
            "#,
        );
    }

    #[test]
    fn machines() {
        check(
            "machines",
            r#"
            [machines.desk]
            listen = "tcp/127.0.0.1:7447"
            [machines.rack1]
            [machines.rack2]
            [stages.screen]
            plugin = "capture-screen"
            machine = "desk"
            [stages.vision]
            plugin = "vision-opencv"
            from = "screen"
            machines = ["rack1", "rack2"]
            workers = 4
            "#,
        );
    }

    #[test]
    fn workers() {
        check(
            "workers",
            r#"
            [stages.screen]
            plugin = "capture-screen"
            [stages.vision]
            plugin = "vision-opencv"
            from = "screen"
            workers = 4
            [stages.solver]
            plugin = "solver-search"
            from = "vision"
            isolation = "process"
            workers = 2
            ordered = false
            "#,
        );
    }

    #[test]
    fn ports_and_odd_names() {
        check(
            "ports_and_odd_names",
            r#"
            [stages.eyes]
            plugin = "odd \"<name>\""
            [stages.both]
            plugin = "twin"
            from = [{ stage = "eyes", into = "left" }, { stage = "eyes", into = "right" }]
            [stages.record]
            plugin = "recorder"
            from = ["both.left", "eyes", "echo"]
            [stages.echo]
            plugin = "echo"
            from = { stage = "both", port = "right", queue = { when_full = "latest" } }
            "#,
        );
    }
}
