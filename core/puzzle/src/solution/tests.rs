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
