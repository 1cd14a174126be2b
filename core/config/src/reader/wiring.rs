//! The edges: which output is sent to which input.

use std::collections::{HashMap, HashSet};

use super::error::Findings;
use super::problem::Problem;
use super::source::Span;
use super::written::source::WrittenSource;
use super::written::stage::{WrittenStage, rules};
use super::{Plugins, suggest};
use crate::manifest::{Manifest, Port};
use crate::pipeline::{Edge, PortRef};

/// An edge and its span.
pub(super) struct Wire {
    pub edge: Edge,
    pub span: Span,
}

/// All edges by receiving stage. Reports invalid ones.
pub(super) fn wire(
    stages: &[WrittenStage<'_, '_>],
    manifests: &[Option<&Manifest>],
    plugins: &dyn Plugins,
    findings: &mut Findings,
) -> Vec<Wire> {
    let wiring = Wiring {
        stages,
        manifests,
        plugins,
        numbers: (0..)
            .zip(stages)
            .map(|(n, stage)| (stage.name.get_ref().as_str(), n))
            .collect(),
    };
    (0..stages.len())
        .flat_map(|to| wiring.stage(to, findings))
        .collect()
}

/// Reports stages without a source upstream, because they feed only each other.
pub(super) fn check_reached(
    stages: &[WrittenStage<'_, '_>],
    manifests: &[Option<&Manifest>],
    edges: &[Edge],
    findings: &mut Findings,
) {
    let is_source = |manifest: &Option<&Manifest>| manifest.is_some_and(|m| m.inputs.is_empty());
    let mut reached: Vec<bool> = manifests.iter().map(is_source).collect();
    let mut waiting: Vec<usize> = (0..stages.len()).filter(|&stage| reached[stage]).collect();
    while let Some(stage) = waiting.pop() {
        for edge in edges.iter().filter(|edge| edge.from.stage == stage) {
            if !std::mem::replace(&mut reached[edge.to.stage], true) {
                waiting.push(edge.to.stage);
            }
        }
    }
    let lost: Vec<_> = stages
        .iter()
        .zip(reached)
        .filter(|(_, reached)| !reached)
        .collect();
    if let Some((first, _)) = lost.first() {
        let stages = lost
            .iter()
            .map(|(stage, _)| stage.name.get_ref().clone())
            .collect();
        findings.report(&first.name.span(), Problem::NoSource { stages });
    }
}

struct Wiring<'a, 'w, 't> {
    stages: &'a [WrittenStage<'w, 't>],
    manifests: &'a [Option<&'a Manifest>],
    plugins: &'a dyn Plugins,
    numbers: HashMap<&'a str, usize>,
}

