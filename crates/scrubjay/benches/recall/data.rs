//! The data sets, read into documents and questions. Only here their names and fields are known.

use flate2::read::GzDecoder;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use regex::Regex;
use scrubjay::memory::recall::{Document, Turn, Voice};
use serde_json::Value;
use std::io::Read as _;
use std::path::Path;

pub type Failure = Box<dyn std::error::Error>;

/// One collection and what is asked of it.
#[derive(Default)]
pub struct Corpus {
    pub documents: Vec<Document>,
    /// The documents again as the baselines read them, `speaker: text`.
    pub lines: Vec<String>,
    /// Each session: its name, its date as written, and where it begins and ends.
    pub sessions: Vec<Session>,
    pub questions: Vec<Question>,
}

pub struct Session {
    pub name: String,
    pub date: String,
    pub from: usize,
    pub to: usize,
}

pub struct Question {
    pub text: String,
    pub category: String,
    /// Places in `documents`, or in `sessions` where the evidence is given by session.
    pub gold: Vec<usize>,
    /// What must not come before the gold.
    pub wrong: Vec<usize>,
}

impl Corpus {
    pub fn now(&self) -> Timestamp {
        self.documents.iter().filter_map(|document| document.time).max().unwrap_or(Timestamp::UNIX_EPOCH)
    }

    pub fn session_of(&self, document: usize) -> usize {
        self.sessions.iter().position(|session| (session.from..session.to).contains(&document)).unwrap_or(0)
    }

    fn say(&mut self, document: Document, line: String) {
        self.documents.push(document);
        self.lines.push(line);
    }
}

fn json(path: &Path) -> Result<Value, Failure> {
    let bytes = std::fs::read(path)?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut text = String::new();
        GzDecoder::new(bytes.as_slice()).read_to_string(&mut text)?;
        return Ok(serde_json::from_str(&text)?);
    }
    Ok(serde_json::from_slice(&bytes)?)
}

