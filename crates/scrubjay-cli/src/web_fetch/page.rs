//! HTML to readable text: headings, lists, links and preformatted text stay; everything that is not for reading goes.

use reqwest::Url;

/// The text of a page. Lenient: whatever is in it, something readable comes out, in time proportional to its length.
pub(super) fn readable(html: &str, base: &Url) -> String {
    let mut page = Page::new(base);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        page.text(&rest[..at]);
        rest = page.markup(&rest[at..]);
    }
    page.text(rest);
    page.finish()
}

struct Page<'a> {
    base: &'a Url,
    out: String,
    /// Depth of `pre`, where white space counts.
    preformatted: usize,
    /// Where an open link goes, and where its words begin.
    link: Option<(String, usize)>,
    /// White space was seen and nothing was written since.
    space: bool,
}

impl<'a> Page<'a> {
    fn new(base: &'a Url) -> Self {
        Self { base, out: String::new(), preformatted: 0, link: None, space: false }
    }

    fn text(&mut self, raw: &str) {
        let text = entities(raw);
        if self.preformatted > 0 {
            self.out.push_str(&text);
            return;
        }
        for word in text.split_inclusive(char::is_whitespace) {
            let bare = word.trim_end();
            if !bare.is_empty() {
                self.gap();
                self.out.push_str(bare);
            }
            self.space |= bare.len() < word.len();
        }
    }

    /// One space between words, none at the start of a line.
    fn gap(&mut self) {
        if self.space && !self.out.is_empty() && !self.out.ends_with(['\n', ' ']) {
            self.out.push(' ');
        }
        self.space = false;
    }

    /// Read one piece of markup; what follows it is returned.
    fn markup<'t>(&mut self, rest: &'t str) -> &'t str {
        if let Some(comment) = rest.strip_prefix("<!--") {
            return after(comment, "-->");
        }
        let is_tag = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
        if !is_tag {
            self.text("<");
            return &rest[1..];
        }
        let end = tag_end(rest);
        let tag = Tag::read(&rest[1..end]);
        let rest = rest.get(end + 1..).unwrap_or_default();
        match tag.name.as_str() {
            "script" | "style" | "noscript" | "template" | "svg" | "iframe" | "object" if !tag.closes => {
                skip_element(rest, &tag.name)
            }
            _ => {
                self.tag(&tag);
                rest
            }
        }
    }

    fn tag(&mut self, tag: &Tag<'_>) {
        match (tag.name.as_str(), tag.closes) {
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", false) => {
                self.lines(2);
                let level = tag.name[1..].parse().unwrap_or(1);
                self.out.push_str(&"#".repeat(level));
                self.out.push(' ');
            }
            ("li", false) => {
                self.lines(1);
                self.out.push_str("- ");
            }
            ("br", _) => self.out.push('\n'),
            ("hr", _) => {
                self.lines(2);
                self.out.push_str("---");
                self.lines(2);
            }
            ("pre", false) => {
                self.lines(2);
                self.preformatted += 1;
            }
            ("pre", true) => {
                self.preformatted = self.preformatted.saturating_sub(1);
                self.lines(2);
            }
            ("td" | "th", true) => self.out.push_str(" | "),
            ("a", false) => self.open_link(tag),
            ("a", true) => self.close_link(),
            ("img", false) => self.picture(tag),
            (name, _) if PARAGRAPHS.contains(&name) => self.lines(2),
            (name, _) if LINES.contains(&name) => self.lines(1),
            _ => {}
        }
    }

    /// End the line, and leave an empty one where two were asked for.
    fn lines(&mut self, wanted: usize) {
        self.space = false;
        let kept = self.out.trim_end_matches(' ').len();
        self.out.truncate(kept);
        let there = self.out.len() - self.out.trim_end_matches('\n').len();
        if !self.out.is_empty() && there < wanted {
            self.out.push_str(&"\n".repeat(wanted - there));
        }
    }

    fn open_link(&mut self, tag: &Tag<'_>) {
        self.close_link();
        let target = tag.attribute("href").map(|href| entities(&href)).unwrap_or_default();
        let readable = self.base.join(target.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        if let (Some(url), false) = (readable, target.starts_with('#')) {
            self.gap();
            self.link = Some((url.into(), self.out.len()));
        }
    }

    fn close_link(&mut self) {
        let Some((url, start)) = self.link.take() else { return };
        // Leaving a block may have cut the line end behind which the link began.
        let words = self.out.get(start..).unwrap_or_default().trim().to_owned();
        if !words.is_empty() {
            self.out.truncate(start);
            self.out.push_str(&format!("[{words}]({url})"));
        }
    }

    fn picture(&mut self, tag: &Tag<'_>) {
        let alt = tag.attribute("alt").map(|alt| entities(&alt)).unwrap_or_default();
        if !alt.trim().is_empty() {
            self.gap();
            self.out.push_str(&format!("[picture: {}]", alt.trim()));
        }
    }

    fn finish(mut self) -> String {
        self.close_link();
        let mut text = String::with_capacity(self.out.len());
        let mut empty = 0;
        for line in self.out.lines().map(str::trim_end) {
            empty = if line.is_empty() { empty + 1 } else { 0 };
            if empty < 2 {
                text.push_str(line);
                text.push('\n');
            }
        }
        text.trim_matches('\n').to_owned()
    }
}

