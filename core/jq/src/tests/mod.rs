mod hostile;
mod paths;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::error::Limit;
use super::*;

fn run(jq: &str, message: &Value) -> Result<Vec<Value>, RunError> {
    let expression = Expression::compile(jq).unwrap_or_else(|error| panic!("{jq}: {error}"));
    let outputs = expression.outputs(message.to_string().as_bytes(), 1_000, &|| false)?;
    let texts = outputs
        .iter()
        .map(|text| serde_json::from_slice(text).unwrap());
    Ok(texts.collect())
}

fn one(jq: &str, message: &Value) -> Value {
    let mut outputs = run(jq, message).unwrap_or_else(|error| panic!("{jq}: {error}"));
    assert_eq!(outputs.len(), 1, "{jq}: {outputs:?}");
    outputs.remove(0)
}

fn refusal(jq: &str) -> String {
    Expression::compile(jq).err().unwrap().to_string()
}

/// What counts in an expression changes nothing of its meaning.
#[test]
fn expressions_mean_what_they_mean_in_jq() {
    let message = json!({ "a": [1, 2, 3], "b": { "c": "x,y" }, "d": null, "t": "2.50" });
    for (jq, expected) in [
        (".a", json!([1, 2, 3])),
        (".a | map(. * 2) | add", json!(12)),
        (
            ".a |= map(. + 1)",
            json!({ "a": [2, 3, 4], "b": { "c": "x,y" }, "d": null, "t": "2.50" }),
        ),
        (".a[1] *= 10 | .a", json!([1, 20, 3])),
        (".a += [4] | .a | length", json!(4)),
        ("[.a[] | select(. > 1)]", json!([2, 3])),
        (".b.c | split(\",\")", json!(["x", "y"])),
        (
            "[paths]",
            json!([
                ["a"],
                ["a", 0],
                ["a", 1],
                ["a", 2],
                ["b"],
                ["b", "c"],
                ["d"],
                ["t"]
            ]),
        ),
        ("[.. | numbers]", json!([1, 2, 3])),
        ("(.. | numbers) |= . + 1 | .a", json!([2, 3, 4])),
        ("[limit(3; repeat(7))]", json!([7, 7, 7])),
        ("reduce range(1000) as $i (0; . + $i)", json!(499_500)),
        (
            "[foreach .a[] as $x (0; . + $x; [., $x])]",
            json!([[1, 1], [3, 2], [6, 3]]),
        ),
        (
            "def f: if . > 100 then . else . * 2 | f end; .a[0] | f",
            json!(128),
        ),
        (
            "[range(5)] | [first, last, (.[2:] | length)]",
            json!([0, 4, 3]),
        ),
        ("\"\\(.a[0])-\\(.b.c)\"", json!("1-x,y")),
        (".d // \"none\"", json!("none")),
        ("try error(\"no\") catch .", json!("no")),
        (".t | tonumber", json!(2.5)),
        ("\"[1, {\\\"z\\\": 2}]\" | fromjson", json!([1, { "z": 2 }])),
        (".b.c | test(\"^x\")", json!(true)),
        (".b.c | gsub(\",\"; \"-\")", json!("x-y")),
        (
            "[\"2015-03-05T23:51:47Z\" | fromdate, (strptime(\"%Y-%m-%dT%H:%M:%SZ\") | mktime, strftime(\"%H:%M\"))]",
            json!([1_425_599_507, 1_425_599_507, "23:51"]),
        ),
        ("[\" a \" | trim, ltrim, rtrim]", json!(["a", "a ", " a"])),
        ("\"aab\" | [scan(\"a\")]", json!(["a", "a"])),
        ("\"abc\" | gsub(\"\"; \"-\")", json!("-a-b-c-")),
        (
            "[\"aXbxc\" | splits(\"x\"; \"i\", \"\")]",
            json!(["a", "b", "c", "aXb", "c"]),
        ),
        (
            "\"ä-b\" | [match(\"(?<x>b)|(-)\"; \"g\") | [.offset, .length, .string, .captures[].name]]",
            json!([[1, 1, "-", null], [2, 1, "b", "x"]]),
        ),
        // The second group starts after the third.
        (
            "\"ba\" | [match(\"((a)|(b))*\").captures[].offset]",
            json!([1, 1, 0]),
        ),
        ("\"ab\" * 3", json!("ababab")),
        (
            "{ a: { b: 1 } } * { a: { c: 2 } }",
            json!({ "a": { "b": 1, "c": 2 } }),
        ),
        ("to_entries | map(.key) | sort", json!(["a", "b", "d", "t"])),
        (".a | group_by(. % 2)", json!([[2], [1, 3]])),
        ("[(1, 3) < (2, 4)]", json!([true, true, false, true])),
        (
            "[.a < .b, .a == [1, 2, 3], .d != .t]",
            json!([true, true, true]),
        ),
        (".a - [2]", json!([1, 3])),
        ("[.b | has(\"c\", .c)]", json!([true, false])),
        ("[.a | contains([1], [4])]", json!([true, false])),
        (
            "[[1, 2, 1, 2] | indices(1, [1, 2])]",
            json!([[0, 2], [0, 2]]),
        ),
        (
            "\"abcb\" | [indices(\"b\")[], index(\"c\"), rindex(\"b\")]",
            json!([1, 3, 2, 3]),
        ),
        ("def contains(f): path(f); contains(.a)", json!(["a"])),
        ("def has(f): path(f); has(.a[0])", json!(["a", 0])),
        (".b[\"c\", .t] |= 1 | .b", json!({ "c": 1, "2.50": 1 })),
        ("[.a[.a[0], -1]]", json!([2, 3])),
        ("[{ (.t, \"u\"): 1 } | keys[0]]", json!(["2.50", "u"])),
        (
            "label $f | .a[] | if . == 2 then ., break $f else empty end",
            json!(2),
        ),
        ("setpath([\"b\", \"c\"]; 1) | .b", json!({ "c": 1 })),
        ("del(.a, .b, .d)", json!({ "t": "2.50" })),
        (
            "[nan, infinite, -infinite]",
            json!([null, f64::MAX, f64::MIN]),
        ),
        (". as { a: [$x, $y] } | $x + $y", json!(3)),
        ("@base64 \"\\(.t)\"", json!("Mi41MA==")),
        (
            "walk(if type == \"number\" then . + 1 else . end) | .a",
            json!([2, 3, 4]),
        ),
        (
            "100000000000000000000 + 1 | tostring",
            json!("100000000000000000001"),
        ),
    ] {
        assert_eq!(one(jq, &message), expected, "{jq}");
    }
    assert_eq!(run("empty", &message).unwrap(), [] as [Value; 0]);
    assert_eq!(
        run(".a[]", &message).unwrap(),
        [json!(1), json!(2), json!(3)]
    );
}

