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
        // Each search may go through all that follows.
        ("\"xy\" * 450000 | gsub(\"x+\"; \"\")", elements()),
        ("\"xy\" * 450000 | [scan(\"x+\")]", elements()),
        ("\"xy\" * 450000 | [splits(\"x+\")]", elements()),
        ("\"x\" * 16000000 | test(\"(y?){500}\")", elements()),
        ("\"x\" * 16000000 | [explode] | length", elements()),
        ("\"x\" * 16000000 | indices(\"x\")", elements()),
        ("reduce range(60) as $i (0; [., .]) | tojson", size()),
        ("reduce range(60) as $i (0; [., .]) | \"\\(.)\"", size()),
        ("reduce range(60) as $i (0; [., .]) | tobytes", size()),
        (
            "(reduce range(7) as $i (\"9\" * 1000 | tonumber; . * .)) as $n | [range(100000) | $n] | tojson",
            size(),
        ),
        ("reduce range(60) as $i (\"x\"; [., .]) | mktime", size()),
        (
            "reduce range(60) as $i (\"x\"; [., .]) | strftime(\"%Y\")",
            size(),
        ),
        (
            "[range(100000)] as $a | [range(100000) | $a | mktime] | length",
            elements(),
        ),
        (
            "(\"x\" * 1000000) as $t | [range(100000) | $t | try fromdateiso8601 catch 1] | length",
            elements(),
        ),
        (
            "([range(100000)] + [\"x\"]) as $a | [range(100000) | $a | try implode catch 1] | length",
            elements(),
        ),
        (
            "(\" \" * 10000000) as $t | [range(200000) | $t | trim, ltrim, rtrim] | length",
            elements(),
        ),
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
    // Which limit it reaches first depends on how much of the stack a compiled call takes.
    let error = run("def f: try error(1) catch f; f", &json!(1)).err();
    assert!(
        [Some(depth()), Some(rounds())].contains(&error),
        "{error:?}"
    );
    assert_memory();
}

