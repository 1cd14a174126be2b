//! Stages that are replaced in a running pipeline.

use super::*;

/// The stage that replaces another one.
fn replaced(stage: &mut Harness, config: Value) -> Harness {
    let state = stage.save().unwrap();
    let mut new = source(config).unwrap();
    assert!(new.load(&state).unwrap());
    new
}

#[test]
fn a_file_is_read_on() {
    let folder = tempfile::tempdir().unwrap();
    // More than is read at once.
    let lines: Vec<_> = (0..30_000).map(|number| json!(number)).collect();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let path = file(folder.path(), text + "x\n");
    let config = json!({ "path": path, "schema": "x.a/1" });
    let mut stage = source(config.clone()).unwrap();
    let mut found = Vec::new();
    for _ in 0..20_000 {
        found.extend(stage.tick().unwrap().into_iter().map(|it| it.body));
    }
    let mut stage = replaced(&mut stage, config);
    found.extend(all(&mut stage));
    assert_eq!(found[..30_000], lines);
    let error = found[30_000]["error"].as_str().unwrap();
    assert!(error.contains(", line 30001: "), "{error}");
}

#[test]
fn another_file_is_read_from_its_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "1\n2\n3\n");
    let config = json!({ "path": path, "schema": "x.a/1" });
    let mut stage = source(config.clone()).unwrap();
    assert_eq!(stage.tick().unwrap()[0].body, json!(1));
    // Of another name.
    let other = folder.path().join("other.jsonl");
    std::fs::write(&other, "4\n").unwrap();
    let mut new = replaced(&mut stage, json!({ "path": other, "schema": "x.a/1" }));
    assert_eq!(all(&mut new), [json!(4)]);
    // Of the same name, as editors save files.
    #[cfg(unix)]
    {
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(all(&mut replaced(&mut stage, config)), [json!(4)]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn no_line_of_a_pipe_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &path, pipe, rustix::fs::Mode::RWXU, 0).unwrap();
    let config = json!({ "path": path, "schema": "x.a/1" });
    let mut stage = source(config.clone()).unwrap();
    // Nobody has written yet: the new one waits as well.
    let mut stage = replaced(&mut stage, config.clone());
    assert_eq!(all(&mut stage), [json!(null); 0]);
    let mut writer = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    writer.write_all("1\n\"ä\"\n3".as_bytes()).unwrap();
    assert_eq!(stage.tick().unwrap()[0].body, json!(1));
    writer.write_all(b"4\n5\n").unwrap();
    drop(writer);
    let mut stage = replaced(&mut stage, config);
    assert_eq!(all(&mut stage), [json!("ä"), json!(34), json!(5)]);
    // It has ended: the writer was the last one, though the new stage has never seen it.
    stage.cancel_when(|| true);
    assert!(stage.tick().unwrap().is_empty());
}

#[test]
fn a_connection_is_not_replaced() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp = listener.local_addr().unwrap().to_string();
    let config = json!({ "tcp": tcp, "schema": "x.a/1" });
    let mut stage = source(config.clone()).unwrap();
    let state = stage.save().unwrap();
    let text = source(config)
        .unwrap()
        .load(&state)
        .unwrap_err()
        .to_string();
    assert!(text.contains("can't be transferred"), "{text}");
    let (mut peer, _) = listener.accept().unwrap();
    peer.write_all(b"1\n").unwrap();
    assert_eq!(stage.tick().unwrap()[0].body, json!(1));
}

#[test]
fn a_file_is_overwritten_by_the_first_line_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "old\n");
    let read = || std::fs::read_to_string(&path).unwrap();
    let config = json!({ "path": path, "if_exists": "overwrite" });
    // A change that fails activates it and drops it.
    drop(sink(config.clone()).unwrap());
    assert_eq!(read(), "old\n");
    let mut stage = sink(config.clone()).unwrap();
    stage.send(0, "x.a/1", &json!(1)).unwrap();
    assert_eq!(read(), "1\n");
    // In another process, or in another build of the library.
    crate::target_file::forget(&path);
    let mut new = sink(config).unwrap();
    assert!(new.load(&stage.save().unwrap()).unwrap());
    new.send(0, "x.a/1", &json!(2)).unwrap();
    assert_eq!(read(), "1\n2\n");
}

#[test]
fn a_stream_without_messages_empties_the_file_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "old\n");
    let config = json!({ "path": path, "if_exists": "overwrite" });
    let stages: [fn(Value) -> Result<Harness>; 2] = [sink, |config| harness!(Tee, config)];
    for stage in stages {
        std::fs::write(&path, "old\n").unwrap();
        crate::target_file::forget(&path);
        let mut stage = stage(config.clone()).unwrap();
        stage.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
    }
}