fn text(value: &Value, field: &str) -> String {
    match &value[field] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

fn moment(format: &str, written: &str) -> Option<Timestamp> {
    let broken = strtime::parse(format, written).ok()?;
    let moment = broken.to_datetime().or_else(|_| broken.to_date().map(DateTime::from)).ok()?;
    TimeZone::UTC.to_timestamp(moment).ok()
}

fn later(start: Option<Timestamp>, seconds: usize) -> Option<Timestamp> {
    start?.checked_add(i64::try_from(seconds).ok()?.seconds()).ok()
}

pub fn locomo(dir: &Path) -> Result<Vec<Corpus>, Failure> {
    let evidence = Regex::new(r"D:?(\d+):(\d+)")?;
    let categories = ["", "multi-hop", "temporal", "open-domain", "single-hop", "adversarial"];
    let mut all = Vec::new();
    for sample in file(dir, "locomo/locomo_dev.json")?.as_array().ok_or("a list was expected")? {
        let mut corpus = Corpus::default();
        let talk = &sample["conversation"];
        let mut number = 1;
        while !talk[format!("session_{number}")].is_null() || !talk[format!("session_{number}_date_time")].is_null() {
            let date = text(talk, &format!("session_{number}_date_time"));
            let start = moment("%I:%M %p on %d %B, %Y", &date);
            let from = corpus.documents.len();
            let name = format!("{number:03}");
            for (position, turn) in list(talk, &format!("session_{number}")).iter().enumerate() {
                let caption = text(turn, "blip_caption");
                let photo = if caption.is_empty() { String::new() } else { format!(" [shares a photo: {caption}]") };
                let body = format!("{}: {}{photo}", text(turn, "speaker"), text(turn, "text"));
                let line = body.clone();
                let turn = Turn { session: name.clone(), position: position as u32, voice: Voice::User };
                let id = format!("D{number}:{}", position + 1);
                let document =
                    Document { id, body, time: later(start, position), turn: Some(turn), ..Document::default() };
                corpus.say(document, line);
            }
            let to = corpus.documents.len();
            corpus.sessions.extend((to > from).then_some(Session { name, date, from, to }));
            number += 1;
        }
        for asked in list(sample, "qa") {
            let named = asked["evidence"].to_string();
            let ids = evidence
                .captures_iter(&named)
                .map(|ids| Some(format!("D{}:{}", ids[1].parse::<u32>().ok()?, ids[2].parse::<u32>().ok()?)));
            let mut gold: Vec<usize> =
                ids.flatten().filter_map(|id| corpus.documents.iter().position(|document| document.id == id)).collect();
            gold.sort_unstable();
            gold.dedup();
            let category = categories[asked["category"].as_u64().unwrap_or(0) as usize].to_owned();
            let question = Question { text: text(asked, "question"), category, gold, wrong: Vec::new() };
            corpus.questions.extend((!question.gold.is_empty()).then_some(question));
        }
        all.push(corpus);
    }
    Ok(all)
}

fn file(dir: &Path, name: &str) -> Result<Value, Failure> {
    let folder = dir.join(name).parent().map(Path::to_owned).unwrap_or_default();
    let stem = name.rsplit('/').next().unwrap_or(name).split("_dev").next().unwrap_or(name);
    let held_back = std::fs::read_dir(&folder)?.flatten().map(|entry| entry.path()).find(|path| {
        path.file_name()
            .is_some_and(|found| found.to_string_lossy().starts_with(stem) && found.to_string_lossy().contains(".json"))
    });
    let named = dir.join(name);
    json(if named.exists() { &named } else { held_back.as_ref().unwrap_or(&named) })
        .map_err(|error| format!("{}: {error}", named.display()).into())
}

fn numbers(value: &Value) -> Vec<i64> {
    match value {
        Value::Array(all) => all.iter().flat_map(numbers).collect(),
        Value::Object(fields) => fields.values().flat_map(numbers).collect(),
        Value::Number(number) => number.as_i64().into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The conversations with every question, and then the pairs of a statement and its update.
pub fn beam(dir: &Path) -> Result<(Vec<Corpus>, Vec<Corpus>), Failure> {
    let (mut all, mut updates) = (Vec::new(), Vec::new());
    for chat in file(dir, "beam/beam_100k_dev.json.gz")?.as_array().ok_or("a list was expected")? {
        let mut corpus = beam_messages(chat);
        let ids: Vec<i64> = list(chat, "messages").iter().filter_map(|message| message["id"].as_i64()).collect();
        let places = |value: &Value| {
            let mut places: Vec<usize> =
                numbers(value).iter().filter_map(|id| ids.iter().position(|known| known == id)).collect();
            places.sort_unstable();
            places.dedup();
            places
        };
        let mut pairs = Corpus { questions: Vec::new(), ..beam_messages(chat) };
        for (category, questions) in chat["probing_questions"].as_object().into_iter().flatten() {
            for asked in questions.as_array().into_iter().flatten() {
                let gold = places(&asked["source_chat_ids"]);
                let ask =
                    |gold, wrong| Question { text: text(asked, "question"), category: category.clone(), gold, wrong };
                let (old, new) = (
                    places(&asked["source_chat_ids"]["original_info"]),
                    places(&asked["source_chat_ids"]["updated_info"]),
                );
                let is_pair = category == "knowledge_update"
                    && !old.is_empty()
                    && !new.is_empty()
                    && old.iter().all(|place| !new.contains(place));
                pairs.questions.extend(is_pair.then(|| ask(new, old)));
                corpus.questions.extend((!gold.is_empty()).then(|| ask(gold, Vec::new())));
            }
        }
        all.push(corpus);
        updates.push(pairs);
    }
    Ok((all, updates))
}

fn beam_messages(chat: &Value) -> Corpus {
    let mut corpus = Corpus::default();
    let mut start = None;
    for (place, message) in list(chat, "messages").iter().enumerate() {
        let anchor = text(message, "time_anchor");
        start = moment("%B-%d-%Y", &anchor).or(start);
        let name = format!("{:>05}", text(message, "batch"));
        if corpus.sessions.last().is_none_or(|last| last.name != name) {
            corpus.sessions.push(Session { name: name.clone(), date: anchor, from: place, to: place });
        }
        if let Some(last) = corpus.sessions.last_mut() {
            last.to = place + 1;
        }
        corpus.say(
            assistant_turn(message, &name, (place, start)),
            format!("{}: {}", text(message, "role"), text(message, "content")),
        );
    }
    corpus
}

fn assistant_turn(message: &Value, session: &str, (place, start): (usize, Option<Timestamp>)) -> Document {
    let voice = if text(message, "role") == "user" { Voice::User } else { Voice::Assistant };
    let turn = Turn { session: session.to_owned(), position: place as u32, voice };
    Document {
        id: format!("{session}/{place:05}"),
        body: text(message, "content"),
        time: later(start, place),
        turn: Some(turn),
        ..Document::default()
    }
}

pub fn longmemeval(dir: &Path) -> Result<Vec<Corpus>, Failure> {
    let pool = file(dir, "longmemeval-pool/pool_dev.json")?;
    let mut corpus = Corpus::default();
    let mut ids = Vec::new();
    for (number, session) in list(&pool, "sessions").iter().enumerate() {
        let date = text(session, "date");
        let start = moment("%Y-%m-%dT%H:%M:%S", &date);
        let (from, name) = (corpus.documents.len(), format!("{number:05}"));
        for (place, turn) in list(session, "turns").iter().enumerate() {
            corpus.say(
                assistant_turn(turn, &name, (place, start)),
                format!("{}: {}", text(turn, "role"), text(turn, "content")),
            );
        }
        let to = corpus.documents.len();
        corpus.sessions.push(Session { name, date, from, to });
        ids.push(text(session, "session_id"));
    }
    for asked in list(&pool, "questions") {
        let gold = list(asked, "gold_session_ids")
            .iter()
            .filter_map(|id| ids.iter().position(|known| Some(known.as_str()) == id.as_str()));
        corpus.questions.push(Question {
            text: text(asked, "question"),
            category: text(asked, "question_type"),
            gold: gold.collect(),
            wrong: Vec::new(),
        });
    }
    Ok(vec![corpus])
}

/// Each case sees the beliefs of its user and scope, superseded ones too: those must not come first.
pub fn precision(dir: &Path) -> Result<Vec<Corpus>, Failure> {
    let beliefs = json(&dir.join("precisionmembench/beliefs.seed.json"))?;
    let cases = json(&dir.join("precisionmembench/retrieval.cases.json"))?;
    let mut all = Vec::new();
    for case in cases.as_array().ok_or("a list was expected")? {
        let user = if text(case, "userId").is_empty() { "test-user".to_owned() } else { text(case, "userId") };
        let scopes = list(case, "scope");
        let in_scope = |belief: &&Value| {
            list(belief, "scope").iter().any(|scope| scopes.contains(scope) || scope == "user:universal")
                && text(belief, "user_id") == user
        };
        let mut corpus = Corpus::default();
        let mut wrong = Vec::new();
        for belief in beliefs.as_array().into_iter().flatten().filter(in_scope) {
            if !belief["superseded_by"].is_null() {
                wrong.push(corpus.documents.len());
            }
            corpus.say(
                belief_document(belief),
                format!(
                    "{} {}",
                    list(belief, "aliases").iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
                    text(belief, "content")
                ),
            );
        }
        let expected = &case["expect"];
        let named = ["relevantBeliefs", "pinnedFacts", "openQuestions"].iter().flat_map(|part| {
            list(&expected[*part], "mustInclude")
                .iter()
                .chain(list(&expected[*part], "shouldOnlyInclude").iter().filter(|_| *part == "relevantBeliefs"))
        });
        let mut gold: Vec<usize> = named
            .filter_map(|id| corpus.documents.iter().position(|document| Some(document.id.as_str()) == id.as_str()))
            .collect();
        gold.sort_unstable();
        gold.dedup();
        let question = Question { text: text(case, "query"), category: text(case, "category"), gold, wrong };
        if !question.gold.is_empty() {
            corpus.questions.push(question);
            all.push(corpus);
        }
    }
    Ok(all)
}

fn belief_document(belief: &Value) -> Document {
    let aliases: Vec<&str> = list(belief, "aliases").iter().filter_map(Value::as_str).collect();
    Document {
        id: text(belief, "_id"),
        name: text(belief, "canonical_name"),
        description: aliases.join(", "),
        body: text(belief, "content"),
        time: text(belief, "updated_at").parse().ok(),
        ..Document::default()
    }
}

/// Lists of facts in which later ones overwrite earlier ones; gold is every fact that holds the newest value.
pub fn facts(dir: &Path) -> Result<Vec<(String, Corpus)>, Failure> {
    let number = Regex::new(r"^\d+\.\s*")?;
    let mut all = Vec::new();
    for list_of_facts in json(&dir.join("memoryagentbench/Conflict_Resolution.json"))?.as_array().into_iter().flatten()
    {
        let source = text(&list_of_facts["metadata"], "source");
        if !source.contains("_sh_") {
            continue;
        }
        let mut corpus = Corpus::default();
        let context = text(list_of_facts, "context");
        for (place, fact) in context.lines().filter(|line| number.is_match(line)).enumerate() {
            let body = number.replace(fact, "").into_owned();
            let document = Document {
                id: format!("{place:06}"),
                body: body.clone(),
                time: later(Some(Timestamp::UNIX_EPOCH), place),
                ..Document::default()
            };
            corpus.say(document, body);
        }
        let lower: Vec<String> = corpus.lines.iter().map(|line| line.to_lowercase()).collect();
        for (asked, answers) in list(list_of_facts, "questions").iter().zip(list(list_of_facts, "answers")) {
            let answers: Vec<String> = answers
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|answer| Some(answer.as_str()?.to_lowercase()))
                .collect();
            let gold =
                (0..lower.len()).filter(|place| answers.iter().any(|answer| lower[*place].contains(answer))).collect();
            corpus.questions.push(Question {
                text: asked.as_str().unwrap_or_default().to_owned(),
                category: String::new(),
                gold,
                wrong: Vec::new(),
            });
        }
        all.push((source, corpus));
    }
    Ok(all)
}

/// A prompt, and which memories it should bring.
pub struct Prompt {
    pub text: String,
    pub difficulty: String,
    /// Places in the store.
    pub relevant: Vec<usize>,
    pub must: Vec<usize>,
}

/// Memories, and prompts that should or should not bring some of them.
pub fn push(file: &Path) -> Result<(Corpus, Vec<Prompt>), Failure> {
    let data = json(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut corpus = Corpus::default();
    let mut paths = Vec::new();
    for memory in list(&data, "memories") {
        let (document, path) = (memory_document(&text(memory, "file")), text(memory, "path"));
        let line = [document.name.as_str(), &document.description, &document.body].join("\n");
        corpus.say(Document { id: path.clone(), ..document }, line);
        paths.push(path);
    }
    let places = |value: &Value, field: &str| {
        let named = list(value, field).iter().filter_map(Value::as_str);
        named.filter_map(|path| paths.iter().position(|known| known == path)).collect::<Vec<_>>()
    };
    let prompts = list(&data, "prompts").iter().map(|prompt| Prompt {
        text: text(prompt, "text"),
        difficulty: text(prompt, "difficulty"),
        relevant: places(prompt, "relevant"),
        must: places(prompt, "must"),
    });
    let prompts: Vec<Prompt> = prompts.collect();
    for prompt in &prompts {
        let (text, category) = (prompt.text.clone(), prompt.difficulty.clone());
        corpus.questions.push(Question { text, category, gold: prompt.relevant.clone(), wrong: Vec::new() });
    }
    Ok((corpus, prompts))
}

/// A memory's file as the program reads it: three lines of a header, then the text.
fn memory_document(file: &str) -> Document {
    let mut parts = file.splitn(3, "---\n");
    let (_, head, body) = (parts.next(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let field = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_default().to_owned()
    };
    let (name, description, kind) = (field("name"), field("description"), field("type"));
    Document { name, description, kind, body: body.trim().to_owned(), ..Document::default() }
}

/// Memories of somebody else: two neighbouring sentences each of what was said in other sets. None of them is what is asked for.
pub fn others(dir: &Path, count: usize) -> Result<Vec<Document>, Failure> {
    let mut lines: Vec<String> = Vec::new();
    for corpus in locomo(dir)?.iter().chain(&beam(dir)?.0) {
        for document in &corpus.documents {
            let sentences = document.body.split_inclusive(['.', '!', '?', '\n']).map(str::trim);
            lines.extend(sentences.filter(|line| (30..300).contains(&line.len())).map(str::to_owned));
        }
    }
    let step = 7919 % lines.len().max(1);
    let document = |number: usize| {
        let at = (number * step + number / lines.len().max(1)) % (lines.len() - 1);
        let (name, body) = (&lines[at], format!("{}\n{}", lines[at], lines[at + 1]));
        let name = name.split(' ').take(6).collect::<Vec<_>>().join(" ");
        Document { id: format!("other-{number:06}"), name, description: lines[at].clone(), body, ..Document::default() }
    };
    Ok((0..count).map(document).collect())
}

/// A question, an earlier statement and a later one.
pub struct Told {
    pub kind: String,
    pub question: String,
    pub statements: [String; 2],
}

/// The pairs that are kept beside this file, or in another file of the same form: kind, question, earlier, later, by tabs.
pub fn pairs(file: Option<&Path>) -> Result<Vec<Told>, Failure> {
    let text = file.map_or_else(|| Ok(include_str!("pairs.tsv").to_owned()), std::fs::read_to_string)?;
    let mut pairs = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [kind, question, earlier, later] = fields.as_slice() else {
            return Err(format!("a pair has four fields, by tabs: {line}").into());
        };
        let statements = [(*earlier).to_owned(), (*later).to_owned()];
        pairs.push(Told { kind: (*kind).to_owned(), question: (*question).to_owned(), statements });
    }
    Ok(pairs)
}
