//! The ABI is frozen as 0.1: every declaration of `tests/frozen/0.1/flowpipe.h` is still in `flowpipe.h`.
//! `layout.rs` checks that the Rust twin is equal to the header.
//!
//! What may be added: new declarations (extensions, constants), and slots at the end of a struct that
//! starts with `struct_size`; such slots need a new minor number.

const TODAY: &str = include_str!("../../include/flowpipe.h");
const FROZEN: &str = include_str!("../frozen/0.1/flowpipe.h");
const MINOR: &str = "#define FLOWPIPE_ABI_MINOR";

#[test]
fn no_slot_of_0_1_has_changed() {
    assert_eq!(changes(FROZEN, TODAY), [""; 0]);
}

#[test]
fn every_change_of_a_slot_is_found() {
    let host_end = "                                  int64_t deadline_ns);\n};";
    let mark =
        "void (*mark)(const flowpipe_host_t *host, flowpipe_context_t *context, const char *name);";
    for (from, to, expected) in [
        (
            "FLOWPIPE_MAGIC UINT64_C(0x45",
            "FLOWPIPE_MAGIC UINT64_C(0x46",
            "#define FLOWPIPE_MAGIC UINT64_C(0x4550",
        ),
        (
            "#define FLOWPIPE_STOPPED (-6)",
            "",
            "#define FLOWPIPE_STOPPED (-6)",
        ),
        (
            "typedef int32_t flowpipe_status_t",
            "typedef int64_t flowpipe_status_t",
            "typedef int32_t flowpipe_status_t",
        ),
        (
            "  int64_t emitted_ns;",
            "  int32_t emitted_ns;",
            "typedef struct flowpipe_hop",
        ),
        (mark, "", "struct flowpipe_host"),
        (
            mark,
            "void (*mark)(const flowpipe_host_t *host, flowpipe_context_t *context, char *name);",
            "struct flowpipe_host",
        ),
        (
            mark,
            "void (*later)(void); void (*mark)(const flowpipe_host_t *host, flowpipe_context_t *context, const char *name);",
            "struct flowpipe_host",
        ),
        (
            host_end,
            "int64_t deadline_ns);\n  void (*later)(void);\n};",
            "#define FLOWPIPE_ABI_MINOR",
        ),
        (
            "  int64_t emitted_ns; /* emitted */",
            "  int64_t emitted_ns; int64_t later;",
            "typedef struct flowpipe_hop",
        ),
    ] {
        let changed = FROZEN.replacen(from, to, 1);
        assert_ne!(changed, FROZEN, "{from} is not in the header");
        let changes = changes(FROZEN, &changed);
        assert!(
            changes.len() == 1 && changes[0].starts_with(expected),
            "{from}: {changes:?}"
        );
    }
}

#[test]
fn what_may_be_added_is_no_change() {
    let later = FROZEN
        .replace("#define FLOWPIPE_ABI_MINOR 1", "#define FLOWPIPE_ABI_MINOR 2")
        .replace("int64_t deadline_ns);\n};", "int64_t deadline_ns);\n  void (*later)(void);\n};")
        .replace("/* -------------------------------------------------------------------- host */", "typedef struct flowpipe_later { uint32_t struct_size; } flowpipe_later_t;\n#define FLOWPIPE_LATER 1");
    assert_eq!(changes(FROZEN, &later), [""; 0]);
    assert_eq!(declarations(&later).len(), declarations(FROZEN).len() + 2);
}

/// The declarations of a frozen header that have changed.
fn changes(frozen: &str, today: &str) -> Vec<String> {
    let (frozen, today) = (declarations(frozen), declarations(today));
    let mut changes = Vec::new();
    let mut has_grown = false;
    for old in frozen.iter().filter(|old| !old.head.starts_with(MINOR)) {
        let Some(new) = today.iter().find(|new| new.head == old.head) else {
            changes.push(format!("{} is gone", old.head));
            continue;
        };
        let changed = old
            .slots
            .iter()
            .enumerate()
            .find(|(at, slot)| new.slots.get(*at) != Some(*slot));
        if let Some((at, slot)) = changed {
            let now = new.slots.get(at).map_or("nothing", String::as_str);
            changes.push(format!("{}: `{slot}` is now `{now}`", old.head));
        } else if new.slots.len() > old.slots.len() {
            match old.slots.first().map(String::as_str) {
                Some("uint32_t struct_size") => has_grown = true,
                _ => changes.push(format!("{} has grown and states no size", old.head)),
            }
        }
    }
    let minor = |declarations: &[Declaration]| {
        let numbers = declarations
            .iter()
            .filter_map(|it| it.head.strip_prefix(MINOR));
        numbers
            .filter_map(|number| number.trim().parse::<u32>().ok())
            .next()
    };
    if minor(&today) < minor(&frozen) || has_grown && minor(&today) == minor(&frozen) {
        changes.push(format!("{MINOR} must be larger than it was"));
    }
    changes
}

/// One declaration of a header, or one line for the preprocessor.
struct Declaration {
    /// All of it; of a struct the text around the braces.
    head: String,
    slots: Vec<String>,
}

impl Declaration {
    fn new(text: &str) -> Self {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let parts = words.split_once('{').and_then(|(before, rest)| {
            let (slots, after) = rest.rsplit_once('}')?;
            Some((format!("{before}{{}}{after}"), slots))
        });
        let Some((head, slots)) = parts else {
            return Self {
                head: words,
                slots: Vec::new(),
            };
        };
        let slots = slots
            .split(';')
            .map(str::trim)
            .filter(|slot| !slot.is_empty());
        Self {
            head,
            slots: slots.map(str::to_owned).collect(),
        }
    }
}

/// The C declarations of a header, without its comments.
fn declarations(header: &str) -> Vec<Declaration> {
    let code = without_comments(header);
    let (mut declarations, mut open, mut for_cpp) = (Vec::new(), String::new(), false);
    for line in code.lines().map(str::trim) {
        match line {
            "#ifdef __cplusplus" => for_cpp = true,
            "#endif" if for_cpp => for_cpp = false,
            _ if for_cpp => {}
            _ if line.starts_with('#') => declarations.push(Declaration::new(line)),
            _ => {
                for part in line.split_inclusive(';') {
                    open += part;
                    let is_whole = open.matches('{').count() == open.matches('}').count();
                    if part.ends_with(';') && is_whole {
                        declarations.push(Declaration::new(&std::mem::take(&mut open)));
                    }
                }
                open.push(' ');
            }
        }
    }
    declarations
}

fn without_comments(header: &str) -> String {
    let mut code = String::new();
    let mut rest = header;
    while let Some((before, comment)) = rest.split_once("/*") {
        code += before;
        code.push(' ');
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    code + rest
}
