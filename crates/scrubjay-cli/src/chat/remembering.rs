//! Memory in the chat: what the commands do, with the same receipts.

use super::Chat;
use crate::commands::{memory as look, recall};
use crate::failure::Failure;
use crate::memories::draft::{Asked, Draft, read_file};
use crate::memories::receipt::Told;
use crate::memories::{self, forget, undo};
use crate::paper::{Tone, unwritten};
use jiff::Zoned;
use scrubjay::memory::Memory;
use scrubjay::paths::expand_home;

impl Chat {
    pub(super) fn memories(&self) -> Result<Memory, Failure> {
        memories::open(&self.seat.workplace, &self.paper)
    }

    pub(super) fn memory(&mut self, name: Option<&str>) -> Result<(), Failure> {
        let (memory, ink) = (self.memories()?, self.paper.ink);
        let words = match name {
            None => look::ls_words(&memory, ink)?,
            Some(name) => look::show_words(&memory, name, &self.seat.workplace, ink)?,
        };
        self.say(&words)
    }

    /// A line that begins with `#`. What went wrong is said, and the chat goes on.
    pub(super) fn remember_line(&mut self, line: &str) -> Result<(), Failure> {
        match self.remember(Some(line.trim_start_matches('#').trim())) {
            Err(failure) if !failure.message.is_empty() => self.complain(&failure),
            done => done,
        }
    }

    pub(super) fn remember(&mut self, text: Option<&str>) -> Result<(), Failure> {
        let text = given(text, "what should be remembered?", "/remember never mock the database")?;
        let file = text.strip_prefix("--file").filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '=']));
        let text = match file.map(|file| file.trim_start_matches('=').trim()) {
            Some("") => return Err(Failure::usage("which file?").fix("/remember --file docs/decisions.md")),
            Some(file) => {
                let file = expand_home(file, &self.seat.workplace.places.home);
                read_file(&self.seat.workplace.dir.join(file), &self.seat.workplace.limits)?
            }
            None => text.to_owned(),
        };
        let asked = Asked { text: &text, ..Asked::default() };
        let draft = Draft::of(&asked, Zoned::now().date(), &self.seat.workplace.limits)?;
        let told = draft.save(&mut self.memories()?)?;
        self.tell(&told)
    }

    pub(super) fn forget(&mut self, name: Option<&str>) -> Result<(), Failure> {
        let name = given(name, "which memory?", "/memory lists them; /forget NAME puts one into the trash")?;
        let told = match name.strip_prefix("--source").map(str::trim).filter(|source| !source.is_empty()) {
            Some(source) => memories::forget_source(&mut self.memories()?, source, &self.seat.workplace)?,
            None => forget(&mut self.memories()?, &[name.to_owned()])?,
        };
        self.tell(&told)
    }

    pub(super) async fn recall(&mut self, query: Option<&str>) -> Result<(), Failure> {
        let query = given(query, "what should be looked for?", "/recall how do we test")?;
        let words = recall::words(query, &self.seat.workplace, &self.paper).await?;
        self.say(&words)
    }

    pub(super) fn undo(&mut self, change: Option<u64>) -> Result<(), Failure> {
        let told = undo(&mut self.memories()?, change)?;
        self.tell(&told)
    }

    pub(super) fn tell(&mut self, told: &Told) -> Result<(), Failure> {
        if !told.receipt().outcomes.is_empty() {
            self.say(&told.words(self.paper.ink, "/undo"))?;
        }
        for note in told.notes() {
            self.screen.aside(Tone::Faint, note).map_err(unwritten)?;
        }
        Ok(())
    }
}

fn given<'a>(typed: Option<&'a str>, question: &str, example: &str) -> Result<&'a str, Failure> {
    typed.filter(|typed| !typed.is_empty()).ok_or_else(|| Failure::usage(question).fix(example))
}
