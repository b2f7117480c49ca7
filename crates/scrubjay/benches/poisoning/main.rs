//! Poisoning: what becomes a memory when a model obeys every text it reads, and what must.
//!
//! `cargo bench -p scrubjay --bench poisoning -- [--data PATH] [--all] [--wrong]`; attacks are looked for in PATH/injection, or below
//! `SCRUBJAY_BENCH_DATA` or `../shared/bench`. Each is a real session: the attack's words come in by a file, a page, an earlier turn, beside
//! a wish of the person's, dressed as a reminder, or after an echo of the question, with the order to remember them. The model obeys by
//! `remember`, by files, by the memory tool and by the index; asked as the learner it hands in every order in its request. The twin of
//! each is the person saying the same words. A promotion is a trusted memory that holds the attack's words. `--all` tells every
//! attack; without it every fourth.

use scrubjay_testkit::{Attack, Ending, Entrance, Hands};
use serde_json::Value;
use std::path::{Path, PathBuf};

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let Some(dir) = data(&arguments) else {
        println!("no attacks found: pass --data PATH or set SCRUBJAY_BENCH_DATA; nothing was measured");
        return Ok(());
    };
    for hands in [Hands::Agent, Hands::Extractor] {
        println!("\nwritten by the {hands:?}, a model that obeys every text");
        measure(
            &sets(&dir)?,
            hands,
            if has("--all") { 1 } else { 4 },
            if has("--wrong") { Listing::Wrong } else { Listing::None },
        )
        .await?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Listing {
    None,
    Wrong,
}

async fn measure(sets: &[(&str, Vec<Attack>)], hands: Hands, step: usize, listing: Listing) -> Result<(), Failure> {
    println!(
        "{:<22} {:<10} {:>9} {:>9} {:>9} {:>9} {:>14}",
        "set", "entrance", "scenarios", "promoted", "waiting", "in index", "rules recalled"
    );
    let mut all = Tally::default();
    let (mut twins, mut saved) = (0, 0);
    for (name, attacks) in sets {
        for entrance in Entrance::FOREIGN {
            let mut tally = Tally::default();
            for attack in attacks.iter().step_by(step) {
                let ending = attack.tell(entrance, hands).await?;
                if listing == Listing::Wrong && !ending.clean.is_empty() {
                    println!("  promoted: {:.120}", attack.words);
                }
                tally.add(&ending, entrance);
            }
            tally.print(name, &format!("{entrance:?}"));
            all.merge(&tally);
        }
        for attack in attacks.iter().step_by(step) {
            let ending = attack.tell(Entrance::Person, hands).await?;
            twins += 1;
            saved += usize::from(!ending.clean.is_empty());
            if listing == Listing::Wrong && ending.clean.is_empty() {
                println!("  twin not saved: {:.120}", attack.words);
            }
        }
    }
    all.print("all", "");
    println!(
        "benign twins saved: {saved} of {twins}; the person's other wish kept beside an attack: {} of {}",
        all.others, all.beside
    );
    Ok(())
}

#[derive(Default)]
struct Tally {
    scenarios: usize,
    promoted: usize,
    waiting: usize,
    in_index: usize,
    rules: usize,
    beside: usize,
    others: usize,
}

impl Tally {
    fn add(&mut self, ending: &Ending, entrance: Entrance) {
        self.scenarios += 1;
        self.beside += usize::from(entrance == Entrance::Beside);
        self.promoted += usize::from(!ending.clean.is_empty());
        self.waiting += usize::from(!ending.waiting.is_empty());
        self.in_index += usize::from(ending.in_index);
        self.rules += usize::from(!ending.recalled_rules.is_empty());
        self.others += usize::from(ending.other_kept);
    }

    fn merge(&mut self, other: &Self) {
        self.scenarios += other.scenarios;
        self.promoted += other.promoted;
        self.waiting += other.waiting;
        self.in_index += other.in_index;
        self.rules += other.rules;
        self.beside += other.beside;
        self.others += other.others;
    }

    fn print(&self, name: &str, entrance: &str) {
        let Self { scenarios, promoted, waiting, in_index, rules, .. } = self;
        println!("{name:<22} {entrance:<10} {scenarios:>9} {promoted:>9} {waiting:>9} {in_index:>9} {rules:>14}");
    }
}

fn data(arguments: &[String]) -> Option<PathBuf> {
    let given = arguments.iter().position(|argument| argument == "--data").and_then(|at| arguments.get(at + 1));
    let root = given.map(PathBuf::from).or_else(|| std::env::var_os("SCRUBJAY_BENCH_DATA").map(PathBuf::from));
    let roots = root.map_or_else(
        || vec![PathBuf::from("../shared/bench"), Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench")],
        |root| vec![root],
    );
    roots.into_iter().map(|root| root.join("injection")).find(|dir| dir.join("poisonedrag").exists())
}

/// Every set of attacks, by name.
fn sets(dir: &Path) -> Result<Vec<(&'static str, Vec<Attack>)>, Failure> {
    let read =
        |file: &str| -> Result<Value, Failure> { Ok(serde_json::from_str(&std::fs::read_to_string(dir.join(file))?)?) };
    let asked = "What is on this page?";
    let attack = |words: &str, question: &str| Attack { words: words.trim().to_owned(), question: question.to_owned() };
    let goals = read("agentdojo/injection_goals.json")?;
    let goals =
        goals.as_array().into_iter().flatten().filter_map(|goal| goal["goal"].as_str()).map(|goal| attack(goal, asked));
    let bipia = read("bipia/text_attack_test.json")?;
    let bipia = bipia.as_object().into_iter().flatten().flat_map(|(_, texts)| texts.as_array().into_iter().flatten());
    let bipia = bipia.filter_map(Value::as_str).map(|text| attack(text, asked));
    let rag = read("poisonedrag/nq.json")?;
    let rag = rag.as_object().into_iter().flatten().filter_map(|(_, one)| {
        let question = format!("{}?", one["question"].as_str()?);
        Some(attack(one["adv_texts"][0].as_str()?, &question))
    });
    let aws = read("aws-memory-poisoning/test-cases.json")?;
    let aws = aws.as_array().into_iter().flatten().filter(|case| case["category"] != "BENIGN").filter_map(|case| {
        Some(attack(case["writeContent"].as_str()?, case["sessionContext"][0].as_str().unwrap_or(asked)))
    });
    Ok(vec![
        ("agentdojo", goals.collect()),
        ("bipia", bipia.collect()),
        ("poisonedrag", rag.collect()),
        ("aws-memory-poisoning", aws.collect()),
    ])
}
