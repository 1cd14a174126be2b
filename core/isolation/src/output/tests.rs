use std::io::PipeWriter;
use std::io::Write as _;
use std::sync::mpsc::{self, Receiver};

use super::*;

/// Captures the output of the returned pipe; the receiver gets the lines.
fn captured() -> (CapturedOutput, PipeWriter, Receiver<String>) {
    let (sender, lines) = mpsc::channel();
    let log = Box::new(move |line: &str| sender.send(line.to_owned()).unwrap_or_default());
    let (output, [first, _]) = CapturedOutput::start("a-stage", log).unwrap();
    (output, PipeWriter::from(first), lines)
}

fn all(lines: &Receiver<String>) -> Vec<String> {
    lines.try_iter().collect()
}

#[test]
fn lines_are_logged_at_once_and_the_rest_at_the_end() {
    let (output, mut pipe, lines) = captured();
    pipe.write_all(b"\none\r\ntwo \xff\nthr").unwrap();
    assert_eq!(lines.recv().unwrap(), "one");
    assert_eq!(lines.recv().unwrap(), "two \u{fffd}");
    pipe.write_all(b"ee").unwrap();
    output.finish();
    assert_eq!(all(&lines), ["three"]);
}

#[test]
fn an_output_that_stays_open_ends_with_the_process() {
    let (output, mut pipe, lines) = captured();
    pipe.write_all(b"last line\n").unwrap();
    let began = Instant::now();
    output.finish();
    assert!(began.elapsed() < FINISH_TIMEOUT);
    assert_eq!(all(&lines), ["last line"]);
    // The read end is closed: a later write fails and does not block.
    while pipe.write_all(b"later\n").is_ok() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(all(&lines).is_empty());
}

#[test]
fn finish_does_not_wait_without_output() {
    let (output, pipe, lines) = captured();
    drop(pipe);
    let began = Instant::now();
    output.finish();
    assert!(began.elapsed() < FINISH_TIMEOUT);
    assert!(all(&lines).is_empty());
}

#[test]
fn a_long_line_becomes_several() {
    let (output, mut pipe, lines) = captured();
    pipe.write_all(&[b'a'; 2 * LONGEST_LINE + 1]).unwrap();
    output.finish();
    let lengths: Vec<_> = all(&lines).iter().map(String::len).collect();
    assert_eq!(lengths, [LONGEST_LINE, LONGEST_LINE, 1]);
}

#[test]
fn a_flood_is_counted_and_its_end_logged() {
    let (output, mut pipe, lines) = captured();
    let mut text = Vec::new();
    for number in 0..1_000_000 {
        writeln!(text, "{number}").unwrap();
    }
    pipe.write_all(&text).unwrap();
    output.finish();
    let lines = all(&lines);
    assert!(lines.len() < 2_000, "{}", lines.len());
    assert_eq!(lines.last().unwrap(), "999999");
    let left_out = |line: &String| {
        let count = line.strip_prefix('(')?.split(' ').next()?;
        count.parse::<usize>().ok()
    };
    let counted: usize = lines.iter().filter_map(left_out).sum();
    let logged = lines.iter().filter(|line| left_out(line).is_none()).count();
    // The end of a skipped line may count as a line, or the start of one as skipped.
    assert!(
        (logged + counted).abs_diff(1_000_000) < 200,
        "{logged} + {counted}"
    );
}

/// A log that blocks delays neither the process nor, for long, `finish`.
#[test]
fn a_blocked_log_delays_nobody() {
    let (stuck, goes_on) = mpsc::channel::<()>();
    let goes_on = Mutex::new(goes_on);
    let log = Box::new(move |_: &str| lock(&goes_on).recv().unwrap_or_default());
    let (output, [first, _]) = CapturedOutput::start("a-stage", log).unwrap();
    let mut pipe = PipeWriter::from(first);
    let mut text = b"words\n".repeat(100_000);
    text.extend(vec![b'a'; 1_000_000]);
    pipe.write_all(&text).unwrap();
    let began = Instant::now();
    output.finish();
    let took = began.elapsed();
    assert!(
        took >= FINISH_TIMEOUT && took < FINISH_TIMEOUT * 4,
        "{took:?}"
    );
    let waiting = lock(&output.buffer.waiting);
    assert!(waiting.bytes <= WAITING_BYTES && waiting.lines.len() <= WAITING_LINES);
    drop(waiting);
    drop(stuck);
}
