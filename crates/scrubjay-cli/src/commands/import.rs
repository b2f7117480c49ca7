//! `scrubjay import`: memories from elsewhere, copied and never moved, as one change that can be taken back.
//!
//! Folders stay folders, and a link between two files leads to where the other one is now.
//!
//! What comes in is what a file says, not what the user said: it is unconfirmed until the user keeps it, unless `--trust` says
//! that they know it.

use crate::arguments::ImportFlags;
use crate::failure::Failure;
use crate::memories::draft::numbered;
use crate::memories::receipt::{Told, rehearse};
use crate::memories::{self, stem};
use crate::paper::{Form, Paper, size};
use crate::workplace::Workplace;
use jiff::Timestamp;
use scrubjay::digest::Digest;
use scrubjay::foreign::Agent;
use scrubjay::frontmatter;
use scrubjay::limits::Limits;
use scrubjay::memory::draft::cut;
use scrubjay::memory::{
    Act, Age, Basis, Cause, Change, Edit, Entry, FileDiff, Kind, Memory, Source, Speaker, Topic, Trust, links, name,
};
use scrubjay::secrets;
use scrubjay::tools::{shown, shown_path};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Files that tell an agent what to do. They are referred to, not copied: they are read where they lie.
const INSTRUCTIONS: [&str; 4] = ["CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md"];
const DEEPEST: usize = 8;
const DESCRIPTION_CHARS: usize = 120;
/// How many headings tell what a file of instructions is about.
const HEADINGS: usize = 12;

/// A memory that would come in.
struct Candidate {
    /// Where it lies.
    file: PathBuf,
    /// What it will be called, if that is free.
    path: String,
    text: String,
    age: Age,
    /// The file and its state, so that it comes in once.
    mark: String,
}

/// What was found at a place.
struct Haul<'a> {
    /// The folder that paths are counted from.
    root: PathBuf,
    /// What its index says about each file.
    lines: HashMap<String, IndexLine>,
    limits: &'a Limits,
    candidates: Vec<Candidate>,
    /// What was left out, with why.
    left_out: Vec<String>,
}

/// What would happen.
#[derive(Default)]
struct Plan {
    /// Whether what comes in waits for the user.
    waits: bool,
    edits: Vec<Edit>,
    /// How many that waited here are confirmed.
    confirmed: usize,
    /// What is here already.
    here: Vec<String>,
    notes: Vec<String>,
}

pub(super) fn run(flags: &ImportFlags, workplace: &Workplace, paper: &Paper) -> Result<(), Failure> {
    let from = source(&flags.from, workplace)?;
    let haul = Haul::of(&from, &workplace.limits);
    if haul.candidates.is_empty() {
        let why = if haul.left_out.is_empty() { String::new() } else { format!(" ({})", haul.left_out.join("; ")) };
        return Err(Failure::nothing_found(format!(
            "there is no Markdown file to bring in at {}{why}",
            shown_path(&from)
        ))
        .fix("name the folder that holds the `.md` files, or a CLAUDE.md or AGENTS.md"));
    }
    haul.must_fit(&from)?;
    let mut memory = memories::open(workplace, paper)?;
    let doubt = (!flags.trust).then(|| format!("imported from {}; look through it and keep it", shown_path(&from)));
    let mut plan = Plan::of(haul, &memory, doubt)?;
    if flags.trial.dry_run {
        return plan.rehearse(&memory, paper);
    }
    let edits = std::mem::take(&mut plan.edits);
    let (came, cause) = (edits.len() - plan.confirmed, Cause::Import { from: from.display().to_string() });
    let receipt = memory.commit(Change { cause, edits })?;
    plan.tell(&Told::of(receipt, &memory), came, paper)
}

/// The place a person means: a path, or the name of an agent whose folder is known.
fn source(asked: &Path, workplace: &Workplace) -> Result<PathBuf, Failure> {
    let (places, environment) = (&workplace.places, &workplace.environment);
    let found = match asked.to_str() {
        Some("claude") if !asked.exists() => places.claude_memory(environment, &workplace.root),
        Some("codex") if !asked.exists() => places.of_agent(Agent::Codex, environment).join("memories"),
        _ => workplace.dir.join(asked),
    };
    found.canonicalize().map_err(|error| {
        Failure::nothing_found(format!("{} cannot be read: {error}", shown_path(&found))).fix(
            "name a folder of Markdown files, a CLAUDE.md or AGENTS.md, or `claude` or `codex` for their own folders",
        )
    })
}