#[test]
fn a_number_stays_as_it_was_written() {
    let expression = Expression::compile(".").unwrap();
    let json = b"[1.50,123456789012345678901234567890,-0.0,1e5,\"\\u0000\\u00e4\"]";
    let outputs = expression.outputs(json, 1, &|| false).unwrap();
    let text = outputs.iter().next().unwrap();
    assert_eq!(
        std::str::from_utf8(text).unwrap(),
        "[1.50,123456789012345678901234567890,-0.0,1e5,\"\\u0000ä\"]"
    );
}

#[test]
fn an_error_names_its_place_in_the_expression() {
    for (jq, error) in [
        (".a | foo(1)", "line 1, column 6: there is no filter foo/1"),
        (
            "1 +",
            "line 1, column 4: expected term, the expression ends",
        ),
        (".a\n  | $x", "line 2, column 5: there is no variable $x"),
        (
            "if . then 1",
            "line 1, column 12: expected else or end, the expression ends",
        ),
        ("[1, 2", "line 1, column 6: expected closing bracket"),
        ("\"ä\" | )", "line 1, column 7: expected token"),
        (". as | 1", "line 1, column 6: expected pattern, found |"),
        ("now", "line 1, column 1: there is no filter now/0"),
        ("$ENV", "line 1, column 1: there is no variable $ENV"),
        ("input", "line 1, column 1: there is no filter input/0"),
        (
            "import \"a\" as a; 1",
            "line 1, column 8: expected the end, found \"a\"",
        ),
        ("halt", "line 1, column 1: there is no filter halt/0"),
        (
            "jn(2147483647; 1.5)",
            "line 1, column 1: there is no filter jn/2",
        ),
        (
            "yn(2147483647; 1.5)",
            "line 1, column 1: there is no filter yn/2",
        ),
        ("", "line 1, column 1: expected term, the expression ends"),
    ] {
        assert_eq!(refusal(jq), error, "{jq}");
    }
}

