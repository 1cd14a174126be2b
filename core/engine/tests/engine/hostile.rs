//! What a hostile plugin in a process of its own can't do.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

use flowpipe_config::pipeline::Isolation;
use flowpipe_engine::report::Report;
use flowpipe_engine::run::Run;
use flowpipe_host::catalogue::Catalogue;
use flowpipe_isolation::scanner::Scanner;
use serde_json::{Value, json};

use crate::common::{Builder, Watcher, finish};

/// Set in a process that another one of these tests has started.
const COMPILED: &str = "FLOWPIPE_TEST_COMPILED";

fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(env!("CARGO_CRATE_NAME"));
        // A second process uses what the first one has compiled: stages of the first one have these files open.
        if std::env::var_os(COMPILED).is_none() {
            std::fs::create_dir_all(&folder).unwrap();
            crate::common::compile("stages.c", &folder, "stages", &[]);
            crate::common::compile("hostile.c", &folder, "hostile", &[]);
        }
        let catalogue = Catalogue::scan(&[folder], &Scanner::InProcess);
        assert_eq!(catalogue.refused(), []);
        catalogue
    })
}

fn run(pipeline: Builder) -> (Report, Arc<Watcher>) {
    crate::isolated::run(pipeline.0, catalogue())
}

#[cfg(target_os = "linux")]
#[test]
fn pictures_stay_what_they_were() {
    // The second one gets the picture from the first, and from the source besides.
    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 10, "width": 64, "height": 64 }));
    let spoil = pipeline.stage("spoil", json!({}));
    let pass = pipeline.stage("pass", json!({}));
    pipeline.join(source, spoil);
    pipeline.join(spoil, pass);
    for stage in [spoil, pass] {
        pipeline.0.stages[stage].isolation = Isolation::Process;
    }
    let (report, watcher) = run(pipeline);
    assert_eq!(watcher.problems(), []);
    assert_eq!(report.failure, None);
    for seen in watcher.from(spoil) {
        assert_eq!(seen.json["could"], 0, "{}", seen.json);
        // Only an administrator may open what is mapped, and the process has given that up.
        assert_eq!(seen.json["opened"], 0, "{}", seen.json);
    }
    // What the host has, and what another process sends on.
    for stage in [source, spoil, pass] {
        let pixels: Vec<_> = watcher
            .from(stage)
            .iter()
            .map(|it| it.pixels.unwrap().1)
            .collect();
        assert_eq!(pixels, (0..10).collect::<Vec<_>>(), "stage {stage}");
    }
}

/// What any stage may do.
const ANY: &[&str] = &["read-library", "make-pairs"];
/// What no stage may do, whatever its plugin declares.
const NONE: &[&str] = &[
    "kill-host",
    "trace-host",
    "write-host",
    "open-host-memory",
    "open-host-files",
    "limit-host",
    "schedule-host",
    "slow-host-down",
    "use-file-of-host",
    "add-key",
    "mount",
    "load-bpf",
    "fault-pages",
    "make-ring",
    "type-into-terminal",
];
const READ: &[&str] = &["read-secret"];
const WRITE: &[&str] = &[
    "write-file",
    "make-folder",
    "make-link",
    "truncate-file",
    "remove-file",
];
const DISPLAY: &[&str] = &[
    "connect-display",
    "connect-abstract",
    "share-memory",
    "unlink-queue",
    "use-semaphores",
    "leave-session",
    "leave-datagram-pair",
    "leave-raw-pair",
];
/// What reaches a display server over the network, too.
const DISPLAY_PORT: &[&str] = &["connect-tcp"];
const NETWORK: &[&str] = &[
    "connect-other-port",
    "connect-multipath",
    "connect-by-sendto",
    "connect-by-sendmsg",
    "connect-by-sendmmsg",
    "connect-udp",
    "listen-tcp",
];
/// What a system may not have, and its numbers for that.
const OPTIONAL: &[&str] = &[
    "connect-multipath",
    "connect-by-sendto",
    "connect-by-sendmsg",
    "connect-by-sendmmsg",
];
const ABSENT: [i64; 3] = [92, 93, 95];

/// The system's numbers for: not permitted, no access, no such call.
const REFUSALS: [i64; 3] = [1, 13, 38];

/// A plugin tries everything: by the attempt's name 0, or the number of its error.
#[cfg(target_os = "linux")]
fn attempts(plugin: &str) -> Vec<(String, i64)> {
    use std::os::fd::AsRawFd as _;
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
    static TARGET: AtomicU8 = AtomicU8::new(7);
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    std::fs::create_dir(place("mine")).unwrap();
    std::fs::write(place("mine/victim"), "there").unwrap();
    std::fs::write(place("secret"), "mine").unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = display_port().unwrap_or_else(|| tcp.local_addr().unwrap().port());
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let _datagrams = UnixDatagram::bind(place("datagrams")).unwrap();
    let _display = UnixListener::bind(place("display")).unwrap();
    let name = format!("flowpipe-{}-{plugin}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();

    // A descriptor without close-on-exec is inherited by child processes.
    let inherited = rustix::io::dup(std::fs::File::open(place("secret")).unwrap()).unwrap();

    let mut pipeline = Builder::new();
    let source = pipeline.stage("source", json!({ "count": 1 }));
    let config = json!({
        "folder": place("mine"),
        "secret": place("secret"),
        "elsewhere": folder.path(),
        "display": place("display"),
        "datagrams": place("datagrams"),
        "abstract": name,
        "other-port": other.local_addr().unwrap().port(),
        "port": port,
        "target": TARGET.as_ptr().addr(),
        "inherited": inherited.as_raw_fd(),
    });
    let stage = pipeline.stage(plugin, config);
    pipeline.join(source, stage);
    pipeline.0.stages[stage].isolation = Isolation::Process;
    let (report, watcher) = run(pipeline);
    assert_eq!((watcher.problems(), report.failure), (vec![], None));
    assert_eq!(TARGET.load(Ordering::Relaxed), 7, "{plugin}");
    assert_eq!(std::fs::read(place("secret")).unwrap(), b"mine");
    let came = watcher.from(stage).remove(0).json;
    let came = came
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| *name != "n");
    came.map(|(name, error)| (name.clone(), error.as_i64().unwrap()))
        .collect()
}

