use fastrand::Rng;
use proptest::prelude::*;

use super::improve::Change;
use super::*;

fn ends(rng: &mut Rng, side: f64) -> Ends {
    let mut point = || [rng.f64() * side, rng.f64() * side];
    let (press, release) = (point(), point());
    let between = if rng.u8(0..4) == 0 { rng.f64() } else { 0.0 };
    Ends {
        press,
        release,
        between,
    }
}

/// Flows at random places, most of which may be drawn from either end.
fn flows(seed: u64, count: usize) -> Vec<Choice> {
    let mut rng = Rng::with_seed(seed);
    let side = 10.0;
    let choice = |_| {
        let given = ends(&mut rng, side);
        // The other way ends near by, not at the same places.
        let near = |[x, y]: Point, rng: &mut Rng| [x + rng.f64() / 2.0, y + rng.f64() / 2.0];
        let turned = (rng.u8(0..4) > 0).then(|| Ends {
            press: near(given.release, &mut rng),
            release: near(given.press, &mut rng),
            between: given.between,
        });
        Choice { given, turned }
    };
    (0..count).map(choice).collect()
}

/// The least travel of all orders and directions.
fn least(flows: &[Choice]) -> f64 {
    fn go(flows: &[Choice], visits: &mut Vec<Visit>, least: &mut f64) {
        if visits.len() == flows.len() {
            *least = least.min(travel(flows, visits));
        }
        for flow in 0..flows.len() {
            if visits.iter().any(|visit| visit.flow == flow) {
                continue;
            }
            for turned in [false, true] {
                if turned && flows[flow].turned.is_none() {
                    continue;
                }
                visits.push(Visit { flow, turned });
                go(flows, visits, least);
                visits.pop();
            }
        }
    }
    let mut best = f64::INFINITY;
    go(flows, &mut Vec::new(), &mut best);
    best
}

fn as_given(flows: &[Choice]) -> f64 {
    let visits: Vec<Visit> = (0..flows.len()).map(Visit::as_given).collect();
    travel(flows, &visits)
}

fn assert_is_an_order(flows: &[Choice], visits: &[Visit]) {
    let mut seen: Vec<usize> = visits.iter().map(|visit| visit.flow).collect();
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..flows.len()), "{visits:?}");
    for visit in visits {
        assert!(!visit.turned || flows[visit.flow].turned.is_some());
    }
}

#[test]
fn few_flows_are_ordered_almost_as_well_as_can_be() {
    let (mut ours, mut best, mut exact) = (0.0, 0.0, 0);
    let boards = 120;
    for seed in 0..boards {
        let flows = flows(seed, 2 + seed as usize % 4);
        let (found, least) = (travel(&flows, &order(&flows)), least(&flows));
        assert!(found < least * 1.5 + 1e-9, "{seed}: {found} {least}");
        exact += u64::from(found < least + 1e-9);
        ours += found;
        best += least;
    }
    assert!(ours < best * 1.01, "{ours} {best}");
    assert!(exact * 10 > boards * 9, "{exact} of {boards}");
}

#[test]
fn six_flows_too() {
    let (mut ours, mut best) = (0.0, 0.0);
    for seed in 0..6 {
        let flows = flows(seed, 6);
        ours += travel(&flows, &order(&flows));
        best += least(&flows);
    }
    assert!(ours < best * 1.05, "{ours} {best}");
}

#[test]
fn many_flows_come_out_far_shorter_than_given() {
    for (seed, count) in [(0, 100), (1, 100), (2, 700)] {
        let flows = flows(seed, count);
        let visits = order(&flows);
        assert_is_an_order(&flows, &visits);
        assert!(travel(&flows, &visits) * 3.0 < as_given(&flows));
    }
}

#[test]
fn what_is_best_already_stays() {
    let row: Vec<Choice> = (0..7)
        .map(|flow| {
            let x = f64::from(flow);
            let given = Ends {
                press: [x, 0.0],
                release: [x + 0.5, 0.0],
                between: 0.0,
            };
            let turned = Ends {
                press: given.release,
                release: given.press,
                between: 0.0,
            };
            Choice {
                given,
                turned: Some(turned),
            }
        })
        .collect();
    let visits = order(&row);
    assert!(visits.iter().map(|visit| visit.flow).eq(0..7));
    assert!(visits.iter().all(|visit| !visit.turned));
    assert_eq!(order(&[]), []);
    assert_eq!(order(&row[..1]).len(), 1);
}

proptest! {
    #[test]
    fn an_order_has_every_flow_once_and_is_never_worse(seed: u64, count in 0..40_usize) {
        let flows = flows(seed, count);
        let visits = order(&flows);
        assert_is_an_order(&flows, &visits);
        prop_assert!(travel(&flows, &visits) <= as_given(&flows) + 1e-9);
        prop_assert_eq!(&visits, &order(&flows), "twice the same");
    }

    /// The computed gain of a change is its gain.
    #[test]
    fn gains_are_true(seed: u64, count in 2..12_usize, picks: [prop::sample::Index; 3], turned: bool) {
        let flows = flows(seed, count);
        let towns = Towns::new(&flows);
        let begun = nearest_neighbours(&towns);
        let mut improving = Improving::new(&towns, &begun);
        let far = towns.travel(&begun);
        let [first, last, to] = picks.map(|pick| pick.index(count));
        let (first, last) = (first.min(last) + 1, first.max(last) + 1);
        let gain = improving.gain_of_turn(first, last);
        improving.apply(Change::Turn { first, last });
        prop_assert!((far - gain - towns.travel(&improving.tour)).abs() < 1e-9);

        let mut improving = Improving::new(&towns, &begun);
        let run = last + 1 - first;
        let to = to.min(count - run) + 1;
        if to != first {
            let inside = if turned { improving.cost_of_turn_inside(first, last) } else { 0.0 };
            let gain = improving.gain_of_removal(first, run)
                - inside
                - improving.cost_of_insertion(first, run, to, turned);
            improving.apply(Change::Move { from: first, count: run, to, turned });
            prop_assert!((far - gain - towns.travel(&improving.tour)).abs() < 1e-9);
        }
    }
}