#[test]
fn an_expression_fails_with_a_short_reason() {
    let error = |jq: &str| {
        run(jq, &json!({ "a": "x".repeat(10_000) }))
            .unwrap_err()
            .to_string()
    };
    assert!(error(".a + 1").starts_with("the expression failed: cannot calculate \"xxx"));
    assert!(error(".a + 1").len() < 500);
    assert_eq!(
        error("error(\"my reason\")"),
        "the expression failed: my reason"
    );
    assert_eq!(
        error("\"a\" | tobytes"),
        "an output of the expression has bytes that are no text"
    );
    assert_eq!(
        error("{ (0 | tostring): 1 } | {(1): 2}"),
        "an output of the expression has a key that is no text"
    );
}

/// What takes time and memory by the length of its result alone is not counted by the square of it.
#[test]
fn large_results_are_made_step_by_step() {
    for (jq, expected) in [
        ("reduce range(20000) as $i ([]; . + [$i]) | length", 20_000),
        (
            "reduce range(50000) as $i ({ a: [] }; .a += [$i]) | .a | length",
            50_000,
        ),
        (
            "reduce range(10000) as $i ({}; .\"\\($i % 5000)\" += 1) | length",
            5_000,
        ),
        ("[range(100000)] | map({ a: . }) | length", 100_000),
        (
            "reduce range(8000) as $i ([range(8000)]; .[$i] = 0) | add",
            0,
        ),
        (
            "reduce range(8000) as $i ({ a: [range(8000)] }; .a[$i] = 0) | .a | add",
            0,
        ),
        (
            "reduce range(8000) as $i ({ a: [range(8000)] }; .a[$i] += 1) | .a[7999]",
            8_000,
        ),
        (
            "reduce range(8000) as $i ([range(8000)]; setpath([$i]; 0)) | add",
            0,
        ),
        (
            "reduce range(8000) as $i ([range(8000)]; del(.[-1])) | length",
            0,
        ),
        ("[range(50000)] | map_values(. + 1) | .[49999]", 50_000),
        (
            "[range(50000)] | walk(if isnumber then . + 1 end) | .[49999]",
            50_000,
        ),
        (
            "[range(10000) | { (\"\\(.)\"): . }] | add | with_entries(.value += 1) | .\"9999\"",
            10_000,
        ),
        ("\"x,\" * 100000 | split(\",\") | length", 100_001),
        ("\"x,\" * 2000 | gsub(\",\"; \";\") | length", 4_000),
        ("\"x,\" * 100000 | [splits(\",\")] | length", 100_001),
        ("\"x  y \" * 2000 | gsub(\"\\\\s+\"; \"\") | length", 4_000),
        (
            "\"[0\" + \",0\" * 1000000 + \"]\" | test(\"^.0\") | if . then 1 else 0 end",
            1,
        ),
    ] {
        assert_eq!(one(jq, &json!(1)), json!(expected), "{jq}");
    }
}

