//! `generate` with workers on other machines, one of which dies.

use std::fs::File;
use std::io::Read as _;
use std::net::TcpStream;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use flowpipe_tests::bounds::most_memory;
use flowpipe_tests::{flowpipe, run};

use crate::batches::{Rack, machines};
use crate::screen::wait_for;

/// How often it is checked whether the command has ended.
const INTERVAL: Duration = Duration::from_millis(20);
/// The most memory that the command may take, bytes. Results that wait for earlier ones have at most 64 MiB of it.
const MEMORY: u64 = 160 << 20;

/// Waits until all workers of a file listen: then each takes part from the start.
fn wait_for_workers(file: &str) {
    let text = std::fs::read_to_string(file).unwrap();
    let addresses = text
        .lines()
        .filter_map(|it| it.strip_prefix("listen = \"tcp/"));
    for address in addresses {
        let address = address.trim_end_matches('"');
        wait_for("worker", || TcpStream::connect(address).ok());
    }
}

/// Generates so many puzzles on two workers, of which one is killed when it works. All are those of one machine. Returns the most memory that the
/// command took, bytes.
fn generate_with_a_death(count: usize) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let count = count.to_string();
    let args = [
        "generate", "--size", "5x5", "--seed", "3", "--count", &count,
    ];
    let alone = run(&args).expect(0).stdout;
    let file = machines(folder.path(), "tcp", 2);
    let [dying, staying] = [0, 1].map(|number| Rack::start(&file, number, &[]));
    wait_for_workers(&file);
    let errors = folder.path().join("errors");
    let read_errors = || std::fs::read_to_string(&errors).unwrap();
    let mut generating = flowpipe(&[&args[..], &["--machines", &file]].concat())
        .stdout(Stdio::piped())
        .stderr(File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let mut output = generating.stdout.take().unwrap();
    // A pipe has room for a part of what it prints, so that it can't end before this reads.
    wait_for("worker to work", || {
        read_errors()
            .contains("machine rack0 works on ")
            .then_some(())
    });
    drop(dying);
    wait_for("notice of its death", || {
        read_errors()
            .contains("machine rack0 is disconnected")
            .then_some(())
    });
    assert_eq!(generating.try_wait().unwrap(), None);
    let reading = std::thread::spawn(move || {
        let mut printed = String::new();
        output.read_to_string(&mut printed).unwrap();
        printed
    });
    let mut peak = 0;
    let status = loop {
        peak = peak.max(most_memory(&generating));
        match generating.try_wait().unwrap() {
            Some(status) => break status,
            None => sleep(INTERVAL),
        }
    };
    let printed = reading.join().unwrap();
    drop(staying);
    assert!(status.success(), "{}", read_errors());
    let (found, expected) = (printed.lines().count(), alone.lines().count());
    // They are too long to be shown.
    assert!(printed == alone, "{found} lines, not {expected}, or others");
    peak
}

#[test]
fn the_death_of_a_worker_changes_no_generated_puzzle() {
    // Each takes less than a tenth of a millisecond: fewer would be done before the death is noticed, after a second.
    generate_with_a_death(60_000);
}

#[test]
#[ignore = "takes a minute: `./x test full` runs it"]
fn a_hundred_thousand_generated_puzzles_survive_the_death_of_a_worker() {
    let peak = generate_with_a_death(100_000);
    assert!(peak < MEMORY, "{peak} bytes");
    println!("the command took {} MiB at most", peak >> 20);
}
