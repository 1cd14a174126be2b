//! Checks of a back end alone, on formulas that stand for nothing.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::{Backend, Literal};

/// All models that a back end finds, as bits by variable, by leaving out one after the other.
pub fn models<B: Backend<'static>>(variables: u32, clauses: &[Vec<Literal>]) -> Vec<u32> {
    let mut backend = B::new(&vec![None; variables as usize], &|| false);
    for clause in clauses {
        backend.add_clause(clause);
    }
    let mut models = Vec::new();
    while backend.solve().unwrap() {
        let value = |variable| backend.is_true(Literal::new(variable, true));
        let model = (0..variables).filter(|&variable| value(variable));
        let model = model.fold(0, |bits, variable| bits | 1 << variable);
        models.push(model);
        let other: Vec<Literal> = (0..variables)
            .map(|variable| Literal::new(variable, model >> variable & 1 == 0))
            .collect();
        backend.add_clause(&other);
        assert!(models.len() <= 1 << variables, "no end of models");
    }
    models
}

/// Random formulas, from loose to contradictory: exactly the models that a truth table has.
pub fn finds_all_models_of_formulas(models: impl Fn(u32, &[Vec<Literal>]) -> Vec<u32>) {
    let literal =
        |variables| (0..variables, any::<bool>()).prop_map(|(at, sign)| Literal::new(at, sign));
    let formulas = (1..8_u32).prop_flat_map(move |variables| {
        let clause = prop_oneof![
            1 => vec(literal(variables), 0..2),
            20 => vec(literal(variables), 2..5),
        ];
        (Just(variables), vec(clause, 0..30))
    });
    let mut runner = TestRunner::new(Config {
        cases: Config::default().cases.max(1000),
        failure_persistence: None,
        ..Config::default()
    });
    let run = runner.run(&formulas, |(variables, clauses)| {
        let holds = |model: u32| {
            clauses.iter().all(|clause| {
                let mut literals = clause.iter();
                literals
                    .any(|literal| (model >> literal.variable() & 1 == 1) == literal.is_positive())
            })
        };
        let expected: BTreeSet<u32> = (0..1 << variables).filter(|&model| holds(model)).collect();
        let found = models(variables, &clauses);
        prop_assert_eq!(found.len(), expected.len());
        prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
        Ok(())
    });
    run.unwrap();
}