/// The text of an error has the values that it is about.
#[test]
fn the_texts_of_errors_that_are_caught_are_short() {
    const VALUE: &str = "(reduce range(60) as $i (0; [., .])) as $a";
    for jq in ["$a + 1", "$a | ascii_downcase", "path($a)"] {
        let text = one(&format!("{VALUE} | try ({jq}) catch .[:8]"), &json!(1));
        assert!(
            ["cannot c", "cannot u", "invalid "].contains(&text.as_str().unwrap()),
            "{jq}: {text}"
        );
        assert_eq!(
            one(&format!("{VALUE} | [({jq})?]"), &json!(1)),
            json!([]),
            "{jq}"
        );
    }
    // A value that is an error itself stays as it is.
    assert_eq!(
        one(&format!("{VALUE} | try error($a) catch length"), &json!(1)),
        json!(2)
    );
    let text = "(\"cannot \" + \"x\" * 100000)";
    assert_eq!(
        one(&format!("try error({text}) catch length"), &json!(1)),
        json!(100_007)
    );
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

/// Regular expressions that take much memory, or much time for each byte.
#[test]
fn large_regular_expressions_are_refused() {
    for (pattern, reason) in [
        ("\"(y?){100000}\"", "invalid regex: "),
        (
            "\"y\" * 20000",
            "invalid regex: it has more than 16384 bytes",
        ),
        ("\"()\" * 201", "invalid regex: it has more than 200 groups"),
        ("\"(\"", "invalid regex: "),
    ] {
        let jq = format!("\"x\" | try test({pattern}) catch .");
        let error = one(&jq, &json!(1));
        assert!(
            error.as_str().unwrap().starts_with(reason),
            "{pattern}: {error}"
        );
    }
    assert_eq!(
        one("\"x\" | try test(\"x\"; \"q\") catch .", &json!(1)),
        json!("invalid regex flag: q")
    );
    assert_memory();
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

/// A value with few parts, each of which is in it many times, takes little memory. What compares such values ends.
#[test]
fn comparisons_of_shared_values_end() {
    const ARRAYS: &str =
        "(reduce range(60) as $i (0; [., .])) as $a | (reduce range(60) as $i (0; [., .])) as $b";
    const OBJECTS: &str = "(reduce range(60) as $i (0; { a: ., b: . })) as $a | (reduce range(60) as $i (0; { a: ., b: . })) as $b";
    for values in [ARRAYS, OBJECTS] {
        for jq in [
            "$a < $b",
            "$a <= $b",
            "$a > $b",
            "$a >= $b",
            "$a == $b",
            "$a != $b",
            "[$a, $b] | sort",
            "[$a, $b] | sort_by(.)",
            "[$a, $b] | group_by(.)",
            "[$a, $b] | unique",
            "[$a, $b] | unique_by([.])",
            "[$a, $b] | min",
            "[$a, $b] | max_by({ a: . })",
            "[[$a] - [$b]]",
            "[[$a]] | .[0] -= [$b]",
            "$a | contains($b)",
            "$b | inside($a)",
            "[$a] | indices([$b])",
            "[$a, 1] | indices([$b, 1])",
            "[$a] | index([$b])",
            "[$a] | .[[$b]]",
            "[$a] | bsearch($b)",
            "{ ($a): 1 }",
            "{ a: 1 } | .[$a]",
            "{ a: 1 } | .[$a] = 1",
            "{ a: 1 } | has($a)",
            "{ a: 1 } | getpath([$a])",
            "{ a: 1 } as { ($a): $x } | $x",
            "[{ key: $a, value: 1 }] | from_entries",
            "[range($a; $b; 1)] | length",
            "{ a: [$a] } | select(.a == [$b])",
        ] {
            let started = Instant::now();
            let jq = format!("{values} | {jq} | length");
            assert_eq!(
                run(&jq, &json!(1)).err(),
                Some(RunError::Limit(Limit::Elements)),
                "{jq}"
            );
            let took = started.elapsed();
            assert!(took < Duration::from_secs(60), "{jq}: {took:?}");
        }
    }
    for jq in [
        // Objects merge with what is an object in both.
        "(reduce range(60) as $i ({}; { a: ., b: . })) as $a | $a * $a | length",
        "[range(1000)] as $a | [range(1000)] as $b | [range(100000) | $a == $b] | length",
        "(reduce range(7) as $i (\"9\" * 1000 | tonumber; . * .)) as $n | [range(100000) | $n] as $a | [range(100000) | $n] as $b | $a == $b",
        "[range(1000)] as $a | [range(100000) | [$a, $a] | sort] | length",
        "[range(1000)] as $a | [range(100000) | $a - $a] | length",
        "[range(1000)] as $a | [range(100000) | $a | contains($a)] | length",
        "[range(1000)] as $a | [range(100000) | [$a] | index($a)] | length",
        "(\"x\" * 10000) as $t | (\"x\" * 5000) as $u | [range(1000) | $t | index($u)] | length",
        "(\"x\" * 1000000) as $t | (\"x\" * 1000000) as $u | [range(100000) | $t == $u] | length",
        "(\"x\" * 1000000) as $t | (\"x\" * 1000000) as $u | [range(100000) | $t | startswith($u)] | length",
        "(\"x\" * 1000000) as $t | { ($t): 1 } as $o | [range(100000) | {} + $o | length] | length",
        "[range(16)] as $k | { ($k): 1 } as $o | [range(100000) | $o | .[$k]] | length",
    ] {
        let started = Instant::now();
        assert_eq!(
            run(jq, &json!(1)).err(),
            Some(RunError::Limit(Limit::Elements)),
            "{jq}"
        );
        let took = started.elapsed();
        assert!(took < Duration::from_secs(60), "{jq}: {took:?}");
    }
    assert_memory();
}
