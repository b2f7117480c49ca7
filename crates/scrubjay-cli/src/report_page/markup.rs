//! Markup that cannot be broken by what it holds: text is escaped where it enters, and only words of this program are taken
//! as they are.

use std::fmt::Display;

/// A piece of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Html(String);

impl Html {
    /// Words of this program, taken as they are.
    pub(super) fn own(words: &'static str) -> Self {
        Self(words.to_owned())
    }

    /// Style of this program: nothing in it can end the block that holds it.
    pub(super) fn style(css: &str) -> Self {
        Self(css.replace('<', ""))
    }

    /// The bytes of the page.
    pub(super) fn into_string(self) -> String {
        self.0
    }

    /// One more piece behind this one.
    pub(super) fn and(mut self, more: impl Into<Html>) -> Self {
        self.0.push_str(&more.into().0);
        self
    }

    /// Data for a script, as a block that is never run: nothing in it can end the block.
    pub(super) fn data(id: &'static str, json: &str) -> Self {
        let mut safe = String::with_capacity(json.len());
        for letter in json.chars() {
            match letter {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    safe.push_str(&format!("\\u{:04x}", u32::from(letter)));
                }
                letter => safe.push(letter),
            }
        }
        Self(format!("<script type=\"application/json\" id=\"{id}\">{safe}</script>"))
    }
}

/// Text.
impl From<&str> for Html {
    fn from(text: &str) -> Self {
        let mut out = String::with_capacity(text.len());
        escape(text, &mut out);
        Self(out)
    }
}

impl From<String> for Html {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

impl From<Tag> for Html {
    fn from(tag: Tag) -> Self {
        let Tag { name, mut open, inside } = tag;
        open.push('>');
        if VOID.contains(&name) {
            return Self(open);
        }
        open.push_str(&inside);
        open.push_str("</");
        open.push_str(name);
        open.push('>');
        Self(open)
    }
}

impl<T: Into<Html>> FromIterator<T> for Html {
    fn from_iter<I: IntoIterator<Item = T>>(pieces: I) -> Self {
        pieces.into_iter().fold(Self::default(), Html::and)
    }
}

/// Elements that hold nothing.
const VOID: &[&str] = &["meta", "input", "br"];

/// An element that is being written.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    name: &'static str,
    open: String,
    inside: String,
}

/// Begin an element.
pub(super) fn tag(name: &'static str) -> Tag {
    Tag { name, open: format!("<{name}"), inside: String::new() }
}

impl Tag {
    /// With an attribute.
    pub(super) fn set(mut self, name: &'static str, value: impl Display) -> Self {
        self.open.push(' ');
        self.open.push_str(name);
        self.open.push_str("=\"");
        escape(&value.to_string(), &mut self.open);
        self.open.push('"');
        self
    }

    /// With a number that is drawn, to a tenth.
    pub(super) fn at(self, name: &'static str, value: f64) -> Self {
        self.set(name, tenth(value))
    }

    /// With classes.
    pub(super) fn class(self, class: impl Display) -> Self {
        self.set("class", class)
    }

    /// Holding one more piece.
    pub(super) fn with(mut self, piece: impl Into<Html>) -> Self {
        self.inside.push_str(&piece.into().0);
        self
    }

    /// Holding several more.
    pub(super) fn all<T: Into<Html>>(self, pieces: impl IntoIterator<Item = T>) -> Self {
        let pieces: Html = pieces.into_iter().collect();
        self.with(pieces)
    }
}

/// A number to a tenth, without needless zeros.
pub(super) fn tenth(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded == 0.0 { "0".to_owned() } else { rounded.to_string() }
}

fn escape(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_element_holds_text_and_elements() {
        let page: Html = tag("p").class("a b").at("x", 1.26).with("1 < 2").with(tag("br")).into();
        assert_eq!(page.into_string(), "<p class=\"a b\" x=\"1.3\">1 &lt; 2<br></p>");
        assert_eq!([0.04, -0.04, 2.0, 2.55, 1e6].map(tenth), ["0", "0", "2", "2.6", "1000000"]);
    }

    #[test]
    fn data_reads_back_and_ends_nothing() {
        let json = serde_json::json!({ "a": "</script><!-- \u{2028} &amp;" }).to_string();
        let block = Html::data("d", &json).into_string();
        let held = &block["<script type=\"application/json\" id=\"d\">".len()..block.len() - "</script>".len()];
        assert!(!held.contains(['<', '>', '&', '\u{2028}']), "{held}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(held).unwrap().to_string(), json);
    }

    proptest! {
        #[test]
        fn no_text_opens_an_element_or_leaves_its_attribute(text in ".*") {
            let page = Html::from(tag("p").set("title", &text).with(text.as_str())).into_string();
            prop_assert_eq!(page.matches('<').count(), 2);
            prop_assert_eq!(page.matches('"').count(), 2);
            let back = page.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&");
            prop_assert_eq!(back, format!("<p title=\"{text}\">{text}</p>"));
        }
    }
}
