//! The tests of a pipeline: what their names mean, and which stages run.
//!
//! [`reach`] finds the stages, and what they would do outside of the program. [`buffer`] reads buffers. [`order`] checks
//! when inputs enter, and [`schema_id`] the schema ids of messages.

mod buffer;
mod order;
mod reach;
mod schema_id;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::Value;
use toml::Spanned;
use toml::de::DeValue;

use super::error::Findings;
use super::json::Place;
use super::problem::Problem;
use super::source::Span;
use super::values::wrong_type;
use super::wiring::Wire;
use super::written::stage::WrittenStage;
use super::written::test::WrittenTest;
use super::written::test_input::WrittenInput;
use super::written::test_output::{WrittenExpectation, WrittenOutput};
use super::{Surroundings, expressions, flow, json, suggest};
use crate::manifest::{Manifest, Port, config_schema};
use crate::pipeline::{Pipeline, PortRef};
use crate::reader::pipeline_test::{
    Expectation, InputSource, PipelineTest, Placed, Position, TestConfig, TestInput, TestOutput,
};

/// The plugin that reads pictures.
pub const PICTURES: &str = "capture-files";

/// A pipeline and what is known of its stages.
pub(super) struct Tested<'a> {
    pub given: Surroundings<'a>,
    pub pipeline: &'a Pipeline,
    pub wires: &'a [Wire],
    pub stages: &'a [WrittenStage<'a, 'a>],
    /// By stage, with its config. `None`: unknown.
    pub manifests: &'a [Option<&'a Manifest>],
    /// Nothing is wrong with the pipeline itself.
    pub is_whole: bool,
}

/// What a name of a stage, and perhaps of a port, means.
struct NamedPlace<'n> {
    stage: usize,
    port: Option<&'n str>,
    span: Span,
}

