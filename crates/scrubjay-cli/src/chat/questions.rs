//! Questions about the memory: what the program asks, and the user answers with `k` or `d` at the next prompt. A yes covers
//! exactly what was shown; anything else goes to the model, and the question stays in the inbox.

use super::Chat;
use super::screen::Screen;
use crate::failure::Failure;
use crate::memories::dreams::apply;
use crate::memories::{make, news};
use crate::paper::{Ink, Tone, counted, unwritten};
use scrubjay::digest::Digest;
use scrubjay::event::{Event, MemoryEvent, MemoryQuestion, QuestionId};
use scrubjay::limits::Limits;
use scrubjay::memory::dreaming::Proposal;
use scrubjay::memory::{Edit, Entry, Topic, Trust, What};
use scrubjay::tools::shown;
use std::io::Write;

/// How much of what is asked about is shown at once; a yes to more comes after a look at all of it.
const MOST_LINES: usize = 12;
const MOST_CHARS: usize = 1_200;

/// The questions that can be answered now.
#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: Vec<Waiting>,
    /// The user knows where questions stay.
    told: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Waiting {
    number: usize,
    question: MemoryQuestion,
    /// All of it was shown.
    whole: bool,
    /// It came while the user was typing something else.
    came_late: bool,
    /// There was a prompt at which it could be answered.
    had_prompt: bool,
}

/// What the user answered.
#[derive(Debug, Clone)]
pub(super) enum Verdict {
    Keep(Waiting),
    Drop(Waiting),
    /// Nothing that can be done, and why.
    Unclear(String),
}

impl Questions {
    /// Take a question in, and say it.
    fn ask(&mut self, question: &MemoryQuestion, came_late: bool, (limits, ink): (&Limits, Ink)) -> Vec<String> {
        self.waiting.retain(|known| known.question.id != question.id);
        let number = self.waiting.iter().map(|known| known.number).max().unwrap_or_default() + 1;
        let (lines, whole) = excerpt(question, limits);
        let waiting = Waiting { number, question: question.clone(), whole, came_late, had_prompt: false };
        let mut said = vec![waiting.head(ink)];
        said.extend(lines.iter().map(|line| format!("    {line}")));
        if !whole {
            said.push(ink.paint(Tone::Faint, &format!("    … {} shows all of it first", waiting.key('k'))));
        }
        self.waiting.push(waiting);
        said
    }

    /// Whether a line answers a question, and how.
    pub(super) fn verdict(&mut self, line: &str) -> Option<Verdict> {
        let keeps = match line.chars().next()? {
            'k' => true,
            'd' => false,
            _ => return None,
        };
        let number = &line[1..];
        if self.waiting.is_empty() || !number.chars().all(|c| c.is_ascii_digit()) {
            return None;
        }
        let at = match (number.parse::<usize>(), self.waiting.as_slice()) {
            (Err(_), [_]) => Some(0),
            (Err(_), _) => None,
            (Ok(number), waiting) => waiting.iter().position(|known| known.number == number),
        };
        let Some(at) = at else {
            let key = if keeps { 'k' } else { 'd' };
            let keys: Vec<String> = self.waiting.iter().map(|known| format!("{key}{}", known.number)).collect();
            return Some(Verdict::Unclear(format!("which one? {}", keys.join(", "))));
        };
        let answered = self.waiting.remove(at);
        Some(if keeps { Verdict::Keep(answered) } else { Verdict::Drop(answered) })
    }
}

impl Waiting {
    /// What to press for it.
    fn key(&self, letter: char) -> String {
        if self.number == 1 { letter.to_string() } else { format!("{letter}{}", self.number) }
    }

    fn head(&self, ink: Ink) -> String {
        let keys = format!(" · {} keep · {} drop", self.key('k'), self.key('d'));
        format!("{}{}", ink.paint(Tone::Warning, &shown(&self.question.to_string())), ink.paint(Tone::Faint, &keys))
    }
}

/// What exactly is asked about, and whether that is all of it.
fn excerpt(question: &MemoryQuestion, limits: &Limits) -> (Vec<String>, bool) {
    let text = match question.id {
        QuestionId::Proposal { .. } => question.text.clone(),
        QuestionId::Memory { .. } => whole_memory(&question.text, limits),
    };
    let text = shown(text.trim_end()).into_owned();
    let (mut lines, mut room) = (Vec::new(), MOST_CHARS);
    for line in text.lines() {
        let length = line.chars().count();
        if lines.len() >= MOST_LINES || length > room {
            return (lines, false);
        }
        room -= length;
        lines.push(line.to_owned());
    }
    (lines, true)
}

