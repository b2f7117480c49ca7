//! What is not worth a memory, whoever said it: what is written down elsewhere, what passes, what would harm.

use super::super::footing::shared;
use super::super::recall::content_words;
use super::super::{Kind, Memory, Topic, Trust, freshness, similarity};
use super::Grounds;
use super::draft::Draft;
use super::evidence::sentences;
use super::support::bearing;
use crate::limits::Limits;
use crate::secrets;
use regex::Regex;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;
use tokio_util::sync::CancellationToken;

/// Of a memory's words, in percent, that stand elsewhere in one place when it says nothing new.
const SAME: usize = 80;
/// Of a memory's words, in percent, that must still be there after it was changed.
const KEPT: usize = 50;
/// With fewer words two texts are alike by chance.
const FEW: usize = 3;

/// One alternative a line.
fn pattern(lines: &str) -> Option<Regex> {
    Regex::new(&format!("(?i){}", lines.lines().collect::<Vec<_>>().join("|"))).ok()
}

static TASK: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(include_str!("words/task.txt")));
static FIX: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(include_str!("words/fix.txt")));
static GIT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(include_str!("words/git.txt")));
static UNKIND: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(include_str!("words/unkind.txt")));
static ABOUT: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(include_str!("words/about.txt")));
static CODE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&include_str!("words/code.txt").lines().collect::<Vec<_>>().join("|")).ok());

fn hits(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Why a text should not be kept, whatever else is known: credentials, passing states, recipes, unkindness.
pub(super) fn passing(draft: &Draft, limits: &Limits) -> Option<String> {
    let secret = |text: &String| secrets::scan(text).into_iter().next();
    if let Some(found) = secret(&draft.text).or_else(|| draft.cites.iter().find_map(secret)) {
        return Some(format!("it holds a credential ({}); credentials are never kept", found.rule));
    }
    let topic = draft.added(limits);
    let text = [topic.name.as_str(), &topic.description, &topic.body].join("\n");
    let about_person = matches!(topic.kind, Kind::User | Kind::Feedback);
    let unkind = |sentence: &str| hits(&UNKIND, sentence) && hits(&ABOUT, sentence);
    match () {
        () if about_person && sentences(&text).any(unkind) => {
            Some("it judges the person; keep what helps to work with them, or nothing".to_owned())
        }
        () if hits(&FIX, &text) => {
            Some("it tells how something was fixed; the fix is in the code and its story in the commit".to_owned())
        }
        () if hits(&GIT, &text) => Some("git knows what was changed, when and by whom".to_owned()),
        () if hits(&TASK, &text) => {
            Some("it describes where the present work stands; that belongs to the task list or the notes".to_owned())
        }
        () => None,
    }
}

/// Why a text says nothing new: instruction files or the code say it. Blocks: the tree is walked.
pub(super) fn derivable(draft: &Draft, grounds: &Grounds, limits: &Limits) -> Option<String> {
    let topic = draft.topic(limits);
    let words = stated(&topic);
    let told = |part: &str| words.len() >= FEW && shared(&words, &content_words(part)) >= SAME;
    if grounds.instructions.iter().any(|text| text.split("\n\n").flat_map(parts).any(told)) {
        return Some("an instruction file says this already, and it is read in every session".to_owned());
    }
    let code = CODE.as_ref()?;
    let all = topic.body.split_whitespace().count();
    let named = code.find_iter(&topic.body).count();
    let rest = code.replace_all(&topic.body, " ");
    let prose = bearing(&rest).len();
    if topic.kind == Kind::Reference || named < FEW || named * 2 < prose || all == 0 {
        return None;
    }
    let memory = freshness::Memory { path: Path::new(&draft.path), text: &topic.body };
    let gone = freshness::drift(&[memory], &grounds.root, limits, &CancellationToken::new());
    let all_there = gone.iter().all(Vec::is_empty) && mentions_what_is_there(&topic.body, code, &grounds.root);
    all_there.then(|| "the code says this itself: paths and names can be read there".to_owned())
}

/// A paragraph, and each of its lines.
fn parts(paragraph: &str) -> impl Iterator<Item = &str> {
    std::iter::once(paragraph).chain(paragraph.lines())
}

fn mentions_what_is_there(body: &str, code: &Regex, root: &Path) -> bool {
    let paths = code.find_iter(body).map(|found| found.as_str().trim_matches('`'));
    paths.into_iter().any(|word| root.join(word).starts_with(root) && root.join(word).exists())
}

/// What a memory states, without why and how to apply it: that much is the same in many.
fn stated(topic: &Topic) -> BTreeSet<String> {
    let end = ["**Why", "**How"].iter().filter_map(|part| topic.body.find(part)).min().unwrap_or(topic.body.len());
    bearing(&topic.body[..end])
}

/// Why this memory is not to be written beside those that are there, or not in this way. What waits for the person's word
/// stands in nobody's way who has it.
pub(super) fn known(draft: &Draft, trust: Trust, memory: &Memory) -> Option<String> {
    let limits = &memory.limits;
    let topic = draft.topic(limits);
    if let Some(before) = &draft.before {
        let was = content_words(&Topic::read(before, limits).body);
        let is = content_words(&topic.body);
        let loses = was.len() > 2 * FEW && shared(&was, &is) < KEPT;
        return loses
            .then(|| "it drops most of what the file says; keep what still holds, or write another file".to_owned());
    }
    let twin = match trust {
        Trust::Tainted => similarity::known_or_unconfirmed(memory, &topic),
        _ => similarity::known(memory, &topic),
    }?;
    Some(format!("{twin} says nearly the same; read it, and change it there if something is new"))
}
