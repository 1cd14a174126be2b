//! Runs of the program under a deadline and a limit of memory.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Ran;

/// What a run took.
#[derive(Debug)]
pub struct Bounded {
    /// What it came to. `code` is `None` when a signal ended it, or nobody waited any longer.
    pub ran: Ran,
    /// How long it took.
    pub took: Duration,
    /// The most memory that it had at once, bytes.
    pub peak: u64,
    /// What it computed, and what the processes did that it waited for: other work on the machine hardly counts.
    pub computed: Duration,
    /// Why it was killed, if it was.
    pub killed: Option<&'static str>,
}

impl Bounded {
    /// Itself, when it kept to its bounds and ended as programs end: no panic, no signal.
    ///
    /// # Panics
    /// When it did not.
    #[track_caller]
    pub fn orderly(self) -> Self {
        assert_eq!(self.killed, None, "{self:#?}");
        assert!(self.ran.code.is_some(), "a signal ended it: {self:#?}");
        let panicked = self.ran.stderr.contains("panicked at");
        assert!(!panicked, "it panicked: {self:#?}");
        self
    }
}

/// The most processor time that a hostile recording may take.
const HOSTILE_TIME: Duration = Duration::from_secs(5);
/// When a program on a hostile recording is killed. A machine that is busy with other things takes longer than
/// [`HOSTILE_TIME`].
const HOSTILE_DEADLINE: Duration = Duration::from_secs(90);

/// Runs a command on a hostile recording to its end, and prints what it took.
///
/// # Panics
/// When it takes more than `memory` bytes or 5 s of processor time, panics, or is ended by a signal.
#[track_caller]
pub fn on_hostile_recording(command: Command, what: &str, memory: u64) -> Bounded {
    let ran = bounded(command, memory, HOSTILE_DEADLINE).orderly();
    // Past the test harness, which shows nothing that a passing test prints.
    let (code, mb) = (ran.ran.code.unwrap_or(-1), ran.peak / 1_000_000);
    let _ = writeln!(
        std::io::stderr(),
        "{what}: exit code {code}, {mb} MB, {:.1?} of a processor, {:.1?}",
        ran.computed,
        ran.took
    );
    assert!(ran.computed < HOSTILE_TIME, "{ran:#?}");
    ran
}

/// How often the memory is sampled.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(5);

/// Runs a command to its end. It is killed when it takes more than so many bytes of memory or so long.
///
/// # Panics
/// When it can't be started.
pub fn bounded(mut command: Command, memory: u64, deadline: Duration) -> Bounded {
    let began = Instant::now();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let mut peak = 0;
    let mut computed = Duration::ZERO;
    let mut killed = None;
    let status = loop {
        peak = peak.max(most_memory(&child));
        computed = computed.max(processor_time(&child));
        if let Some(status) = child.try_wait().expect("it is our child") {
            break status;
        }
        if killed.is_none() && peak > memory {
            killed = Some("too much memory");
        } else if killed.is_none() && began.elapsed() > deadline {
            killed = Some("no end");
        }
        if killed.is_some() {
            // It may have ended just now.
            let _ = child.kill();
        }
        std::thread::sleep(SAMPLE_INTERVAL);
    };
    let took = began.elapsed();
    let text = |thread: std::thread::JoinHandle<String>| thread.join().unwrap_or_default();
    Bounded {
        ran: Ran {
            code: status.code(),
            stdout: text(stdout),
            stderr: text(stderr),
        },
        took,
        peak,
        computed,
        killed,
    }
}

/// The most memory that a process has had so far, bytes: its high-water mark in `/proc`. 0 where there is none.
#[must_use]
pub fn most_memory(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()));
    let status = status.unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// What a process and its children that it waited for have computed so far, as `/proc` has it to 10 ms. 0 where there
/// is none.
fn processor_time(child: &Child) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
    // The name comes second, in parentheses, and may hold anything.
    let after_name = stat.rsplit_once(") ").map_or("", |(_, after)| after);
    let ticks = after_name.split(' ').skip(11).take(4);
    let ticks = ticks.filter_map(|it| it.parse::<u64>().ok());
    // Linux counts 100 of them a second, whatever the kernel's own clock does.
    Duration::from_millis(10 * ticks.sum::<u64>())
}

/// What a pipe brings, its first part alone where it is long: the rest is read and dropped.
fn reader(pipe: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    const KEPT: usize = 1 << 20;
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(KEPT as u64).read_to_end(&mut kept);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}
