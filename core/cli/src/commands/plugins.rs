//! `flowpipe plugins` and `flowpipe plugins show NAME`.

use std::io::Write;

use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{ContentArrangement, Table};
use flowpipe_config::effects::Effects;
use flowpipe_config::manifest::Port;
use flowpipe_host::catalogue::{Catalogue, Found, Refused};
use flowpipe_terminal::{escape, escape_block, escape_indented, escaped, stdout};
use serde_json::{Value, json};

use crate::args::{Global, Plugins, PluginsCommand};
use crate::commands::{plugin_check, plugin_install, plugin_remove};
use crate::exit::{Ended, Failure};
use crate::json_schema::{choices, description, kind, required, unwrapped};
use crate::plugins;
use crate::show::colour::{self, HEADING, QUIET, paint};
use crate::transports;

/// Why the effects of a plugin are unknown.
const UNDECLARED: &str = "its manifest does not declare any that this version knows";

pub fn run(global: &Global, args: &Plugins) -> Result<Ended, Failure> {
    let catalogue = || plugins::load_all(global);
    match &args.command {
        None if args.json => list_as_json(&catalogue()),
        None => list(&catalogue(), global),
        Some(PluginsCommand::Show { name, json }) => show(&catalogue(), global, name, *json),
        Some(PluginsCommand::Check(check)) => plugin_check::run(global, check),
        Some(PluginsCommand::Install(install)) => plugin_install::run(global, install),
        Some(PluginsCommand::Remove(remove)) => plugin_remove::run(global, remove),
    }
}

fn list(catalogue: &Catalogue, global: &Global) -> Result<Ended, Failure> {
    let mut stdout = stdout();
    let colours = colour::on_stdout(global);
    if catalogue.stages().is_empty() {
        writeln!(stdout, "No plugins found.")?;
    } else {
        let mut table = Table::new();
        table
            .load_preset(UTF8_BORDERS_ONLY)
            .set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(["plugin", "role", "version", "file"]);
        for Found { manifest, path, .. } in catalogue.stages() {
            let path = path.display().to_string();
            let row = [&manifest.name, &manifest.role, &manifest.version, &path];
            table.add_row(row.map(|text| escape(text)));
        }
        writeln!(stdout, "{table}")?;
    }
    if !catalogue.refused().is_empty() {
        writeln!(stdout, "\n{}", paint("Refused:", HEADING, colours))?;
        for refused in catalogue.refused() {
            let reason = escape_indented(&refused.reason.to_string());
            writeln!(stdout, "  {}: {reason}", escaped(refused.path.display()))?;
        }
    }
    if others(catalogue).next().is_some() {
        let heading = paint("Not plugins, not loaded:", HEADING, colours);
        writeln!(stdout, "\n{heading}")?;
        for other in others(catalogue) {
            let text = format!("  {}: {}", other.path.display(), other.reason);
            writeln!(stdout, "{}", paint(&text, QUIET, colours))?;
        }
    }
    writeln!(stdout, "\n{}", paint("Looked in:", HEADING, colours))?;
    for folder in plugins::folders(global) {
        let there = if folder.exists() { "" } else { " (not there)" };
        writeln!(
            stdout,
            "  {}{}",
            escaped(folder.display()),
            paint(there, QUIET, colours)
        )?;
    }
    Ok(Ended::Done)
}

/// The libraries that are no plugins, without the program's own.
fn others(catalogue: &Catalogue) -> impl Iterator<Item = &Refused> {
    let others = catalogue.not_plugins().iter();
    others.filter(|other| !transports::is_library(&other.path))
}

fn list_as_json(catalogue: &Catalogue) -> Result<Ended, Failure> {
    let found: Vec<Value> = catalogue
        .stages()
        .iter()
        .map(|found| json!({ "manifest": found.manifest, "file": found.path }))
        .collect();
    let entry = |it: &Refused, is_plugin: bool| {
        json!({
            "file": it.path,
            "reason": it.reason,
            "loaded": it.was_loaded,
            "plugin": is_plugin,
        })
    };
    let refused = catalogue.refused().iter().map(|it| entry(it, true));
    let others = others(catalogue).map(|it| entry(it, false));
    let refused: Vec<Value> = refused.chain(others).collect();
    let all = json!({ "found": found, "refused": refused });
    writeln!(stdout(), "{all:#}")?;
    Ok(Ended::Done)
}

