//! Checks that `flowpipe.h` and its Rust twin are equal: the system's C compiler prints every size, offset and constant
//! of the header, and each is compared with Rust's.

#![expect(clippy::expect_used, reason = "a test ends by panicking")]

use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

use flowpipe_abi as abi;

/// One figure that both sides must agree on: its label, its C expression, and Rust's value.
struct Slot {
    label: String,
    c: String,
    rust: u64,
}

fn constant(slots: &mut Vec<Slot>, c: &str, rust: i64) {
    slots.push(Slot {
        label: c.to_owned(),
        c: format!("(int64_t){c}"),
        rust: rust as u64,
    });
}

/// The size of a struct and the offset of each of its fields. Fields are named once: the header and the Rust twin use
/// the same names.
macro_rules! layout {
    ($slots:expr, $c:literal = $rust:path { $($field:ident),+ $(,)? }) => {{
        $slots.push(Slot {
            label: format!("sizeof({})", $c),
            c: format!("sizeof({})", $c),
            rust: size_of::<$rust>() as u64,
        });
        $($slots.push(Slot {
            label: format!("{}.{}", $c, stringify!($field)),
            c: format!("offsetof({}, {})", $c, stringify!($field)),
            rust: offset_of!($rust, $field) as u64,
        });)+
        // A field that only Rust has would be missed; naming all fields here makes it an error.
        #[allow(unused)]
        fn every_field_is_named(value: &$rust) {
            let $rust { $($field: _),+ } = value;
        }
    }};
}

type Slots = Vec<Slot>;

fn constants(slots: &mut Slots) {
    constant(slots, "FLOWPIPE_MAGIC", abi::MAGIC as i64);
    constant(slots, "FLOWPIPE_ABI_MAJOR", abi::ABI_MAJOR.into());
    constant(slots, "FLOWPIPE_ABI_MINOR", abi::ABI_MINOR.into());
    for (c, rust) in [
        ("FLOWPIPE_OK", abi::OK),
        ("FLOWPIPE_END", abi::END),
        ("FLOWPIPE_ERROR", abi::ERROR),
        ("FLOWPIPE_CANCELLED", abi::CANCELLED),
        ("FLOWPIPE_BAD_CONFIG", abi::BAD_CONFIG),
        ("FLOWPIPE_BAD_MESSAGE", abi::BAD_MESSAGE),
        ("FLOWPIPE_PANIC", abi::PANIC),
        ("FLOWPIPE_STOPPED", abi::STOPPED),
        ("FLOWPIPE_NOT_FOUND", abi::NOT_FOUND),
        ("FLOWPIPE_WRONG_TYPE", abi::WRONG_TYPE),
    ] {
        constant(slots, c, rust.into());
    }
    for (c, rust) in [
        ("FLOWPIPE_LEVEL_ERROR", abi::LEVEL_ERROR),
        ("FLOWPIPE_LEVEL_WARN", abi::LEVEL_WARN),
        ("FLOWPIPE_LEVEL_INFO", abi::LEVEL_INFO),
        ("FLOWPIPE_LEVEL_DEBUG", abi::LEVEL_DEBUG),
        ("FLOWPIPE_LEVEL_TRACE", abi::LEVEL_TRACE),
        ("FLOWPIPE_FORMAT_BGRA8", abi::FORMAT_BGRA8),
        ("FLOWPIPE_FORMAT_RGBA8", abi::FORMAT_RGBA8),
        ("FLOWPIPE_FORMAT_BGR8", abi::FORMAT_BGR8),
        ("FLOWPIPE_FORMAT_RGB8", abi::FORMAT_RGB8),
        ("FLOWPIPE_FORMAT_GREY8", abi::FORMAT_GREY8),
        ("FLOWPIPE_EVENT_TICK", abi::EVENT_TICK),
        ("FLOWPIPE_EVENT_MESSAGE", abi::EVENT_MESSAGE),
        ("FLOWPIPE_EVENT_FINISH", abi::EVENT_FINISH),
        ("FLOWPIPE_ENDING_DONE", abi::ENDING_DONE),
        ("FLOWPIPE_ENDING_STOPPED", abi::ENDING_STOPPED),
        ("FLOWPIPE_ACCEPT", abi::ACCEPT),
        ("FLOWPIPE_WEAK", abi::WEAK),
        ("FLOWPIPE_REFUSE", abi::REFUSE),
        ("FLOWPIPE_ELEMENT_U8", abi::ELEMENT_U8),
        ("FLOWPIPE_ELEMENT_I8", abi::ELEMENT_I8),
        ("FLOWPIPE_ELEMENT_U16", abi::ELEMENT_U16),
        ("FLOWPIPE_ELEMENT_I16", abi::ELEMENT_I16),
        ("FLOWPIPE_ELEMENT_U32", abi::ELEMENT_U32),
        ("FLOWPIPE_ELEMENT_I32", abi::ELEMENT_I32),
        ("FLOWPIPE_ELEMENT_U64", abi::ELEMENT_U64),
        ("FLOWPIPE_ELEMENT_I64", abi::ELEMENT_I64),
        ("FLOWPIPE_ELEMENT_F16", abi::ELEMENT_F16),
        ("FLOWPIPE_ELEMENT_F32", abi::ELEMENT_F32),
        ("FLOWPIPE_ELEMENT_F64", abi::ELEMENT_F64),
        ("FLOWPIPE_BUFFER_MAX_RANK", abi::BUFFER_MAX_RANK as u32),
        ("FLOWPIPE_BUFFER_MAX_SIZE", abi::BUFFER_MAX_SIZE as u32),
        (
            "FLOWPIPE_MEDIA_TYPE_CAPACITY",
            abi::MEDIA_TYPE_CAPACITY as u32,
        ),
    ] {
        constant(slots, c, rust.into());
    }
}

