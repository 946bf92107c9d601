//! What came of a sweep, written down as it goes.

use super::case::Verdict;
use super::point::Case;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A file under `target` with one line for each case and the sums in front.
pub struct Report {
    path: PathBuf,
    points: usize,
    begun: Instant,
    lines: Mutex<Vec<(Case, Verdict, Duration)>>,
}

impl Report {
    /// Of so many cases in all.
    pub fn new(file: &str, points: usize) -> Self {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let (begun, lines) = (Instant::now(), Mutex::new(Vec::new()));
        Self { path: target.join(file), points, begun, lines }
    }

    /// Runs a case and notes what came of it, also when it fails.
    pub fn note(&self, case: &Case, run: impl FnOnce() -> Verdict) {
        let begun = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(run));
        let verdict = done.as_ref().map_or(Verdict::Failed, |verdict| *verdict);
        let mut lines = self.lines.lock().unwrap();
        lines.push((case.clone(), verdict, begun.elapsed()));
        std::fs::write(&self.path, self.text(&lines)).unwrap();
        drop(lines);
        if let Err(panic) = done {
            resume_unwind(panic);
        }
    }

    /// How many came to this.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.lines.lock().unwrap().iter().filter(|line| line.1 == verdict).count()
    }

    fn text(&self, lines: &[(Case, Verdict, Duration)]) -> String {
        let mut text = format!(
            "{} cases in all, {} run in {} s\n",
            self.points,
            lines.len(),
            self.begun.elapsed().as_secs()
        );
        let mut sums: BTreeMap<(String, String), BTreeMap<String, usize>> = BTreeMap::new();
        let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
        for (case, verdict, _) in lines {
            let key = (case.point.call.clone(), case.point.kind().to_owned());
            *sums.entry(key).or_default().entry(format!("{verdict:?}")).or_default() += 1;
            *verdicts.entry(format!("{verdict:?}")).or_default() += 1;
        }
        writeln!(text, "{verdicts:?}\n").unwrap();
        for ((call, kind), counts) in sums {
            writeln!(text, "{call:<20} {kind:<10} {counts:?}").unwrap();
        }
        text.push('\n');
        for (case, verdict, took) in lines {
            writeln!(text, "{:<9} {:6.1} s  {case}", format!("{verdict:?}"), took.as_secs_f64())
                .unwrap();
        }
        text
    }
}