fn show(
    catalogue: &Catalogue,
    global: &Global,
    name: &str,
    as_json: bool,
) -> Result<Ended, Failure> {
    let Some(found) = catalogue
        .stages()
        .iter()
        .find(|found| found.manifest.name == name)
    else {
        return Err(Failure::Usage(plugins::unknown(catalogue, name)));
    };
    let manifest = &found.manifest;
    let mut stdout = stdout();
    if as_json {
        writeln!(
            stdout,
            "{:#}",
            serde_json::to_value(manifest).unwrap_or_default()
        )?;
        return Ok(Ended::Done);
    }
    let colours = colour::on_stdout(global);
    let heading = |text| paint(text, HEADING, colours);
    writeln!(
        stdout,
        "{} {}, {}",
        heading(&manifest.name),
        escape(&manifest.version),
        escape(&manifest.role)
    )?;
    writeln!(
        stdout,
        "{}\n",
        paint(&found.path.display().to_string(), QUIET, colours)
    )?;
    if !manifest.doc.is_empty() {
        writeln!(stdout, "{}\n", wrapped(&manifest.doc, 0))?;
    }
    writeln!(stdout, "{}  {}", heading("in  "), ports(&manifest.inputs))?;
    writeln!(stdout, "{}  {}", heading("out "), ports(&manifest.outputs))?;
    let same = if manifest.deterministic {
        "always"
    } else {
        "not always"
    };
    writeln!(
        stdout,
        "      the same messages in {same} give the same messages out\n"
    )?;
    if !manifest.supports.is_empty() {
        writeln!(
            stdout,
            "{}\n{}\n",
            heading("takes"),
            wrapped(&manifest.supports.join(", "), 2)
        )?;
    }
    effects(&mut stdout, &manifest.effects, colours)?;
    config(&mut stdout, &manifest.config, colours)?;
    Ok(Ended::Done)
}

fn ports(ports: &[Port]) -> String {
    if ports.is_empty() {
        return "nothing".to_owned();
    }
    let port = |port: &Port| {
        let carries = match port.carries.is_default() {
            true => String::new(),
            false => format!(" with {}", escape(&port.carries.to_string())),
        };
        format!("{}: {}{carries}", escape(&port.name), escape(&port.schema))
    };
    ports.iter().map(port).collect::<Vec<_>>().join(", ")
}

/// A doc comment in lines of reading width, indented.
fn wrapped(doc: &str, indent: usize) -> String {
    const WIDTH: usize = 100;
    let indent = " ".repeat(indent);
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(&indent)
        .subsequent_indent(&indent);
    textwrap::fill(&escape_block(&unwrapped(doc)), options)
}

fn effects(out: &mut impl Write, effects: &Effects, colours: bool) -> Result<(), Failure> {
    let Effects::Declared(effects) = effects else {
        let heading = paint("unknown effects", HEADING, colours);
        writeln!(out, "{heading}: {UNDECLARED}\n")?;
        return Ok(());
    };
    if effects.is_empty() {
        writeln!(out, "{}\n", paint("no effects", HEADING, colours))?;
        return Ok(());
    }
    writeln!(out, "{}", paint("effects", HEADING, colours))?;
    for effect in effects {
        let kind = paint(effect.kind.as_str(), HEADING, colours);
        let condition = effect
            .key
            .as_ref()
            .map(|key| format!("; only with `{}`", escape(key)));
        let condition = paint(condition.as_deref().unwrap_or_default(), QUIET, colours);
        writeln!(out, "  {kind}  {}{condition}", escape(&effect.doc))?;
    }
    writeln!(out)?;
    Ok(())
}

fn config(out: &mut impl Write, schema: &Value, colours: bool) -> Result<(), Failure> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|properties| !properties.is_empty()) else {
        writeln!(out, "{}", paint("no config", HEADING, colours))?;
        return Ok(());
    };
    writeln!(out, "{}", paint("config", HEADING, colours))?;
    let required = required(schema);
    for (name, property) in properties {
        let kind = kind(schema, property);
        let default = match property.get("default") {
            _ if required.contains(&name.as_str()) => "must be given".to_owned(),
            None | Some(Value::Null) => "not set".to_owned(),
            Some(default) => format!("default {default}"),
        };
        let name = paint(name, HEADING, colours);
        writeln!(
            out,
            "  {name}  {}",
            paint(&format!("{kind}; {default}"), QUIET, colours)
        )?;
        if let Some(doc) = description(schema, property) {
            writeln!(out, "{}", wrapped(&doc, 6))?;
        }
        for (value, doc) in choices(schema, property) {
            writeln!(out, "      {}  {}", escape(&value), escape(&doc))?;
        }
    }
    Ok(())
}
