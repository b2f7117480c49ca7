//! What a conversation's window holds under some policy, what the policy hid, and what that costs later.

use crate::sessions::{Kind, Piece};
use std::sync::Arc;

/// Prices in units of one plain input token.
pub const READ: f64 = 0.1;
pub const WRITE_5M: f64 = 1.25;
pub const WRITE_1H: f64 = 2.0;
pub const OUTPUT: f64 = 5.0;
/// Of every compaction.
pub const SUMMARY: u64 = 3_500;
pub const RESTORED: u64 = 10_000;
/// A "cleared" marker.
pub const MARK: u64 = 20;
/// Characters shown of a stored result.
pub const PREVIEW: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Whole,
    Stored,
    Cleared,
}

#[derive(Debug, Clone)]
pub enum What {
    Base,
    Words,
    Tool { text: Arc<str> },
}

#[derive(Debug, Clone)]
pub struct Segment {
    pub id: u64,
    pub form: Form,
    pub tokens: u64,
    pub what: What,
}

impl Segment {
    /// Changes whenever the bytes do.
    pub fn bytes(&self) -> [u8; 9] {
        let mut bytes = [self.form as u8; 9];
        bytes[..8].copy_from_slice(&self.id.to_be_bytes());
        bytes
    }
}

struct Hidden {
    text: Arc<str>,
    from: usize,
    chars: usize,
}

impl Hidden {
    fn holds(&self, key: &str) -> bool {
        self.text[self.from..].contains(key)
    }
}

pub struct Window {
    pub segments: Vec<Segment>,
    pub ratio: f64,
    hidden: Vec<Hidden>,
    next: u64,
    pub edits: u64,
    pub edits_hidden: u64,
    /// Reading hidden text again.
    pub reread: f64,
    /// Summaries written by a model.
    pub extra: f64,
    pub compactions: u64,
}

impl Window {
    pub fn new(base: u64, ratio: f64) -> Self {
        let segments = vec![Segment { id: 0, form: Form::Whole, tokens: base, what: What::Base }];
        let (hidden, next) = (Vec::new(), 1);
        Self { segments, ratio, hidden, next, edits: 0, edits_hidden: 0, reread: 0.0, extra: 0.0, compactions: 0 }
    }

    pub fn tokens_of(&self, chars: usize) -> u64 {
        ((chars as f64 * self.ratio) as u64).max(1)
    }

    pub fn total(&self) -> u64 {
        self.segments.iter().map(|segment| segment.tokens).sum()
    }

    pub fn push(&mut self, tokens: u64, what: What) {
        self.segments.push(Segment { id: self.next, form: Form::Whole, tokens, what });
        self.next += 1;
    }

    /// A segment for elsewhere.
    pub fn fresh(&mut self, tokens: u64, what: What) -> Segment {
        self.next += 1;
        Segment { id: self.next - 1, form: Form::Whole, tokens, what }
    }

    /// Add a piece; a tool result of more characters than these goes in as a preview.
    pub fn add(&mut self, piece: &Piece, most: usize) {
        let tokens = self.tokens_of(piece.chars);
        match &piece.kind {
            Kind::Compacted | Kind::Summary => {}
            Kind::User => self.push(tokens, What::Words),
            Kind::Assistant { edit } => {
                if let Some(key) = edit {
                    self.edit(key);
                }
                self.push(tokens, What::Words);
            }
            Kind::Tool { text } => {
                let what = What::Tool { text: text.clone() };
                if piece.chars <= most {
                    return self.push(tokens, what);
                }
                let from = text.char_indices().nth(PREVIEW).map_or(text.len(), |(at, _)| at);
                self.hide(text.clone(), from);
                let shown = self.tokens_of(PREVIEW) + 40;
                self.push(shown, what);
                if let Some(last) = self.segments.last_mut() {
                    last.form = Form::Stored;
                }
            }
        }
    }

    pub fn hide(&mut self, text: Arc<str>, from: usize) {
        let chars = text[from..].chars().count();
        self.hidden.push(Hidden { text, from, chars });
    }

    pub fn hide_segment(&mut self, segment: &Segment) {
        if let What::Tool { text } = &segment.what {
            self.hide(text.clone(), 0);
        }
    }

    /// An edit whose text was hidden costs one more call that reads it back, six thousand tokens at most.
    fn edit(&mut self, key: &str) {
        self.edits += 1;
        if key.is_empty() {
            return;
        }
        let longest = self.hidden.iter().filter(|hidden| hidden.holds(key)).map(|hidden| hidden.chars).max();
        let visible = |segment: &Segment| match &segment.what {
            What::Tool { text } => segment.form == Form::Whole && text.contains(key),
            _ => false,
        };
        let Some(longest) = longest else { return };
        if !self.segments.iter().any(visible) {
            self.edits_hidden += 1;
            let again = self.tokens_of(longest).min(6_000) as f64;
            self.reread += READ * self.total() as f64 + WRITE_5M * again + OUTPUT * 120.0;
        }
    }

    pub fn clear(&mut self, places: &[usize]) {
        for at in places {
            let segment = self.segments[*at].clone();
            self.hide_segment(&segment);
            self.segments[*at] = Segment { form: Form::Cleared, tokens: MARK, ..segment };
        }
    }

    /// Tool results that could still be cleared, the newest `keep` spared.
    pub fn clearable(&self, keep: usize) -> Vec<usize> {
        let is_candidate = |segment: &Segment| match &segment.what {
            What::Tool { .. } => segment.form != Form::Cleared,
            _ => false,
        };
        let mut places: Vec<usize> = (0..self.segments.len()).filter(|at| is_candidate(&self.segments[*at])).collect();
        places.truncate(places.len().saturating_sub(keep));
        places.retain(|at| self.segments[*at].tokens > MARK);
        places
    }
}
