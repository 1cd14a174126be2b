//! Resolves a pipeline file: looks plugins up and fills defaults in.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use serde_json::Value;
use toml::Spanned;
use toml::de::DeValue;

use super::declared::Declared;
use super::error::Findings;
use super::json::Place;
use super::plugin_config::ConfigSource;
use super::problem::{MAX_STAGES, Problem};
use super::source::Span;
use super::tested::Tested;
use super::values::wrong_type;
use super::written::Written;
use super::written::stage::{WrittenPlugins, WrittenStage};
use super::{
    Plugins, Surroundings, cycle, desktops, expressions, flow, machines, plugin_config,
    same_file_names, setting, shared_files, standard_streams, suggest, wiring,
};
use crate::manifest::effects::OneWorker;
use crate::manifest::{Manifest, Port};
use crate::pipeline::{Contestant, Machines, Pipeline, Stage};
use crate::reader::pipeline_test::PipelineTest;

/// The pipeline and its tests. They are valid only if nothing was reported.
pub(super) fn resolve(
    written: &Written<'_, '_>,
    given: Surroundings<'_>,
    findings: &mut Findings,
) -> (Pipeline, Vec<PipelineTest>) {
    let stages = &written.stages;
    let settings = setting::with_plugins(given.settings, stages);
    let settings = settings.as_slice();
    let given = Surroundings { settings, ..given };
    let plugins = given.plugins;
    let mut pipeline = Pipeline {
        name: written
            .name
            .as_ref()
            .map_or_else(|| stem(findings), |name| name.get_ref().clone()),
        stages: Vec::new(),
        edges: Vec::new(),
        on_stop: written.on_stop.unwrap_or_default(),
        record: written.record.as_ref().map(|it| it.get_ref().clone()),
        machines: Machines::default(),
    };
    if let Some(first_too_many) = stages.get(MAX_STAGES) {
        let problem = Problem::TooManyStages {
            found: stages.len(),
        };
        findings.report(&first_too_many.name.span(), problem);
        return (pipeline, Vec::new());
    }
    let mut manifests = Vec::new();
    let mut declared = Declared::default();
    for stage in stages {
        let (manifest, contestants) = contestants(stage, given, &mut declared, findings);
        manifests.push(manifest);
        pipeline.stages.push(self::stage(stage, contestants));
    }
    for (written, stage) in stages.iter().zip(&pipeline.stages) {
        check_workers(written, stage, plugins, findings);
    }
    check_one_mouse(stages, &pipeline.stages, plugins, findings);
    let known = stages.iter().flat_map(|stage| {
        let name = stage.name.get_ref().as_str();
        let plugins_of = stage.plugin.iter().flat_map(|it| &it.names);
        plugins_of.filter_map(move |plugin| Some((name, plugins.manifest(plugin.get_ref())?)))
    });
    let known: Vec<_> = known.collect();
    setting::report_unused(settings, stages, &known, findings);
    let manifests: Vec<_> = manifests.iter().map(Option::as_deref).collect();
    let before = findings.count();
    let wires = wiring::wire(stages, &manifests, plugins, findings);
    pipeline.edges = wires.iter().map(|wire| wire.edge).collect();
    // What flows is known where all edges are.
    if findings.count() == before {
        flow::check(&pipeline, &manifests, &wires, given, findings);
    }
    desktops::check(stages, &pipeline, given, findings);
    for edges in cycle::blocking_cycles(stages.len(), &pipeline.edges) {
        report_cycle(&edges, &wires, &pipeline, findings);
    }
    pipeline.machines = machines::resolve(written, &pipeline.stages, &wires, findings);
    shared_files::check(stages, &pipeline, given, findings);
    same_file_names::check(stages, &pipeline, given, findings);
    standard_streams::check(stages, &pipeline, given, findings);
    if findings.is_empty() {
        wiring::check_reached(stages, &manifests, &pipeline.edges, findings);
    }
    let tested = Tested {
        given,
        pipeline: &pipeline,
        wires: &wires,
        stages,
        manifests: &manifests,
        is_whole: findings.is_empty(),
    };
    let tests = tested.resolve(&written.tests, findings);
    (pipeline, tests)
}

/// A stage with these plugins.
pub(super) fn stage(written: &WrittenStage<'_, '_>, contestants: Vec<Contestant>) -> Stage {
    Stage {
        name: written.name.get_ref().clone(),
        contestants,
        timeout: written.timeout,
        on_error: written.on_error.unwrap_or_default(),
        watchdog: written.watchdog.unwrap_or(Stage::DEFAULT_WATCHDOG),
        isolation: written.isolation.unwrap_or_default(),
        restart: written.restart,
        fresh: false,
        workers: workers(written),
        ordered: written.ordered.unwrap_or(true),
    }
}

/// The number of its workers, on all machines.
fn workers(stage: &WrittenStage<'_, '_>) -> usize {
    let each = stage.workers.as_ref().map_or(1, |it| *it.get_ref());
    let machines = stage.machines.as_ref().map_or(1, |it| it.get_ref().len());
    each.saturating_mul(machines.max(1))
}

