//! What is reported while two machines have no connection.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

/// Opens connections until it fails: then each attempt has one of two errors, alternating.
struct Failing<T> {
    inner: T,
    state: Arc<FailingState>,
}

#[derive(Default)]
struct FailingState {
    fails: AtomicBool,
    attempts: AtomicUsize,
    connection: Mutex<Option<Arc<dyn Connection>>>,
}

impl<T: Transport> Transport for Failing<T> {
    fn connect(&mut self, wait: Duration) -> io::Result<Option<Arc<dyn Connection>>> {
        let state = &self.state;
        if state.fails.load(Ordering::SeqCst) {
            let attempt = state.attempts.fetch_add(1, Ordering::SeqCst);
            return Err(io::Error::other(format!("failure {}", attempt % 2)));
        }
        let connection = self.inner.connect(wait)?;
        state.connection.lock().unwrap().clone_from(&connection);
        Ok(connection)
    }
}

#[test]
fn failures_that_alternate_are_reported_once_in_an_outage() {
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let state: Arc<FailingState> = Arc::default();
    let failing = Failing {
        inner: Remote(TcpDialer::new(acceptor.address().unwrap(), "desk").unwrap()),
        state: state.clone(),
    };
    let machines = [
        machine(["desk", "rack"], 2, true, failing),
        machine(["rack", "desk"], 2, false, Remote(acceptor)),
    ];
    let [desk, rack] = start_without_end(machines, LONG);
    common::until("messages", || desk.watcher.from(1).len() > 20);
    let reported = || {
        let events = desk.events.lock().unwrap();
        let texts = events.iter().filter_map(|event| match event {
            BridgeEvent::NotReconnected(failure) => Some(failure.text.clone()),
            // The first attempt may have failed before it is known that the connection is lost.
            BridgeEvent::Disconnected { reason } => reason.clone(),
            _ => None,
        });
        let texts = texts.filter(|it| it.starts_with("failure "));
        let mut texts: Vec<_> = texts.collect();
        texts.sort_unstable();
        texts
    };
    let both = ["failure 0", "failure 1"];
    for outage in 1..=2 {
        state.fails.store(true, Ordering::SeqCst);
        state.connection.lock().unwrap().take().unwrap().close();
        common::until("both", || reported().len() >= 2 * outage);
        let before = state.attempts.load(Ordering::SeqCst);
        common::until("more attempts", || {
            state.attempts.load(Ordering::SeqCst) >= before + 6
        });
        let mut expected = both.repeat(outage);
        expected.sort_unstable();
        assert_eq!(reported(), expected);
        // The next outage is another one.
        state.fails.store(false, Ordering::SeqCst);
        let count = desk.watcher.from(1).len();
        common::until("messages", || desk.watcher.from(1).len() > count + 20);
    }
    rack.run.abort();
    desk.run.abort();
    let _ = (finish(rack.run), finish(desk.run));
}
