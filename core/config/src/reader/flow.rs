//! What flows along the edges where the ports alone do not say it: outputs whose schema or element type the config names,
//! and outputs that pass on or join what comes in.

use std::collections::HashMap;

use super::error::Findings;
use super::problem::Problem;
use super::source::Span;
use super::wiring::Wire;
use super::{Plugins, Surroundings};
use crate::manifest::{Carried, Manifest, Port};
use crate::pipeline::{Pipeline, PortRef};

/// The schema of a port that takes or gives any.
const ANY: &str = "*";

/// Reports the edges whose input does not take what flows along them. Those that the ports exclude are no wires.
pub(super) fn check(
    pipeline: &Pipeline,
    manifests: &[Option<&Manifest>],
    wires: &[Wire],
    given: Surroundings<'_>,
    findings: &mut Findings,
) {
    let mut flows = Flows::new(pipeline, manifests, wires, given.plugins);
    let stage = |port: PortRef| pipeline.stages[port.stage].name.clone();
    for wire in wires {
        let (from, to) = (wire.edge.from, wire.edge.to);
        let (Some(output), Some(input)) = (flows.output(from), flows.input(to)) else {
            continue;
        };
        let Flow { schema, carries } = flows.of(from);
        let does = match output.joins {
            Some(_) => "joins",
            None => "passes on",
        };
        let origin = |span: Span| {
            (
                span,
                format!("`{}` {does} what comes from here", stage(from)),
            )
        };
        match (schema, carries) {
            (Some((schema, span)), _) if input.schema != ANY && input.schema != schema => {
                let hint = match (&span, &output.schema_key) {
                    (Some(_), _) => Some(format!("`{}` passes on what comes in", stage(from))),
                    (None, Some(key)) => {
                        Some(format!("`{key}` of `{}` names {schema}", stage(from)))
                    }
                    (None, None) => None,
                };
                let problem = Problem::SchemasDoNotMeet {
                    from: stage(from),
                    gives: schema,
                    to: stage(to),
                    takes: input.schema.clone(),
                    hint,
                };
                findings.report_with(&wire.span, problem, span.map(origin));
            }
            (_, Some((carries, span))) if !carries.meets(&input.carries) => {
                let problem = Problem::ContentsDoNotMeet {
                    from: format!("{}.{}", stage(from), output.name),
                    gives: carries.to_string(),
                    to: format!("{}.{}", stage(to), input.name),
                    takes: input.carries.to_string(),
                };
                findings.report_with(&wire.span, problem, span.map(origin));
            }
            _ => {}
        }
    }
}

/// The schema of what comes in at an input, if it is known and all have the same one.
pub(super) fn schema_at(
    input: PortRef,
    pipeline: &Pipeline,
    manifests: &[Option<&Manifest>],
    wires: &[Wire],
    given: Surroundings<'_>,
) -> Option<String> {
    let mut flows = Flows::new(pipeline, manifests, wires, given.plugins);
    let (schema, _) = flows.incoming(input).schema?;
    Some(schema)
}

/// What flows out of an output. A span is that of the edge along which it comes into a stage that passes it on or joins it.
#[derive(Clone, Debug, Default)]
struct Flow {
    /// `None`: any schema.
    schema: Option<(String, Option<Span>)>,
    /// What is passed on, joined, or narrowed by the config. `None`: what the port declares.
    carries: Option<(Carried, Option<Span>)>,
}

struct Flows<'a> {
    pipeline: &'a Pipeline,
    manifests: &'a [Option<&'a Manifest>],
    wires: &'a [Wire],
    plugins: &'a dyn Plugins,
    known: HashMap<PortRef, Flow>,
}

