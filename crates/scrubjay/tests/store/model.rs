//! Any history of saves, removals, undos, edits from outside, crashes and reopenings comes to what a simple map says.

use crate::bench::{Bench, in_order};
use proptest::prelude::*;
use scrubjay::digest::Digest;
use scrubjay::memory::{Act, Age, Cause, Change, Edit, Memory, What};
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
enum Step {
    /// Save a text over what is there now.
    Save(u8, u8),
    /// Save a text that was made from another one than what is there.
    SaveStale(u8, u8, u8),
    /// Two saves and a removal that belong together.
    Together(u8, u8, u8),
    Remove(u8),
    UndoLast,
    OutsideWrite(u8, u8),
    OutsideRemove(u8),
    Reopen,
    /// The next save is interrupted after it was written down, with none or some of its files exchanged.
    Crash(u8, u8, bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let path = 0_u8..5;
    let text = 0_u8..6;
    let step = prop_oneof![
        4 => (path.clone(), text.clone()).prop_map(|(path, text)| Step::Save(path, text)),
        2 => (path.clone(), text.clone(), text.clone()).prop_map(|(path, text, base)| Step::SaveStale(path, text, base)),
        2 => (path.clone(), path.clone(), text.clone()).prop_map(|(a, b, text)| Step::Together(a, b, text)),
        2 => path.clone().prop_map(Step::Remove),
        2 => Just(Step::UndoLast),
        2 => (path.clone(), text.clone()).prop_map(|(path, text)| Step::OutsideWrite(path, text)),
        1 => path.clone().prop_map(Step::OutsideRemove),
        1 => Just(Step::Reopen),
        2 => (path, text, any::<bool>()).prop_map(|(path, text, half)| Step::Crash(path, text, half)),
    ];
    prop::collection::vec(step, 1..25)
}

fn path(n: u8) -> String {
    format!("m{n}.md")
}

fn text(n: u8) -> String {
    format!("text {n}\n")
}

type Model = BTreeMap<String, String>;
type Done = (String, Option<String>, Option<String>);

struct Run {
    bench: Bench,
    memory: Memory,
    model: Model,
    /// What each change of the engine's own did: path, before, after.
    done: Vec<Vec<Done>>,
}

impl Run {
    fn new() -> Self {
        let bench = Bench::new();
        let memory = bench.open();
        Self { bench, memory, model: Model::new(), done: Vec::new() }
    }

    fn edit(&self, path: String, after: Option<String>) -> Option<Edit> {
        let base = self.model.get(&path).map(|text| Digest::of(text.as_bytes()));
        let act = after.map_or(Act::Remove, Act::Save);
        let possible = act != Act::Remove || base.is_some();
        possible.then_some(Edit { path, base, act, rests_on: None, age: Age::New })
    }

    /// Edits made from what is there now do exactly what they say.
    fn commit(&mut self, wanted: Vec<(String, Option<String>)>) {
        let edits: Vec<Edit> =
            wanted.iter().filter_map(|(path, after)| self.edit(path.clone(), after.clone())).collect();
        if edits.is_empty() {
            return;
        }
        let receipt = self.memory.commit(Change { cause: Cause::Dream, edits }).unwrap();
        let mut done = Vec::new();
        for (path, after) in wanted {
            let before = match &after {
                Some(text) => self.model.insert(path.clone(), text.clone()),
                None => self.model.remove(&path),
            };
            if before != after {
                done.push((path, before, after));
            }
        }
        assert_eq!(receipt.changed(), !done.is_empty(), "{receipt}");
        if !done.is_empty() {
            self.done.push(done);
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Save(n, said) => self.commit(vec![(path(*n), Some(text(*said)))]),
            Step::Remove(n) => self.commit(vec![(path(*n), None)]),
            Step::Together(a, b, said) if a != b => {
                self.commit(vec![(path(*a), Some(text(*said))), (path(*b), None), (path(9), Some(text(said + 1)))]);
            }
            Step::Together(..) => {}
            Step::SaveStale(n, said, base) => self.save_stale(path(*n), text(*said), text(*base)),
            Step::UndoLast => self.undo_last(),
            Step::OutsideWrite(n, said) => {
                self.bench.write(&path(*n), text(*said));
                self.model.insert(path(*n), text(*said));
            }
            Step::OutsideRemove(n) => {
                std::fs::remove_file(self.bench.path(&path(*n))).unwrap_or_default();
                self.model.remove(&path(*n));
            }
            Step::Reopen => self.memory = self.bench.open(),
            Step::Crash(n, said, half) => self.crash(*n, *said, *half),
        }
    }

