use std::cell::RefCell;

use serde_json::json;

use super::super::testing::{FakePlugins, plugins};
use super::super::{ConfigError, read_bytes, read_with};
use super::*;
use crate::manifest::effects::PathUse;
use crate::manifest::{Port, read_manifest};
use crate::pipeline::Pipeline;
use crate::reader::{FileIdentity, Setting, Target};

/// Files by name. Each is read once at most.
#[derive(Default)]
struct Files(RefCell<HashMap<&'static str, Vec<u8>>>);

impl Files {
    fn with(self, name: &'static str, content: impl Into<Vec<u8>>) -> Self {
        self.0.borrow_mut().insert(name, content.into());
        self
    }
}

impl NamedFiles for Files {
    fn read(&self, file: &str) -> Result<Vec<u8>, String> {
        let missing = || format!("{file}: No such file or directory");
        self.0.borrow_mut().remove(file).ok_or_else(missing)
    }

    fn leads_to(&self, _: &str, _: PathUse) -> Vec<FileIdentity> {
        Vec::new()
    }
}

fn commands() -> FakePlugins {
    let text = json!({
        "name": "exec", "role": "stage", "declared_by_config": true,
        "inputs": [{ "name": "in", "schema": "*" }],
        "outputs": [{ "name": "out", "schema": "*" }],
        "effects": [{ "effect": "runs-commands", "key": "command", "doc": "runs `{command}`" }],
        "config": { "type": "object" },
    });
    plugins().with(read_manifest(&text.to_string()).unwrap())
}

/// A pipeline of two commands after a source, with these declarations.
fn two(first: &str, second: &str) -> String {
    format!(
        "[stages.frames]\nplugin = \"capture-files\"\nconfig = {{ paths = [\"a.png\"] }}\n\
         [stages.read]\nplugin = \"exec\"\nfrom = \"frames\"\nconfig = {{ {first} }}\n\
         [stages.play]\nplugin = \"exec\"\nfrom = \"read\"\nconfig = {{ {second} }}\n"
    )
}

fn read(text: &str, files: Files) -> Result<Pipeline, Vec<ConfigError>> {
    read_bytes("dir/x.toml", text.as_bytes(), &commands(), &[], &files)
}

#[track_caller]
fn refused(text: &str, files: Files) -> (String, String) {
    let errors = read(text, files).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:#?}");
    (errors[0].to_string(), errors[0].help().unwrap_or_default())
}

const OUT: &str = "outputs = { out = { schema = \"mines.field/1\", file = \"field.json\" } }";
const IN: &str = "inputs = { in = { schema = \"mines.field/1\", file = \"field.json\" } }";
const FIELD: &str = r#"{ "type": "object", "required": ["rows"] }"#;

#[test]
fn declared_ports_are_joined_and_their_schemas_read() {
    let text = two(OUT, IN);
    let pipeline = read(&text, Files::default().with("field.json", FIELD)).unwrap();
    assert_eq!(pipeline.edges.len(), 2);
    let config = &pipeline.stages[1].contestants[0].config;
    let schema: Value = serde_json::from_str(FIELD).unwrap();
    assert_eq!(config["outputs"]["out"]["json_schema"], schema);
    assert_eq!(config["outputs"]["out"]["file"], "field.json");
    // One side may leave the file out, and may give it in the config.
    let plain = "inputs = { in = { schema = \"mines.field/1\" } }";
    read(&two(OUT, plain), Files::default().with("field.json", FIELD)).unwrap();
    let given = "inputs = { in = { schema = \"mines.field/1\", json_schema = { required = [\"rows\"], \
                 type = \"object\" } } }";
    read(&two(OUT, given), Files::default().with("field.json", FIELD)).unwrap();
}

#[test]
fn two_schema_ids_do_not_meet() {
    let other = "inputs = { in = { schema = \"mines.field/2\" } }";
    let (error, _) = refused(&two(OUT, other), Files::default().with("field.json", FIELD));
    assert_eq!(
        error,
        "dir/x.toml:10:8: `read` gives mines.field/1, but `play` takes mines.field/2"
    );
    let library = "inputs = { in = { schema = \"sighting/1\" } }";
    let (error, _) = refused(&two(library, ""), Files::default());
    assert_eq!(
        error,
        "dir/x.toml:6:8: `frames` gives frame/1, but `read` takes sighting/1"
    );
}

#[test]
fn ports_have_names_where_there_are_several() {
    let several = "outputs = { b = { schema = \"x.b/1\" }, a = { schema = \"x.a/1\" } }";
    let takes = "inputs = { in = { schema = \"x.b/1\" } }";
    let pipeline = read(&two(several, takes), Files::default()).unwrap();
    assert_eq!(
        pipeline.edges[1].from.port, 1,
        "in the order of their names"
    );
    let text = two(several, "").replace("from = \"read\"", "from = \"read.c\"");
    let (error, _) = refused(&text, Files::default());
    assert!(error.contains("stage `read` has no output `c`"), "{error}");
    // Without outputs it is a sink, without inputs a source.
    let (error, _) = refused(&two("outputs = {}", ""), Files::default());
    assert!(error.contains("`read` gives nothing"), "{error}");
    let (error, _) = refused(&two("inputs = {}", ""), Files::default());
    assert!(error.contains("`read` is a source"), "{error}");
    let racing = two("", "").replace(
        "[stages.play]\nplugin = \"exec\"",
        "[stages.play]\nplugin = [\"exec\", \"echo\"]",
    );
    let racing = racing.replace(
        "from = \"read\"\nconfig = {  }",
        &format!(
            "from = \"read\"\nconfig = {{ exec = {{ {} }} }}",
            "outputs = { out = { schema = \"x.a/1\" } }"
        ),
    );
    let (error, _) = refused(&racing, Files::default());
    assert!(error.contains("it gives out *, not out x.a/1"), "{error}");
}

#[test]
fn a_schema_id_has_one_json_schema() {
    let other = IN.replace("field.json", "other.json");
    let files = || {
        let files = Files::default().with("field.json", FIELD);
        files.with(
            "other.json",
            r#"{ "type": "object", "required": ["cols"] }"#,
        )
    };
    let (error, help) = refused(&two(OUT, &other), files());
    assert_eq!(
        error,
        "dir/x.toml:11:63: two JSON Schemas describe mines.field/1: field.json and other.json; they differ at \
         /required/0"
    );
    assert!(help.contains("another id or version"), "{help}");
    // Also where the two are not joined, but not for two ids.
    let both = "outputs = { a = { schema = \"mines.field/1\", file = \"field.json\" }, \
                b = { schema = \"mines.field/1\", file = \"other.json\" } }";
    let text = two(both, "").replace("from = \"read\"", "from = \"read.a\"");
    let (error, _) = refused(&text, files());
    assert!(error.contains("two JSON Schemas"), "{error}");
    let (error, _) = refused(&two(OUT, &other.replace("field/1", "field/2")), files());
    assert!(error.contains("but `play` takes mines.field/2"), "{error}");
    // The same JSON is the same schema, however it is written.
    let same = Files::default().with("field.json", FIELD);
    let same = same.with(
        "other.json",
        "\u{feff}{\"required\":[\"rows\"],\n\"type\":\"object\"}",
    );
    read(&two(OUT, &other), same).unwrap();
}

#[test]
fn a_file_that_can_t_be_used_is_an_error_at_its_name() {
    let reason = |files: Files| {
        let (error, _) = refused(&two(OUT, ""), files);
        let start =
            "dir/x.toml:7:65: the JSON Schema \"field.json\" of `outputs.out` can't be used: ";
        let reason = error.strip_prefix(start);
        reason.unwrap_or_else(|| panic!("{error}")).to_owned()
    };
    let bytes = |bytes: &[u8]| reason(Files::default().with("field.json", bytes));
    assert_eq!(
        reason(Files::default()),
        "field.json: No such file or directory"
    );
    assert_eq!(
        bytes(b"{"),
        "it is not JSON: EOF while parsing an object at line 1 column 1"
    );
    assert!(bytes(b"\x80").contains("no part of UTF-8"));
    assert!(bytes(b"3").contains("is an object, or true or false"));
    assert!(bytes(br#"{ "type": "int" }"#).starts_with("at /type: "));
    assert!(bytes(br##"{ "$ref": "#" }"##).contains("leads back to itself"));
    assert!(bytes(br#"{ "$ref": "http://a/b" }"#).contains("leads out of it"));
    assert!(bytes(&vec![b' '; message_schema::MAX_BYTES + 1]).contains("larger than"));
}

/// A file is read once, however often it is named, and all that is read is bounded.
#[test]
fn the_schemas_of_a_pipeline_have_a_limit() {
    let large = format!("{{ \"description\": \"{}\" }}", "x".repeat(200_000));
    let mut ports = String::new();
    for port in 0..64 {
        ports += &format!("p{port} = {{ schema = \"a.b/1\", file = \"field.json\" }}, ");
    }
    let ports = format!("outputs = {{ {} }}", ports.trim_end_matches(", "));
    let text = format!("[stages.a]\nplugin = \"exec\"\nconfig = {{ inputs = {{}}, {ports} }}\n");
    let errors = read(&text, Files::default().with("field.json", large)).unwrap_err();
    assert!(
        errors[0].to_string().contains("more than 8388608 bytes"),
        "{errors:?}"
    );
    read(&text, Files::default().with("field.json", FIELD)).unwrap();
}

#[test]
fn declarations_that_contradict_themselves() {
    let (error, help) = refused(
        &two(
            "inputs = { in = { schema = \"*\", file = \"field.json\" } }",
            "",
        ),
        Files::default(),
    );
    assert!(
        error.starts_with("dir/x.toml:7:51: `inputs.in` has a JSON Schema"),
        "{error}"
    );
    assert!(help.contains("maker.name/1"), "{help}");
    let both =
        "outputs = { out = { schema = \"a.b/1\", file = \"field.json\", json_schema = {} } }";
    let (error, _) = refused(&two(both, ""), Files::default());
    assert!(error.contains("can't both be set"), "{error}");
    let (error, _) = refused(
        &two("inputs = { In = { schema = \"*\" } }", ""),
        Files::default(),
    );
    assert_eq!(
        error,
        "dir/x.toml:7:21: the input name \"In\" is not a name"
    );
}

/// A port without a schema id is no port. That the stage has no outputs would be a second error of the same mistake.
#[test]
fn nothing_is_concluded_from_a_wrong_declaration() {
    let typo = "outputs = { out = { shema = \"a.b/1\" } }";
    let (error, _) = refused(&two(typo, ""), Files::default());
    assert!(error.contains("an output without a schema id"), "{error}");
}

#[test]
fn a_setting_that_is_wrong_is_named() {
    let set = |value: &str| Setting {
        flag: format!("--set read.outputs.out.file={value}"),
        target: Target::Stage("read".to_owned()),
        keys: ["outputs", "out", "file"].map(str::to_owned).to_vec(),
        value: value.into(),
    };
    let files = Files::default().with("field.json", FIELD);
    let text = two(OUT, IN);
    let errors = read_bytes(
        "x.toml",
        text.as_bytes(),
        &commands(),
        &[set("b.json")],
        &files,
    );
    let errors = errors.unwrap_err();
    let start = "--set read.outputs.out.file=b.json: the JSON Schema \"b.json\" of `outputs.out`";
    assert!(errors[0].to_string().starts_with(start), "{errors:?}");
    let files = Files::default()
        .with("field.json", FIELD)
        .with("b.json", "true");
    let errors = read_bytes(
        "x.toml",
        text.as_bytes(),
        &commands(),
        &[set("b.json")],
        &files,
    );
    // The other one is reported, which comes later.
    assert!(
        errors.unwrap_err()[0]
            .to_string()
            .contains("b.json and field.json")
    );
}

#[test]
fn without_files_none_is_read() {
    let errors = read_with("x.toml", &two(OUT, ""), &commands(), &[]).unwrap_err();
    assert!(
        errors[0].to_string().contains("files can't be named here"),
        "{errors:?}"
    );
}

#[test]
fn a_config_without_a_file_is_declared_too() {
    let plugins = commands();
    let manifest = super::super::Plugins::manifest(&plugins, "exec").unwrap();
    let mut config = json!({ "outputs": { "out": { "schema": "a.b/1", "file": "field.json" } } });
    let files = Files::default().with("field.json", FIELD);
    read_schemas(manifest, &mut config, &files).unwrap();
    assert_eq!(config["outputs"]["out"]["json_schema"]["type"], "object");
    let reason = read_schemas(manifest, &mut config, &files).unwrap_err();
    assert!(
        reason.contains("can't both be set: leave one of them out"),
        "{reason}"
    );
    let ports = manifest.with_config(&config).outputs.clone();
    let expected = Port {
        name: "out".to_owned(),
        schema: "a.b/1".to_owned(),
        ..Port::default()
    };
    assert_eq!(ports, [expected]);
}
