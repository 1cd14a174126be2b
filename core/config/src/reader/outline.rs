//! What a pipeline file says without its plugins: its stages, their machines, and which stages exchange messages.

use std::collections::HashMap;

use serde_json::Value;

use super::error::Findings;
use super::problem::MAX_STAGES;
use super::wiring::Wire;
use super::written::stage::WrittenStage;
use super::written::{self, TESTS};
use super::{MAX_BYTES, SourceFile, machines, nul, resolve, syntax};
use crate::pipeline::{Contestant, Edge, Pipeline, PortRef, Queue, Stage};

/// Reads what a pipeline file says without its plugins. No stage has a config, and each edge joins the first ports of its
/// stages. `None`: that is wrong, too.
#[must_use]
pub fn read_outline(bytes: &[u8]) -> Option<Pipeline> {
    let text = std::str::from_utf8(bytes).ok()?;
    if text.len() > MAX_BYTES {
        return None;
    }
    let mut findings = Findings::new(SourceFile::new("", text));
    let mut root = syntax::parse(text, &mut findings);
    root.remove(TESTS);
    nul::report(&root, &mut findings);
    let written = written::read(&root, &mut findings);
    if written.stages.len() > MAX_STAGES {
        return None;
    }
    let wires = wires(&written.stages)?;
    let stages = written.stages.iter();
    let stages: Vec<Stage> = stages
        .map(|it| resolve::stage(it, contestants(it)))
        .collect();
    let machines = machines::resolve(&written, &stages, &wires, &mut findings);
    let name = written.name.as_ref();
    findings.is_empty().then(|| Pipeline {
        name: name.map_or_else(String::new, |it| it.get_ref().clone()),
        stages,
        edges: wires.iter().map(|wire| wire.edge).collect(),
        on_stop: written.on_stop.unwrap_or_default(),
        record: written.record.as_ref().map(|it| it.get_ref().clone()),
        machines,
    })
}

/// The plugins of a stage, as they are named.
fn contestants(stage: &WrittenStage<'_, '_>) -> Vec<Contestant> {
    let names = stage.plugin.iter().flat_map(|it| &it.names);
    let contestants = names.map(|name| Contestant {
        plugin: name.get_ref().clone(),
        config: Value::Null,
        revision: 0,
    });
    contestants.collect()
}

/// The edges, in the order in which `wiring` has them. `None`: one comes from no stage.
fn wires(stages: &[WrittenStage<'_, '_>]) -> Option<Vec<Wire>> {
    let numbers: HashMap<&str, usize> = (0..)
        .zip(stages)
        .map(|(number, stage)| (stage.name.get_ref().as_str(), number))
        .collect();
    let first = |stage: usize| PortRef { stage, port: 0 };
    let mut wires = Vec::new();
    for (to, stage) in stages.iter().enumerate() {
        for source in stage.from.iter().flat_map(|it| &it.sources) {
            let from = *numbers.get(source.stage.get_ref().as_str())?;
            let edge = Edge {
                from: first(from),
                to: first(to),
                queue: Queue::default(),
            };
            let span = source.span.clone();
            wires.push(Wire { edge, span });
        }
    }
    Some(wires)
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::super::testing::plugins;
    use super::*;

    #[test]
    fn machines_and_their_links_are_known_without_plugins() {
        let text = "[stages.frames]\nplugin = \"capture-files\"\nconfig = { paths = [\"a.png\"] }\nmachine = \"desk\"\n\
                    [stages.vision]\nplugin = \"vision-opencv\"\nfrom = \"frames\"\nmachine = \"desk\"\n\
                    [stages.solver]\nplugin = \"solver-search\"\nfrom = \"vision\"\nmachines = [\"rack\", \"desk\"]\n\
                    [machines.desk]\nlisten = \"tcp/127.0.0.1:7447\"\n[machines.rack]\n";
        let whole = read("whole.toml", text, &plugins()).unwrap();
        let links = whole.machines.links(whole.edges.iter().copied());
        assert_eq!(links.len(), 1);
        for plugin in ["capture-files", "vision-opencv", "solver-search"] {
            let text = text.replace(plugin, "not-installed");
            assert!(read("lacks.toml", &text, &plugins()).is_err());
            let outline = read_outline(text.as_bytes()).unwrap();
            assert_eq!(outline.machines, whole.machines);
            let found = outline.machines.links(outline.edges.iter().copied());
            assert_eq!(found, links);
            let named = |it: &Stage| it.contestants[0].plugin == "not-installed";
            assert_eq!(outline.stages.iter().filter(|it| named(it)).count(), 1);
        }
        // What no plugin would make right.
        for (valid, wrong) in [
            ("from = \"frames\"", "from = \"frame\""),
            ("machine = \"desk\"", "machine = \"dsek\""),
            ("[machines.desk]", "[machines.desk"),
        ] {
            let text = text.replace(valid, wrong);
            assert!(read_outline(text.as_bytes()).is_none(), "{wrong}");
        }
    }
}
