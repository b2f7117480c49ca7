//! Which of two statements comes first: the later where it replaces the earlier, and none where both hold.
//!
//! Every pair stands in a memory with all others of its kind and half. The first half of each kind was looked at while the rule
//! was made; the second was kept apart.

use crate::data::{self, Failure, Told};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use scrubjay::memory::recall::{Document, Hit, Index, Query};
use std::path::Path;

const BOTH_HOLD: &str = "both hold";
const DAYS: i64 = 30;

pub fn measure(file: Option<&Path>, show: bool) -> Result<(), Failure> {
    let pairs = data::pairs(file)?;
    let mut kinds: Vec<&str> = pairs.iter().map(|pair| pair.kind.as_str()).collect();
    kinds.dedup();
    println!(
        "\n### The later of two statements\n\n| kind | half | pairs | outdated first | without the rule | pushed down though both hold |\n|---|---|---|---|---|---|"
    );
    for kind in kinds {
        let all: Vec<&Told> = pairs.iter().filter(|pair| pair.kind == kind).collect();
        let (seen, apart) = all.split_at(all.len() / 2);
        for (half, pairs) in [("seen", seen), ("kept apart", apart)] {
            row(kind, half, pairs, show)?;
        }
    }
    Ok(())
}

fn row(kind: &str, half: &str, pairs: &[&Told], show: bool) -> Result<(), Failure> {
    let index = store(pairs)?;
    let (mut stale, mut without, mut down) = (0, 0, 0);
    for (number, pair) in pairs.iter().enumerate() {
        let place = |hits: &[Hit], which: &str| {
            let id = format!("{number:03}-{which}");
            hits.iter().position(|hit| hit.id == id).unwrap_or(usize::MAX)
        };
        let is_stale = |hits: &[Hit]| place(hits, "earlier") < place(hits, "later");
        let (ruled, plain) = (ask(&index, &pair.question, 1.0)?, ask(&index, &pair.question, 0.0)?);
        let is_pushed_down = is_stale(&plain) && !is_stale(&ruled);
        stale += usize::from(is_stale(&ruled));
        without += usize::from(is_stale(&plain));
        down += usize::from(is_pushed_down);
        let wrong = if kind == BOTH_HOLD { is_pushed_down } else { is_stale(&ruled) };
        if show && wrong && half == "seen" {
            println!("    {} | {} | {}", pair.question, pair.statements[0], pair.statements[1]);
        }
    }
    let share = |count: usize| count as f64 / pairs.len().max(1) as f64;
    let both = kind == BOTH_HOLD;
    let only = |shown: bool, count: usize| if shown { format!("{:.2}", share(count)) } else { "–".to_owned() };
    println!(
        "| {kind} | {half} | {} | {} | {} | {} |",
        pairs.len(),
        only(!both, stale),
        only(!both, without),
        only(both, down)
    );
    Ok(())
}

fn store(pairs: &[&Told]) -> Result<Index, Failure> {
    let mut index = Index::default();
    let mut documents = Vec::new();
    for (number, pair) in pairs.iter().enumerate() {
        for (age, (which, body)) in ["earlier", "later"].into_iter().zip(&pair.statements).enumerate() {
            let hours = (number as i64 * 7 + age as i64 * DAYS * 24).hours();
            let time = Some(Timestamp::UNIX_EPOCH.checked_add(hours)?);
            let id = format!("{number:03}-{which}");
            documents.push(Document {
                id,
                body: body.clone(),
                kind: "project".to_owned(),
                time,
                ..Document::default()
            });
        }
    }
    index.update(documents, []);
    Ok(index)
}

fn ask(index: &Index, question: &str, newer: f32) -> Result<Vec<Hit>, Failure> {
    let now = Timestamp::UNIX_EPOCH.checked_add((DAYS * 2 * 24).hours())?.to_zoned(TimeZone::UTC);
    let mut query = Query::new(question, now, usize::MAX);
    query.weights.newer = newer;
    Ok(index.recall(&query))
}
