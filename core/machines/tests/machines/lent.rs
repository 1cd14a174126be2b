//! Frames that a program reads in the memory of another one, which counts it as dead.

use super::*;

/// It may have been stopped for a while. Memory that is used again has the pixels of another frame.
#[test]
fn frames_that_a_dead_machine_may_read_stay_until_the_bridge_ends() {
    const CAPACITY: usize = 4;
    const PASSED: u64 = 100;
    // The other machine's stage passes some messages on, and never returns from the next one.
    let config = json!({ "do": "slow", "on": PASSED + 1 });
    let mut pipeline = Builder::line(1_000, "act", config);
    pipeline.0.stages[0].contestants[0].config =
        json!({ "count": 1_000, "width": 128, "height": 128, "delay_us": 2_000 });
    pipeline.0.edges[0].queue = queue(CAPACITY, WhenFull::Block);
    // The proxy is on this machine, too.
    let acceptor = TcpAcceptor::listen(LOOPBACK, &["desk"]).unwrap().remove(0);
    let proxy = Proxy::start(acceptor.address().unwrap());
    let dialer = TcpDialer::new(proxy.address, "desk").unwrap();
    let pair = [
        machine(["desk", "rack"], 2, true, dialer),
        machine(["rack", "desk"], 2, false, acceptor),
    ];
    for agreed in agree(&pair, [facts(), facts()]) {
        agreed.unwrap();
    }
    let [desk, rack] = pair;
    let desk = desk.start(&pipeline, &[0, 2], Duration::from_millis(300));
    let rack = rack.start(&pipeline, &[1], LONG);
    common::until("it blocks", || {
        rack.run.progress().stages[1].received > PASSED
    });
    until_still("nothing moves", || desk.run.progress().stages[0].emitted);
    let traffic = desk.bridge.frame_traffic();
    // The first ones are in memory that the other machine can't read.
    let sent = traffic[&0].frames - traffic[&0].shared;
    assert!(sent < PASSED, "{sent} frames were sent");
    // From here on, it is as dead.
    proxy.close();
    let report = finish(desk.run);
    assert!(report.stages[0].frames_left > 0);
    assert!(!desk.bridge.finish());
    rack.run.abort();
    let _ = finish(rack.run);
}
