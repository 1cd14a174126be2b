//! A page of the text format of Prometheus, read strictly.

use std::collections::{BTreeMap, BTreeSet};

/// The labels of a sample.
pub type Labels = BTreeMap<String, String>;

/// A page of the text format, read strictly.
#[derive(Debug)]
pub struct Page {
    /// By name.
    kinds: BTreeMap<String, String>,
    pub samples: BTreeMap<(String, Labels), f64>,
}

impl Page {
    pub fn parse(text: &str) -> Self {
        let mut page = Self {
            kinds: BTreeMap::new(),
            samples: BTreeMap::new(),
        };
        assert!(text.ends_with('\n'), "the last line ends");
        let mut helped = BTreeSet::new();
        // The family whose samples follow. They are not interrupted by others.
        let mut family = String::new();
        for line in text.strip_suffix('\n').unwrap().split('\n') {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap();
                assert!(is_name(name) && !help.is_empty(), "{line}");
                assert!(helped.insert(name.to_owned()), "twice: {line}");
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(helped.contains(name), "HELP comes first: {line}");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                let before = page.kinds.insert(name.to_owned(), kind.to_owned());
                assert_eq!(before, None, "twice: {line}");
                family = name.to_owned();
            } else {
                let (name, labels, value) = sample(line);
                let suffix = name.strip_prefix(&family).unwrap_or_else(|| {
                    panic!("TYPE comes first, and families are whole: {line}");
                });
                let suffixes: &[&str] = match page.kinds[&family].as_str() {
                    "histogram" => &["_bucket", "_sum", "_count"],
                    _ => &[""],
                };
                assert!(suffixes.contains(&suffix), "{line}");
                assert_eq!(suffix == "_bucket", labels.contains_key("le"), "{line}");
                let before = page.samples.insert((name.to_owned(), labels), value);
                assert_eq!(before, None, "twice: {line}");
            }
        }
        let histograms = page.kinds.iter().filter(|(_, kind)| *kind == "histogram");
        histograms.for_each(|(name, _)| page.check_histogram(name));
        page
    }

    /// Buckets are cumulative, and the last one has the count.
    fn check_histogram(&self, name: &str) {
        let mut series: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
        for ((_, labels), value) in self.of(&format!("{name}_bucket")) {
            let mut labels = labels.clone();
            let bound = match labels.remove("le").unwrap().as_str() {
                "+Inf" => f64::INFINITY,
                bound => bound.parse().unwrap(),
            };
            series.entry(labels).or_default().push((bound, *value));
        }
        let counts: Vec<_> = self.of(&format!("{name}_count")).collect();
        assert_eq!(counts.len(), series.len());
        for (labels, mut buckets) in series {
            buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(
                buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1),
                "{name} {buckets:?}"
            );
            let (bound, last) = *buckets.last().unwrap();
            assert_eq!(bound, f64::INFINITY);
            let get = |suffix: &str| self.samples[&(format!("{name}{suffix}"), labels.clone())];
            assert_eq!(get("_count"), last, "{name}");
            assert!(get("_sum") >= 0.0);
        }
    }

    pub fn of(&self, name: &str) -> impl Iterator<Item = (&(String, Labels), &f64)> {
        self.samples.iter().filter(move |((it, _), _)| it == name)
    }

    /// A sample; 0 if there is none.
    pub fn get(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let labels = labels
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let sample = self.samples.get(&(name.to_owned(), labels.collect()));
        sample.copied().unwrap_or(0.0)
    }

    /// Checks that no counter is lower than before, and that none is missing.
    pub fn check_after(&self, before: &Self) {
        for ((name, labels), value) in &before.samples {
            let kind = before.kinds.iter().find(|(family, kind)| {
                *family == name || *kind == "histogram" && name.starts_with(family.as_str())
            });
            if kind.is_some_and(|(_, kind)| kind == "gauge") {
                continue;
            }
            let now = self.samples.get(&(name.clone(), labels.clone()));
            assert!(
                now.is_some_and(|now| now >= value),
                "{name} {labels:?}: {value}, {now:?}"
            );
        }
    }
}

fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters
        .next()
        .is_some_and(|it| it.is_ascii_alphabetic() || it == '_')
        && characters.all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// A line: the name, the labels, the value.
fn sample(line: &str) -> (&str, Labels, f64) {
    let end = line.find(['{', ' ']).unwrap_or_else(|| panic!("{line}"));
    let name = &line[..end];
    assert!(is_name(name), "{line}");
    let mut labels = Labels::new();
    let mut rest = &line[end..];
    if let Some(mut inner) = rest.strip_prefix('{') {
        loop {
            let (label, quoted) = inner.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
            assert!(is_name(label), "{line}");
            let mut value = String::new();
            let mut characters = quoted.char_indices();
            let end = loop {
                let (index, character) = characters.next().unwrap_or_else(|| panic!("{line}"));
                match character {
                    '"' => break index,
                    '\\' => value.push(match characters.next().map(|it| it.1) {
                        Some('n') => '\n',
                        Some(it @ ('\\' | '"')) => it,
                        other => panic!("{other:?} in {line}"),
                    }),
                    other => value.push(other),
                }
            };
            assert_eq!(labels.insert(label.to_owned(), value), None, "{line}");
            inner = &quoted[end + 1..];
            match inner.strip_prefix(',') {
                Some(more) => inner = more,
                None => break,
            }
        }
        rest = inner.strip_prefix('}').unwrap_or_else(|| panic!("{line}"));
    }
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("{line}"));
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    assert!(value.bytes().all(is_number), "{line}");
    (name, labels, value.parse().unwrap())
}