/// The port of the display server that [`a_display_over_the_network_is_a_port`] has.
#[cfg(target_os = "linux")]
fn display_port() -> Option<u16> {
    std::env::var("DISPLAY_PORT").ok()?.parse().ok()
}

/// A plugin tries everything. What is allowed to it must work, and everything else must be refused.
#[cfg(target_os = "linux")]
#[track_caller]
fn check(plugin: &str, is_allowed: impl Fn(&str) -> bool) {
    let is_wrong = |(attempt, error): &(String, i64)| match is_allowed(attempt) {
        true => *error != 0 && !(OPTIONAL.contains(&&**attempt) && ABSENT.contains(error)),
        false => !REFUSALS.contains(error),
    };
    let wrong: Vec<_> = attempts(plugin).into_iter().filter(is_wrong).collect();
    assert_eq!(wrong, [], "{plugin}");
}

#[cfg(target_os = "linux")]
#[track_caller]
fn may(plugin: &str, what: &[&[&str]]) {
    let allowed: BTreeSet<_> = what.iter().chain(&[ANY]).copied().flatten().collect();
    check(plugin, |attempt| allowed.contains(&attempt));
}

#[cfg(target_os = "linux")]
#[test]
fn without_effects_nothing_is_permitted() {
    may("hostile", &[]);
    // It would write if the config had the key.
    may("hostile-unused", &[]);
}

#[cfg(target_os = "linux")]
#[test]
fn files_are_those_of_the_config() {
    may("hostile-reads", &[READ]);
    may("hostile-writes", &[WRITE]);
}

#[cfg(target_os = "linux")]
#[test]
fn each_kind_of_effect_permits_what_it_needs() {
    may("hostile-screen", &[DISPLAY]);
    may("hostile-mouse", &[DISPLAY]);
    may("hostile-network", &[NETWORK, DISPLAY_PORT]);
}

/// As with `ssh -X`. The display's name is in the environment, so this file's tests run once more, in another one.
#[cfg(target_os = "linux")]
#[test]
fn a_display_over_the_network_is_a_port() {
    catalogue();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "hostile::stages_with_such_a_display",
            "--exact",
            "--ignored",
        ])
        .env("DISPLAY", format!("127.0.0.1:{}", port - 6000))
        .env("DISPLAY_PORT", port.to_string())
        .env(COMPILED, "")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:#?}");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("1 passed"), "{stdout}");
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "started by another"]
fn stages_with_such_a_display() {
    if display_port().is_some() {
        may("hostile", &[]);
        may("hostile-screen", &[DISPLAY, DISPLAY_PORT]);
        may("hostile-mouse", &[DISPLAY, DISPLAY_PORT]);
        may("hostile-network", &[NETWORK, DISPLAY_PORT]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn plugins_that_run_commands_may_do_what_commands_may() {
    for plugin in ["hostile-runs", "hostile-unknown"] {
        check(plugin, |attempt| !NONE.contains(&attempt));
    }
}

/// A process that may not write loads a library at whose place another one lies by now.
#[cfg(target_os = "linux")]
#[test]
fn a_confined_stage_is_restarted_from_the_file_that_was_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let library = crate::common::compile("hostile.c", folder.path(), "hostile", &[]);
    crate::common::compile("stages.c", folder.path(), "stages", &[]);
    let catalogue = Catalogue::scan(&[folder.path().to_owned()], &Scanner::InProcess);
    assert_eq!(catalogue.refused(), []);
    let mut line = crate::common::ten(
        flowpipe_config::pipeline::OnError::Stop,
        json!({ "do": "abort" }),
    );
    line.0.stages[0].contestants[0].config = json!({ "count": 10, "delay_us": 100_000 });
    line.0.stages[1].contestants[0].plugin = "hostile".into();
    line.0.stages[1].isolation = Isolation::Process;
    let watcher = Arc::new(Watcher::default());
    let run = Run::start(line.0, &catalogue, crate::isolated::options(&watcher)).unwrap();
    std::fs::remove_file(library).unwrap();
    let report = finish(run);
    assert_eq!((report.stages[1].restarted, report.failure), (1, None));
    assert_eq!(watcher.from(1).len(), 9);
}

#[cfg(target_os = "linux")]
#[test]
fn an_error_says_that_the_stage_is_confined() {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "mine").unwrap();
    let mut line = crate::common::ten(flowpipe_config::pipeline::OnError::Skip, Value::Null);
    line.0.stages[1].contestants[0].plugin = "hostile".into();
    line.0.stages[1].contestants[0].config = json!({ "do": "fail", "secret": secret });
    line.0.stages[1].isolation = Isolation::Process;
    let (_, watcher) = run(line);
    let problem = watcher.problems().remove(0);
    let expected = format!(
        "{}: Permission denied (the stage is confined to the effects that its plugin declares: none)",
        secret.display()
    );
    assert_eq!(problem.text, expected);
}
