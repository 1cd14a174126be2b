//! The page of plugins, from the manifests of those that come with the program.

use flowpipe_config::effects::Effects;
use flowpipe_config::manifest::{Manifest, Port};

use super::page::{Page, code, prose};
use super::types::Types;
use crate::plugins::{beside_program, load_from};

const INTRODUCTION: [&str; 4] = [
    "This page lists the plugins that come with flowpipe, by role. `flowpipe plugins show NAME` prints the same of any \
     plugin that is found.",
    "A plugin receives and emits [messages](messages.md); `*` stands for any. A deterministic plugin gives the same \
     messages out for the same messages in. An effect is what it does outside of flowpipe. `{key}` stands for the \
     value of a config key, and text in brackets appears if the key is set.",
    "The keys of its config are set in the table `config` of a [stage](../pipelines.md).",
    "`flowpipe reference` writes this page from the manifests of the plugins.",
];

/// The roles, in the order of a pipeline.
const ROLES: [&str; 6] = [
    "capture", "vision", "solver", "planner", "actuator", "stage",
];

pub fn page() -> String {
    let catalogue = load_from(&beside_program());
    let mut manifests: Vec<&Manifest> = catalogue.stages().iter().map(|it| &it.manifest).collect();
    let place = |it: &Manifest| ROLES.iter().position(|&role| role == it.role);
    manifests.sort_by_key(|it| (place(it).unwrap_or(ROLES.len()), &it.name));
    let mut page = Page::new("Plugins", &INTRODUCTION);
    let mut role = "";
    for manifest in manifests {
        if manifest.role != role {
            role = &manifest.role;
            page.heading(2, &format!("Role {role}"));
        }
        add(&mut page, manifest);
    }
    page.finish()
}

fn add(page: &mut Page, manifest: &Manifest) {
    page.heading(3, &manifest.name);
    for paragraph in manifest.doc.split("\n\n") {
        page.paragraph(&prose(paragraph));
    }
    let deterministic = if manifest.deterministic { "yes" } else { "no" };
    let mut items = vec![
        (0, format!("In: {}.", ports(&manifest.inputs))),
        (0, format!("Out: {}.", ports(&manifest.outputs))),
        (0, format!("Deterministic: {deterministic}.")),
    ];
    if !manifest.supports.is_empty() {
        items.push((0, format!("Supports: {}.", manifest.supports.join(", "))));
    }
    items.extend(effects(&manifest.effects));
    let types = Types {
        root: &manifest.config,
        link: &|_| None,
    };
    let keys = types.fields(&manifest.config, 1);
    let heading = if keys.is_empty() {
        "Config: none."
    } else {
        "Config:"
    };
    items.push((0, heading.to_owned()));
    items.extend(keys);
    page.list(&items);
}

fn ports(ports: &[Port]) -> String {
    let port = |port: &Port| {
        let schema = match port.schema.as_str() {
            // The page of messages has those of flowpipe itself.
            id if id.starts_with("flowpipe.") => format!(
                "[{}](messages.md#{})",
                code(id),
                super::messages::anchor(id)
            ),
            id => code(id),
        };
        let optional = if port.optional { " (optional)" } else { "" };
        let carries = match port.carries.is_default() {
            true => String::new(),
            false => format!(" with {}", prose(&port.carries.to_string())),
        };
        let named = match (&port.schema_key, &port.passes) {
            (None, None) => String::new(),
            (Some(key), None) => format!(" of the schema {}", code(key)),
            (None, Some(input)) => format!(" as it comes in at {}", code(input)),
            (Some(key), Some(input)) => {
                format!(" of the schema {}, or that of {}", code(key), code(input))
            }
        };
        let aside = |what: &str, name: &Option<String>| match name {
            Some(name) => format!(" ({what} {})", code(name)),
            None => String::new(),
        };
        let joined = aside("joined from", &port.joins);
        let element = aside("elements:", &port.element_key);
        format!(
            "{} {schema}{named}{carries}{joined}{element}{optional}",
            code(&port.name)
        )
    };
    match ports {
        [] => "none".to_owned(),
        ports => ports.iter().map(port).collect::<Vec<_>>().join(", "),
    }
}

fn effects(effects: &Effects) -> Vec<(usize, String)> {
    let effects = match effects {
        Effects::Declared(effects) if effects.is_empty() => {
            return vec![(0, "Effects: none.".to_owned())];
        }
        Effects::Declared(effects) => effects,
        _ => return vec![(0, "Effects: unknown.".to_owned())],
    };
    let effect = |it: &flowpipe_config::effects::Effect| {
        let key = it.key.as_ref();
        let condition = key.map_or(String::new(), |key| format!(", only with {}", code(key)));
        let (kind, doc) = (code(it.kind.as_str()), prose(&it.doc));
        (1, format!("{kind}{condition}: {doc}"))
    };
    let heading = (0, "Effects:".to_owned());
    std::iter::once(heading)
        .chain(effects.iter().map(effect))
        .collect()
}
