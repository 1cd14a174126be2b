//! The keys of pipeline files: one place for the reader, the JSON Schema and the table in docs/pipelines.md.

use super::table::{DefaultValue, Row};
use super::written::{self, machine, queue, record, restart, source, stage};
use super::written::{test, test_buffer, test_input, test_output};

/// The keys as a table in Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut table = HEADING.to_owned();
    let mut add = |prefix: &str, rows: &mut dyn Iterator<Item = &Row>| {
        add(&mut table, prefix, rows);
    };
    let (pipeline, record, stage) = (written::keys(), record::keys(), stage::keys());
    let (source, queue, restart) = (source::keys(), queue::keys(), restart::keys());
    add(pipeline.prefix, &mut pipeline.rows());
    add(record.prefix, &mut record.rows());
    let machine = machine::keys();
    add(machine.prefix, &mut machine.rows());
    add(stage.prefix, &mut stage.rows());
    add(source.prefix, &mut source.rows());
    add(queue.prefix, &mut queue.rows());
    add(restart.prefix, &mut restart.rows());
    table
}

/// The keys of tests as a table in Markdown: the table in docs/testing.md.
#[must_use]
pub fn tests_markdown() -> String {
    let mut table = HEADING.to_owned();
    let (test, input, output) = (test::keys(), test_input::keys(), test_output::keys());
    let expectation = test_output::expectation_keys();
    let (buffer, expected) = (test_buffer::input_keys(), test_buffer::expectation_keys());
    add(&mut table, "", &mut test.rows());
    add(&mut table, "inputs.", &mut input.rows());
    add(&mut table, "inputs.buffer.", &mut buffer.rows());
    add(&mut table, "outputs.", &mut output.rows());
    add(&mut table, "outputs.expect.", &mut expectation.rows());
    add(&mut table, "outputs.expect.buffer.", &mut expected.rows());
    table
}

const HEADING: &str = "| Key | Meaning | Default |\n|---|---|---|\n";

fn add(table: &mut String, prefix: &str, rows: &mut dyn Iterator<Item = &Row>) {
    for row in rows {
        let name = format!("{prefix}{}", row.name);
        let schema = (row.schema)();
        let mut doc = row.doc.to_owned();
        let values = schema["enum"].as_array().into_iter().flatten();
        let docs = schema["x-taplo"]["docs"]["enumValues"].as_array();
        for (value, meaning) in values.zip(docs.into_iter().flatten()) {
            let meaning = meaning.as_str().unwrap_or_default();
            doc.push_str(&format!(" `{value}`: {}", lower_case(meaning)));
        }
        let default = match &row.default {
            DefaultValue::Required => "must be given".to_owned(),
            DefaultValue::Value(value) => format!("`{value}`"),
            DefaultValue::Words(words) => (*words).to_owned(),
        };
        table.push_str(&format!("| `{name}` | {doc} | {default} |\n"));
    }
}

