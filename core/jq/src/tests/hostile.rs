//! Expressions that would go on without an end, or take all memory.

use std::time::{Duration, Instant};

use super::*;

/// However an expression is meant to go on without an end, or to take all memory, it ends.
#[test]
fn hostile_expressions_end() {
    let elements = || RunError::Limit(Limit::Elements);
    let rounds = || RunError::Limit(Limit::Rounds);
    let depth = || RunError::Limit(Limit::Depth);
    let size = || RunError::Limit(Limit::Size);
    for (jq, error) in [
        ("[limit(1e9; repeat(1))]", rounds()),
        ("[range(1e12)]", elements()),
        ("last(range(1e12))", elements()),
        ("[range(1e12) | empty]", elements()),
        ("first(range(1e12) | select(false))", elements()),
        ("def f: f; f", rounds()),
        ("def f: 1 + f; f", depth()),
        ("def f: [f]; f", depth()),
        ("def f: def g: f; g; f", rounds()),
        ("def f(g): f(g | g); f(.)", rounds()),
        ("repeat(.) | empty", rounds()),
        ("until(false; .)", rounds()),
        ("[recurse(. + 1)]", rounds()),
        (
            "reduce range(60) as $i (0; [., .]) | [..] | length",
            elements(),
        ),
        ("def f: try error(1) catch f; f", depth()),
        ("\"x\" * 1000000000", size()),
        ("\"x\" * 1000000000000", size()),
        ("reduce range(60) as $i (\"xxxx\"; . + .)", size()),
        ("reduce range(60) as $i ([1, 2]; . + .)", size()),
        ("reduce range(60) as $i ({ a: \"xxxx\" }; .a += .a)", size()),
        ("reduce range(60) as $i (\"xxxx\"; \"\\(.)\\(.)\")", size()),
        ("reduce range(60) as $i (\"\\\"\"; tojson)", size()),
        ("reduce range(60) as $i (3; . * .)", size()),
        ("[range(1e6) | \"x\" * 10000000]", elements()),
        ("[repeat(\"x\" * 1000000)]", elements()),
        (
            "(\"x\" * 16000000) as $t | [range(100000) | {a: ($t | ascii_upcase)}]",
            elements(),
        ),
        (
            "(\"x\" * 900000) as $t | [range(1000) | {a: ($t / \"x\")}]",
            elements(),
        ),
        ("(\"x\" * 16000000) / \"x\"", size()),
        (
            "\"[[]\" + \",[]\" * 5000000 + \"]\" | fromjson | length",
            elements(),
        ),
        (
            "\"[[]\" + \",[]\" * 100000 + \"]\" | [range(1000) as $i | { a: fromjson }]",
            elements(),
        ),
        (
            "(\"x\" * 4000000) as $t | [range(1000) | { ($t + tojson): 1 }]",
            elements(),
        ),
        (
            "[range(100000)] as $a | [range(100000) | { a: ($a | reverse) }]",
            elements(),
        ),
        (
            "[range(100000)] as $a | [range(100000) | { a: ($a | sort_by(-.)) }]",
            elements(),
        ),
        (
            "[range(100000)] as $a | [range(100000) | $a + [.]]",
            elements(),
        ),
        (
            "[range(100000)] as $a | reduce range(10000) as $i ({}; .\"\\($i)\" = $a[$i:])",
            elements(),
        ),
        (
            "\"x\" * 16000000 | [match(\"x\"; \"g\")] | length",
            elements(),
        ),
        ("\"x\" * 16000000 | gsub(\"x\"; \"y\")", elements()),
        ("\"x\" * 16000000 | [explode] | length", elements()),
        ("\"x\" * 16000000 | indices(\"x\")", elements()),
        ("reduce range(60) as $i (0; [., .]) | tojson", size()),
        ("reduce range(60) as $i (0; [., .]) | \"\\(.)\"", size()),
        ("reduce range(60) as $i (0; [., .]) | tobytes", size()),
        ("range(1e9)", RunError::TooMany(1_000)),
        ("repeat(1)", RunError::TooMany(1_000)),
    ] {
        let started = Instant::now();
        assert_eq!(run(jq, &json!(1)).err(), Some(error), "{jq}");
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "{jq}: {:?}",
            started.elapsed()
        );
    }
    assert_memory();
}

