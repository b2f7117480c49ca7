//! `/dream` and `/memory inbox` in the chat: the same as the commands, with the same receipts.

use super::keyboard::{Purpose, Typed};
use super::{Chat, Next};
use crate::failure::Failure;
use crate::memories::dreams::{self, Wish, apply, chosen, rejected};
use crate::memories::inbox::{self, Decision, Inbox, Which};
use crate::paper::{Tone, unwritten};
use scrubjay::memory::dreaming::Dreams;
use scrubjay::tools::shown;

impl Chat {
    pub(super) async fn dream(&mut self, wish: Wish) -> Result<Next, Failure> {
        match wish {
            Wish::Dream => return self.dream_now().await,
            Wish::Rehearse => self.rehearse_dream()?,
            Wish::Diff(id) => {
                let proposal = chosen(&self.dreams()?, id.as_deref())?;
                self.say(shown(&proposal.to_string()).trim_end())?;
            }
            Wish::Apply(id) => {
                let dreams = self.dreams()?;
                let told = apply(&dreams, &chosen(&dreams, id.as_deref())?)?;
                self.tell(&told)?;
            }
            Wish::Reject(id) => {
                let dreams = self.dreams()?;
                let proposal = chosen(&dreams, id.as_deref())?;
                dreams.reject(&proposal.id)?;
                self.say(&rejected(&proposal.id))?;
            }
        }
        Ok(Next::Stay)
    }

    /// What waits for the user, and their answer.
    pub(super) async fn inbox(&mut self, wish: &inbox::Wish) -> Result<(), Failure> {
        let (mut memory, dreams) = (self.memories()?, self.dreams()?);
        let (inbox, ink) = (Inbox::of(&memory, &dreams), self.paper.ink);
        let (which, decision) = match wish {
            inbox::Wish::List => return self.say(&inbox.words(ink, "/memory inbox")),
            inbox::Wish::Show(which) => {
                let whole = inbox.one(which)?.whole(&memory, ink)?;
                return self.say(&whole);
            }
            inbox::Wish::Reopen(id) => {
                dreams.reopen(id)?;
                return self.aside(&format!("{} waits again", shown(id)));
            }
            inbox::Wish::Keep(which) => (which, Decision::Keep),
            inbox::Wish::Drop(which) => (which, Decision::Drop),
        };
        let items = inbox.find(which)?;
        if *which == Which::All {
            self.say(&inbox.words(ink, "/memory inbox"))?;
            let typed = self.keyboard.read(&inbox::confirmation(&items, decision), Purpose::Answer).await;
            if !matches!(typed, Typed::Line(line) if inbox::is_yes(&line)) {
                return self.aside(inbox::LEFT);
            }
        }
        for done in inbox::decide(&items, decision, &mut memory, &dreams)? {
            self.say(&done.words(ink, "/undo"))?;
        }
        Ok(())
    }

    pub(super) fn dreams(&self) -> Result<Dreams, Failure> {
        dreams::open(&self.seat.workplace, &self.paper)
    }

    async fn dream_now(&mut self) -> Result<Next, Failure> {
        self.aside("dreaming: what it would tidy is proposed, and nothing is changed; Ctrl-C stops it")?;
        let (dreamt, next) = self
            .stay_with(async move |mut session| {
                let dreamt = dreams::dream(&mut session).await;
                (session, dreamt)
            })
            .await?;
        match dreamt {
            Some(Ok(dreamt)) => self.say(&dreamt.words(self.paper.ink, "/dream "))?,
            Some(Err(failure)) => self.screen.aside(Tone::Warning, &failure.to_string()).map_err(unwritten)?,
            None => {}
        }
        Ok(next)
    }

    fn rehearse_dream(&mut self) -> Result<(), Failure> {
        let (diffs, notes) = dreams::rehearsal(&self.dreams()?)?;
        for diff in &diffs {
            self.say(shown(&diff.to_string()).trim_end())?;
        }
        for note in &notes {
            self.aside(&shown(note))?;
        }
        self.aside("nothing was changed: this only shows what code alone would do")
    }
}
