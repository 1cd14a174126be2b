//! How many pictures are read exactly, refused and misread, for each disturbance.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::scene::Scene;
use crate::tests::truth::{Verdict, see};

/// Above this all should be read, in pixels a cell.
pub const SMALL: f64 = 24.0;

/// What became of one picture.
pub struct Outcome {
    pub file: String,
    pub disturbance: String,
    /// Pixels from one grid line to the next.
    pub cell: f64,
    pub verdict: Verdict,
}

impl Outcome {
    pub fn of(disturbance: &str, scene: &Scene) -> Self {
        Self {
            file: scene.truth.file.clone(),
            disturbance: disturbance.to_owned(),
            cell: scene.truth.cell(),
            verdict: Verdict::of(&scene.truth, &see(&scene.picture)),
        }
    }

    pub fn is_exact(&self) -> bool {
        matches!(self.verdict, Verdict::Exact)
    }
}

/// How often.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Count {
    pub exact: usize,
    pub refused: usize,
    pub wrong: usize,
}

impl Count {
    pub fn all(self) -> usize {
        self.exact + self.refused + self.wrong
    }

    /// Of all; 1 where there is nothing.
    pub fn exact_share(self) -> f64 {
        if self.all() == 0 {
            1.0
        } else {
            self.exact as f64 / self.all() as f64
        }
    }

    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Exact => self.exact += 1,
            Verdict::Refused(..) => self.refused += 1,
            Verdict::Wrong(_) => self.wrong += 1,
        }
    }
}

/// The results of tasks 0 to `tasks` - 1, in their order, made by two threads. They must not depend on each other.
pub fn in_parallel<T: Send>(tasks: usize, results: impl Fn(usize) -> Vec<T> + Sync) -> Vec<T> {
    // As the plugin does.
    opencv::core::set_num_threads(1).unwrap();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks {
                return done;
            }
            done.push((task, results(task)));
        }
    };
    let mut done = thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut done = work();
        done.extend(other.join().unwrap());
        done
    });
    done.sort_by_key(|(task, _)| *task);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

/// All outcomes, by disturbances in the order in which they came.
#[derive(Default)]
pub struct Table {
    pub outcomes: Vec<Outcome>,
}

impl Table {
    /// Two threads make the outcomes of tasks 0 to `tasks` - 1, which must not depend on each other.
    pub fn of(tasks: usize, outcomes: impl Fn(usize) -> Vec<Outcome> + Sync) -> Self {
        Self {
            outcomes: in_parallel(tasks, outcomes),
        }
    }

    /// Of the outcomes that `counts` selects.
    pub fn count(&self, counts: impl Fn(&Outcome) -> bool) -> Count {
        let mut count = Count::default();
        for outcome in self.outcomes.iter().filter(|outcome| counts(outcome)) {
            count.add(&outcome.verdict);
        }
        count
    }

    /// One line for all.
    pub fn totals(&self) -> String {
        let large = self.count(|outcome| outcome.cell >= SMALL);
        let small = self.count(|outcome| outcome.cell < SMALL);
        let line = |count: Count| {
            format!(
                "{} pictures, {} exact ({:.2} %), {} refused, {} wrong",
                count.all(),
                count.exact,
                100.0 * count.exact_share(),
                count.refused,
                count.wrong
            )
        };
        format!(
            "from {SMALL} pixels a cell: {}; below: {}",
            line(large),
            line(small)
        )
    }

    /// Which were misread, and how, one a line.
    pub fn wrong(&self) -> String {
        let line = |outcome: &Outcome| match &outcome.verdict {
            Verdict::Wrong(how) => Some(outcome.line(how)),
            _ => None,
        };
        self.outcomes.iter().filter_map(line).collect()
    }

    /// Which were refused though there is a board, and why, one a line.
    pub fn refused(&self) -> String {
        let line = |outcome: &Outcome| match &outcome.verdict {
            Verdict::Refused(step, reason) => Some(outcome.line(&format!("{step}: {reason}"))),
            _ => None,
        };
        self.outcomes.iter().filter_map(line).collect()
    }

    /// How many refusals at each step, by the size of the cells.
    pub fn steps(&self) -> String {
        let mut steps: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
        for outcome in &self.outcomes {
            if let Verdict::Refused(step, _) = &outcome.verdict {
                steps.entry(step).or_default()[usize::from(outcome.cell >= SMALL)] += 1;
            }
        }
        let mut text = format!("| refused at | < {SMALL} | ≥ {SMALL} |\n|---|--:|--:|\n");
        for (step, [small, large]) in steps {
            text += &format!("| {step} | {small} | {large} |\n");
        }
        text
    }
}

impl Outcome {
    fn line(&self, text: &str) -> String {
        let Self {
            file,
            disturbance,
            cell,
            ..
        } = self;
        let text = text.replace('\n', " ");
        format!("{file}, {disturbance} ({cell:.1} pixels a cell): {text}\n")
    }
}

/// Markdown.
impl Display for Table {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let mut names: Vec<&str> = Vec::new();
        for outcome in &self.outcomes {
            if !names.contains(&outcome.disturbance.as_str()) {
                names.push(&outcome.disturbance);
            }
        }
        writeln!(
            formatter,
            "| disturbance | pictures | exact | refused | wrong \
             | < {SMALL} px: exact | refused | wrong | ≥ {SMALL} px: exact | refused | wrong |"
        )?;
        writeln!(formatter, "|---|{}", "--:|".repeat(10))?;
        for name in names.into_iter().map(Some).chain([None]) {
            let is_in = |outcome: &Outcome| name.is_none_or(|name| outcome.disturbance == name);
            let all = self.count(is_in);
            write!(formatter, "| {} | {}", name.unwrap_or("**all**"), all.all())?;
            for count in [
                all,
                self.count(|outcome| is_in(outcome) && outcome.cell < SMALL),
                self.count(|outcome| is_in(outcome) && outcome.cell >= SMALL),
            ] {
                let Count {
                    exact,
                    refused,
                    wrong,
                } = count;
                write!(formatter, " | {exact} | {refused} | {wrong}")?;
            }
            writeln!(formatter, " |")?;
        }
        Ok(())
    }
}