impl<'a> Flows<'a> {
    fn new(
        pipeline: &'a Pipeline,
        manifests: &'a [Option<&'a Manifest>],
        wires: &'a [Wire],
        plugins: &'a dyn Plugins,
    ) -> Self {
        Self {
            pipeline,
            manifests,
            wires,
            plugins,
            known: HashMap::new(),
        }
    }

    fn output(&self, port: PortRef) -> Option<&'a Port> {
        self.manifests[port.stage]?.outputs.get(port.port)
    }

    fn input(&self, port: PortRef) -> Option<&'a Port> {
        self.manifests[port.stage]?.inputs.get(port.port)
    }

    fn of(&mut self, port: PortRef) -> Flow {
        if let Some(known) = self.known.get(&port) {
            return known.clone();
        }
        // What depends on itself, in a loop, is unknown.
        self.known.insert(port, Flow::default());
        let flow = self.output(port).map(|output| self.found(port, output));
        let flow = flow.unwrap_or_default();
        self.known.insert(port, flow.clone());
        flow
    }

    fn found(&mut self, port: PortRef, output: &Port) -> Flow {
        let mut flow = match (&output.passes, &output.joins) {
            (Some(input), _) => self.passed(port.stage, input),
            (None, Some(input)) => {
                let carries = self.passed(port.stage, input).carries;
                Flow {
                    schema: None,
                    carries: carries.map(|(carries, span)| (carries.joined(), span)),
                }
            }
            (None, None) => Flow {
                schema: None,
                carries: self.with_element(port, output),
            },
        };
        let own = match (output.schema.as_str(), &output.schema_key) {
            (ANY, Some(key)) => self.named(port.stage, key),
            (ANY, None) => None,
            (schema, _) => Some(schema.to_owned()),
        };
        if let Some(schema) = own {
            flow.schema = Some((schema, None));
        }
        flow
    }

    /// What an output carries whose element type the config names.
    fn with_element(&self, port: PortRef, output: &Port) -> Option<(Carried, Option<Span>)> {
        let key = output.element_key.as_deref()?;
        let element = self.named(port.stage, key)?.parse().ok()?;
        Some((output.carries.with_element(element), None))
    }

    /// The text that a key of the config of a stage has: the same one for each of its plugins.
    fn named(&self, stage: usize, key: &str) -> Option<String> {
        let contestants = self.pipeline.stages[stage].contestants.iter();
        let mut named = contestants.map(|it| {
            let manifest = self.plugins.manifest(&it.plugin)?;
            manifest.value(&it.config, key)?.as_str()
        });
        let first = named.next()??;
        let is_same = named.all(|it| it == Some(first));
        is_same.then(|| first.to_owned())
    }

    /// What comes in at an input of this name, if all that comes in is the same.
    fn passed(&mut self, stage: usize, input: &str) -> Flow {
        let inputs = self.manifests[stage].map_or(&[][..], |it| &it.inputs);
        match inputs.iter().position(|it| it.name == input) {
            Some(port) => self.incoming(PortRef { stage, port }),
            None => Flow::default(),
        }
    }

    /// What comes in at an input, if all that comes in is the same.
    fn incoming(&mut self, input: PortRef) -> Flow {
        let wires = self.wires;
        let mut schemas = Vec::new();
        let mut all_carried = Vec::new();
        for wire in wires.iter().filter(|wire| wire.edge.to == input) {
            let from = wire.edge.from;
            let flow = self.of(from);
            let declared = self.output(from).map(|it| it.carries.clone());
            let carries = flow.carries.map(|(carries, _)| carries).or(declared);
            schemas.push((flow.schema.map(|(schema, _)| schema), wire.span.clone()));
            all_carried.push((carries, wire.span.clone()));
        }
        Flow {
            schema: only(schemas).map(|(schema, span)| (schema, Some(span))),
            carries: only(all_carried).map(|(carries, span)| (carries, Some(span))),
        }
    }
}

