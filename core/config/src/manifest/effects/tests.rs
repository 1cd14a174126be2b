use serde_json::json;

use super::*;
use crate::manifest::read_manifest;

fn manifest(effects: Value) -> Manifest {
    let manifest = json!({
        "name": "a", "role": "stage", "effects": effects,
        "config": {
            "type": "object",
            "required": ["command"],
            "properties": {
                "command": { "type": "array" },
                "log": { "type": ["string", "null"], "default": null },
                "remember": { "type": "boolean", "default": true },
                "games": { "type": ["string", "null"], "default": null },
            },
        },
    });
    read_manifest(&manifest.to_string()).unwrap()
}

fn kinds(manifest: &Manifest, config: Value) -> Option<Vec<EffectKind>> {
    let effects = manifest.effects_with(&config)?;
    Some(effects.iter().map(|effect| effect.kind).collect())
}

#[test]
fn undeclared_effects_are_unknown() {
    let silent = read_manifest(r#"{"name": "a", "role": "stage"}"#).unwrap();
    let later = manifest(json!([{ "effect": "writes-files" }, { "effect": "drills-holes" }]));
    let null = manifest(Value::Null);
    for manifest in [silent, later, null] {
        assert_eq!(manifest.effects, Effects::Unknown);
        assert_eq!(kinds(&manifest, json!({})), None);
        assert!(
            serde_json::to_value(&manifest)
                .unwrap()
                .get("effects")
                .is_none()
        );
    }
    assert_eq!(kinds(&manifest(json!([])), json!({})), Some(Vec::new()));
}

#[test]
fn effects_must_be_a_list() {
    for effects in [
        json!("none"),
        json!(["writes-files"]),
        json!([{ "key": "log" }]),
        json!({}),
    ] {
        let text = json!({ "name": "a", "role": "stage", "effects": effects }).to_string();
        assert!(read_manifest(&text).is_err(), "{text}");
    }
}

#[test]
fn an_effect_happens_with_its_key() {
    let log = manifest(json!([{ "effect": "writes-files", "key": "log", "doc": "" }]));
    assert_eq!(kinds(&log, json!({})), Some(vec![]));
    assert_eq!(kinds(&log, json!({ "log": null })), Some(vec![]));
    assert_eq!(kinds(&log, json!({ "log": false })), Some(vec![]));
    let writes = Some(vec![EffectKind::WritesFiles]);
    assert_eq!(kinds(&log, json!({ "log": "a" })), writes);
    // A default counts like a written value.
    let remember = manifest(json!([{ "effect": "writes-files", "key": "remember", "doc": "" }]));
    assert_eq!(kinds(&remember, json!({})), writes);
    assert_eq!(kinds(&remember, json!({ "remember": false })), Some(vec![]));
    let always = manifest(json!([{ "effect": "writes-files" }]));
    assert_eq!(kinds(&always, json!({})), writes);
}

#[test]
fn optional_keys_of_effects_are_dropped() {
    let manifest = manifest(json!([
        { "effect": "writes-files", "key": "log" },
        { "effect": "writes-files", "key": "remember" },
        { "effect": "runs-commands", "key": "command" },
    ]));
    let config = json!({ "command": ["a"], "log": "b", "remember": true, "games": "c" });
    let dropped = manifest.without_effects(&config, |_| false);
    assert_eq!(dropped, json!({ "command": ["a"], "games": "c" }));
    let left = Some(vec![EffectKind::WritesFiles, EffectKind::RunsCommands]);
    assert_eq!(kinds(&manifest, dropped), left);
    let kept = manifest.without_effects(&config, |effect| effect.key.as_deref() == Some("log"));
    assert_eq!(kept, json!({ "command": ["a"], "log": "b", "games": "c" }));
}

#[test]
fn phrases_contain_the_configs_values() {
    let manifest = manifest(json!([]));
    let words = |doc: &str, config: Value| {
        let effect = Effect {
            kind: EffectKind::DrivesMouse,
            key: None,
            paths: Vec::new(),
            state_file: None,
            doc: doc.to_owned(),
        };
        effect.in_words(&manifest, &config, |key| {
            (key == "window").then(|| json!("Flow Free"))
        })
    };
    let command = json!({ "command": ["sh", "-c", "rm -r 'x'", ""] });
    assert_eq!(
        words("runs `{command}`", command),
        r"runs `sh -c 'rm -r '\''x'\''' ''`"
    );
    assert_eq!(
        words("writes[ to {log}]", json!({ "log": "a/" })),
        "writes to a/"
    );
    assert_eq!(words("writes[ to {log}]", json!({})), "writes");
    assert_eq!(words("runs[ with {log}]", json!({ "log": {} })), "runs");
    assert_eq!(words("writes to {log}", json!({})), "writes to (not set)");
    assert_eq!(
        words("with {games}", json!({ "games": { "A": "b c" } })),
        "with A='b c'"
    );
    assert_eq!(
        words("in '{window}'[ on {monitor}]", json!({})),
        "in 'Flow Free'"
    );
    assert_eq!(words("", json!({})), "drives mouse");
    // Unclosed brackets and braces.
    assert_eq!(words("a [b {log", json!({})), "a [b {log");
}

#[test]
fn paths_are_those_of_the_keys() {
    let manifest = manifest(json!([
        { "effect": "writes-files", "key": "log" },
        { "effect": "reads-files", "key": "remember", "paths": ["games", "log"] },
    ]));
    let Effects::Declared(effects) = &manifest.effects else {
        panic!("they are declared");
    };
    let config = json!({ "log": "a", "games": ["b", "c"] });
    let paths = |effect: &Effect| effect.paths(&manifest, &config);
    assert_eq!(paths(&effects[0]), [PathBuf::from("a")]);
    assert_eq!(paths(&effects[1]), ["b", "c", "a"].map(PathBuf::from));
}

#[test]
fn a_file_in_the_folder_of_the_users_state_is_the_default_path() {
    let manifest = manifest(json!([
        { "effect": "reads-files", "paths": ["log"], "state_file": "games.toml" },
        { "effect": "reads-files", "paths": ["log"], "state_file": "../games.toml" },
        { "effect": "reads-files", "paths": ["log"], "state_file": "/etc/games.toml" },
    ]));
    let Effects::Declared(effects) = &manifest.effects else {
        panic!("they are declared");
    };
    let folder = state_folder().expect("whoever runs tests has a home");
    let none = json!({});
    assert_eq!(
        effects[0].paths(&manifest, &none),
        [folder.join("games.toml")]
    );
    let named = json!({ "log": "a" });
    assert_eq!(effects[0].paths(&manifest, &named), [PathBuf::from("a")]);
    // A name that leads elsewhere is none.
    for effect in &effects[1..] {
        assert!(effect.paths(&manifest, &none).is_empty(), "{effect:?}");
    }
}

#[test]
fn an_actuator_whose_effects_are_unknown_acts() {
    let of = |role: &str, effects: Value| {
        let mut manifest = manifest(effects);
        manifest.role = role.to_owned();
        manifest.deterministic = true;
        manifest
    };
    let command = || json!([{ "effect": "runs-commands" }]);
    let mouse = || json!([{ "effect": "drives-mouse" }]);
    for (role, effects, means, acts) in [
        ("actuator", Value::Null, &[][..], true),
        ("solver", Value::Null, &[], false),
        ("actuator", json!([]), &[], false),
        ("solver", mouse(), &[], true),
        ("actuator", command(), &[], false),
        ("actuator", command(), &[EffectKind::RunsCommands], true),
        ("solver", command(), &[EffectKind::RunsCommands], false),
    ] {
        let manifest = of(role, effects);
        assert_eq!(manifest.acts(means, &json!({})), acts, "{manifest:?}");
    }
}