/// Reports a stage that can't have several workers, or too many.
fn check_workers(
    written: &WrittenStage<'_, '_>,
    stage: &Stage,
    plugins: &dyn Plugins,
    findings: &mut Findings,
) {
    let several = written.workers.as_ref().filter(|it| *it.get_ref() > 1);
    let several = several.map(Spanned::span);
    let machines = written.machines.as_ref().map(Spanned::span);
    let Some(span) = machines.clone().or(several) else {
        return;
    };
    let is_distributed = machines.is_some();
    if stage.workers > Stage::MAX_WORKERS {
        let (stage, found) = (stage.name.clone(), stage.workers);
        findings.report(&span, Problem::TooManyWorkers { stage, found });
    }
    let known = stage.contestants.iter();
    let known = known.filter_map(|it| Some((plugins.manifest(&it.plugin)?, &it.config)));
    let why = known.filter_map(|(manifest, config)| manifest.why_one_worker(config));
    let name = || stage.name.clone();
    let problem = why.min().map(|why| match why {
        OneWorker::Source if is_distributed => Problem::SourceOnMachines { stage: name() },
        OneWorker::Source => Problem::SourceWithWorkers { stage: name() },
        OneWorker::DrivesMouse if is_distributed => Problem::MouseOnMachines { stage: name() },
        OneWorker::DrivesMouse => Problem::MouseWithWorkers { stage: name() },
    });
    if let Some(problem) = problem {
        findings.report(&span, problem);
    }
}

/// Reports each stage that drives the mouse besides another one.
fn check_one_mouse(
    written: &[WrittenStage<'_, '_>],
    stages: &[Stage],
    plugins: &dyn Plugins,
    findings: &mut Findings,
) {
    let drives = |stage: &Stage| {
        stage.contestants.iter().any(|it| {
            let manifest = plugins.manifest(&it.plugin);
            let manifest = manifest.map(|manifest| manifest.with_config(&it.config));
            manifest.is_some_and(|manifest| manifest.drives_mouse(&it.config))
        })
    };
    let mut driving = written.iter().zip(stages).filter(|(_, it)| drives(it));
    let Some((_, first)) = driving.next() else {
        return;
    };
    for (written, stage) in driving {
        let problem = Problem::SecondMouse {
            stage: stage.name.clone(),
            other: first.name.clone(),
        };
        findings.report(&written.name.span(), problem);
    }
}

fn stem(findings: &Findings) -> String {
    let name = findings.file().name();
    let stem = Path::new(name)
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    stem.filter(|stem| !stem.is_empty())
        .unwrap_or_else(|| "pipeline".to_owned())
}

/// The plugins of a stage, and the manifest that represents all of them: `None` when a plugin is unknown, or its ports
/// are, since its config is wrong.
fn contestants<'p>(
    stage: &WrittenStage<'_, '_>,
    given: Surroundings<'p>,
    declared: &mut Declared,
    findings: &mut Findings,
) -> (Option<Cow<'p, Manifest>>, Vec<Contestant>) {
    let Surroundings {
        plugins, settings, ..
    } = given;
    let Some(WrittenPlugins { names, race }) = &stage.plugin else {
        let problem = Problem::MissingPlugin {
            stage: stage.name.get_ref().clone(),
        };
        findings.report(&stage.name.span(), problem);
        return (None, Vec::new());
    };
    let keyed = stage.config.filter(|_| *race);
    if let Some(config) = keyed {
        check_config_keys(config, names, findings);
    }
    let mut contestants: Vec<Contestant> = Vec::new();
    let mut seen = HashSet::new();
    let mut known: Vec<Cow<'p, Manifest>> = Vec::new();
    let mut are_ports_known = true;
    for name in names {
        let span = name.span();
        let name = name.get_ref();
        if !seen.insert(name) {
            findings.report(&span, Problem::PluginTwice { name: name.clone() });
            continue;
        }
        let mut config = Value::Null;
        if let Some(manifest) = plugins.manifest(name) {
            let written = match race {
                true => keyed.and_then(|keyed| keyed.get_ref().as_table()?.get(name.as_str())),
                false => stage.config,
            };
            let key = if *race { name.as_str() } else { "config" };
            let settings = setting::of_plugin(settings, stage, manifest);
            let config_source = ConfigSource {
                key,
                written,
                settings: &settings,
            };
            let before = findings.count();
            config = plugin_config::check(manifest, &config_source, &span, findings);
            if let (Some(expressions), Some(written)) = (given.tests, written) {
                let place = Place::of(written);
                expressions::check(&manifest.config, &config, &place, expressions, findings);
            }
            if findings.count() == before {
                let files = given.files;
                declared.declare(
                    manifest,
                    &mut config,
                    &config_source,
                    &span,
                    files,
                    findings,
                );
            }
            let may_declare_others = manifest.declared_by_config && findings.count() > before;
            let manifest = manifest.with_config(&config);
            if may_declare_others && (manifest.inputs.is_empty() || manifest.outputs.is_empty()) {
                // What is wrong with the config may be why.
                are_ports_known = false;
            }
            check_checks(&manifest, plugins, &span, findings);
            if let Some(problem) = known
                .first()
                .and_then(|first| unfit_to_race(first, &manifest))
            {
                findings.report(&span, problem);
            }
            known.push(manifest);
        } else {
            findings.report(&span, unknown_plugin(name, plugins));
        }
        contestants.push(Contestant {
            plugin: name.clone(),
            config,
            revision: 0,
        });
    }
    let all_known = are_ports_known && known.len() == contestants.len();
    (known.into_iter().next().filter(|_| all_known), contestants)
}