/// Values of any depth can be made, walked over and dropped.
#[test]
fn deep_values_do_not_exceed_the_stack() {
    let deep =
        |levels: usize, rest: &str| format!("reduce range({levels}) as $i (0; [.]) | {rest}");
    for levels in [100, 500, 5_000, 50_000] {
        assert_eq!(one(&deep(levels, "length"), &json!(0)), json!(1));
        assert_eq!(
            one(&deep(levels, "tojson | length"), &json!(0)),
            json!(2 * levels + 1)
        );
        assert_eq!(one(&deep(levels, ". == ."), &json!(0)), json!(true));
    }
    for jq in [
        "reduce range(1e6) as $i (0; [.])",
        "reduce range(1e6) as $i (0; { a: . })",
        "reduce range(1e6) as $i ({}; .a = .)",
        "reduce range(1e6) as $i (1; [group_by(.)])",
        "last(recurse([.]))",
        "def f: { a: . } | f; f",
        "[range(1e5) | \"a\"] as $p | setpath($p; 1)",
        "[range(1e5) | \"a\"] as $p | null | getpath($p) |= 1",
    ] {
        let error = run(jq, &json!([1])).unwrap_err();
        assert!(
            matches!(
                error,
                RunError::Limit(_) | RunError::Failed(_) | RunError::Output(_)
            ),
            "{jq}: {error}"
        );
    }
    assert_eq!(
        run("reduce range(200) as $i (0; [.])", &json!(0))
            .unwrap_err()
            .to_string(),
        "an output of the expression is nested more than 128 levels deep"
    );
    // Texts within a message, which its sender chooses.
    let text = json!("[".repeat(200_000));
    let error = run("fromjson", &text).unwrap_err().to_string();
    assert!(
        error.contains("nested more than 128 levels deep"),
        "{error}"
    );
    let text = json!("#\"\n".to_owned() + &"[".repeat(200_000));
    let error = run("fromjson", &text).unwrap_err().to_string();
    assert!(
        error.contains("nested more than 128 levels deep"),
        "{error}"
    );
    let text = json!("1".repeat(200_000));
    let error = run("tonumber", &text).unwrap_err().to_string();
    assert!(
        error.contains("a number of more than 1,000 digits"),
        "{error}"
    );
}

/// jaq calculates with the integers of the machine in places. It panics, which is a failure of the stage on the message.
#[test]
fn integers_that_overflow_give_no_result() {
    for (jq, message) in [
        ("gmtime", json!(13_000_000_000_000_i64)),
        ("length", json!(i64::MIN)),
        ("implode", json!([i64::MIN])),
    ] {
        let ran = std::panic::catch_unwind(|| run(jq, &message));
        assert!(!matches!(ran, Ok(Ok(_))), "{jq}: {ran:?}");
    }
}

#[test]
fn hostile_messages_are_refused() {
    let expression = Expression::compile("1").unwrap();
    let refusal = |json: String| {
        let outputs = expression.outputs(json.as_bytes(), 1, &|| false);
        outputs.err().map(|error| error.to_string())
    };
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert_eq!(refusal(nested(128)), None);
    assert_eq!(
        refusal(nested(129)).unwrap(),
        "the message is nested more than 128 levels deep"
    );
    refusal(nested(1_000_000)).unwrap();
    assert_eq!(refusal(format!("\"{}\"", "[".repeat(1_000))), None);
    assert_eq!(refusal(format!("\"\\\"{}\"", "1".repeat(2_000))), None);
    assert_eq!(
        refusal("9".repeat(1_001)).unwrap(),
        "the message has a number of more than 1,000 digits"
    );
    assert_eq!(refusal(format!("#{}\n1", "[".repeat(1_000))), None);
    assert_eq!(
        refusal(format!("#\"\n{}", nested(1_000_000))).unwrap(),
        "the message is nested more than 128 levels deep"
    );
    // One for each opening bracket, comma and colon.
    let array =
        |value: &str, times: usize| format!("[{}{value}]", format!("{value},").repeat(times - 1));
    assert_eq!(refusal(array("1", 999_999)), None);
    for (value, times) in [("1", 1_000_000), ("{}", 500_000), ("{\"a\":1}", 333_334)] {
        assert_eq!(
            refusal(array(value, times)).unwrap(),
            "the message has more than 1,000,000 values",
            "{value}"
        );
    }
    assert_eq!(refusal(format!("\"{}\"", "[,".repeat(1_000_000))), None);
}

