use serde_json::json;

use super::*;

fn manifest(effects: Value) -> Manifest {
    serde_json::from_value(json!({
        "name": "a-plugin",
        "role": "stage",
        "config": { "type": "object", "properties": { "steps": {}, "log": {} } },
        "effects": effects,
    }))
    .unwrap()
}

fn confinement(effects: Value, config: &Value) -> Confinement {
    Confinement::of(&manifest(effects), config)
}

fn to(permissions: Permissions) -> Confinement {
    Confinement::To(permissions)
}

#[test]
fn what_is_declared_is_permitted() {
    let nothing = json!({});
    assert_eq!(
        confinement(json!([]), &nothing),
        Confinement::without_effects()
    );
    for (effect, permissions) in [
        (
            "reads-files",
            Permissions {
                reads: Files::All,
                ..Permissions::default()
            },
        ),
        (
            "writes-files",
            Permissions {
                writes: Files::All,
                ..Permissions::default()
            },
        ),
        (
            "reads-screen",
            Permissions {
                uses_display: true,
                ..Permissions::default()
            },
        ),
        (
            "drives-mouse",
            Permissions {
                uses_display: true,
                ..Permissions::default()
            },
        ),
        (
            "uses-network",
            Permissions {
                uses_network: true,
                ..Permissions::default()
            },
        ),
    ] {
        let declared = json!([{ "effect": effect }]);
        assert_eq!(confinement(declared, &nothing), to(permissions), "{effect}");
    }
}

#[test]
fn unknown_effects_are_confined_loosely() {
    let nothing = json!({});
    assert_eq!(confinement(Value::Null, &nothing), Confinement::Loose);
    let later = json!([{ "effect": "sings" }]);
    assert_eq!(confinement(later, &nothing), Confinement::Loose);
    let commands = json!([{ "effect": "reads-screen" }, { "effect": "runs-commands" }]);
    assert_eq!(confinement(commands, &nothing), Confinement::Loose);
}

#[test]
fn the_config_names_the_files() {
    let declared = || json!([{ "effect": "writes-files", "key": "steps" }]);
    assert_eq!(
        confinement(declared(), &json!({})),
        Confinement::without_effects()
    );
    let these = |paths: &[&str]| {
        let writes = Files::These(paths.iter().map(PathBuf::from).collect());
        to(Permissions {
            writes,
            ..Permissions::default()
        })
    };
    assert_eq!(
        confinement(declared(), &json!({ "steps": "a" })),
        these(&["a"])
    );
    let two = json!([{ "effect": "writes-files", "key": "steps", "paths": ["steps", "log"] }]);
    let config = json!({ "steps": ["a", "b"], "log": "c" });
    assert_eq!(confinement(two, &config), these(&["a", "b", "c"]));
}

#[test]
fn a_default_file_is_the_only_one_that_is_permitted() {
    // As `referee-repair` declares it.
    let declared = json!([
        { "effect": "reads-files", "key": "log", "paths": ["steps"], "state_file": "games.toml" },
        { "effect": "writes-files", "key": "log", "paths": ["steps"], "state_file": "games.toml" },
    ]);
    let folder = flowpipe_config::effects::state_folder();
    let file = folder
        .expect("whoever runs tests has a home")
        .join("games.toml");
    let this = || Files::These(vec![file.clone()]);
    let permissions = Permissions {
        reads: this(),
        writes: this(),
        ..Permissions::default()
    };
    assert_eq!(
        confinement(declared, &json!({ "log": true })),
        to(permissions)
    );
}

#[test]
fn a_refusal_is_explained() {
    let steps = json!([{ "effect": "writes-files", "key": "steps" }]);
    let confined = confinement(steps, &json!({ "steps": "out" }));
    let refused = "/home/a.txt: Permission denied (os error 13)".to_owned();
    assert_eq!(
        confined.explain(refused.clone()),
        "/home/a.txt: Permission denied (os error 13) (the stage is confined to the effects that its plugin declares: \
         it may write out)"
    );
    assert!(
        Confinement::without_effects()
            .explain(refused.clone())
            .ends_with("declares: none)")
    );
    assert_eq!(Confinement::Loose.explain(refused.clone()), refused);
    let other = "no board".to_owned();
    assert_eq!(confined.explain(other.clone()), other);
}
