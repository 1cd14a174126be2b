//! Paths become several terms.

use super::*;

/// What jq gives without counting: its outputs, up to the first error.
fn uncounted(jq: &str, message: &Value) -> Vec<Option<Value>> {
    use jaq_core::data::JustLut;
    use jaq_core::load::{Arena, File, Loader};
    use jaq_core::{Compiler, Ctx, Vars};
    use jaq_json::Val;

    let definitions = jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs());
    let natives = jaq_core::funs()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs());
    let arena = Arena::default();
    let main = File { code: jq, path: () };
    let modules = Loader::new(definitions).load(&arena, main).ok().unwrap();
    let compiler = Compiler::default().with_funs(natives);
    let filter = compiler.compile(modules).ok().unwrap();
    let context = Ctx::<JustLut<Val>>::new(&filter.lut, Vars::new([]));
    let input = jaq_json::read::parse_single(message.to_string().as_bytes()).unwrap();
    let mut outputs = Vec::new();
    for output in filter.id.run((context, input)) {
        let text = output.ok().map(|value| value.to_string());
        // Without a text there is an error, as for what has no JSON.
        outputs.push(text.and_then(|text| serde_json::from_str(&text).ok()));
        if outputs.last() == Some(&None) {
            break;
        }
    }
    outputs
}

/// Paths become several terms, which mean the same.
#[test]
fn paths_mean_what_they_mean_in_jq() {
    let message = json!({
        "a": { "b": [1, 2, [3, 4, 5]], "c": { "d": "text" } }, "b": ["b", "c", "d"], "i": [0, 2, 1], "n": 1, "t": "text",
        "m": [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
    });
    let paths = [
        ".a",
        ".a.b[1]",
        ".a.b[2][0, 1]",
        ".m[0, 1][1, 0]",
        ".m[.n][.n]",
        ".m[.i[]][.i[]]",
        ".m[.i[]][.n, 0]",
        ".m[0, 2][.i[]]",
        ".m[0, 2][.n:]",
        ".m[.n:][.n:]",
        ".m[:.n, 2][0]",
        ".m[][.n]",
        ".m[][1:][0]",
        ".m[.n, 0][]",
        ".m[][]?",
        ".[][0]?",
        ".[]?[]?.b?",
        ".a[.b[]]?",
        ".a[.b[0]][.n]",
        ".a[\"b\", \"c\"]",
        ".a.c.d[1:3]",
        ".t[.n:]",
        ".t[:.n][0:]",
        ".x.y.z",
        ".x[.n]",
        ".x[2:4]",
        ".n.x",
        ".n[]",
        ".n[1:]",
        ".m[.t]",
        ".[.t]?.x",
        "(.m, .b)[.n]",
        "(.m, .b)[.i[]]",
        "(.m, .b)[0, 1]",
        "(.m | .[.n?, 0])",
        "(.m, .i)[.n:][0, 1]",
        "getpath([\"m\", 1])[.n]",
        "getpath([\"m\", 1, 2])",
        "(.m | first)[.n?, 2]",
        ".m[.n] | .[1]",
        ".m[error(1)]",
        ".m[empty][0]",
        ".. | numbers",
        "recurse(.[]?; true)",
        ".m[1].[1].[\"x\"]?",
        ".a.b.[2].[1]",
        ".m as $m | .m[$m[0][0]][$m | length | . - 1]",
        ".m | .[if .[0][0] == 1 then 0 else 1 end][1]",
        "if .n == 1 then .m[.n][.n] else .a end",
        "(.x // .m)[.n]",
        ".m[-1:][0][.n:]",
        ".a.b.x.y.z.a.b.c.d.e.f.g",
        ".u.b.x.y.z.a.b.c.d.e.f[.n?, 1].g[.n?, 2]",
        "def f(p): p; f(.m[.n][0, 1])",
        "def f: .m[.n]; f[0]",
        "reduce .b[] as $x (.a; .[$x]?)",
        "limit(2; .m[][.n])",
        "[1, 2, 3][.n]",
        "[.m[] | .[0]][.n:]",
        ".m[1:] | .[0][0]",
    ];
    let uses = [
        "[PATH]",
        "[path(PATH)]",
        "PATH |= [., 1]",
        "(PATH) |= empty",
        "(PATH) |= (1, 2)",
        "(PATH) = .n",
        "(PATH) += 1",
        "(PATH) //= 7",
        "(PATH) |= (.[0]? |= 5)",
        "del(PATH)",
        "[paths(PATH)]",
        "try (PATH) catch \"failed\"",
        "first(PATH)",
        "to_entries, with_entries(.), walk(PATH?)",
    ];
    for path in paths {
        for jq in uses.map(|it| it.replace("PATH", path)) {
            let expression = Expression::compile(&jq).unwrap_or_else(|it| panic!("{jq}: {it}"));
            let counted = expression.outputs(message.to_string().as_bytes(), 1_000, &|| false);
            let expected = || uncounted(&jq, &message);
            match counted {
                Ok(outputs) => {
                    let outputs = outputs.iter();
                    let outputs: Vec<_> = outputs
                        .map(|text| Some(serde_json::from_slice::<Value>(text).unwrap()))
                        .collect();
                    assert_eq!(outputs, expected(), "{jq}");
                }
                Err(RunError::Failed(_) | RunError::Output(_)) => {
                    assert_eq!(expected().last(), Some(&None), "{jq}")
                }
                // Without limits, it goes on in what it has just made until the stack is used up.
                Err(RunError::Limit(_)) if path.contains("recurse") => {}
                Err(error) => panic!("{jq}: {error}"),
            }
        }
    }
}
