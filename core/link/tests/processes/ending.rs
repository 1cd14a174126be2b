//! The end of a link whose last items are lost on the way.

use std::time::{Duration, Instant};

use flowpipe_link::link::Link;
use flowpipe_link::session::{Event, Settings};
use flowpipe_link::tcp::{TcpAcceptor, TcpDialer};

use crate::proxy::Proxy;
use crate::{LONG, LOOPBACK, clock};

/// Longer than silence closes a connection, which is three seconds.
const SILENCE: Duration = Duration::from_secs(6);

#[test]
fn an_end_whose_last_item_is_lost_waits_for_the_other_one() {
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["dialer"]).unwrap();
    let acceptor = acceptor.into_iter().next().unwrap();
    let proxy = Proxy::start(acceptor.address().unwrap());
    let dialer = TcpDialer::new(proxy.address, "dialer").unwrap();
    let start = |opens, transport| Link::start(Settings::new(opens, 1), transport, clock());
    let first = start(false, Box::new(acceptor)).unwrap();
    let last = start(true, Box::new(dialer)).unwrap();
    std::thread::scope(|scope| {
        let ending = scope.spawn(|| first.finish(LONG, LONG));
        let deadline = Instant::now() + LONG;
        while last.next_event(LONG) != Some(Event::Finished) {
            assert!(Instant::now() < deadline);
        }
        // Its last item does not arrive, and no connection can replace this one meanwhile.
        proxy.set_stalled(0, true);
        let silence = scope.spawn(|| proxy.stall(0, SILENCE));
        assert!(last.finish(LONG, LONG));
        assert!(silence.is_finished(), "it can't know that it has arrived");
        assert!(ending.join().unwrap());
    });
}