impl<'a> Haul<'a> {
    fn of(from: &Path, limits: &'a Limits) -> Self {
        let inner = from.join("memory");
        let root = match from.parent() {
            Some(parent) if from.is_file() => parent.to_owned(),
            _ if inner.join(name::INDEX).is_file() && !from.join(name::INDEX).exists() => inner,
            _ => from.to_owned(),
        };
        let (candidates, left_out) = (Vec::new(), Vec::new());
        let mut haul = Self { root, lines: HashMap::new(), limits, candidates, left_out };
        if from.is_file() {
            haul.file(from);
        } else {
            let index = haul.root.join(name::INDEX);
            let text = fs::read_to_string(&index).unwrap_or_default();
            haul.lines = index_lines(&text);
            haul.folder(&haul.root.clone(), 0);
            haul.prose(&index, &text);
        }
        haul
    }

    /// Every Markdown file below a folder. Links, devices and hidden folders are not followed.
    fn folder(&mut self, dir: &Path, depth: usize) {
        let listed = match fs::read_dir(dir) {
            Ok(listed) => listed,
            Err(error) => return self.left_out.push(format!("{} cannot be read: {error}", shown_path(dir))),
        };
        let mut paths: Vec<(PathBuf, fs::FileType)> =
            listed.flatten().filter_map(|entry| Some((entry.path(), entry.file_type().ok()?))).collect();
        paths.sort_by(|a, b| a.0.cmp(&b.0));
        for (path, kind) in paths {
            let called = path.file_name().unwrap_or_default();
            if kind.is_dir() {
                let hidden = called.as_encoded_bytes().starts_with(b".");
                if depth < DEEPEST && !hidden {
                    self.folder(&path, depth + 1);
                }
            } else if name::is_markdown(called) && kind.is_file() {
                self.file(&path);
            } else if name::is_markdown(called) {
                self.left_out.push(format!("{} is not a plain file", shown_path(&path)));
            }
        }
    }

    fn file(&mut self, file: &Path) {
        let called = file_name(file);
        if name::is_index(&called) {
            return;
        }
        let text = match readable(file, self.limits) {
            Ok(text) => text,
            Err(why) => return self.left_out.push(format!("{} {why}", shown_path(file))),
        };
        let below = file.strip_prefix(&self.root).unwrap_or(file).to_string_lossy().into_owned();
        let (path, text) = if INSTRUCTIONS.contains(&called.as_str()) {
            reference(file, &text)
        } else {
            let text = headed(&text, &below, self.lines.get(&below), self.limits);
            (path_here(&below), text)
        };
        self.push(file, path, text);
    }

    /// What an index says besides pointing: older folders keep whole memories there.
    fn prose(&mut self, file: &Path, index: &str) {
        let said = |line: &&str| !line.trim().is_empty() && !line.starts_with('#') && pointed(line).is_none();
        if !index.lines().any(|line| said(&line)) || index.len() as u64 > self.limits.memory_file_bytes {
            return;
        }
        let kept: Vec<&str> = index.lines().filter(|line| pointed(line).is_none()).collect();
        let body = format!("{}\n", kept.join("\n").trim());
        let (name, description) = ("What the index said".to_owned(), about(&body).unwrap_or_default());
        let topic = Topic { name, description, kind: Kind::Untyped, body };
        self.push(file, "note_what_the_index_said.md".to_owned(), topic.text());
    }

    /// One change is one line of the journal, and a line has a limit. Escaping may make a text longer.
    fn must_fit(&self, from: &Path) -> Result<(), Failure> {
        const ESCAPED: u64 = 4;
        let (bytes, most) = (
            self.candidates.iter().map(|one| one.text.len() as u64).sum::<u64>(),
            self.limits.record_line_bytes / ESCAPED,
        );
        if bytes <= most {
            return Ok(());
        }
        let told =
            format!("{} holds {} of Markdown, and one change may hold {}", shown_path(from), size(bytes), size(most));
        Err(Failure::usage(told).fix("bring it in folder by folder"))
    }