fn structs(slots: &mut Slots) {
    slots.push(Slot {
        label: "sizeof(flowpipe_status_t)".into(),
        c: "sizeof(flowpipe_status_t)".into(),
        rust: size_of::<abi::Status>() as u64,
    });
    layout!(
        slots,
        "flowpipe_frame_info_t" = abi::FrameInfo {
            struct_size,
            format,
            width,
            height,
            stride,
            size
        }
    );
    layout!(
        slots,
        "flowpipe_hop_t" = abi::Hop {
            stage,
            reserved,
            taken_ns,
            emitted_ns
        }
    );
    layout!(
        slots,
        "flowpipe_lineage_t" = abi::Lineage {
            struct_size,
            hop_count,
            sequence,
            frame_sequence,
            captured_ns,
            hops
        }
    );
    layout!(
        slots,
        "flowpipe_message_t" = abi::Message {
            struct_size,
            port,
            schema,
            json,
            json_length,
            document,
            frame,
            lineage
        }
    );
    layout!(
        slots,
        "flowpipe_output_t" = abi::Output {
            struct_size,
            port,
            schema,
            json,
            json_length,
            frame,
            captured_ns
        }
    );
    layout!(
        slots,
        "flowpipe_process_t" = abi::Process {
            struct_size,
            event,
            message,
            context
        }
    );
    layout!(
        slots,
        "flowpipe_host_t" = abi::Host {
            struct_size,
            abi_major,
            abi_minor,
            reserved,
            name,
            version,
            data,
            log,
            set_error,
            clock_now,
            frame_new,
            frame_ref,
            frame_unref,
            frame_info,
            frame_read,
            frame_write,
            emit,
            cancelled,
            mark,
            wait_until,
            get_bool,
            get_int,
            get_number,
            get_string,
            get_count,
            get_extension
        }
    );
    layout!(
        slots,
        "flowpipe_run_t" = abi::Run {
            struct_size,
            reserved,
            is_ending,
            is_dry,
            end
        }
    );
    layout!(
        slots,
        "flowpipe_frames_t" = abi::Frames {
            struct_size,
            reserved,
            add_reference,
            release,
            info,
            read,
            write
        }
    );
    layout!(
        slots,
        "flowpipe_buffer_info_t" = abi::BufferInfo {
            struct_size,
            element,
            rank,
            reserved,
            shape,
            size,
            media_type
        }
    );
    layout!(
        slots,
        "flowpipe_buffers_t" = abi::Buffers {
            struct_size,
            reserved,
            create,
            info
        }
    );
    layout!(
        slots,
        "flowpipe_stage_t" = abi::Stage {
            struct_size,
            reserved,
            data,
            activate,
            process,
            reset,
            deactivate,
            destroy,
            get_extension
        }
    );
    layout!(
        slots,
        "flowpipe_state_sink_t" = abi::StateSink {
            struct_size,
            reserved,
            data,
            put
        }
    );
    layout!(
        slots,
        "flowpipe_state_t" = abi::State {
            struct_size,
            reserved,
            save,
            load
        }
    );
    layout!(
        slots,
        "flowpipe_judgement_t" = abi::Judgement {
            struct_size,
            verdict,
            reason,
            capacity,
            length,
            captured_schema,
            captured_json,
            captured_json_length
        }
    );
    layout!(
        slots,
        "flowpipe_check_t" = abi::Check {
            struct_size,
            reserved,
            judge
        }
    );
    layout!(
        slots,
        "flowpipe_stage_factory_t" = abi::StageFactory {
            struct_size,
            reserved,
            count,
            manifest,
            create
        }
    );
    layout!(
        slots,
        "flowpipe_entry_t" = abi::Entry {
            magic,
            abi_major,
            abi_minor,
            struct_size,
            reserved,
            init,
            deinit,
            get_factory
        }
    );
}