impl Tested<'_> {
    /// All tests that are right.
    pub(super) fn resolve(
        &self,
        written: &[WrittenTest<'_, '_>],
        findings: &mut Findings,
    ) -> Vec<PipelineTest> {
        let mut tests = Vec::new();
        for (number, test) in written.iter().enumerate() {
            let name = test.name.as_ref();
            let name_text = name.map_or("", |name| name.get_ref());
            let others = written
                .iter()
                .take(number)
                .filter_map(|it| it.name.as_ref());
            if let Some(name) = name
                && others.into_iter().any(|it| it.get_ref() == name.get_ref())
            {
                let name_text = name_text.to_owned();
                findings.report(&name.span(), Problem::TestTwice { name: name_text });
            }
            tests.extend(self.test(test, findings));
        }
        tests
    }

    fn test(&self, test: &WrittenTest<'_, '_>, findings: &mut Findings) -> Option<PipelineTest> {
        let before = findings.count();
        let config = self.config(test, findings);
        let without = test.without.iter();
        let without = without.filter_map(|it| self.stage(it.get_ref(), &it.span(), findings));
        let without: BTreeSet<usize> = without.collect();
        let start = test.start.as_ref();
        let start = start.and_then(|start| self.place(start, findings));
        let inputs = test.inputs.iter();
        let inputs: Vec<_> = inputs
            .filter_map(|input| self.input(input, test, start.as_ref(), findings))
            .collect();
        order::check(test, findings);
        let outputs = test.outputs.iter();
        let outputs: Vec<_> = outputs
            .filter_map(|output| self.output(output, findings))
            .collect();
        if findings.count() > before || !self.is_whole {
            return None;
        }
        let stages = self.reached(test, (&inputs, &outputs), &without, findings);
        self.check_effects(test, &stages, &config, findings);
        Some(PipelineTest {
            name: test.name.as_ref()?.get_ref().clone(),
            at: position(&test.span, findings),
            stages: stages.into_keys().collect(),
            config,
            inputs,
            outputs,
            timeout: test.timeout.unwrap_or(PipelineTest::DEFAULT_TIMEOUT),
        })
    }

    fn config(&self, test: &WrittenTest<'_, '_>, findings: &mut Findings) -> Vec<TestConfig> {
        let mut all = Vec::new();
        for (name, keys) in &test.config {
            let Some(stage) = self.stage(name.get_ref(), &name.span(), findings) else {
                continue;
            };
            if !keys.get_ref().is_table() {
                let what = name.get_ref();
                wrong_type(what, keys, "a table", None, findings);
                continue;
            }
            let keys_json = json::from_toml(keys, findings);
            let contestants = &self.pipeline.stages[stage].contestants;
            for (contestant, it) in contestants.iter().enumerate() {
                // Where plugins race, the table is keyed by plugin.
                let keys_json = match contestants.len() {
                    1 => keys_json.clone(),
                    _ => match keys_json.get(&it.plugin) {
                        Some(keys) => keys.clone(),
                        None => continue,
                    },
                };
                let Some(manifest) = self.given.plugins.manifest(&it.plugin) else {
                    continue;
                };
                let config = TestConfig {
                    stage,
                    contestant,
                    keys: keys_json,
                };
                check_config(manifest, &config, &it.config, keys, findings);
                if let Some(expressions) = self.given.tests {
                    let place = match contestants.len() {
                        1 => Place::of(keys),
                        _ => Place::of(keys).step(&it.plugin),
                    };
                    let (schema, keys) = (&manifest.config, &config.keys);
                    expressions::check(schema, keys, &place, expressions, findings);
                }
                all.push(config);
            }
            if let (Some(racing), true) = (keys_json.as_object(), contestants.len() > 1) {
                let is_known = |key: &&String| contestants.iter().any(|it| it.plugin == **key);
                if let Some(key) = racing.keys().find(|key| !is_known(key)) {
                    let names: Vec<_> = contestants.iter().map(|it| &it.plugin).collect();
                    let problem = Problem::UnknownKey {
                        key: key.clone(),
                        place: "the config of plugins that race".to_owned(),
                        hint: suggest::help(key, "its plugins", &names),
                    };
                    findings.report(&keys.span(), problem);
                }
            }
        }
        all
    }

    /// The index of a stage.
    fn stage(&self, name: &str, span: &Span, findings: &mut Findings) -> Option<usize> {
        let names = self.stages.iter().map(|stage| stage.name.get_ref());
        let found = names.clone().position(|it| it == name);
        if found.is_none() {
            let hint = suggest::help(name, "stages", &names.collect::<Vec<_>>());
            let name = name.to_owned();
            findings.report(span, Problem::NoSuchStage { name, hint });
        }
        found
    }

    fn place<'n>(
        &self,
        name: &'n Spanned<String>,
        findings: &mut Findings,
    ) -> Option<NamedPlace<'n>> {
        let (stage, port) = match name.get_ref().split_once('.') {
            Some((stage, port)) => (stage, Some(port)),
            None => (name.get_ref().as_str(), None),
        };
        Some(NamedPlace {
            stage: self.stage(stage, &name.span(), findings)?,
            port,
            span: name.span(),
        })
    }

    fn input(
        &self,
        input: &WrittenInput<'_, '_>,
        test: &WrittenTest<'_, '_>,
        start: Option<&NamedPlace<'_>>,
        findings: &mut Findings,
    ) -> Option<TestInput> {
        let own = input.to.as_ref();
        let own = own.map(|to| self.place(to, findings));
        let place = match (&own, start) {
            (Some(own), _) => own.as_ref()?,
            (None, Some(start)) => start,
            (None, None) => {
                if test.start.is_none() {
                    let message = "nothing says which stage takes this input".to_owned();
                    let hint =
                        Some("add start = \"STAGE\" to the test, or to = \"STAGE\"".to_owned());
                    findings.report(&input.span, Problem::Missing { message, hint });
                }
                return None;
            }
        };
        let manifest = self.manifests.get(place.stage).copied().flatten()?;
        let stage_name = || self.pipeline.stages[place.stage].name.clone();
        if manifest.inputs.is_empty() {
            let stage = stage_name();
            findings.report(&place.span, Problem::SourceTested { stage });
            return None;
        }
        if !input.has_source {
            return None;
        }
        let of_pictures = || {
            let manifest = self.given.plugins.manifest(PICTURES)?;
            Some(manifest.outputs.first()?.schema.as_str())
        };
        let schema = match (&input.schema, input.pictures.is_empty()) {
            (Some(schema), _) => Some(schema.get_ref().as_str()),
            (None, false) => of_pictures(),
            (None, true) => None,
        };
        let port = self.input_port(place, manifest, schema, input, findings)?;
        let to = PortRef {
            stage: place.stage,
            port,
        };
        let from = self.upstream(to, schema);
        let declared = &manifest.inputs[port].schema;
        let given = from.and_then(|from| {
            let giver = self.manifests.get(from.stage).copied().flatten()?;
            Some(giver.outputs.get(from.port)?.schema.as_str())
        });
        let known = [Some(declared.as_str()), given];
        let known = known.into_iter().flatten().find(|it| *it != "*");
        if let Some(schema) = &input.schema {
            schema_id::check(schema, known, findings);
        }
        if let (Some(schema), Some(known)) = (schema, known)
            && schema != known
        {
            let span = input
                .schema
                .as_ref()
                .map_or_else(|| input.span.clone(), Spanned::span);
            let problem = Problem::WrongTestSchema {
                stage: stage_name(),
                takes: known.to_owned(),
                schema: schema.to_owned(),
            };
            findings.report(&span, problem);
            return None;
        }
        let text = |text: &Option<Spanned<String>>| Some(text.as_ref()?.get_ref().clone());
        let source = if let Some(json) = input.json {
            // Where the stage takes any schema, the stages in front of it may name theirs.
            let flowing =
                || flow::schema_at(to, self.pipeline, self.manifests, self.wires, self.given);
            let named = schema.or(known).map(str::to_owned);
            let Some(schema) = named.or_else(flowing) else {
                let message = "nothing says which schema this message has".to_owned();
                let hint = Some("add schema = \"ID\"".to_owned());
                findings.report(&input.span, Problem::Missing { message, hint });
                return None;
            };
            let buffer = match &input.buffer {
                Some(written) => Some(buffer::entering(written, findings)?),
                None => None,
            };
            InputSource::Json {
                schema,
                body: json::from_toml(json, findings),
                buffer,
            }
        } else if let Some(file) = text(&input.file) {
            let schema = schema.map(str::to_owned);
            InputSource::Lines { file, schema }
        } else if let Some(file) = text(&input.recording) {
            let output = text(&input.output).or_else(|| {
                let from = from?;
                let giver = self.manifests.get(from.stage).copied().flatten()?;
                let stage = &self.pipeline.stages.get(from.stage)?.name;
                Some(format!("{stage}.{}", giver.outputs.get(from.port)?.name))
            });
            InputSource::Recording {
                file,
                output: output?,
            }
        } else {
            let paths = input.pictures.iter().map(|it| it.get_ref().clone());
            InputSource::Pictures {
                paths: paths.collect(),
            }
        };
        Some(TestInput {
            at: position(&input.span, findings),
            to,
            from,
            after: input.after.as_ref().map(|after| *after.get_ref()),
            source,
        })
    }

    /// The input of a stage that takes messages of a schema. `None`: it is reported that there is none, or several.
    fn input_port(
        &self,
        place: &NamedPlace<'_>,
        manifest: &Manifest,
        schema: Option<&str>,
        input: &WrittenInput<'_, '_>,
        findings: &mut Findings,
    ) -> Option<usize> {
        let stage = &self.pipeline.stages[place.stage].name;
        let ports = &manifest.inputs;
        if place.port.is_some() {
            return named(ports, place, stage, "input", findings);
        }
        let fits = |port: &Port| schema.is_none_or(|it| port.schema == "*" || port.schema == it);
        let mut fitting: Vec<usize> = (0..ports.len()).filter(|&it| fits(&ports[it])).collect();
        let is_fed = |port: usize| {
            self.upstream(
                PortRef {
                    stage: place.stage,
                    port,
                },
                schema,
            )
            .is_some()
        };
        if fitting.len() > 1 && fitting.iter().any(|&it| is_fed(it)) {
            fitting.retain(|&it| is_fed(it));
        }
        match fitting.as_slice() {
            [port] => Some(*port),
            [] => {
                let takes: Vec<_> = ports.iter().map(|it| it.schema.as_str()).collect();
                let span = input
                    .schema
                    .as_ref()
                    .map_or_else(|| input.span.clone(), Spanned::span);
                let problem = Problem::WrongTestSchema {
                    stage: stage.clone(),
                    takes: takes.join(" and "),
                    schema: schema.unwrap_or("another schema").to_owned(),
                };
                findings.report(&span, problem);
                None
            }
            several => {
                let names: Vec<_> = several.iter().map(|&it| ports[it].name.clone()).collect();
                let problem = Problem::AmbiguousPort {
                    stage: stage.clone(),
                    direction: "input",
                    example: format!("to = \"{stage}.{}\"", names[0]),
                    ports: names,
                };
                let own = input.to.as_ref().map(Spanned::span);
                findings.report(&own.unwrap_or_else(|| input.span.clone()), problem);
                None
            }
        }
    }

    /// The output that feeds an input: one of that schema, if several do.
    fn upstream(&self, to: PortRef, schema: Option<&str>) -> Option<PortRef> {
        let edges = self.pipeline.edges.iter().filter(|edge| edge.to == to);
        let of_schema = |from: PortRef| {
            let giver = self.manifests.get(from.stage).copied().flatten();
            let output = giver.and_then(|it| it.outputs.get(from.port));
            output.is_some_and(|it| Some(it.schema.as_str()) == schema)
        };
        let mut all = edges.map(|edge| edge.from);
        let first = all.clone().next();
        all.find(|&from| of_schema(from)).or(first)
    }

    fn output(
        &self,
        output: &WrittenOutput<'_, '_>,
        findings: &mut Findings,
    ) -> Option<TestOutput> {
        let place = self.place(output.from.as_ref()?, findings)?;
        let manifest = self.manifests.get(place.stage).copied().flatten()?;
        let stage = &self.pipeline.stages[place.stage].name;
        let looks = output.expect.is_some() || output.count.is_some();
        let port = match looks || place.port.is_some() {
            false => None,
            true => Some(named(&manifest.outputs, &place, stage, "output", findings)?),
        };
        let declared = port.map(|port| manifest.outputs[port].schema.as_str());
        let expect = output.expect.as_ref().map(|all| {
            let all = all.iter();
            all.map(|it| self.expectation(it, stage, declared, findings))
                .collect()
        });
        let count = output.count.as_ref();
        let count = count.map(|count| placed(*count.get_ref(), &count.span(), findings));
        let error = output.error.as_ref();
        let error = error.map(|error| placed(error.get_ref().clone(), &error.span(), findings));
        let listed = output.expect.as_ref().map_or(0, Vec::len) as u64;
        if let Some(count) = output.count.as_ref().filter(|it| *it.get_ref() < listed) {
            let count_of = *count.get_ref();
            let problem = Problem::FewerThanExpected {
                count: count_of,
                listed,
            };
            findings.report(&count.span(), problem);
        }
        Some(TestOutput {
            at: position(&output.span, findings),
            stage: place.stage,
            port,
            expect,
            count,
            error,
        })
    }

    fn expectation(
        &self,
        written: &WrittenExpectation<'_, '_>,
        stage: &str,
        declared: Option<&str>,
        findings: &mut Findings,
    ) -> Expectation {
        let value = |value: &Option<&Spanned<DeValue<'_>>>, findings: &mut Findings| {
            let value = (*value)?;
            let json = json::from_toml(value, findings);
            Some(placed(json, &value.span(), findings))
        };
        if let Some(jq) = &written.jq
            && let Some(expressions) = self.given.tests
            && let Err(reason) = expressions.check(jq.get_ref())
        {
            findings.report(&jq.span(), Problem::BadExpression { reason, hint: None });
        }
        if let Some(schema) = &written.schema {
            schema_id::check(schema, declared, findings);
        }
        if let (Some(schema), Some(declared)) = (&written.schema, declared)
            && declared != "*"
            && declared != schema.get_ref()
        {
            let problem = Problem::WrongExpectedSchema {
                stage: stage.to_owned(),
                gives: declared.to_owned(),
                schema: schema.get_ref().clone(),
            };
            findings.report(&schema.span(), problem);
        }
        let text = |text: &Option<Spanned<String>>, findings: &Findings| {
            let text = text.as_ref()?;
            Some(placed(text.get_ref().clone(), &text.span(), findings))
        };
        Expectation {
            at: position(&written.span, findings),
            schema: text(&written.schema, findings),
            jq: text(&written.jq, findings),
            equal: value(&written.equal, findings),
            contains: value(&written.contains, findings),
            buffer: written
                .buffer
                .as_ref()
                .and_then(|it| buffer::expected(it, findings)),
        }
    }
}

