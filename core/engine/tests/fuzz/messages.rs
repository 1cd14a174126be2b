//! Message bodies of any bytes, parsed and passed to a stage over the ABI: rejected as no JSON, or forwarded unchanged.

use std::cell::RefCell;

use flowpipe_engine::run::Options;
use flowpipe_engine::trial::{CallEnd, Trial};
use flowpipe_host::document::Document;
use proptest::prelude::*;
use serde_json::json;

use crate::bounds::{MIB, within};
use crate::common::catalogue;
use crate::spoil;

const GOOD: &[&str] = &[
    r#"{"n":3,"text":"\u00e4\ud83d\ude00 \\ \" \/","list":[1,-2.5e3,true,false,null,{"":{"a/b":{"~":[[]]}}}],"large":18446744073709551615}"#,
    r#"[{"n":1},{"n":2}]"#,
    r#""only a text""#,
    "  -0.0  ",
];

const WORDS: &[&str] = &[
    "{", "}", "[", "]", "\"", ":", ",", "\\", "\\u", "\\ud800", "\\u0000", "null", "tru", "-", ".",
    "e", "E+", "0", "00", "\"n\":", "\"n\":3,", "{\"n\":", "[[", "/*", "NaN",
];

const POINTERS: &[&str] = &[
    "",
    "/",
    "/n",
    "/list/0",
    "/list/-",
    "/list/00",
    "/list/18446744073709551616",
    "//",
    "/~",
    "/~0",
    "/~1",
    "/list/5//a~1b/~0/0",
    "/\u{0}",
    "n",
    "/n/n/n",
];

thread_local! {
    /// One forwards everything, the others read a number.
    static STAGES: RefCell<Vec<Trial>> = RefCell::new(["pass", "join", "count-down"].map(stage).into());
}

fn stage(name: &str) -> Trial {
    let found = catalogue().find(name).unwrap();
    Trial::new(found, json!({}), Options::default()).unwrap()
}

/// Reads a body; where it is JSON, stages written in C get it.
fn try_body(bytes: &[u8]) {
    assert_eq!(
        STAGES.with_borrow(Vec::len),
        3,
        "made before anything is counted"
    );
    within(20 * MIB + 200 * bytes.len(), bytes, || {
        let read = Document::new(bytes);
        for pointer in POINTERS {
            let _ = read.as_ref().map(|document| document.at(pointer));
        }
        STAGES.with_borrow_mut(|stages| {
            for (number, stage) in stages.iter_mut().enumerate() {
                let sent = stage.message(0, "test.count/1", bytes, None);
                assert_eq!(read.is_err(), sent.is_err());
                let (Ok(document), Ok(sent)) = (&read, sent) else {
                    continue;
                };
                assert_eq!((sent.end, sent.emitted.len()), (CallEnd::Fine, 1));
                if number == 0 {
                    assert_eq!(sent.emitted[0].1.json(), document.json());
                }
            }
        });
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spoiled_bodies(bytes in spoil::spoiled(GOOD.iter().map(|text| text.as_bytes().to_vec()).collect(), WORDS)) {
        try_body(&bytes);
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        try_body(&bytes);
    }

    #[test]
    fn any_text(text in "\\PC{0,100}|[{}\\[\\]:,\"0-9.e\\\\ ntu+\\-]{0,100}") {
        try_body(text.as_bytes());
    }
}

#[test]
fn large_and_deep() {
    for count in [127, 128, 1_000, 1_000_000] {
        for (open, close) in [("[", "]"), ("{\"n\":", "}"), ("[", ""), ("[{\"n\":", "}]")] {
            try_body(format!("{}1{}", open.repeat(count), close.repeat(count)).as_bytes());
        }
        try_body(format!("[{}1]", "1,".repeat(count)).as_bytes());
        try_body(format!("{{\"n\":{}}}", "9".repeat(count)).as_bytes());
        try_body(format!("{{\"n\":1e{}}}", "9".repeat(count)).as_bytes());
        try_body(format!("{{\"n\":0.{}1}}", "0".repeat(count)).as_bytes());
        try_body(format!("\"{}\"", "\\u0000".repeat(count)).as_bytes());
        try_body("\"".repeat(count).as_bytes());
        try_body(&vec![b' '; count]);
        try_body(&vec![0; count]);
        try_body(&vec![0xff; count]);
    }
}
