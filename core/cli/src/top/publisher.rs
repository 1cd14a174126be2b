//! The side of the run: a socket, and a thread ([`Server`]) that sends the state of the run to viewers.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use flowpipe_config::pipeline::Pipeline;
use flowpipe_engine::report::{Ending, Report};
use flowpipe_engine::run::{Options, RunHandle, RunView};

use super::last_messages::LastMessages;
use super::protocol::{Hello, StageHello, VERSION};
use super::server::Server;
use super::sockets;
use crate::machines::progress::OtherProgress;
use crate::tally::Tally;
use crate::user_folder;

/// Publishes a run.
pub struct Publisher {
    hello: Hello,
    messages: Arc<LastMessages>,
    server: Option<ServerThread>,
}

/// The thread that serves.
struct ServerThread {
    thread: JoinHandle<()>,
    /// Receives how the run ended, as a line.
    over: UnixStream,
    path: PathBuf,
}

impl Publisher {
    /// Adds an observer that keeps the run's last messages. `machine`: this one, if the run has several. `tally`: no counts
    /// yet.
    pub fn prepare(
        pipeline: &Pipeline,
        machine: Option<&str>,
        tally: &Tally,
        options: &mut Options,
    ) -> Self {
        let messages = Arc::new(LastMessages::new(tally));
        options.observers.push(messages.clone());
        Self {
            hello: Hello {
                version: VERSION,
                flowpipe: env!("CARGO_PKG_VERSION").to_owned(),
                pid: std::process::id(),
                pipeline: pipeline.name.clone(),
                machine: machine.map(str::to_owned),
                started_unix_ns: options.clock.start_unix_ns(),
                replay: options.replay.is_some(),
                dry: options.dry,
                stages: StageHello::all(pipeline),
            },
            messages,
            server: None,
        }
    }

    /// Opens the socket. If that fails, the run goes on without. `others`: the counts of other machines.
    pub fn open(&mut self, run: &RunHandle, others: OtherProgress) {
        match ServerThread::start(&self.hello, &self.messages, (run.view(), others)) {
            Ok(server) => self.server = Some(server),
            Err(error) => tracing::debug!("`flowpipe top` can't watch this run: {error}"),
        }
    }

    /// Updates the counts.
    pub fn update(&self, tally: &Tally) {
        self.messages.update(tally);
    }

    /// The run is over.
    pub fn close(self, report: &Report) {
        self.messages.clear();
        let Some(ServerThread {
            thread,
            mut over,
            path,
        }) = self.server
        else {
            return;
        };
        // New viewers don't find it any more.
        let _ = std::fs::remove_file(path);
        // The thread reads this and ends. If it has failed, no viewer is left.
        let _ = over.write_all(how(report).as_bytes());
        drop(over);
        let _ = thread.join();
    }
}

/// How a run ended, as text.
fn how(report: &Report) -> String {
    match (&report.failure, &report.ended) {
        (Some(failure), _) => format!("failed: {failure}"),
        (None, Some(ended)) => {
            let how = match ended.how {
                Ending::Done => "ended",
                Ending::Stopped => "stopped",
            };
            format!("{how} by {}: {}", ended.stage, ended.reason)
        }
        (None, None) if report.stopped => "stopped".to_owned(),
        (None, None) => "done".to_owned(),
    }
}

impl ServerThread {
    fn start(
        hello: &Hello,
        messages: &Arc<LastMessages>,
        views: (RunView, OtherProgress),
    ) -> io::Result<Self> {
        let socket = sockets::socket(&user_folder::open()?, hello.pid);
        let listener = sockets::listen(&socket)?;
        let (over, is_over) = UnixStream::pair()?;
        let server = Server::new(hello, messages.clone(), views, (listener, is_over))?;
        let thread = std::thread::Builder::new()
            .name("flowpipe-offer".into())
            .spawn(move || server.serve())?;
        Ok(Self {
            thread,
            over,
            path: socket.path,
        })
    }
}
