use super::*;
use crate::consistency::{Domains, Propagator, Strength};
use crate::network::Network;
use crate::paths::Path;
use crate::paths::route::Router;
use crate::paths::walk::Walker;
use flowpipe_sat::testing::samples::puzzle;

const TEXT: &str = "AB.C\n....\nAB.C";

fn individual(network: &Network, genes: [Option<&[usize]>; 3]) -> Individual {
    let genes = genes.iter().map(|gene| gene.map(Path::from)).collect();
    Individual::new(network, genes)
}

#[test]
fn a_child_has_a_path_where_a_parent_has_one() {
    let network = Network::new(&puzzle(TEXT));
    let domains = Domains::new(&network);
    let propagator = Propagator::new(&network, Strength::Neighbours);
    let router = Router::new(&network, propagator, &domains);
    let never = || false;
    let mut all: [Box<dyn OperatorSet>; 2] = [
        Box::new(Published::new(
            &network,
            Walker::new(&network, &domains),
            &never,
        )),
        Box::new(Better::new(&network, router, &never)),
    ];
    let [a, b, c]: [&[usize]; 3] = [&[0, 4, 8], &[1, 5, 9], &[3, 7, 11]];
    let mother = individual(&network, [Some(a), None, None]);
    let father = individual(&network, [None, Some(b), None]);
    let third = individual(&network, [Some(a), None, Some(c)]);
    for operators in &mut all {
        for seed in 0..20 {
            let mut rng = Rng::with_seed(seed);
            let child = operators.cross(&mother, &father, &mut rng);
            assert_eq!(child, individual(&network, [Some(a), Some(b), None]).genes);
            let child = operators.cross(&father, &third, &mut rng);
            assert_eq!(
                child,
                individual(&network, [Some(a), Some(b), Some(c)]).genes
            );
        }
    }
}

#[test]
fn the_better_crossover_takes_what_does_not_collide() {
    let network = Network::new(&puzzle(TEXT));
    let domains = Domains::new(&network);
    let propagator = Propagator::new(&network, Strength::Neighbours);
    let never = || false;
    let mut better = Better::new(
        &network,
        Router::new(&network, propagator, &domains),
        &never,
    );
    let winding: &[usize] = &[0, 4, 5, 6, 10, 9, 8];
    let [a, b, c]: [&[usize]; 3] = [&[0, 4, 8], &[1, 5, 9], &[3, 7, 11]];
    // Both agree on B, which the winding path of A collides with.
    let mother = individual(&network, [Some(winding), Some(b), Some(c)]);
    let father = individual(&network, [Some(a), Some(b), Some(c)]);
    let mut straight = 0;
    for seed in 0..100 {
        let child = better.cross(&mother, &father, &mut Rng::with_seed(seed));
        straight += usize::from(child == father.genes);
    }
    // Where A comes before B, in half of all orders, either of its paths is as good.
    assert!((60..100).contains(&straight), "{straight}");
}

#[test]
fn mutations_mend_what_is_wrong() {
    let network = Network::new(&puzzle("AB\n..\n..\nAB"));
    let domains = Domains::new(&network);
    let never = || false;
    let mut published = Published::new(&network, Walker::new(&network, &domains), &never);
    let propagator = Propagator::new(&network, Strength::Neighbours);
    let mut better = Better::new(
        &network,
        Router::new(&network, propagator, &domains),
        &never,
    );
    let all: [&mut dyn OperatorSet; 2] = [&mut published, &mut better];
    for operators in all {
        let broken = Individual::new(&network, vec![Some(Path::from([0, 2, 4, 6])), None]);
        let mended = (0..100).any(|seed| {
            let genes = operators
                .mutate(&broken, &mut Rng::with_seed(seed))
                .unwrap();
            Individual::new(&network, genes).fitness == 0
        });
        assert!(mended);
    }
}
