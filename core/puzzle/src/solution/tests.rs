use super::*;

#[test]
fn canonical_order_forgets_direction_and_order() {
    let flow = |colour, cells: &[Cell]| Flow {
        colour,
        cells: cells.to_vec(),
    };
    let one = Solution {
        flows: vec![flow(1, &[3, 4, 5]), flow(0, &[2, 1, 0])],
    };
    let two = Solution {
        flows: vec![flow(0, &[0, 1, 2]), flow(1, &[5, 4, 3])],
    };
    assert_ne!(one, two);
    assert_eq!(one.canonical(), two.clone().canonical());
    assert_eq!(
        two.canonical().flows,
        [flow(0, &[0, 1, 2]), flow(1, &[3, 4, 5])]
    );
}

#[test]
fn missing_is_what_does_not_stand_whole() {
    let flow = |colour, cells: &[Cell]| Flow {
        colour,
        cells: cells.to_vec(),
    };
    let solution = Solution {
        flows: vec![
            flow(0, &[0, 1, 2]),
            flow(1, &[3, 4, 5]),
            flow(2, &[6, 7, 8]),
        ],
    };
    let missing = |drawn: &[Flow]| -> Vec<Colour> {
        let missing = solution.missing(drawn).flows;
        missing.iter().map(|flow| flow.colour).collect()
    };
    assert_eq!(missing(&[]), [0, 1, 2]);
    // From the other end it is the same pipe; half of one, or another way, is not.
    let drawn = [
        flow(0, &[2, 1, 0]),
        flow(1, &[3, 4]),
        flow(2, &[6, 3, 4, 5, 8]),
    ];
    assert_eq!(missing(&drawn), [1, 2]);
    assert_eq!(missing(&solution.flows), [0; 0]);
}