/// What all are, if they are the same, and the span of the first one.
fn only<T: PartialEq>(all: Vec<(Option<T>, Span)>) -> Option<(T, Span)> {
    let mut all = all.into_iter();
    let (first, span) = all.next()?;
    let first = first?;
    let is_same = all.all(|(other, _)| other.as_ref() == Some(&first));
    is_same.then_some((first, span))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::manifest::Manifest;
    use crate::reader::read;
    use crate::reader::testing::plugins;

    fn plugin(name: &str, inputs: &Value, output: &Value) -> Manifest {
        let manifest = json!({
            "name": name, "role": "stage", "inputs": inputs, "outputs": [output], "effects": [],
            "config": { "type": "object", "properties": {
                "schema": { "type": "string" }, "to": { "type": "string", "default": "lines/1" },
                "element": { "type": "string", "default": "f32" },
            } },
        });
        serde_json::from_value(manifest).unwrap()
    }

    /// The errors of a pipeline: the line, the message and the help of each. A line has the name of a stage, its plugin, what
    /// feeds it, and its config.
    fn errors(stages: &str) -> Vec<(usize, String, Option<String>)> {
        let anything = json!(["nothing", "picture", {}]);
        let input = json!([{ "name": "in", "schema": "*", "carries": anything }]);
        let output = |more: Value| {
            let mut output = json!({ "name": "out", "schema": "*", "carries": anything });
            let members = more.as_object().unwrap().clone();
            output.as_object_mut().unwrap().extend(members);
            output
        };
        let takes = |carried: &Value| json!([{ "name": "in", "schema": "*", "carries": carried }]);
        let [named, passing] = [json!({ "schema_key": "schema" }), json!({ "passes": "in" })];
        let window = json!({ "schema_key": "to", "carries": ["nothing", {}], "joins": "in" });
        let sound = json!({ "schema": "sound/1", "carries": { "media_type": "audio/pcm", "shape": ["any", 1] },
                            "element_key": "element" });
        let map = json!({ "schema_key": "schema", "passes": "in" });
        let plugins = plugins()
            .with(plugin("source", &json!([]), &output(named)))
            .with(plugin("filter", &input, &output(passing)))
            .with(plugin("window", &input, &output(window)))
            .with(plugin("map", &input, &output(map)))
            .with(plugin("sound", &json!([]), &output(sound)))
            .with(plugin(
                "text",
                &takes(&json!({ "media_type": "text/plain" })),
                &output(json!({})),
            ))
            .with(plugin(
                "i16",
                &takes(&json!({ "element": "i16" })),
                &output(json!({})),
            ))
            .with(plugin(
                "stereo",
                &takes(&json!({ "shape": ["any", 2] })),
                &output(json!({})),
            ))
            .with(plugin(
                "mono",
                &takes(&json!({ "element": "f32", "shape": ["any", 1] })),
                &output(json!({})),
            ))
            .with(plugin(
                "none",
                &takes(&json!("nothing")),
                &output(json!({})),
            ));
        let mut text = String::new();
        for line in stages.lines() {
            let words: Vec<_> = line.splitn(4, ' ').collect();
            let [stage, plugin, from, config] = <[&str; 4]>::try_from(words).unwrap();
            text += &format!("[stages.{stage}]\nplugin = \"{plugin}\"\n");
            text += &match from {
                "-" => "\n".to_owned(),
                from => format!("from = {:?}\n", from.split('+').collect::<Vec<_>>()),
            };
            text += &format!("config = {{ {config} }}\n");
        }
        let errors = read("x.toml", &text, &plugins).err().unwrap_or_default();
        let errors = errors.iter();
        errors
            .map(|it| (it.position().line, it.message(), it.help()))
            .collect()
    }

    #[test]
    fn what_may_flow_on_is_accepted() {
        for stages in [
            "a source - \nb filter a \nc vision-opencv b ",
            "a source - schema=\"frame/1\"\nb map a \nc vision-opencv b ",
            "a source - schema=\"x/1\"\nb map a schema=\"frame/1\"\nc vision-opencv b ",
            // Not all that comes in is the same.
            "a source - schema=\"x/1\"\nb source - schema=\"frame/1\"\nc filter a+b \nd vision-opencv c ",
            "a capture-files - paths=[\"x\"]\nb filter a \nc vision-opencv b ",
            "a microphone - \nb filter a \nc filter b ",
            "a sound - \nb mono a \nc window a \nd mono c \ne filter c \nf mono e ",
            "a sound - element=\"i16\"\nb i16 a \nc window a \nd i16 c ",
            // Not all that comes in is the same.
            "a sound - \nb sound - element=\"i16\"\nc window a+b \nd i16 c ",
            "a capture-files - paths=[\"x\"]\nb window a \nc none b ",
            "a source - schema=\"frame/1\"\nb filter a+c \nc filter b \nd vision-opencv c ",
        ] {
            let errors = errors(stages);
            let flow = errors
                .iter()
                .filter(|(_, text, _)| text.contains(", but `"));
            assert_eq!(flow.count(), 0, "{stages}: {errors:?}");
        }
    }

    #[test]
    fn an_input_that_does_not_take_what_flows_on_is_an_error() {
        let known = "a capture-files - paths=[\"x\"]\n";
        let error =
            |line, message: &str, help: &str| [(line, message.to_owned(), Some(help.to_owned()))];
        assert_eq!(
            errors(&format!(
                "{known}b filter a \nc filter b \nd planner-grid c "
            )),
            error(
                15,
                "`c` gives frame/1, but `d` takes solved/1",
                "`c` passes on what comes in"
            )
        );
        assert_eq!(
            errors("a source - schema=\"x/1\"\nb vision-opencv a "),
            error(
                7,
                "`a` gives x/1, but `b` takes frame/1",
                "`schema` of `a` names x/1"
            )
        );
        assert_eq!(
            errors("a source - schema=\"x/1\"\nb map a \nc vision-opencv b "),
            error(
                11,
                "`b` gives x/1, but `c` takes frame/1",
                "`b` passes on what comes in"
            )
        );
        // The default of a key counts too, and what comes in does not.
        assert_eq!(
            errors(&format!("{known}b window a \nc vision-opencv b ")),
            error(
                11,
                "`b` gives lines/1, but `c` takes frame/1",
                "`to` of `b` names lines/1"
            )
        );
    }

    #[test]
    fn an_input_that_does_not_take_what_is_carried_on_is_an_error() {
        let errors = errors("a microphone - \nb filter a \nc oscilloscope b ");
        let [(line, message, _)] = errors.as_slice() else {
            panic!("{errors:?}");
        };
        assert_eq!(*line, 11);
        assert!(
            message.starts_with("`b.out` carries a buffer "),
            "{message}"
        );
        assert!(
            message.ends_with(", but `c.in` carries nothing or a picture"),
            "{message}"
        );
    }

    #[test]
    fn what_is_joined_and_the_element_type_of_a_config_count() {
        for (stages, line, parts) in [
            (
                "a sound - \nb i16 a ",
                7,
                ["`a.out` carries", "\"element\":\"f32\""],
            ),
            (
                "a sound - element=\"i16\"\nb mono a ",
                7,
                ["`a.out` carries", "\"element\":\"i16\""],
            ),
            (
                "a sound - \nb window a \nc text b ",
                11,
                ["`b.out` carries", "\"media_type\":\"audio/pcm\""],
            ),
            (
                "a sound - \nb window a \nc i16 b ",
                11,
                ["`b.out` carries", "but `c.in`"],
            ),
            (
                "a sound - \nb window a \nc stereo b ",
                11,
                ["`b.out` carries", "[\"any\",1]"],
            ),
            (
                "a sound - \nb window a \nc none b ",
                11,
                ["`b.out` carries", "nothing"],
            ),
            (
                "a capture-files - paths=[\"x\"]\nb window a \nc mono b ",
                11,
                ["`b.out` carries nothing, but", "`c.in`"],
            ),
        ] {
            let errors = errors(stages);
            let [(found, message, _)] = errors.as_slice() else {
                panic!("{stages}: {errors:?}");
            };
            assert_eq!(*found, line, "{stages}: {message}");
            for part in parts {
                assert!(message.contains(part), "{stages}: {message}");
            }
        }
    }
}
