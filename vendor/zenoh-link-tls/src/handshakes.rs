//
// Part of flowpipe, under the Apache License 2.0: the original has no such file.
//

//! The TLS handshakes of a listener.
//!
//! Whoever connects can begin one, so they are bounded, in number and in time, and none delays another one.

use std::{collections::VecDeque, io, net::SocketAddr, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
    time::Instant,
};
use tokio_rustls::{server::TlsStream, TlsAcceptor};
use zenoh_result::{zerror, ZResult};

use crate::{failures::Watched, TLS_ACCEPT_THROTTLE_TIME};

/// Handshakes at a time. One more ends the oldest: who takes a few milliseconds is done before others, however many say
/// nothing.
const MOST_HANDSHAKES: usize = 256;

/// A handshake has succeeded, or why it has not.
type Ended = ZResult<(TlsStream<TcpStream>, SocketAddr)>;

/// The handshakes of a listener. Dropping it ends them.
pub(crate) struct Handshakes {
    acceptor: TlsAcceptor,
    timeout: Duration,
    watched: Watched,
    running: JoinSet<Ended>,
    /// Those that run, the oldest first, and some that have ended.
    order: VecDeque<AbortHandle>,
    /// Nothing is accepted before.
    paused_until: Instant,
}

impl Handshakes {
    pub(crate) fn new(acceptor: TlsAcceptor, timeout: Duration, watched: Watched) -> Self {
        Self {
            acceptor,
            timeout,
            watched,
            running: JoinSet::new(),
            order: VecDeque::new(),
            paused_until: Instant::now(),
        }
    }

    /// Accepts connections until a handshake has succeeded or failed. It is cancellation safe.
    pub(crate) async fn accept(&mut self, socket: &TcpListener) -> Ended {
        loop {
            tokio::select! {
                // What has succeeded is not delayed by those that begin.
                biased;
                Some(ended) = self.running.join_next() => match ended {
                    Ok(ended) => return ended,
                    // It was the oldest of too many.
                    Err(error) if error.is_cancelled() => {}
                    Err(error) => return Err(zerror!("A TLS handshake has panicked: {error}").into()),
                },
                accepted = accept_after(self.paused_until, socket) => match accepted {
                    Ok((stream, address)) => self.begin(stream, address),
                    Err(error) if is_of_connection(&error) => {}
                    Err(error) => {
                        // The listening socket has failed, usually because the process has too many open files. The
                        // handshakes continue meanwhile.
                        let pause = Duration::from_micros(*TLS_ACCEPT_THROTTLE_TIME);
                        self.paused_until = Instant::now() + pause;
                        let hint = "Hint: increase the system open file limit.";
                        let failed = format!("{error}. {hint}");
                        self.watched.note_text(&failed);
                        return Err(zerror!("{failed}").into());
                    }
                },
            }
        }
    }

    fn begin(&mut self, stream: TcpStream, address: SocketAddr) {
        if self.order.len() >= MOST_HANDSHAKES {
            self.order.retain(|handshake| !handshake.is_finished());
        }
        if self.order.len() >= MOST_HANDSHAKES {
            if let Some(oldest) = self.order.pop_front() {
                oldest.abort();
            }
        }
        let handshake = self.acceptor.accept(stream);
        let (timeout, watched) = (self.timeout, self.watched);
        let running = self.running.spawn(async move {
            let failed = match tokio::time::timeout(timeout, handshake).await {
                Ok(Ok(stream)) => return Ok((stream, address)),
                Ok(Err(error)) => {
                    watched.note_error(&error);
                    error.to_string()
                }
                Err(_) => "Timeout during TLS handshake".to_owned(),
            };
            watched.note_text(&failed);
            Err(zerror!("{failed}").into())
        });
        self.order.push_back(running);
    }
}

/// Accepts a connection, not before a time.
async fn accept_after(
    time: Instant,
    socket: &TcpListener,
) -> io::Result<(TcpStream, SocketAddr)> {
    if Instant::now() < time {
        tokio::time::sleep_until(time).await;
    }
    socket.accept().await
}

/// Whether an error is about one connection that is gone already, and not about the listening socket.
fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}
