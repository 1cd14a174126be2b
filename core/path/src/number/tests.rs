use super::*;

fn geometry<N: Number>() -> Option<()> {
    let (a, b) = (point::<N>([1, 1]), point::<N>([4, 3]));
    let line = N::cross(&a, &b)?;
    assert_eq!(N::side(&line, &a)?, Ordering::Equal);
    assert_eq!(N::side(&line, &point([1, 2]))?, Ordering::Greater);
    assert_eq!(N::side(&line, &point([2, 1]))?, Ordering::Less);
    // With the line x = 2 it has the point (2, 5/3).
    let vertical = N::cross(&point([2, 9]), &point([2, -9]))?;
    let [x, y, w] = N::finite(N::cross(&line, &vertical)?)?;
    assert_eq!([N::ratio(&x, &w), N::ratio(&y, &w)], [2.0, 5.0 / 3.0]);
    let parallel = N::cross(&point([0, 0]), &point([3, 2]))?;
    assert!(N::is_infinite(&N::cross(&line, &parallel)?));
    Some(())
}

#[test]
fn all_sizes_know_the_same_geometry() {
    assert!(geometry::<i64>().is_some());
    assert!(geometry::<i128>().is_some());
    assert!(geometry::<BigInt>().is_some());
}

#[test]
fn what_does_not_fit_is_noticed() {
    let far = [1 << 40, 1 << 39, 1];
    let farther = [-(1 << 39), 1 << 41, 1];
    assert_eq!(i64::cross(&far, &farther), None);
    assert_eq!(i64::sum(&far, &farther, [1 << 30, 1]), None);
    let wide = |triple: Triple<i64>| triple.map(i128::from);
    let line = i128::cross(&wide(far), &wide(farther)).expect("81 bits");
    let point = i128::cross(&line, &[line[2], line[2], 3]);
    assert_eq!(point, None);
    let long = |triple: Triple<i128>| triple.map(BigInt::from);
    assert!(BigInt::cross(&long(line), &long([line[2], line[2], 3])).is_some());
}

#[test]
fn a_fraction_of_long_numbers_is_a_float() {
    let long = BigInt::from(3) << 5000;
    assert_eq!(BigInt::ratio(&long, &(BigInt::from(2) << 5000)), 1.5);
    assert_eq!(BigInt::ratio(&BigInt::from(5), &long), 0.0);
}