/// The port that a place names, or the only one, or else the only one of any schema. `None`: it is reported that there is
/// none, or several.
fn named(
    ports: &[Port],
    place: &NamedPlace<'_>,
    stage: &str,
    direction: &'static str,
    findings: &mut Findings,
) -> Option<usize> {
    let names: Vec<_> = ports.iter().map(|port| port.name.clone()).collect();
    let Some(name) = place.port else {
        let takes_any: Vec<_> = (0..ports.len())
            .filter(|&it| ports[it].schema == "*")
            .collect();
        let problem = match names.as_slice() {
            [_] => return Some(0),
            [..] if let [only] = takes_any[..] => return Some(only),
            [] => Problem::NoOutput {
                stage: stage.to_owned(),
            },
            [first, ..] => Problem::AmbiguousPort {
                stage: stage.to_owned(),
                direction,
                example: format!("\"{stage}.{first}\""),
                ports: names,
            },
        };
        findings.report(&place.span, problem);
        return None;
    };
    if let Some(port) = names.iter().position(|it| it == name) {
        return Some(port);
    }
    let hint = suggest::help(name, &format!("its {direction}s"), &names);
    let (stage, port) = (stage.to_owned(), name.to_owned());
    let problem = Problem::UnknownPort {
        stage,
        direction,
        port,
        hint,
    };
    findings.report(&place.span, problem);
    None
}