impl Wiring<'_, '_, '_> {
    /// The edges into one stage.
    fn stage(&self, to: usize, findings: &mut Findings) -> Vec<Wire> {
        let stage = &self.stages[to];
        let Some(manifest) = self.manifests[to] else {
            // Its inputs are unknown, but names can still be wrong.
            for source in stage.from.iter().flat_map(|from| &from.sources) {
                self.find(source, findings);
            }
            return Vec::new();
        };
        if manifest.inputs.is_empty() {
            self.check_source(stage, manifest, findings);
            return Vec::new();
        }
        let mut wires: Vec<Wire> = Vec::new();
        let mut seen: HashMap<(PortRef, PortRef), Span> = HashMap::new();
        let mut sure = stage.from.as_ref().is_none_or(|from| !from.incomplete);
        for source in stage.from.iter().flat_map(|from| &from.sources) {
            let Some((from, to)) = self.ports(source, to, findings) else {
                sure = false;
                continue;
            };
            if let Some(first) = seen.get(&(from, to)) {
                let problem = Problem::DuplicateEdge {
                    from: source.stage.get_ref().clone(),
                    to: stage.name.get_ref().clone(),
                };
                let related = [(first.clone(), "first here".to_owned())];
                findings.report_with(&source.span, problem, related);
                continue;
            }
            seen.insert((from, to), source.span.clone());
            let edge = Edge {
                from,
                to,
                queue: rules(source, stage),
            };
            wires.push(Wire {
                edge,
                span: source.span.clone(),
            });
        }
        if sure {
            self.check_fed(to, manifest, &wires, findings);
        }
        wires
    }

    fn check_source(
        &self,
        stage: &WrittenStage<'_, '_>,
        manifest: &Manifest,
        findings: &mut Findings,
    ) {
        let from = stage.from.as_ref().map(|from| ("from", from.key.clone()));
        let queue = stage.queue.as_ref().map(|queue| ("queue", queue.span()));
        for (key, span) in from.into_iter().chain(queue) {
            let (stage, plugin) = (stage.name.get_ref().clone(), manifest.name.clone());
            findings.report(&span, Problem::SourceFed { stage, plugin, key });
        }
    }

    fn check_fed(&self, to: usize, manifest: &Manifest, wires: &[Wire], findings: &mut Findings) {
        let fed: HashSet<usize> = wires.iter().map(|wire| wire.edge.to.port).collect();
        let stage = &self.stages[to];
        let name = stage.name.get_ref();
        let span = stage
            .from
            .as_ref()
            .map_or_else(|| stage.name.span(), |from| from.key.clone());
        let all_optional = manifest.inputs.iter().all(|input| input.optional);
        for (number, input) in manifest.inputs.iter().enumerate() {
            let may_be_left = input.optional && !(all_optional && fed.is_empty() && number == 0);
            if fed.contains(&number) || may_be_left {
                continue;
            }
            let what = match manifest.inputs.len() {
                1 => format!("`{name}`"),
                _ => format!("the input `{}` of `{name}`", input.name),
            };
            let hint = match input.schema.as_str() {
                "*" if manifest.inputs.len() == 1 => {
                    Some("any stage can feed it: from = \"STAGE\"".to_owned())
                }
                "*" => {
                    let fed = wires.iter().map(|wire| {
                        let from = self.stages[wire.edge.from.stage].name.get_ref();
                        (
                            from.as_str(),
                            manifest.inputs[wire.edge.to.port].name.as_str(),
                        )
                    });
                    let all: Vec<_> = fed.chain([("STAGE", input.name.as_str())]).collect();
                    Some(format!("any stage can feed it: {}", from_key(&all)))
                }
                _ => self.who_gives(input, to),
            };
            let takes = input.schema.clone();
            findings.report(&span, Problem::NotFed { what, takes, hint });
        }
    }

    /// The stage of an entry.
    fn find(&self, source: &WrittenSource, findings: &mut Findings) -> Option<usize> {
        let name = source.stage.get_ref();
        let found = self.numbers.get(name.as_str()).copied();
        if found.is_none() {
            let names: Vec<_> = self
                .stages
                .iter()
                .map(|stage| stage.name.get_ref())
                .collect();
            let hint = suggest::help(name, "stages", &names);
            let problem = Problem::UnknownStage {
                name: name.clone(),
                hint,
            };
            findings.report(&source.stage.span(), problem);
        }
        found
    }

    /// The two ports of an entry.
    fn ports(
        &self,
        source: &WrittenSource,
        to: usize,
        findings: &mut Findings,
    ) -> Option<(PortRef, PortRef)> {
        let from = self.find(source, findings)?;
        let (giver, taker) = (self.manifests[from]?, self.manifests[to]?);
        let (from_name, to_name) = (source.stage.get_ref(), self.stages[to].name.get_ref());
        if giver.outputs.is_empty() {
            let problem = Problem::NoOutput {
                stage: from_name.clone(),
            };
            findings.report(&source.stage.span(), problem);
            return None;
        }
        let outputs = named(
            &giver.outputs,
            source.port.as_ref(),
            from_name,
            "output",
            findings,
        );
        let inputs = named(
            &taker.inputs,
            source.into.as_ref(),
            to_name,
            "input",
            findings,
        );
        let (outputs, inputs) = (outputs?, inputs?);
        let pairs = fitting(giver, &outputs, taker, &inputs);
        let agrees = |&(output, input): &(usize, usize)| {
            let (output, input) = (&giver.outputs[output], &taker.inputs[input]);
            output.carries.meets(&input.carries)
        };
        let agreeing: Vec<_> = pairs.iter().copied().filter(agrees).collect();
        if let (Some(&(output, input)), []) = (pairs.first(), agreeing.as_slice()) {
            let (output, input) = (&giver.outputs[output], &taker.inputs[input]);
            let problem = Problem::ContentsDoNotMeet {
                from: format!("{from_name}.{}", output.name),
                gives: output.carries.to_string(),
                to: format!("{to_name}.{}", input.name),
                takes: input.carries.to_string(),
            };
            findings.report(&source.span, problem);
            return None;
        }
        match agreeing.as_slice() {
            &[(output, input)] => Some((
                PortRef {
                    stage: from,
                    port: output,
                },
                PortRef {
                    stage: to,
                    port: input,
                },
            )),
            [] => {
                let schemas = |ports: &[Port], numbers: &[usize]| {
                    let ids: Vec<_> = numbers.iter().map(|&n| ports[n].schema.as_str()).collect();
                    ids.join(" and ")
                };
                let problem = Problem::SchemasDoNotMeet {
                    from: from_name.clone(),
                    gives: schemas(&giver.outputs, &outputs),
                    to: to_name.clone(),
                    takes: schemas(&taker.inputs, &inputs),
                    hint: inputs
                        .first()
                        .and_then(|&n| self.who_gives(&taker.inputs[n], to)),
                };
                findings.report(&source.span, problem);
                None
            }
            several => {
                let all = self.stages[to].from.as_ref();
                let all = all.map_or(&[][..], |from| &from.sources);
                findings.report(
                    &source.span,
                    ambiguous((source, all), to_name, giver, taker, several),
                );
                None
            }
        }
    }

    /// A help text: which other stage, or else which plugins, have an output for this input.
    fn who_gives(&self, input: &Port, not: usize) -> Option<String> {
        let gives = |m: &Manifest| {
            m.outputs
                .iter()
                .position(|output| output.schema == input.schema)
        };
        let stage = (0..).zip(self.manifests).find_map(|(number, manifest)| {
            let manifest = manifest.filter(|_| number != not)?;
            let port = gives(manifest)?;
            let name = self.stages[number].name.get_ref();
            Some(match manifest.outputs.len() {
                1 => name.clone(),
                _ => format!("{name}.{}", manifest.outputs[port].name),
            })
        });
        if let Some(stage) = stage {
            return Some(format!(
                "stage `{stage}` gives {}: from = \"{stage}\"",
                input.schema
            ));
        }
        let mut names = self.plugins.names();
        names.sort_unstable();
        names.retain(|name| self.plugins.manifest(name).and_then(gives).is_some());
        (!names.is_empty()).then(|| {
            let schema = &input.schema;
            format!(
                "no stage gives {schema}; plugins that do: {}",
                suggest::list(&names)
            )
        })
    }
}

