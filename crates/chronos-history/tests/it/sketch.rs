//! How far off the quantiles of a sketch are.

use std::time::Duration;

use chronos_history::Sketch;
use proptest::prelude::*;

fn sketch(micros: &[u64]) -> Sketch {
    let mut sketch = Sketch::default();
    for micros in micros {
        sketch.add(Duration::from_micros(*micros));
    }
    sketch
}

/// Durations of every size, many of them alike.
fn durations() -> impl Strategy<Value = Vec<u64>> {
    let any_size = (0_u32..50, any::<u64>()).prop_map(|(bits, value)| value % (1 << bits));
    proptest::collection::vec(any_size, 1..200)
}

proptest! {
    #[test]
    fn quantiles_are_within_their_error_of_the_duration_they_stand_for(
        mut micros in durations(), part in 0.0_f64..=1.0,
    ) {
        let sketch = sketch(&micros);
        micros.sort_unstable();
        let exact = *micros.iter().find(|shorter| {
            let not_longer = micros.iter().filter(|other| other <= shorter).count();
            not_longer as f64 >= part * micros.len() as f64
        }).unwrap() as f64;
        let told = sketch.quantile(part).unwrap().as_micros() as f64;
        prop_assert!((told - exact).abs() <= exact * Sketch::ERROR, "{told} for {exact}");
        prop_assert_eq!(sketch.len(), micros.len() as u64);
        let told = [sketch.min().unwrap(), sketch.max().unwrap(), sketch.sum()];
        let exact = [micros[0], micros[micros.len() - 1], micros.iter().sum::<u64>()];
        prop_assert_eq!(told, exact.map(Duration::from_micros));
    }

    #[test]
    fn parts_put_together_in_any_order_are_the_whole(
        one in durations(), other in durations(), third in durations(),
    ) {
        let whole = sketch(&[one.clone(), other.clone(), third.clone()].concat());
        let [one, other, third] = [one, other, third].map(|part| sketch(&part));
        for order in [[&one, &other, &third], [&third, &one, &other], [&other, &third, &one]] {
            let mut left = Sketch::default();
            for part in &order {
                left.merge(part);
            }
            prop_assert_eq!(&left, &whole);
            let mut right = order[1].clone();
            right.merge(order[2]);
            let mut all = order[0].clone();
            all.merge(&right);
            prop_assert_eq!(&all, &whole);
        }
    }
}
