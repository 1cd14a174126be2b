//! A million puzzles on workers of other machines.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::thread::sleep;
use std::time::Duration;

use flowpipe_tests::bounds::most_memory;
use flowpipe_tests::{flowpipe, run};

use crate::batches::{Rack, machines};

/// How many different puzzles there are, and how often each comes.
const DIFFERENT: usize = 1000;
const TIMES: usize = 1000;
/// The most memory that the command may take, bytes. All puzzles together take ten times as many.
const MEMORY: u64 = 160 << 20;
/// How often its progress is checked.
const INTERVAL: Duration = Duration::from_millis(20);

#[test]
#[ignore = "takes minutes: `./x test full` runs it"]
fn a_million_puzzles_survive_the_death_of_a_worker() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let count = DIFFERENT.to_string();
    let args = ["generate", "--size", "5", "--count", &count];
    let puzzles = run(&args).expect(0).stdout;
    let few = path("few.txt").display().to_string();
    std::fs::write(&few, &puzzles).unwrap();
    let alone = run(&["solve", &few, "--to", "level"]).expect(0).stdout;
    assert!(alone.lines().count() >= DIFFERENT, "{alone}");
    let many = path("many.txt").display().to_string();
    let mut file = File::create(&many).unwrap();
    (0..TIMES).for_each(|_| file.write_all(puzzles.as_bytes()).unwrap());
    drop(file);

    let file = machines(folder.path(), "tcp", 2);
    let racks = [0, 1].map(|number| Rack::start(&file, number, &[]));
    let mut solving = flowpipe(&["solve", &many, "--to", "level", "--machines", &file])
        .stdout(File::create(path("answers")).unwrap())
        .stderr(File::create(path("errors")).unwrap())
        .spawn()
        .unwrap();
    let length = |name: &str| std::fs::metadata(path(name)).unwrap().len();
    let [dying, staying] = racks;
    let tenth = (alone.len() * TIMES / 10) as u64;
    while length("answers") < tenth && solving.try_wait().unwrap().is_none() {
        sleep(INTERVAL);
    }
    drop(dying);
    let mut peak = 0;
    let status = loop {
        peak = peak.max(most_memory(&solving));
        match solving.try_wait().unwrap() {
            Some(status) => break status,
            None => sleep(INTERVAL),
        }
    };
    drop(staying);
    let errors = std::fs::read_to_string(path("errors")).unwrap();
    assert!(status.success(), "{errors}");
    assert!(errors.contains("is disconnected"), "{errors}");
    assert!(peak < MEMORY, "{peak} bytes");
    println!("the command took {} MiB at most", peak >> 20);
    let answers = BufReader::new(File::open(path("answers")).unwrap()).lines();
    let mut expected = std::iter::repeat_n(&alone, TIMES).flat_map(|all| all.lines());
    for (number, answer) in answers.enumerate() {
        assert_eq!(Some(answer.unwrap().as_str()), expected.next(), "{number}");
    }
    assert_eq!(expected.next(), None, "answers are missing");
}