    fn push(&mut self, file: &Path, path: String, text: String) {
        let mark = format!("{}#{}", file.display(), Digest::of(text.as_bytes()).as_str());
        let modified = fs::metadata(file).and_then(|meta| meta.modified()).ok();
        let moment = modified.and_then(|modified| Timestamp::try_from(modified).ok()).map(Timestamp::as_nanosecond);
        let age = moment.and_then(|moment| i64::try_from(moment).ok()).filter(|moment| *moment > 0);
        self.candidates.push(Candidate {
            file: file.to_owned(),
            path,
            text,
            age: age.map_or(Age::New, Age::Since),
            mark,
        });
    }
}

fn readable(file: &Path, limits: &Limits) -> Result<String, String> {
    let size = fs::metadata(file).map_err(|error| format!("cannot be read: {error}"))?.len();
    if size > limits.memory_file_bytes {
        return Err(format!("has {size} bytes, and a memory may have {}", limits.memory_file_bytes));
    }
    let bytes = fs::read(file).map_err(|error| format!("cannot be read: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    if text.trim().is_empty() { Err("is empty".to_owned()) } else { Ok(text) }
}

/// A memory that says where a file of instructions lies.
fn reference(file: &Path, text: &str) -> (String, String) {
    let (called, folder) = (file_name(file), file.parent().map(file_name).unwrap_or_default());
    let about = text.lines().map(|line| line.trim_start_matches(['#', ' '])).find(|line| !line.is_empty());
    let headings = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches(['#', ' ']));
    let headings: String = headings.take(HEADINGS).map(|heading| format!("- {}\n", links::read(heading))).collect();
    let topic = Topic {
        name: format!("{called} of {folder}"),
        description: cut(&format!("instructions: {}", about.unwrap_or_default()), DESCRIPTION_CHARS),
        kind: Kind::Reference,
        // Where it lies and what it is about, and no sentence: two files contradict nobody and are not one.
        body: format!("[{called}](<{}>)\n\n{headings}", file.display()).trim_end().to_owned() + "\n",
    };
    (topic.file_name(), topic.text())
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Where a file of a folder goes: into the same folders, under plain names. What is shared and what is a log here is not so
/// because of a folder's name elsewhere.
fn path_here(below: &str) -> String {
    let below = &secrets::left_out(below);
    let (folders, file) = below.split_at(below.rfind('/').map_or(0, |at| at + 1));
    let mut path: String = folders.split_terminator('/').map(|folder| name::slug_of(folder) + "/").collect();
    if [name::TEAM, name::LOGS].iter().any(|reserved| path.split('/').next() == Some(*reserved)) {
        path = path.replacen('/', "_", 1);
    }
    path.push_str(&format!("{}.md", name::slug_of(stem(file))));
    if name::parts(&path).is_ok() { path } else { format!("{}.md", name::slug_of(stem(below))) }
}

/// What a text is about: its first line that is neither a heading nor a rule, without the mark of a list.
fn about(body: &str) -> Option<String> {
    let lines = body.lines().map(|line| line.trim().trim_start_matches(['-', '*', '+', '>', ' ']));
    let mut said = lines.filter(|line| !line.starts_with('#') && line.contains(char::is_alphanumeric));
    said.next().map(|line| cut(&links::read(line), DESCRIPTION_CHARS))
}

/// The type that a file's name begins with, where its header speaks of none.
fn kind_of(topic: &Topic, text: &str, file: &str, limits: &Limits) -> Kind {
    let says = topic.kind != Kind::Untyped || frontmatter::parse(text, &["type"], limits).get("type").is_some();
    let begins = || file.split(['_', '-']).next().map_or(Kind::Untyped, Kind::of);
    if says { topic.kind } else { begins() }
}

/// The same text under a header that has a name, a description and, where its file's name tells it, a type; what the header
/// says besides stays.
fn headed(text: &str, below: &str, line: Option<&IndexLine>, limits: &Limits) -> String {
    let topic = Topic::read(text, limits);
    let stem = stem(below).rsplit('/').next().unwrap_or_default().to_owned();
    let kind = kind_of(&topic, text, &stem, limits);
    if !topic.name.is_empty() && !topic.description.is_empty() && topic.kind == kind {
        return text.to_owned();
    }
    let heading = topic.body.lines().find_map(|line| line.strip_prefix("# ")).map(str::trim).map(str::to_owned);
    let or = |own: &str, other: Option<String>| if own.is_empty() { other.unwrap_or_default() } else { own.to_owned() };
    let name = or(&topic.name, line.map(|line| line.title.clone()).or(heading).or(Some(stem)));
    let hook = line.map(|line| line.hook.clone()).filter(|hook| !hook.is_empty());
    let description = or(&topic.description, hook.or_else(|| about(&topic.body)));
    Topic { name, description, kind, ..topic }.text_over(text, limits)
}

/// What an index says about one file.
struct IndexLine {
    title: String,
    hook: String,
}

/// `- [Title](file.md) — hook`.
fn pointed(line: &str) -> Option<(String, IndexLine)> {
    let rest = line.trim_start().strip_prefix(['-', '*', '+'])?.trim_start().strip_prefix('[')?;
    let (title, rest) = rest.split_once("](")?;
    let (file, hook) = rest.split_once(')')?;
    let file = file.trim_start_matches("./").trim_matches(['<', '>']).replace("%20", " ");
    let hook = hook.trim_start_matches([' ', '—', '–', '-', ':']).trim().to_owned();
    file.ends_with(".md").then(|| (file, IndexLine { title: title.to_owned(), hook }))
}

fn index_lines(index: &str) -> HashMap<String, IndexLine> {
    index.lines().filter_map(pointed).collect()
}

/// What is here, by what it may be known.
struct Here {
    /// By its text, and by the file and state that it came from.
    known: HashMap<String, String>,
    /// By the file it came from.
    homes: HashMap<PathBuf, String>,
    /// The names that are taken.
    taken: HashSet<String>,
    /// The last number that was given beside a name.
    next: HashMap<String, u32>,
}

impl Here {
    fn of(memory: &Memory) -> Self {
        let (mut known, mut homes) = (HashMap::new(), HashMap::new());
        for entry in &memory.scan().entries {
            known.insert(entry.digest.as_str().to_owned(), entry.path.clone());
            for source in memory.basis_of(entry).into_iter().flat_map(|basis| &basis.sources) {
                known.insert(source.message.clone(), entry.path.clone());
                if source.speaker == Speaker::File {
                    homes.insert(PathBuf::from(&source.quote), entry.path.clone());
                }
            }
        }
        let taken = memory.scan().entries.iter().map(|entry| name::fold(&entry.path)).collect();
        Self { known, homes, taken, next: HashMap::new() }
    }

    /// The path of a memory that this is already.
    fn has(&self, one: &Candidate) -> Option<&String> {
        self.known.get(&one.mark).or_else(|| self.known.get(Digest::of(one.text.as_bytes()).as_str()))
    }

    /// Give a memory that comes in the next free path.
    fn house(&mut self, one: &Candidate) -> Result<String, Failure> {
        // Thousands of files may want one name: each looks on from where the last one found its own.
        let next = self.next.entry(one.path.clone()).or_insert(1);
        let mut paths = (*next..).map(|number| (number, numbered(&one.path, number)));
        let free = paths.find(|(_, path)| self.taken.insert(name::fold(path)));
        let (number, path) = free.ok_or_else(|| Failure::failed(format!("no name is left for {}", one.path)))?;
        *next = number;
        self.known.insert(Digest::of(one.text.as_bytes()).as_str().to_owned(), path.clone());
        Ok(path)
    }

    /// The text with links that lead to where the other files are now: counted from the file, or from the folder that came in.
    fn relinked(&self, one: &Candidate, path: &str, root: &Path) -> String {
        let beside = one.file.parent().unwrap_or(root);
        links::relinked(&one.text, |target| {
            // What names a place on this machine means that place.
            let target = Some(target).filter(|target| !target.starts_with('/'))?;
            let home = |from: &Path| self.homes.get(&plain(&from.join(target)));
            let new = between(path, home(beside).or_else(|| home(root))?);
            (new != target).then_some(new)
        })
    }
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The way from one memory to another.
fn between(from: &str, to: &str) -> String {
    let (mut from, mut to): (Vec<&str>, Vec<&str>) = (from.split('/').collect(), to.split('/').collect());
    while from.len() > 1 && to.len() > 1 && from[0] == to[0] {
        (from, to) = (from.split_off(1), to.split_off(1));
    }
    "../".repeat(from.len() - 1) + &to.join("/")
}

impl Plan {
    /// What comes in under which name. What is here already, in its text or by its origin, is left alone.
    fn of(haul: Haul<'_>, memory: &Memory, doubt: Option<String>) -> Result<Self, Failure> {
        let notes = haul.left_out.iter().map(|why| format!("left out: {why}")).collect();
        let mut plan = Self { waits: doubt.is_some(), notes, ..Self::default() };
        let mut here = Here::of(memory);
        let (mut coming, mut known) = (Vec::new(), Vec::new());
        for one in haul.candidates {
            if let Some(path) = here.has(&one).cloned() {
                here.homes.insert(one.file.clone(), path.clone());
                plan.here.push(path.clone());
                known.push((one, path));
                continue;
            }
            if let Some(secret) = secrets::scan(&one.text).first() {
                let file = shown_path(&one.file);
                plan.notes.push(format!("{file} holds what looks like a credential ({})", secret.rule));
            }
            let path = here.house(&one)?;
            here.homes.insert(one.file.clone(), path.clone());
            coming.push((one, path));
        }
        let waiting = |path: &str| memory.rests_on(path).is_some_and(|basis| basis.trust == Trust::Tainted);
        for (one, path) in known.iter().filter(|(_, path)| doubt.is_none() && waiting(path)) {
            // The yes covers what the file says: not what a memory was changed to since.
            let text = here.relinked(one, path, &haul.root);
            let same = |entry: &&Entry| entry.digest == Digest::of(text.as_bytes());
            plan.edits.extend(memory.scan().get(path).filter(same).map(Edit::confirm));
        }
        plan.confirmed = plan.edits.len();
        for (one, path) in coming {
            let text = here.relinked(&one, &path, &haul.root);
            let (message, quote) = (one.mark, one.file.display().to_string());
            let from = Source { speaker: Speaker::File, session: String::new(), message, quote };
            let basis = match &doubt {
                Some(doubt) => Basis::doubted(vec![from], doubt.as_str()),
                None => Basis { sources: vec![from], trust: Trust::Confirmed, doubt: None },
            };
            plan.edits.push(Edit { age: one.age, ..Edit::create(path, text).resting_on(basis) });
        }
        Ok(plan)
    }

    fn rehearse(mut self, memory: &Memory, paper: &Paper) -> Result<(), Failure> {
        self.notes.extend(self.said_here());
        let diff = |edit: &Edit| match &edit.act {
            Act::Save(text) => Some(FileDiff { path: edit.path.clone(), before: None, after: Some(text.clone()) }),
            _ => None,
        };
        let diffs: Vec<FileDiff> = self.edits.iter().filter_map(diff).collect();
        if self.confirmed > 0 {
            self.notes.push(format!("{} that waits here would be confirmed", memories::how_many(self.confirmed)));
        }
        self.notes.push(format!(
            "{} would come into {}",
            memories::how_many(diffs.len()),
            shown_path(&memory.place().memory)
        ));
        rehearse(&diffs, &self.notes, paper)
    }

    fn said_here(&self) -> Option<String> {
        (!self.here.is_empty()).then(|| format!("{} already: {}", is_here(self.here.len()), self.here.join(", ")))
    }

    fn tell(self, told: &Told, came: usize, paper: &Paper) -> Result<(), Failure> {
        if paper.form == Form::Json {
            let mut data = told.json();
            data["notes"] = json!(self.notes);
            data["imported"] = json!(came);
            data["already_here"] = json!(self.here);
            data["confirmed"] = json!(self.confirmed);
            data["unconfirmed"] = json!(if self.waits { came } else { 0 });
            return paper.json("import", data);
        }
        if came + self.confirmed > 0 {
            paper.line(&told.words(paper.ink, "scrubjay undo"))?;
        }
        self.notes.iter().for_each(|note| paper.warn(note));
        let here = self.said_here().map(|said| format!("; {}", shown(&said))).unwrap_or_default();
        paper.talk(&format!("{} brought in{here}", memories::how_many(came)));
        if self.confirmed > 0 {
            paper.talk(&format!(
                "{} of these waited unconfirmed and {} confirmed now",
                self.confirmed,
                if self.confirmed == 1 { "is" } else { "are" }
            ));
        }
        if self.waits && came > 0 {
            let (wait, them) = if came == 1 { ("waits", "it") } else { ("wait", "them") };
            paper.talk(&format!(
                "{} {wait} unconfirmed: no session begins with {them}; `scrubjay inbox` shows {them}, `scrubjay inbox keep \
                 --all` keeps all that waits",
                memories::how_many(came)
            ));
        }
        Ok(())
    }
}

fn is_here(count: usize) -> String {
    format!("{} {}", memories::how_many(count), if count == 1 { "is here" } else { "are here" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_index_lends_titles_and_hooks() {
        let lines =
            index_lines("# Memory\n- [Real database](tests.md) — never mock\n* [A b](<a b.md>)\nprose [x](y.md)\n");
        assert_eq!(
            (lines["tests.md"].title.as_str(), lines["tests.md"].hook.as_str()),
            ("Real database", "never mock")
        );
        assert!(lines.contains_key("a b.md") && lines.len() == 2);
        let text = headed("Body.\n", "tests.md", lines.get("tests.md"), &Limits::default());
        assert_eq!(text, "---\nname: \"Real database\"\ndescription: \"never mock\"\n---\nBody.\n");
    }

    #[test]
    fn a_header_is_completed_and_keeps_what_else_it_says() {
        let limits = Limits::default();
        let whole = "---\nname: a\ndescription: b\ntags: [x]\n---\n[[link]]\n";
        assert_eq!(headed(whole, "a.md", None, &limits), whole);
        let partly = headed("---\ntags: [x]\n---\n# Birds\n\nThey [[sing]].\n", "notes/birds.md", None, &limits);
        assert!(
            partly.contains("tags: [x]")
                && partly.contains("name: \"Birds\"")
                && partly.contains("description: \"They")
        );
        assert!(partly.ends_with("# Birds\n\nThey [[sing]].\n"), "{partly}");
    }

    #[test]
    fn a_file_keeps_its_folders_and_gets_a_plain_name() {
        let deep = "1/2/3/4/5/6/7/8/9.md";
        for (below, path) in [
            ("user_role.md", "user_role.md"),
            ("Some Folder/My Note.md", "some_folder/my_note.md"),
            ("Team/Rules.md", "team_rules.md"),
            ("team/a/Rules.md", "team_a/rules.md"),
            ("logs/2026/day.md", "logs_2026/day.md"),
            ("a/team/x.md", "a/team/x.md"),
            ("a:b/…/x?.md", "a_b/untitled/x.md"),
            (deep, "1_2_3_4_5_6_7_8_9.md"),
        ] {
            assert_eq!(path_here(below), path);
            assert!(name::parts(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn the_way_from_one_memory_to_another() {
        for (from, to, way) in [
            ("a.md", "b.md", "b.md"),
            ("a.md", "x/b.md", "x/b.md"),
            ("x/a.md", "b.md", "../b.md"),
            ("x/a.md", "x/b.md", "b.md"),
            ("x/y/a.md", "x/z/b.md", "../z/b.md"),
            ("x/a.md", "x/a.md", "a.md"),
        ] {
            assert_eq!(between(from, to), way);
        }
        assert_eq!(plain(Path::new("/v/a/../b/./c.md")), Path::new("/v/b/c.md"));
        assert_eq!(plain(Path::new("/../../x.md")), Path::new("/x.md"));
    }

    #[test]
    fn a_file_is_of_the_type_its_name_begins_with_unless_it_says_otherwise() {
        let limits = Limits::default();
        let kind = |text: &str, below: &str| Topic::read(&headed(text, below, None, &limits), &limits).kind;
        assert_eq!(kind("We ship in May.\n", "deep/project_release.md"), Kind::Project);
        assert_eq!(kind("---\nname: a\ndescription: b\n---\nx\n", "feedback-tests.md"), Kind::Feedback);
        assert_eq!(kind("---\ntype: reference\n---\nx\n", "user_role.md"), Kind::Reference);
        let own = "---\nname: a\ndescription: b\ntype: recipe\n---\nx\n";
        assert_eq!(headed(own, "user_role.md", None, &limits), own, "a type of their own stays");
        assert_eq!(kind("x\n", "users.md"), Kind::Untyped);
    }

    #[test]
    fn what_a_text_is_about() {
        assert_eq!(about("# Home\n\n---\n- [[Birds]] and more\n").as_deref(), Some("[[Birds]] and more"));
        assert_eq!(about("> see [the *plan*](Plan.md)\n").as_deref(), Some("see the plan"));
        assert_eq!(about("# Only\n***\n"), None);
    }

    proptest! {
        #[test]
        fn any_file_gets_a_header_and_keeps_its_body(text in any::<String>(), line in any::<String>()) {
            let limits = Limits::default();
            let headed = headed(&text, "a.md", None, &limits);
            prop_assert_eq!(Topic::read(&headed, &limits).body, Topic::read(&text, &limits).body);
            prop_assert!(pointed(&line).is_none_or(|(file, _)| file.ends_with(".md")));
        }
    }
}
