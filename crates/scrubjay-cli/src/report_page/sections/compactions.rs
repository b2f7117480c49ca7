//! What summaries kept and dropped.

use super::{bar, command, empty, figure, section, tagged};
use crate::paper::{grouped, short};
use crate::report_page::facts::{Boundary, SessionReport};
use crate::report_page::markup::{Html, Tag, tag};
use scrubjay::transcript::{Finding, What};

/// What summaries kept and dropped.
pub(in crate::report_page) fn compactions(report: &SessionReport) -> Html {
    let lede = "When the window is nearly full, a summary takes the place of what was said. Code compares the two: what the person \
                said, standing constraints, open tasks, commits, what the model found out, and names that nobody can reconstruct. What \
                was dropped left the window only; the session's file still has it.";
    let page = section("compactions", "Compactions", lede);
    match report.compactions.as_slice() {
        [] => page
            .with(empty("Nothing had to be compacted: the layers before this one kept the window small enough."))
            .into(),
        all => page.all(all.iter().enumerate().map(|(at, one)| boundary(at, one, report))).into(),
    }
}

fn boundary(at: usize, one: &Boundary, report: &SessionReport) -> Tag {
    let place = |field: &str| format!("compactions.{at}.{field}");
    let title = tag("h3")
        .with(figure(&place("tokens_before"), one.tokens_before, &short(one.tokens_before)))
        .with(" → ")
        .with(figure(&place("tokens_after"), one.tokens_after, &short(one.tokens_after)))
        .with(" tokens");
    let said = format!("after request {}, {}, summary by {}", grouped(one.after), one.trigger, one.author);
    let back = one.taken_back.then(|| tag("p").class("note").with("This compaction was taken back later."));
    let score = one.score.map(|score| {
        let words = figure(&place("score"), score, &format!("{:.1} %", (score * 1_000.0).floor() / 10.0));
        let meter = bar("share-M", score);
        tag("p")
            .class("score")
            .with(meter)
            .with(words)
            .with(" of what was looked for was kept ")
            .with(tagged("counted"))
    });
    let list = |title: String, sign: &'static str, class: &'static str, findings: &[Finding], all: usize| {
        let items = findings.iter().map(|finding| item(sign, finding));
        let more = all.checked_sub(findings.len()).filter(|more| *more > 0);
        let more =
            more.map(|more| tag("li").class("more").with(format!("and {more} more in `scrubjay compact --report`")));
        tag("div").class(class).with(tag("h4").with(title)).with(tag("ul").class("findings").all(items).all(more))
    };
    let kept = list(format!("Kept · {}", one.kept_in_all), "✓", "kept", &one.kept, one.kept_in_all);
    let lists = one.score.map(|_| match one.dropped.as_slice() {
        [] => tag("div")
            .class("columns one")
            .with(kept)
            .with(tag("h4").with("Of what was looked for nothing is missing.")),
        dropped => {
            let title = format!("Dropped from the window · {}", one.dropped_in_all);
            tag("div").class("columns two").with(kept).with(list(title, "✗", "dropped", dropped, one.dropped_in_all))
        }
    });
    let last = at + 1 == report.compactions.len() && !one.taken_back;
    let undo = last.then(|| {
        tag("p")
            .class("do")
            .with("Take it back: ")
            .with(command(&format!("scrubjay uncompact --session {}", report.session.id)))
    });
    tag("article")
        .class("card")
        .with(title)
        .with(tag("p").class("said").with(said))
        .all(back)
        .all(score)
        .all(lists)
        .all(undo)
}

fn item(sign: &'static str, finding: &Finding) -> Tag {
    let what = match finding.what {
        What::Constraint => "constraint",
        What::UserMessage => "you said",
        What::Task => "open task",
        What::Commit => "commit",
        What::Measure => "value found",
        What::Finding => "finding",
        What::Anchor => "name or number",
    };
    tag("li")
        .with(tag("span").class("sign").set("aria-hidden", "true").with(sign))
        .with(tag("span").class("word").with(what))
        .with(tag("span").class("text").with(finding.text.as_str()))
}