/// Everything a memory says: its type, its description where the text does not repeat it, and the text.
fn whole_memory(text: &str, limits: &Limits) -> String {
    let topic = Topic::read(text, limits);
    let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let body = topic.body.trim();
    match plain(body).contains(&plain(&topic.description)) {
        true => format!("{}: {body}", topic.kind.as_str()),
        false => format!("{}: {}\n{body}", topic.kind.as_str(), topic.description),
    }
}

/// What an event looks like above the line that is being typed.
pub(super) fn told<W: Write>(
    questions: &mut Questions,
    screen: &Screen<W>,
    event: &Event,
    limits: &Limits,
) -> Vec<String> {
    match event {
        Event::Memory(MemoryEvent::Question(question)) => questions.ask(question, true, (limits, screen.ink())),
        event => vec![screen.told(event)],
    }
}

impl Chat {
    /// Show what happened.
    pub(super) fn show(&mut self, event: &Event) -> Result<(), Failure> {
        let Event::Memory(MemoryEvent::Question(question)) = event else {
            return self.screen.show(event).map_err(unwritten);
        };
        self.put(question, false)
    }

    /// What happened while the chat was being left: nothing can be answered here any more.
    pub(super) fn told_at_the_end(&self, event: &Event) -> String {
        match event {
            Event::Memory(event) => self.paper.ink.paint(Tone::Faint, &shown(&news::words(event, "scrubjay undo"))),
            event => self.screen.told(event),
        }
    }

    fn put(&mut self, question: &MemoryQuestion, came_late: bool) -> Result<(), Failure> {
        let how = (&*self.seat.workplace.limits, self.paper.ink);
        let lines = self.questions.ask(question, came_late, how);
        lines.iter().try_for_each(|line| self.say(line))
    }

    /// Before the prompt: what came while the user was typing is said once more.
    pub(super) fn ask_again(&mut self) -> Result<(), Failure> {
        let ink = self.paper.ink;
        let fresh = self.questions.waiting.iter_mut().filter(|known| !known.had_prompt);
        let heads: Vec<String> = fresh
            .filter_map(|known| {
                known.had_prompt = true;
                known.came_late.then(|| known.head(ink))
            })
            .collect();
        heads.iter().try_for_each(|head| self.say(head))
    }

    /// The user goes on with something else: what could have been answered stays in the inbox.
    pub(super) fn leave_questions(&mut self) -> Result<(), Failure> {
        let before = self.questions.waiting.len();
        self.questions.waiting.retain(|known| !known.had_prompt);
        let left = before - self.questions.waiting.len();
        if left == 0 || self.questions.told {
            return Ok(());
        }
        self.questions.told = true;
        let (stays, it) = if left == 1 { ("stays", "it") } else { ("stay", "them") };
        self.aside(&format!("{} {stays} in the inbox: /memory inbox shows {it}", counted(left as u64, "question")))
    }

    /// Do what the user answered.
    pub(super) fn settle(&mut self, verdict: Verdict) -> Result<(), Failure> {
        let done = match verdict {
            Verdict::Unclear(words) => self.aside(&words),
            Verdict::Keep(waiting) if !waiting.whole => self.show_whole(waiting),
            Verdict::Keep(waiting) => self.decide(waiting.question, true),
            Verdict::Drop(waiting) => self.decide(waiting.question, false),
        };
        match done {
            Err(failure) if !failure.message.is_empty() => self.complain(&failure),
            done => done,
        }
    }

    /// Nobody says yes to what they have not seen.
    fn show_whole(&mut self, waiting: Waiting) -> Result<(), Failure> {
        let text = match waiting.question.id {
            QuestionId::Proposal { .. } => waiting.question.text.clone(),
            QuestionId::Memory { .. } => whole_memory(&waiting.question.text, &self.seat.workplace.limits),
        };
        let waiting = Waiting { whole: true, ..waiting };
        self.say(shown(text.trim_end()).as_ref())?;
        self.say(&waiting.head(self.paper.ink))?;
        self.questions.waiting.push(waiting);
        Ok(())
    }

    fn decide(&mut self, question: MemoryQuestion, keeps: bool) -> Result<(), Failure> {
        match question.id.clone() {
            QuestionId::Memory { path, digest } => self.decide_on_memory(question, &path, digest, keeps),
            QuestionId::Proposal { id } => self.decide_on_proposal(&question.title, &id, keeps),
        }
    }

