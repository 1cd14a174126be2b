//! `flowpipe run`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use flowpipe_config::reader::duration;

use super::number;
use super::set::{self, SetArgument};

/// The arguments of `flowpipe run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The pipeline (TOML), or the name of a packaged one: levels, live, replay, timetrial.
    pub file: PathBuf,
    /// Capture the window of this title, or whose title contains it: sets `window`.
    #[arg(long, value_name = "TITLE")]
    pub window: Option<String>,
    /// End the run this many seconds after the first stroke: sets `seconds`.
    #[arg(long, value_name = "NUMBER", value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: Option<f64>,
    /// End the run after this many solved boards: sets `boards`.
    #[arg(long, value_name = "NUMBER", value_parser = number::from_one::<u64>, allow_negative_numbers = true)]
    pub boards: Option<u64>,
    /// What the game needs from the mouse, such as segments or auto: sets `profile`.
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Which of the pipeline's machines this is: its stages run here. Run the same command on the others, with theirs.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["watch", "flight"])]
    pub machine: Option<String>,
    /// Set a config key of a stage, such as screen.rate=30 (may be given several times). VALUE is TOML; a bare word is
    /// a string. Where plugins race: STAGE.PLUGIN.KEY=VALUE. The name of a plugin can stand for its stages:
    /// actuator-mouse.hotkey=Escape.
    #[arg(long, value_name = "STAGE.KEY=VALUE", value_parser = set::parse)]
    pub set: Vec<SetArgument>,
    /// Print one JSON object at the end and nothing else on standard output.
    #[arg(long)]
    pub json: bool,
    /// Print no boards, gestures and notes: only problems, and the tables at the end.
    #[arg(long, short)]
    pub quiet: bool,
    /// Run as a service of systemd with Type=notify: report the start, the end, and to the watchdog that the run goes on.
    #[arg(long)]
    pub supervised: bool,
    /// Serve what is counted and measured to Prometheus at http://ADDRESS/metrics while the run goes on. ADDRESS is an IP
    /// address of this computer with a port, such as 127.0.0.1:9464; port 0 chooses a free one, which is printed.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub metrics: Option<SocketAddr>,
    /// Permit an address of --metrics at which other computers can read the metrics, without a password.
    #[arg(long, requires = "metrics")]
    pub metrics_allow_remote: bool,
    /// Send the calls of the run as traces, and its metrics, to an OpenTelemetry collector at URL, by OTLP over HTTP:
    /// http://127.0.0.1:4318, or env for OTEL_EXPORTER_OTLP_ENDPOINT and other variables. Of a program that is built
    /// with the feature otlp.
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
    /// Act on nothing: log what the mouse would do, and don't move it. Sinks write nothing, and no requests are sent.
    #[arg(long)]
    pub dry_run: bool,
    /// Hot reload: apply changes of the pipeline file and of plugin files while it runs. SIGHUP reloads once, also
    /// without this.
    #[arg(long)]
    pub watch: bool,
    /// Record the run (MCAP), for replay, compare and report. {name} and {time} in it are replaced. Of several machines,
    /// one records all.
    #[arg(long, value_name = "FILE")]
    pub record: Option<String>,
    /// Make the run wait when the recorder can't keep up. Without it, whole lineages are dropped: all that descends
    /// from one frame. If the recording can't be written, the run stops.
    #[arg(long)]
    pub record_lossless: bool,
    /// Keep the last seconds of the run in memory, such as 10s, and write them to a file when a stage fails or hangs,
    /// or a board can't be solved or played.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub flight: Option<Duration>,
    /// The file of --flight. {name} and {time} in it are replaced.
    #[arg(
        long,
        value_name = "FILE",
        requires = "flight",
        default_value = "flight-{name}-{time}.mcap"
    )]
    pub flight_to: String,
    /// Write a trace: which stage worked on which frame when. chrome://tracing and ui.perfetto.dev show it.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|it: &f64| *it > 0.0 && it.is_finite());
    number.ok_or_else(|| "expected a number of seconds, more than 0".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    duration::parse(text).map_err(|error| format!("{error}; write it as 500ms or 10s"))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let address = text.parse();
    address.map_err(|_| {
        "expected an IP address with a port, such as 127.0.0.1:9464 or [::1]:9464".to_owned()
    })
}