/// Reports a config that does not fit its schema, or that changes the ports.
fn check_config(
    manifest: &Manifest,
    keys: &TestConfig,
    config: &Value,
    written: &Spanned<DeValue<'_>>,
    findings: &mut Findings,
) {
    let merged = keys.over(config);
    let given = keys.keys.as_object().into_iter().flatten();
    for (key, _) in given {
        let known = manifest.config.get("properties").and_then(Value::as_object);
        let closed = manifest.config.get("additionalProperties") == Some(&Value::Bool(false));
        if closed && known.is_none_or(|known| !known.contains_key(key)) {
            let known: Vec<_> = known.into_iter().flat_map(|known| known.keys()).collect();
            let problem = Problem::UnknownKey {
                key: key.clone(),
                place: format!("the config of `{}`", manifest.name),
                hint: suggest::help(key, "known keys", &known),
            };
            findings.report(&written.span(), problem);
            return;
        }
    }
    if let Ok(schema) = config_schema(&manifest.config)
        && let Err(error) = schema.validate(&merged)
    {
        let path = error.instance_path().to_string();
        let message = match path.is_empty() {
            true => format!("the config of `{}`: {error}", manifest.name),
            false => format!(
                "`{}`: {error}",
                path.trim_start_matches('/').replace('/', ".")
            ),
        };
        let hint = None;
        findings.report(&written.span(), Problem::PluginConfig { message, hint });
        return;
    }
    let (before, now) = (manifest.with_config(config), manifest.with_config(&merged));
    if before.inputs != now.inputs || before.outputs != now.outputs {
        let plugin = manifest.name.clone();
        findings.report(&written.span(), Problem::TestPorts { plugin });
    }
}

fn position(span: &Span, findings: &Findings) -> Position {
    findings.file().position(findings.file().fit(span).start)
}

fn placed<T>(value: T, span: &Span, findings: &Findings) -> Placed<T> {
    Placed {
        value,
        at: position(span, findings),
    }
}