/// Runs the system's C compiler (`CC`, or `cc`), which must print nothing.
fn compile(arguments: &[&str]) {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    let output = Command::new(&compiler)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-I", include])
        .args(arguments)
        .output()
        .unwrap_or_else(|error| {
            panic!("this test needs a C compiler: `{compiler}` does not run ({error}); install one or set CC")
        });
    assert!(
        output.status.success(),
        "{compiler}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The texts that both sides must agree on: the C name of each, and Rust's value.
fn ids() -> [(&'static str, &'static str); 12] {
    let text = |id: &'static std::ffi::CStr| id.to_str().expect("ASCII");
    [
        ("FLOWPIPE_FACTORY_STAGES", text(abi::FACTORY_STAGES)),
        ("FLOWPIPE_EXTENSION_RUN", text(abi::EXTENSION_RUN)),
        ("FLOWPIPE_EXTENSION_STATE", text(abi::EXTENSION_STATE)),
        ("FLOWPIPE_EXTENSION_FRAMES", text(abi::EXTENSION_FRAMES)),
        ("FLOWPIPE_EXTENSION_BUFFER", text(abi::EXTENSION_BUFFER)),
        ("FLOWPIPE_EXTENSION_CHECK", text(abi::EXTENSION_CHECK)),
        ("FLOWPIPE_EFFECT_READS_FILES", abi::EFFECT_READS_FILES),
        ("FLOWPIPE_EFFECT_WRITES_FILES", abi::EFFECT_WRITES_FILES),
        ("FLOWPIPE_EFFECT_RUNS_COMMANDS", abi::EFFECT_RUNS_COMMANDS),
        ("FLOWPIPE_EFFECT_READS_SCREEN", abi::EFFECT_READS_SCREEN),
        ("FLOWPIPE_EFFECT_DRIVES_MOUSE", abi::EFFECT_DRIVES_MOUSE),
        ("FLOWPIPE_EFFECT_USES_NETWORK", abi::EFFECT_USES_NETWORK),
    ]
}

/// The C values of the slots, by label.
fn c_values(slots: &[Slot]) -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("layout.c");
    let program = folder.path().join("layout");
    let mut text = String::from(
        "#include <flowpipe.h>\n#include <inttypes.h>\n#include <stdio.h>\nint main(void) {\n",
    );
    for Slot { label, c, .. } in slots {
        text += &format!("  printf(\"{label} %\" PRIu64 \"\\n\", (uint64_t)({c}));\n");
    }
    let (c, rust): (Vec<_>, Vec<_>) = ids().into_iter().unzip();
    text += &format!("  puts({});\n  return 0;\n}}\n", c.join(" \" \" "));
    std::fs::write(&source, text).expect("the source is written");
    compile(&["-std=c99", path(&source), "-o", path(&program)]);
    let output = Command::new(&program).output().expect("the program runs");
    let lines = String::from_utf8(output.stdout).expect("it prints text");
    let mut lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.pop(), Some(rust.join(" ").as_str()), "ids");
    lines
        .into_iter()
        .map(|line| {
            let (label, value) = line.rsplit_once(' ').expect("label and value");
            (label.to_owned(), value.parse().expect("a number"))
        })
        .collect()
}