const PARAGRAPHS: &[&str] = &["p", "ul", "ol", "table", "blockquote", "article", "section", "main", "title", "dl"];
const LINES: &[&str] = &[
    "div",
    "tr",
    "li",
    "dt",
    "dd",
    "header",
    "footer",
    "nav",
    "aside",
    "form",
    "figure",
    "figcaption",
    "option",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "body",
    "html",
];

struct Tag<'t> {
    name: String,
    closes: bool,
    attributes: &'t str,
}

impl<'t> Tag<'t> {
    fn read(inside: &'t str) -> Self {
        let (closes, inside) = match inside.strip_prefix('/') {
            Some(inside) => (true, inside),
            None => (false, inside),
        };
        let end = inside.find(|c: char| c.is_whitespace() || matches!(c, '/' | '>')).unwrap_or(inside.len());
        Self { name: inside[..end].to_ascii_lowercase(), closes, attributes: &inside[end..] }
    }

    fn attribute(&self, wanted: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            if rest.is_empty() {
                return None;
            }
            let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '=' | '/')).unwrap_or(rest.len());
            let name = &rest[..end];
            let (value, later) = attribute_value(rest[end..].trim_start());
            if name.eq_ignore_ascii_case(wanted) {
                return Some(value.to_owned());
            }
            // A stray `=` must not stop the walk.
            rest =
                if later.len() < rest.len() { later } else { &rest[rest.chars().next().map_or(1, char::len_utf8)..] };
        }
    }
}

fn attribute_value(rest: &str) -> (&str, &str) {
    let Some(value) = rest.strip_prefix('=').map(str::trim_start) else { return ("", rest) };
    for quote in ['"', '\''] {
        if let Some(inside) = value.strip_prefix(quote) {
            return inside.split_once(quote).unwrap_or((inside, ""));
        }
    }
    let end = value.find(char::is_whitespace).unwrap_or(value.len());
    value.split_at(end)
}

/// Where a tag ends: a `>` outside quotes. A quote that is never closed does not swallow the page.
fn tag_end(tag: &str) -> usize {
    const LONGEST: usize = 2_048;
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate().take(LONGEST) {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    tag.find('>').unwrap_or(tag.len())
}

fn after<'t>(text: &'t str, mark: &str) -> &'t str {
    text.find(mark).map_or("", |at| &text[at + mark.len()..])
}

/// What follows the end tag of an element whose content is not for reading.
fn skip_element<'t>(rest: &'t str, name: &str) -> &'t str {
    let mut from = 0;
    while let Some(at) = rest[from..].find("</").map(|at| at + from) {
        let inside = &rest[at + 2..];
        if inside.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return after(inside, ">");
        }
        from = at + 2;
    }
    ""
}

fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let named = rest.bytes().take(LONGEST_ENTITY).position(|byte| byte == b';');
        match named.and_then(|end| Some((entity(rest.get(..end)?)?, end))) {
            Some((letter, end)) => {
                out.push(letter);
                rest = &rest[end + 1..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    out
}

const LONGEST_ENTITY: usize = 12;

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code);
    }
    let known = NAMED.iter().find(|(known, _)| *known == name);
    known.map(|(_, letter)| *letter)
}

const NAMED: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("mdash", '—'),
    ("ndash", '–'),
    ("hellip", '…'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("bull", '•'),
    ("middot", '·'),
    ("times", '×'),
    ("euro", '€'),
    ("rarr", '→'),
    ("larr", '←'),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text_of(html: &str) -> String {
        readable(html, &Url::parse("https://birds.example/jays/").unwrap())
    }

    #[test]
    fn what_is_for_reading_stays() {
        for (html, text) in [
            (
                "<title>Jays</title><h1>Scrub <i>jays</i></h1><p>They   cache\nfood.</p>",
                "Jays\n\n# Scrub jays\n\nThey cache food.",
            ),
            ("a<script>if (a < b) alert('</p>')</script>b<STYLE>p{}</style >c", "abc"),
            ("<ul><li>one<li>two</ul>", "- one\n- two"),
            (
                "see <a href='nest?a=1&amp;b=2'>the nest</a>.",
                "see [the nest](https://birds.example/jays/nest?a=1&b=2).",
            ),
            ("<a href=\"javascript:x()\">no</a> <a href='#top'>up</a>", "no up"),
            ("<pre>a\n  b</pre>c", "a\n  b\n\nc"),
            ("1 &lt; 2 &amp;&amp; &#x41;&#66; &unknown; &", "1 < 2 && AB &unknown; &"),
            ("<!-- <p>hidden</p> -->shown", "shown"),
            ("a < b and c<d", "a < b and c"),
            ("<tr><td>1</td><td>2</td></tr>", "1 | 2 |"),
            ("<img alt='a jay' src=x><p title=\"a > b\">z", "[picture: a jay]\n\nz"),
            ("<p", ""),
            ("", ""),
        ] {
            assert_eq!(text_of(html), text, "{html}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_read_without_a_fault(html in "[<>a-c/&;#x'\"=! \n\u{e9}-]{0,80}", base in any::<String>()) {
            text_of(&html);
            text_of(&base);
            text_of(&format!("<a href={html}>{base}</a><pre>{html}"));
        }
    }
}