/// The most memory that this program had: without the limits, some of them take hundreds of gigabytes.
#[track_caller]
fn assert_memory() {
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: u64 = most
            .unwrap()
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .unwrap();
        assert!(kib < 3 << 20, "{kib} KiB");
    }
}

/// Values that are shared are copied when they change, wherever they are in another one.
#[test]
fn copies_of_shared_values_are_counted() {
    const ARRAY: &str = "(\"x,\" * 100000 | split(\",\")) as $a";
    const OBJECT: &str = "([range(20000) | { (\"\\(.)\"): 1 }] | add) as $o";
    const TEXT: &str = "(\"x\" * 16000000) as $t";
    for (value, jq) in [
        (
            ARRAY,
            "[foreach range(100000) as $i ({ a: $a }; .a[0] = $i)]",
        ),
        (
            ARRAY,
            "[foreach range(100000) as $i ({ a: $a }; .a[0] += \"y\")]",
        ),
        (
            ARRAY,
            "[foreach range(100000) as $i ({ a: $a }; setpath([\"a\", 0]; $i))]",
        ),
        (
            ARRAY,
            "[foreach range(100000) as $i ({ a: $a }; getpath([\"a\", 0]) |= $i)]",
        ),
        (ARRAY, "[range(100000) | { a: $a } | .a[0] = 1]"),
        (ARRAY, "[range(100000) | { a: $a } | .a[-1:] = []]"),
        (ARRAY, "[range(100000) | { a: [] } | .a[0:] = $a]"),
        (ARRAY, "[range(100000) | { a: $a } | .a |= map_values(0)]"),
        (ARRAY, "[range(100000) | { a: $a } | walk(.)]"),
        (ARRAY, "[range(100000) | { a: $a } | del(.a[0])]"),
        (
            ARRAY,
            "[range(100000) | { a: $a } | delpaths([[\"a\", 0]])]",
        ),
        (ARRAY, "[range(100000) | { a: $a } | (.a | first) = 1]"),
        (
            ARRAY,
            "def change(p): p = 1; [range(100000) | { a: $a } | change(.a[0])]",
        ),
        (ARRAY, "def f: (.a[0] = 1) as $x | $x, f; [{ a: $a } | f]"),
        (ARRAY, "{ a: $a } | until(false; . as $x | .a[0] = 1)"),
        (ARRAY, "{ a: $a } | until(false; . as $x | .a[0:1] = [1])"),
        (ARRAY, "{ a: $a } | until(false; . as $x | del(.a[0]) | $x)"),
        (ARRAY, "[range(100000) | first($a[])]"),
        (ARRAY, "[range(100000) | isempty($a[])]"),
        (ARRAY, "[range(100000) | first($a | to_entries)]"),
        (ARRAY, "[range(100000) | first($a | key_values)]"),
        (ARRAY, "[range(100000) | $a[][]?]"),
        (ARRAY, "[range(100000) | $a | min]"),
        (
            OBJECT,
            "[foreach range(100000) as $i ({ a: $o }; .a.b = $i)]",
        ),
        (
            OBJECT,
            "[foreach range(100000) as $i ({ a: $o }; .a[\"b\", \"c\"] = $i)]",
        ),
        (
            OBJECT,
            "[foreach range(100000) as $i ({ a: $o, b: \"b\" }; .a[.b] = $i)]",
        ),
        (
            OBJECT,
            "[foreach range(100000) as $i ({ a: $o }; .a += { b: $i })]",
        ),
        (
            OBJECT,
            "[range(100000) | { a: $o } | .a |= with_entries(.)]",
        ),
        (OBJECT, "[range(100000) | { a: $o } | del(.a[\"1\"])]"),
        (OBJECT, "[range(100000) | $o | keys | length]"),
        (OBJECT, "[range(100000) | first($o[])]"),
        (TEXT, "[range(100000) | $t | length]"),
        (TEXT, "[range(100000) | $t[15999999:]]"),
        (TEXT, "[range(100000) | { t: $t } | .t[1:2] = \"y\"]"),
    ] {
        let jq = format!("{value} | {jq} | length");
        assert_eq!(
            run(&jq, &json!(1)).err(),
            Some(RunError::Limit(Limit::Elements)),
            "{jq}"
        );
    }
    assert_memory();
}
