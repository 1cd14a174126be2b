//! The effort of an answer, as it is sent: with limits, since a figure takes many times the memory of its text.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use flowpipe_puzzle::message::Effort;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The most figures of an answer, and the most series.
const MOST_NAMED: usize = 64;
/// The most values of all series of an answer.
const MOST_VALUES: usize = 1 << 20;

/// Whether an effort may be sent.
pub fn may_be_sent(effort: &Effort) -> bool {
    let values: usize = effort.series.values().map(Vec::len).sum();
    effort.figures.len() <= MOST_NAMED && effort.series.len() <= MOST_NAMED && values <= MOST_VALUES
}

/// Reads an effort that [may be sent](may_be_sent). No more of it is kept meanwhile.
///
/// # Errors
/// When it is malformed, or has more.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Effort, D::Error> {
    let SentEffort {
        nodes,
        figures,
        series,
    } = SentEffort::deserialize(from)?;
    let mut effort = Effort::default();
    effort.nodes = nodes;
    effort.figures = figures.0;
    effort.series = series.0;
    Ok(effort)
}

/// An [`Effort`] as it is written.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SentEffort {
    nodes: Option<u64>,
    figures: SentFigures,
    series: SentSeries,
}

#[derive(Default)]
struct SentFigures(BTreeMap<String, f64>);

#[derive(Default)]
struct SentSeries(BTreeMap<String, Vec<f64>>);

/// Reads a value, and how many of [`MOST_VALUES`] it has.
trait Counted: Sized {
    fn read<'de, D: Deserializer<'de>>(from: D, left: &mut usize) -> Result<Self, D::Error>;
}

impl Counted for f64 {
    fn read<'de, D: Deserializer<'de>>(from: D, _: &mut usize) -> Result<Self, D::Error> {
        Self::deserialize(from)
    }
}

impl Counted for Vec<f64> {
    fn read<'de, D: Deserializer<'de>>(from: D, left: &mut usize) -> Result<Self, D::Error> {
        from.deserialize_seq(Values(left))
    }
}

impl<'de> Deserialize<'de> for SentFigures {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Named(PhantomData)).map(Self)
    }
}

impl<'de> Deserialize<'de> for SentSeries {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Named(PhantomData)).map(Self)
    }
}

/// A map with at most [`MOST_NAMED`] entries.
struct Named<T>(PhantomData<T>);

impl<'de, T: Counted> Visitor<'de> for Named<T> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("figures by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        let mut left = MOST_VALUES;
        while let Some(name) = map.next_key()? {
            if entries.len() == MOST_NAMED {
                return Err(A::Error::custom(format!("more than {MOST_NAMED} figures")));
            }
            entries.insert(name, map.next_value_seed(Value(&mut left, PhantomData))?);
        }
        Ok(entries)
    }
}

struct Value<'a, T>(&'a mut usize, PhantomData<T>);

impl<'de, T: Counted> DeserializeSeed<'de> for Value<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        T::read(from, self.0)
    }
}

/// The values of a series, of which so many may come.
struct Values<'a>(&'a mut usize);

impl<'de> Visitor<'de> for Values<'_> {
    type Value = Vec<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a series of figures")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<f64>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            let left = self.0.checked_sub(1);
            *self.0 = left.ok_or_else(|| {
                A::Error::custom(format!("series of more than {MOST_VALUES} values"))
            })?;
            values.push(value);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Effort, String> {
        let mut from = serde_json::Deserializer::from_str(json);
        deserialize(&mut from).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_sent_is_read() {
        let effort = Effort::nodes(7)
            .with("states", 3.5)
            .with_series("best", vec![3.0, 1.0, 0.0]);
        assert!(may_be_sent(&effort));
        let json = serde_json::to_string(&effort).unwrap();
        assert_eq!(read(&json), Ok(effort));
        assert_eq!(read("{}"), Ok(Effort::default()));
    }

    #[test]
    fn figures_and_series_are_limited() {
        let map = |count: usize, value: &str| {
            let entries = (0..count).map(|number| format!("\"{number}\":{value}"));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        };
        let figures = |count| format!("{{\"figures\":{}}}", map(count, "0"));
        assert_eq!(
            read(&figures(MOST_NAMED)).unwrap().figures.len(),
            MOST_NAMED
        );
        assert!(
            read(&figures(MOST_NAMED + 1))
                .unwrap_err()
                .contains("more than 64 figures")
        );
        let series = |count, length| {
            let values = format!("[{}]", vec!["0"; length].join(","));
            format!("{{\"series\":{}}}", map(count, &values))
        };
        let most = read(&series(4, MOST_VALUES / 4)).unwrap();
        assert!(may_be_sent(&most));
        let more = read(&series(5, MOST_VALUES / 4)).unwrap_err();
        assert!(more.contains("more than 1048576 values"), "{more}");
        assert!(read(&series(MOST_NAMED + 1, 0)).is_err());
    }
}