/// With a small first letter.
fn lower_case(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::read;
    use crate::reader::table::Table;
    use crate::reader::testing::{plugins, read_file};

    /// Whether the reader knows a key in a file, whatever it says about its value.
    fn is_known(file: &str) -> bool {
        let Err(errors) = read("x.toml", file, &plugins()) else {
            return true;
        };
        let mut texts = errors.iter().map(ToString::to_string);
        !texts.any(|text| text.contains("unknown key"))
    }

    #[test]
    fn the_reader_knows_every_key() {
        let value = "{ a = 1.5 }";
        for (names, before, after) in [
            (written::keys().names(), "", ""),
            (record::keys().names(), "[record]\n", ""),
            (machine::keys().names(), "[machines.a]\n", ""),
            (stage::keys().names(), "[stages.a]\n", ""),
            (source::keys().names(), "[stages.a]\nfrom = { ", " }"),
            (queue::keys().names(), "[stages.a]\nqueue = { ", " }"),
            (restart::keys().names(), "[stages.a]\nrestart = { ", " }"),
        ] {
            for name in names {
                // Tables are given as what they are not, since their own keys would be unknown.
                let value = match name {
                    "record" | "machines" | "stages" | "queue" | "restart" | "from" => "1.5",
                    _ => value,
                };
                let file = format!("{before}{name} = {value}{after}");
                assert!(is_known(&file), "{file}");
            }
            assert!(!is_known(&format!("{before}nothing = 1{after}")));
        }
    }

    /// The keys with a value as their default, each written with that value.
    fn with_defaults<T>(table: &Table<'_, '_, T>) -> Vec<String> {
        let value = |row: &Row| match &row.default {
            DefaultValue::Value(value) => Some(format!("{} = {value}", row.name)),
            _ => None,
        };
        table.rows().filter_map(value).collect()
    }

    #[test]
    fn defaults_are_those_of_the_pipeline() {
        let pipeline = |text: &str| match read("x.toml", text, &plugins()) {
            Ok(pipeline) => format!("{pipeline:?}"),
            Err(errors) => panic!("{text}: {errors:?}"),
        };
        let stage_a = "[stages.a]\nplugin = \"capture-screen\"\n";
        let record = "[record]\nfile = \"x\"\n";
        let stage_b = "[stages.b]\nplugin = \"vision-opencv\"\nfrom = \"a\"\n";
        let mut compared = 0;
        for (keys, before, after) in [
            (
                with_defaults(&written::keys()),
                String::new(),
                format!("\n{stage_a}"),
            ),
            (
                with_defaults(&record::keys()),
                record.to_owned(),
                format!("\n{stage_a}"),
            ),
            (
                with_defaults(&stage::keys()),
                stage_a.to_owned(),
                String::new(),
            ),
            (
                with_defaults(&source::keys()),
                stage_a.to_owned(),
                String::new(),
            ),
            (
                with_defaults(&queue::keys()),
                format!("{stage_a}{stage_b}queue = {{ "),
                " }".to_owned(),
            ),
            (
                with_defaults(&restart::keys()),
                format!("{stage_a}restart = {{ "),
                " }".to_owned(),
            ),
        ] {
            for key in keys {
                let without = pipeline(&format!("{before}{after}"));
                assert_eq!(pipeline(&format!("{before}{key}{after}")), without, "{key}");
                compared += 1;
            }
        }
        assert_eq!(compared, 12);
    }

    #[test]
    fn the_reader_knows_every_key_of_tests() {
        let is_known = |test: &str| {
            let file = format!("[stages.a]\nplugin = \"echo\"\n{test}");
            let errors = read_file(&file).err().unwrap_or_default();
            let mut texts = errors.iter().map(ToString::to_string);
            !texts.any(|text| text.contains("unknown key"))
        };
        for (names, before, after) in [
            (test::keys().names(), "", ""),
            (test_input::keys().names(), "inputs = { ", " }"),
            (test_output::keys().names(), "outputs = { ", " }"),
            (
                test_output::expectation_keys().names(),
                "outputs = { expect = { ",
                " } }",
            ),
            (
                test_buffer::input_keys().names(),
                "inputs = { buffer = { ",
                " } }",
            ),
            (
                test_buffer::expectation_keys().names(),
                "outputs = { expect = { buffer = { ",
                " } } }",
            ),
        ] {
            for name in names {
                let test = format!("[[tests]]\n{before}{name} = 1.5{after}");
                assert!(is_known(&test), "{test}");
            }
            assert!(!is_known(&format!("[[tests]]\n{before}nothing = 1{after}")));
        }
    }

    #[test]
    fn the_book_has_the_table_of_tests() {
        let chapter = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/testing.md");
        let chapter = std::fs::read_to_string(chapter).unwrap();
        let table = tests_markdown();
        assert!(
            chapter.contains(&table),
            "docs/testing.md lacks this table of keys:\n\n{table}"
        );
    }

    #[test]
    fn the_book_has_the_table() {
        let chapter = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pipelines.md");
        let chapter = std::fs::read_to_string(chapter).unwrap();
        let table = markdown();
        assert!(
            chapter.contains(&table),
            "docs/pipelines.md lacks this table of keys:\n\n{table}"
        );
    }
}