fn path(path: &Path) -> &str {
    path.to_str().expect("temporary paths are UTF-8")
}

/// The slots on which the two sides differ, each as a sentence.
fn differences(slots: &[Slot], c: &BTreeMap<String, u64>) -> Vec<String> {
    slots
        .iter()
        .filter_map(|slot| match c.get(&slot.label) {
            Some(value) if *value == slot.rust => None,
            Some(value) => Some(format!(
                "{}: {value} in C, {} in Rust",
                slot.label, slot.rust
            )),
            None => Some(format!("{}: missing in C", slot.label)),
        })
        .collect()
}

#[test]
fn header_and_rust_have_the_same_layout() {
    let mut slots = Vec::new();
    constants(&mut slots);
    structs(&mut slots);
    let different = differences(&slots, &c_values(&slots));
    assert!(
        different.is_empty(),
        "flowpipe.h and flowpipe-abi differ:\n{}",
        different.join("\n")
    );
}

#[test]
fn a_difference_is_named() {
    let slots = [Slot {
        label: "flowpipe_hop_t.taken_ns".into(),
        c: "offsetof(flowpipe_hop_t, taken_ns)".into(),
        rust: 4,
    }];
    assert_eq!(
        differences(&slots, &c_values(&slots)),
        ["flowpipe_hop_t.taken_ns: 8 in C, 4 in Rust"]
    );
}

#[test]
fn header_names_every_field_that_rust_names() {
    // The reverse: a field that only the header has changes an offset or a size, or is in padding; counting the
    // declarations finds the latter.
    let header = include_str!("../../include/flowpipe.h");
    let code: String = header
        .split("/*")
        .map(|part| part.split_once("*/").map_or(part, |(_, code)| code))
        .collect();
    let fields = |start: &str| {
        let body = code
            .split(start)
            .nth(1)
            .unwrap_or_else(|| panic!("{start} is in the header"));
        let body = &body[..body.find("\n}").expect("it closes")];
        body.matches(';').count()
    };
    for (start, expected) in [
        ("typedef struct flowpipe_frame_info {", 6),
        ("typedef struct flowpipe_hop {", 4),
        ("typedef struct flowpipe_lineage {", 6),
        ("typedef struct flowpipe_message {", 8),
        ("typedef struct flowpipe_output {", 7),
        ("typedef struct flowpipe_process {", 4),
        ("struct flowpipe_host {", 26),
        ("struct flowpipe_stage {", 9),
        ("typedef struct flowpipe_buffer_info {", 7),
        ("typedef struct flowpipe_buffers {", 4),
        ("typedef struct flowpipe_stage_factory {", 5),
        ("typedef struct flowpipe_entry {", 8),
    ] {
        assert_eq!(fields(start), expected, "fields of `{start}`");
    }
}

#[test]
fn header_is_cplusplus_too() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("header.cc");
    let object = folder.path().join("header.o");
    std::fs::write(&source, "").expect("the source is written");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let empty = ["-x", "c++", "-c", path(&source), "-o", path(&object)];
    if !Command::new(compiler)
        .args(empty)
        .output()
        .is_ok_and(|output| output.status.success())
    {
        flowpipe_testing::note!("skipped: there is no C++ compiler");
        return;
    }
    std::fs::write(&source, "#include <flowpipe.h>\n").expect("the source is written");
    compile(&[
        "-x",
        "c++",
        "-std=c++11",
        "-c",
        path(&source),
        "-o",
        path(&object),
    ]);
}