#[test]
fn large_expressions_are_refused() {
    for open in [
        "(",
        "[",
        "{a:",
        "-",
        "if ",
        "def f: ",
        "\"\\(",
        "try ",
        ". as $x | ",
        "1 + (",
        "reduce ",
        "..?//",
    ] {
        for times in [1_000, 16_000 / open.len()] {
            Expression::compile(&open.repeat(times)).err().unwrap();
        }
    }
    let brackets = |levels: usize| "(".repeat(levels) + "1" + &")".repeat(levels);
    let arrays = |levels: usize| "[".repeat(levels) + "1" + &"]".repeat(levels);
    assert_eq!(
        refusal(&arrays(300)),
        "its parts are nested more than 200 levels deep"
    );
    assert_eq!(
        refusal(&(".a".repeat(5_000) + " |= 1")),
        "its parts are nested more than 200 levels deep"
    );
    let nested = (0..60).fold(json!(1), |inner, _| json!({ "a": inner }));
    let path = ".a".repeat(60);
    assert_eq!(one(&format!("{path} |= 2 | {path}"), &nested), json!(2));
    assert!(Expression::compile(&brackets(50)).is_ok());
    assert_eq!(refusal(&" ".repeat(20_000)), "it has more than 16384 bytes");
    assert!(Expression::compile(&vec!["."; 150].join(" | ")).is_ok());
}

#[test]
fn a_cancelled_run_ends_soon() {
    let expression = Expression::compile("[range(1e12) | . * 2 | select(false)]").unwrap();
    let started = Instant::now();
    let is_over = || started.elapsed() > Duration::from_millis(1);
    let ran = expression.outputs(b"1", 1, &is_over);
    assert_eq!(ran.err(), Some(RunError::Cancelled));
}

/// Each search goes through all that follows, and cancellation is polled between them.
#[test]
fn searches_are_cancelled() {
    let jq = "\"<&nbsp;\" * 30000 | gsub(\"<[^>]*>|&nbsp;\"; \"\")";
    let expression = Expression::compile(jq).unwrap();
    let polls = AtomicUsize::new(0);
    let is_over = || polls.fetch_add(1, Ordering::Relaxed) >= 10;
    let ran = expression.outputs(b"1", 1, &is_over);
    assert_eq!(ran.err(), Some(RunError::Cancelled));
}

proptest::proptest! {
    /// Any text is an expression or an error, and any expression ends.
    #[test]
    fn any_text_is_compiled_and_run(
        parts in proptest::collection::vec(proptest::sample::select(vec![
            ".", ".a", "[", "]", "{", "}", "(", ")", "|", ",", "..", "1", "1e9", "\"x\"", "def f: ", "; ", "f", " as $x ",
            "$x", "reduce ", "foreach ", "range(5)", "repeat(.)", "limit(3; ", "if ", " then ", " else ", " end", "|=", "+=",
            " + ", " * ", "try ", " catch ", "?", "//", "tojson", "fromjson", "test(\"a\")", "map(", "walk(", "path(", "\\", "@base64",
            "!each", "error", "label $l | ", "break $l", "[]", ".[0]", ".[1:]", "keys", "not", "-", "sort", "recurse",
        ]), 0..14),
    ) {
        if let Ok(expression) = Expression::compile(&parts.concat()) {
            let _ = expression.outputs(b"{\"a\": [1, \"x\", null]}", 100, &|| false);
        }
    }
}