    fn save_stale(&mut self, path: String, ours: String, base: String) {
        let base = Some(Digest::of(base.as_bytes()));
        let edit = Edit {
            path: path.clone(),
            base: base.clone(),
            act: Act::Save(ours.clone()),
            rests_on: None,
            age: Age::New,
        };
        let receipt = self.memory.commit(Change { cause: Cause::Dream, edits: vec![edit] }).unwrap();
        let now = self.model.get(&path).cloned();
        let stale = now.as_ref().is_some_and(|now| Some(Digest::of(now.as_bytes())) != base && *now != ours);
        let target = match &receipt.outcomes[0].what {
            What::Conflict(copy) => copy.clone(),
            _ => path,
        };
        assert_eq!(stale, target.contains("conflict"), "{receipt}");
        let before = self.model.insert(target.clone(), ours.clone());
        if before.as_ref() != Some(&ours) {
            self.done.push(vec![(target, before, Some(ours))]);
        }
    }

    /// Taking a change back that nobody built upon brings everything back as it was.
    fn undo_last(&mut self) {
        let Some(done) = self.done.pop() else { return };
        let untouched = done.iter().all(|(path, _, after)| self.model.get(path) == after.as_ref());
        if !untouched {
            return;
        }
        let log = self.memory.log().unwrap();
        let ours = |change: &&scrubjay::memory::Recorded| {
            let same = |(path, before, after): &Done| {
                let digest = |text: &Option<String>| text.as_ref().map(|text| Digest::of(text.as_bytes()));
                change
                    .edits
                    .iter()
                    .any(|edit| edit.path == *path && edit.before == digest(before) && edit.after == digest(after))
            };
            change.edits.len() == done.len() && done.iter().all(same)
        };
        let Some(change) = log.iter().rev().find(ours) else { panic!("{done:?} is not in the journal") };
        self.memory.undo(change.id).unwrap();
        for (path, before, _) in done {
            match before {
                Some(text) => drop(self.model.insert(path, text)),
                None => drop(self.model.remove(&path)),
            }
        }
    }

    /// A save of two files, put back to what a kill leaves: written down, not marked as done, and not all files exchanged.
    fn crash(&mut self, n: u8, said: u8, half: bool) {
        self.memory.refresh().unwrap();
        let before: Vec<(String, Option<Vec<u8>>)> = [path(n), path(8), "MEMORY.md".to_owned()]
            .map(|name| (name.clone(), std::fs::read(self.bench.path(&name)).ok()))
            .into();
        let changes = self.done.len();
        self.commit(vec![(path(n), Some(text(said))), (path(8), Some(text(said)))]);
        if self.done.len() == changes {
            return;
        }
        let journal = self.bench.place.journal.join("changes.jsonl");
        let lines = std::fs::read_to_string(&journal).unwrap();
        let (kept, mark) = lines.trim_end().rsplit_once('\n').unwrap();
        assert!(mark.contains("\"done\""), "{mark}");
        std::fs::write(&journal, format!("{kept}\n")).unwrap();
        for (name, bytes) in before.iter().skip(usize::from(half)) {
            match bytes {
                Some(bytes) => std::fs::write(self.bench.path(name), bytes).unwrap(),
                None => std::fs::remove_file(self.bench.path(name)).unwrap_or_default(),
            }
        }
        let (memory, repairs) = self.bench.try_open().unwrap();
        assert!(repairs.finished.is_some());
        self.memory = memory;
    }

    fn compare(&mut self) {
        self.memory.refresh().unwrap();
        let on_disk: Model = self
            .bench
            .files()
            .into_iter()
            .filter(|name| name != "MEMORY.md")
            .map(|name| (name.clone(), self.bench.file(&name).unwrap()))
            .collect();
        assert_eq!(on_disk, self.model);
        let listed: Vec<String> = self.memory.list().map(|entry| entry.path.clone()).collect();
        assert_eq!(listed, self.model.keys().cloned().collect::<Vec<_>>());
        in_order(&mut self.memory);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // safety: SG7
    // safety: F-12
    // safety: F-18
    // spec: D10
    #[test]
    fn every_history_comes_to_what_a_map_says(steps in steps()) {
        let mut run = Run::new();
        for step in &steps {
            run.step(step);
            run.compare();
        }
        let outside = run.memory.log().unwrap();
        prop_assert!(outside.windows(2).all(|pair| pair[0].id < pair[1].id), "no number is given twice");
        run.memory = run.bench.open();
        run.compare();
    }
}

// spec: D10
#[test]
fn a_version_that_lies_beside_a_memory_already_is_not_put_there_again() {
    let mut run = Run::new();
    for step in [Step::OutsideWrite(0, 0), Step::SaveStale(0, 5, 1), Step::Reopen, Step::SaveStale(0, 5, 1)] {
        run.step(&step);
        run.compare();
    }
    assert_eq!(run.model.len(), 2, "{:?}", run.model.keys());
}