fn unknown_plugin(name: &str, plugins: &dyn Plugins) -> Problem {
    let name = name.to_owned();
    match plugins.refused(&name) {
        Some(reason) => Problem::RefusedPlugin { name, reason },
        None => {
            let hint = suggest::help(&name, "plugins found", &plugins.names())
                .or_else(|| Some("`flowpipe plugins` lists what was found and where".to_owned()));
            Problem::UnknownPlugin { name, hint }
        }
    }
}

/// Reports that the plugin is a check, and outputs whose check is missing.
fn check_checks(manifest: &Manifest, plugins: &dyn Plugins, span: &Span, findings: &mut Findings) {
    if manifest.is_check() {
        let plugin = manifest.name.clone();
        findings.report(span, Problem::CheckAsStage { plugin });
    }
    let mut seen = HashSet::new();
    for output in &manifest.outputs {
        let Some(check) = &output.check else { continue };
        let judges = |it: &Manifest| it.judges(&output.schema);
        if plugins.manifest(check).is_some_and(judges) || !seen.insert(check) {
            continue;
        }
        let hint = plugins
            .refused(check)
            .or_else(|| Some("install it, or name its folder with --plugin-dir".to_owned()));
        let problem = Problem::MissingCheck {
            plugin: manifest.name.clone(),
            schema: output.schema.clone(),
            check: check.clone(),
            hint,
        };
        findings.report(span, problem);
    }
}

fn unfit_to_race(first: &Manifest, second: &Manifest) -> Option<Problem> {
    if first.inputs.is_empty() && second.inputs.is_empty() {
        return Some(Problem::RacingSources {
            name: second.name.clone(),
        });
    }
    let difference = |what: &str, one: &[Port], other: &[Port]| {
        let ports = |ports: &[Port]| {
            let ports: Vec<_> = ports
                .iter()
                .map(|p| format!("{} {}", p.name, p.schema))
                .collect();
            if ports.is_empty() {
                "nothing".to_owned()
            } else {
                ports.join(", ")
            }
        };
        (one != other).then(|| format!("{what} {}, not {}", ports(other), ports(one)))
    };
    let difference = difference("it takes", &first.inputs, &second.inputs)
        .or_else(|| difference("it gives", &first.outputs, &second.outputs))?;
    let (first, second) = (first.name.clone(), second.name.clone());
    Some(Problem::DifferentPorts {
        first,
        second,
        difference,
    })
}

/// Where plugins race, `config` is keyed by plugin.
fn check_config_keys(
    config: &Spanned<DeValue<'_>>,
    names: &[Spanned<String>],
    findings: &mut Findings,
) {
    let Some(table) = config.get_ref().as_table() else {
        let hint = Some("write config = { PLUGIN = { … } }".to_owned());
        wrong_type("config", config, "a table keyed by plugin", hint, findings);
        return;
    };
    let names: Vec<&str> = names.iter().map(|name| name.get_ref().as_str()).collect();
    for key in table
        .keys()
        .filter(|key| !names.contains(&key.get_ref().as_ref()))
    {
        let text = key.get_ref().as_ref();
        let hint = match suggest::closest(text, &names) {
            Some(close) => format!("did you mean `{close}`?"),
            None => "with a list of plugins, config is keyed by plugin: \
                     config = { PLUGIN = { … } }"
                .to_owned(),
        };
        let place = "the config of plugins that race".to_owned();
        let problem = Problem::UnknownKey {
            key: text.to_owned(),
            place,
            hint: Some(hint),
        };
        findings.report(&key.span(), problem);
    }
}

fn report_cycle(
    cycle: &[usize],
    wires: &[wiring::Wire],
    pipeline: &Pipeline,
    findings: &mut Findings,
) {
    let name = |stage: usize| pipeline.stages[stage].name.clone();
    let mut cycle: Vec<&wiring::Wire> = cycle.iter().map(|&index| &wires[index]).collect();
    let first = (0..cycle.len())
        .min_by_key(|&at| cycle[at].span.start)
        .unwrap_or_default();
    cycle.rotate_left(first);
    let Some((primary, others)) = cycle.split_first() else {
        return;
    };
    let mut stages: Vec<_> = cycle
        .iter()
        .map(|wire| name(wire.edge.from.stage))
        .collect();
    stages.push(name(primary.edge.from.stage));
    let related = others.iter().map(|wire| {
        let (from, to) = (name(wire.edge.from.stage), name(wire.edge.to.stage));
        (wire.span.clone(), format!("{from} → {to}"))
    });
    findings.report_with(&primary.span, Problem::BlockingCycle { stages }, related);
}