    fn decide_on_memory(
        &mut self,
        question: MemoryQuestion,
        path: &str,
        digest: Digest,
        keeps: bool,
    ) -> Result<(), Failure> {
        let mut memory = self.memories()?;
        let Some((entry, text)) = memory.text(path)? else {
            return self.aside(&format!("{} is gone already", question.title));
        };
        if !memory.rests_on(path).is_some_and(|basis| basis.trust == Trust::Tainted) {
            return self.aside(&format!("{} is decided already", question.title));
        }
        if entry.digest != digest {
            return self.ask_about_change(question, (entry, text));
        }
        let edit = if keeps { Edit::confirm(&entry) } else { Edit::remove(&entry) };
        let told = make(&mut memory, vec![Edit { base: Some(digest), ..edit }])?;
        let stays = told.receipt().outcomes.iter().any(|outcome| outcome.what == What::Stays);
        if let (true, Some(now)) = (stays, memory.text(path)?) {
            return self.ask_about_change(question, now);
        }
        let word = if keeps { "remembered" } else { "dropped" };
        self.say_done(word, &question.title, told.receipt().change.0)
    }

    /// It is not what was shown any more: a yes to that is none to this.
    fn ask_about_change(&mut self, question: MemoryQuestion, (entry, text): (Entry, String)) -> Result<(), Failure> {
        self.aside("it has changed since it was shown, so nothing was decided; this is what it says now:")?;
        let id = QuestionId::Memory { path: entry.path, digest: entry.digest };
        self.put(&MemoryQuestion { id, text, ..question }, false)
    }

    fn decide_on_proposal(&mut self, title: &str, id: &str, keeps: bool) -> Result<(), Failure> {
        let dreams = self.dreams()?;
        let Some(proposal) = dreams.proposals().into_iter().find(|known: &Proposal| known.id == id) else {
            return self.aside(&format!("{title} is decided already"));
        };
        if !keeps {
            dreams.reject(id)?;
            let undo = self.paper.ink.paint(Tone::Faint, &format!(" · /memory inbox reopen {id}"));
            return self.say(&format!("✓ dropped: {}{undo}", shown(title)));
        }
        let told = apply(&dreams, &proposal)?;
        if !told.receipt().changed() {
            return self.aside(&format!("{title}: the memory has changed since, so nothing was done"));
        }
        self.say_done("done", title, told.receipt().change.0)?;
        told.notes().iter().try_for_each(|note| self.aside(note))
    }

    fn say_done(&mut self, word: &str, title: &str, change: u64) -> Result<(), Failure> {
        let undo = self.paper.ink.paint(Tone::Faint, &format!(" · /undo {change}"));
        self.say(&format!("✓ {word}: {}{undo}", shown(title)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(name: &str, text: &str) -> MemoryQuestion {
        let id = QuestionId::Memory { path: format!("{name}.md"), digest: Digest::of(text.as_bytes()) };
        MemoryQuestion { id, title: name.to_owned(), text: text.to_owned(), doubt: "a note".to_owned() }
    }

    fn asked(questions: &mut Questions, name: &str, text: &str) -> Vec<String> {
        questions.ask(&question(name, text), false, (&Limits::default(), Ink::Plain))
    }

    // spec: X5
    #[test]
    fn a_single_letter_answers_and_several_questions_need_a_number() {
        let mut questions = Questions::default();
        assert!(questions.verdict("k").is_none(), "nothing is asked");
        let said = asked(
            &mut questions,
            "Tea",
            "---\nname: Tea\ndescription: Tea is at four\ntype: project\n---\nTea is at four.\n",
        );
        assert_eq!(said, ["? unconfirmed: Tea (a note) · k keep · d drop", "    project: Tea is at four."]);
        for words in ["keep", "kk", "k 1", "K", "yes", "d-", "k1x"] {
            assert!(questions.verdict(words).is_none(), "{words} goes to the model");
        }
        let said = asked(&mut questions, "Cake", "Cake is at five.\n");
        assert!(said[0].ends_with("· k2 keep · d2 drop"), "{said:?}");
        assert!(matches!(questions.verdict("k"), Some(Verdict::Unclear(words)) if words.contains("k1, k2")));
        assert!(matches!(questions.verdict("d3"), Some(Verdict::Unclear(_))));
        assert!(matches!(questions.verdict("d2"), Some(Verdict::Drop(one)) if one.question.title == "Cake"));
        assert!(matches!(questions.verdict("k"), Some(Verdict::Keep(one)) if one.question.title == "Tea"));
    }

    // spec: X5
    #[test]
    fn a_yes_needs_all_of_a_long_text_to_be_shown() {
        let mut questions = Questions::default();
        let long: String = (0..40).map(|n| format!("line {n}\n")).collect();
        let said = asked(&mut questions, "Long", &long);
        assert_eq!(said.len(), 1 + MOST_LINES + 1, "{said:?}");
        assert!(said.last().is_some_and(|last| last.contains("k shows all of it first")), "{said:?}");
        assert!(matches!(questions.verdict("k"), Some(Verdict::Keep(one)) if !one.whole));
    }
}
