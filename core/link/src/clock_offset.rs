//! The difference between the clocks of two machines.
//!
//! A ping and its pong have four times: sent, arrived, answered, returned. The offset is exact if both ways take equally
//! long; otherwise it is wrong by at most half of the time that both ways take.

/// How far two clocks may drift apart, in nanoseconds per second: 100 ppm, twice what crystals are specified with.
const DRIFT_NS: i128 = 100_000;
const SECOND_NS: i128 = 1_000_000_000;

/// The offset of another machine's clock. All times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClockOffset {
    best: Option<Sample>,
}

/// One measurement.
#[derive(Clone, Copy, Debug)]
struct Sample {
    offset_ns: i64,
    error_ns: i64,
    /// When it was measured, by the own clock.
    measured_ns: i64,
}

/// A measured offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset {
    /// The other clock minus the own one.
    pub offset_ns: i64,
    /// The offset is wrong by at most this.
    pub error_ns: i64,
}

impl ClockOffset {
    /// Adds a measurement: when the ping was sent and its pong arrived, by the own clock, and when the ping arrived and
    /// the pong was sent, by the other one. Returns false for times that contradict each other.
    pub fn measure(
        &mut self,
        sent_ns: i64,
        received_ns: i64,
        answered_ns: i64,
        returned_ns: i64,
    ) -> bool {
        let [sent, received, answered, returned] =
            [sent_ns, received_ns, answered_ns, returned_ns].map(i128::from);
        let travelled = (returned - sent) - (answered - received);
        if answered < received || travelled < 0 {
            return false;
        }
        let offset = ((received - sent) + (answered - returned)) / 2;
        let (Ok(offset_ns), Ok(error_ns)) = (
            i64::try_from(offset),
            // Half a nanosecond was cut off above.
            i64::try_from(travelled / 2 + 1),
        ) else {
            return false;
        };
        let is_better = self
            .at(returned_ns)
            .is_none_or(|held| error_ns <= held.error_ns);
        if is_better {
            self.best = Some(Sample {
                offset_ns,
                error_ns,
                measured_ns: returned_ns,
            });
        }
        true
    }

    /// The offset at a time of the own clock. Its error grows with the age of the best measurement. `None`: nothing was
    /// measured.
    #[must_use]
    pub fn at(&self, now_ns: i64) -> Option<Offset> {
        let best = self.best?;
        let age = (i128::from(now_ns) - i128::from(best.measured_ns)).abs();
        let error = i128::from(best.error_ns) + age * DRIFT_NS / SECOND_NS;
        Some(Offset {
            offset_ns: best.offset_ns,
            error_ns: i64::try_from(error).unwrap_or(i64::MAX),
        })
    }
}

impl Offset {
    /// Both clocks show the same time.
    pub const NONE: Self = Self {
        offset_ns: 0,
        error_ns: 0,
    };

    /// A time of the other clock, by the own one.
    #[must_use]
    pub fn to_own(self, other_ns: i64) -> i64 {
        other_ns.saturating_sub(self.offset_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_error_bounds_the_offset(
            truth in -1_000_000_000_000i64..1_000_000_000_000,
            samples in prop::collection::vec([0i64..50_000_000, 0..50_000_000, 0..1_000_000], 1..20),
        ) {
            let mut clock = ClockOffset::default();
            let mut now = 0;
            for [there, waited, back] in samples {
                let (sent, received) = (now, now + there + truth);
                let answered = received + waited;
                now = answered - truth + back;
                prop_assert!(clock.measure(sent, received, answered, now));
                now += 500_000_000;
            }
            let offset = clock.at(now).unwrap();
            prop_assert!((offset.offset_ns - truth).abs() <= offset.error_ns, "{:?}", offset);
            prop_assert_eq!(offset.to_own(truth), truth - offset.offset_ns);
        }

        #[test]
        fn fuzz_times(times in any::<[i64; 4]>(), now in any::<i64>()) {
            let mut clock = ClockOffset::default();
            let [sent, received, answered, returned] = times;
            let is_measured = clock.measure(sent, received, answered, returned);
            let offset = clock.at(now);
            prop_assert_eq!(offset.is_some(), is_measured);
            prop_assert!(offset.is_none_or(|offset| offset.error_ns >= 0));
        }
    }

    #[test]
    fn a_fast_answer_replaces_a_slow_one_and_an_old_one() {
        let mut clock = ClockOffset::default();
        assert!(clock.measure(0, 1_000, 1_000, 4_000));
        let slow = clock.at(4_000).unwrap();
        assert_eq!((slow.offset_ns, slow.error_ns), (-1_000, 2_001));
        assert!(clock.measure(5_000, 5_100, 5_100, 5_200));
        assert_eq!(clock.at(5_200).unwrap().offset_ns, 0);
        // A slow one does not replace a fast one, unless that has become old.
        assert!(clock.measure(6_000, 7_000, 7_000, 10_000));
        assert_eq!(clock.at(10_000).unwrap().offset_ns, 0);
        let late = 60 * 1_000_000_000;
        assert!(clock.measure(late, late + 1_000, late + 1_000, late + 4_000));
        assert_eq!(clock.at(late + 4_000).unwrap().offset_ns, -1_000);
    }

    #[test]
    fn times_that_contradict_each_other_are_ignored() {
        let mut clock = ClockOffset::default();
        // Answered before it arrived; a stay longer than the way there and back.
        assert!(!clock.measure(0, 10, 9, 20) && !clock.measure(0, 0, 21, 20));
        assert_eq!(clock.at(30), None);
    }
}
