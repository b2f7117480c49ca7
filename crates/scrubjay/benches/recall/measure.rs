//! Recall at a depth, discounted gain, and how far a mean can be trusted.

use std::time::Duration;

/// What one question gave.
#[derive(Clone, Copy)]
pub struct Score {
    pub at_5: f64,
    pub at_10: f64,
    pub gain: f64,
}

pub fn score(ranked: &[usize], gold: &[usize]) -> Score {
    let places: Vec<usize> =
        ranked.iter().take(10).enumerate().filter(|(_, id)| gold.contains(id)).map(|(place, _)| place).collect();
    let recall = |depth: usize| places.iter().filter(|place| **place < depth).count() as f64 / gold.len() as f64;
    let discount = |place: usize| 1.0 / (place as f64 + 2.0).log2();
    let ideal: f64 = (0..gold.len().min(10)).map(discount).sum();
    Score { at_5: recall(5), at_10: recall(10), gain: places.iter().map(|place| discount(*place)).sum::<f64>() / ideal }
}

/// The scores of one system, and the time it took.
#[derive(Default)]
pub struct Run {
    pub scores: Vec<(usize, String, Score)>,
    pub time: Duration,
}

pub fn header(title: &str) {
    println!(
        "\n### {title}\n\n| system | R@5 (95 %) | R@10 (95 %) | nDCG@10 (95 %) | ms/query |\n|---|---|---|---|---|"
    );
}

impl Run {
    pub fn print(&self, name: &str) {
        let column = |pick: fn(&Score) -> f64| {
            let values: Vec<f64> = self.scores.iter().map(|(_, _, score)| pick(score)).collect();
            let (low, high) = interval(&values);
            format!("{:.3} ({low:.3}–{high:.3})", mean(&values))
        };
        let each = self.time.as_secs_f64() * 1000.0 / self.scores.len().max(1) as f64;
        println!("| {name} | {} | {} | {} | {each:.2} |", column(|s| s.at_5), column(|s| s.at_10), column(|s| s.gain));
    }

    /// Means over the questions that `choose` takes, in one line.
    pub fn line(&self, choose: impl Fn(usize, &str) -> bool) -> String {
        let chosen: Vec<Score> =
            self.scores.iter().filter(|(corpus, category, _)| choose(*corpus, category)).map(|(_, _, s)| *s).collect();
        let column = |pick: fn(&Score) -> f64| mean(&chosen.iter().map(pick).collect::<Vec<_>>());
        format!(
            "{:.3} / {:.3} / {:.3} (n = {})",
            column(|s| s.at_5),
            column(|s| s.at_10),
            column(|s| s.gain),
            chosen.len()
        )
    }

    pub fn categories(&self) -> Vec<String> {
        let mut all: Vec<String> = self.scores.iter().map(|(_, category, _)| category.clone()).collect();
        all.sort();
        all.dedup();
        all
    }
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The middle 95 % of the means of a thousand samples with replacement; the same each time.
fn interval(values: &[f64]) -> (f64, f64) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % values.len().max(1) as u64) as usize
    };
    let mut means: Vec<f64> = (0..1000)
        .map(|_| (0..values.len()).map(|_| values[next()]).sum::<f64>() / values.len().max(1) as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    (means[25], means[974])
}