/// The ports that a name selects: the named one, or all.
fn named(
    ports: &[Port],
    name: Option<&toml::Spanned<String>>,
    stage: &str,
    direction: &'static str,
    findings: &mut Findings,
) -> Option<Vec<usize>> {
    let Some(name) = name else {
        return Some((0..ports.len()).collect());
    };
    let found = ports.iter().position(|port| port.name == *name.get_ref());
    if found.is_none() {
        let names: Vec<_> = ports.iter().map(|port| port.name.as_str()).collect();
        let hint = suggest::help(name.get_ref(), &format!("its {direction}s"), &names);
        let (stage, port) = (stage.to_owned(), name.get_ref().clone());
        findings.report(
            &name.span(),
            Problem::UnknownPort {
                stage,
                direction,
                port,
                hint,
            },
        );
    }
    found.map(|port| vec![port])
}

/// The pairs with matching schemas: those with the same schema before those with `*`, then those with an input that has to
/// be connected before those with an optional one.
fn fitting(
    giver: &Manifest,
    outputs: &[usize],
    taker: &Manifest,
    inputs: &[usize],
) -> Vec<(usize, usize)> {
    let pairs = outputs
        .iter()
        .flat_map(|&output| inputs.iter().map(move |&input| (output, input)));
    let meeting: Vec<_> = pairs
        .filter(|&(o, i)| giver.outputs[o].meets(&taker.inputs[i]))
        .collect();
    let same = |&(o, i): &(usize, usize)| giver.outputs[o].schema == taker.inputs[i].schema;
    let exact: Vec<_> = meeting.iter().copied().filter(same).collect();
    let meeting = if exact.is_empty() { meeting } else { exact };
    let needed = |&(_, i): &(usize, usize)| !taker.inputs[i].optional;
    let needed: Vec<_> = meeting.iter().copied().filter(needed).collect();
    if needed.is_empty() { meeting } else { needed }
}

/// The key `from`, with the stages and the inputs that they feed.
fn from_key(sources: &[(&str, &str)]) -> String {
    let entries = sources
        .iter()
        .map(|(stage, into)| format!("{{ stage = \"{stage}\", into = \"{into}\" }}"));
    match entries.collect::<Vec<_>>().as_slice() {
        [one] => format!("from = {one}"),
        several => format!("from = [{}]", several.join(", ")),
    }
}

/// The problem of an entry among all of its stage.
fn ambiguous(
    (source, all): (&WrittenSource, &[WrittenSource]),
    to: &str,
    giver: &Manifest,
    taker: &Manifest,
    pairs: &[(usize, usize)],
) -> Problem {
    let names = |ports: &[Port], numbers: Vec<usize>| {
        let mut names: Vec<String> = Vec::new();
        for number in numbers {
            if !names.contains(&ports[number].name) {
                names.push(ports[number].name.clone());
            }
        }
        names
    };
    let from = source.stage.get_ref();
    let outputs = names(&giver.outputs, pairs.iter().map(|pair| pair.0).collect());
    if outputs.len() > 1 {
        let example = format!("from = \"{from}.{}\"", outputs[0]);
        return Problem::AmbiguousPort {
            stage: from.clone(),
            direction: "output",
            ports: outputs,
            example,
        };
    }
    let inputs = names(&taker.inputs, pairs.iter().map(|pair| pair.1).collect());
    // One input after the other, for the entries that name none.
    let named = |source: &WrittenSource| source.into.as_ref().map(|it| it.get_ref().clone());
    let taken: Vec<_> = all.iter().filter_map(named).collect();
    let mut free = inputs.iter().filter(|it| !taken.contains(it));
    let entries = all.iter().map(|it| {
        let next = || free.next().unwrap_or(&inputs[0]).clone();
        (it.stage.get_ref().as_str(), named(it).unwrap_or_else(next))
    });
    let entries: Vec<_> = entries.collect();
    let entries: Vec<_> = entries
        .iter()
        .map(|(stage, into)| (*stage, &**into))
        .collect();
    let example = from_key(&entries);
    Problem::AmbiguousPort {
        stage: to.to_owned(),
        direction: "input",
        ports: inputs,
        example,
    }
}
