//! What it cost, and what it would have.

use super::{empty, figure, folded, section, table, tagged};
use crate::paper::{dollars, grouped};
use crate::report_page::drawing::Room;
use crate::report_page::facts::SessionReport;
use crate::report_page::markup::{Html, Tag, tag};
use crate::report_page::money_chart::{self, signed};
use scrubjay::ledger::Certainty;

/// What it cost, and what it would have.
pub(in crate::report_page) fn money(report: &SessionReport) -> Html {
    let lede = "From what this session would have cost without the layers to what was billed: every saving, and everything the \
                savings cost. What was billed comes from the service's own counts; what would have been is an estimate.";
    let money = &report.money;
    let falls: Option<Vec<Html>> = Room::BOTH.map(|room| money_chart::waterfall(money, room)).into_iter().collect();
    let net: Option<Vec<Html>> = Room::BOTH.map(|room| money_chart::net(report, room)).into_iter().collect();
    let picture = match falls {
        Some(charts) => tag("figure").class("waterfall").all(charts),
        None => empty(
            "A price is not known, so no money can be told: n/a. Prices of your own models belong into models.toml beside the settings. \
             The tokens are below.",
        ),
    };
    let over_time = net.map(|charts| {
        let words = tag("figcaption").with(
            "The net after each request: savings less what they cost. Below the line it costs more than it saves.",
        );
        tag("figure").class("net-figure").with(words).all(charts)
    });
    section("money", "Money", lede)
        .with(picture)
        .with(verdict(report))
        .all(over_time)
        .with(folded("Every step and every layer as a table", steps(report)))
        .with(folded("Every call, by who asked", calls(report)))
        .into()
}

/// The net in a sentence, as plainly when it is a loss.
fn verdict(report: &SessionReport) -> Tag {
    let money = &report.money;
    let said = tag("p").class("verdict");
    let Some(net) = money.net.usd else {
        let sign = if money.net.tokens < 0 { "−" } else { "" };
        let words = format!("{sign}{}", grouped(money.net.tokens.unsigned_abs()));
        let tokens = figure("money.net.tokens", money.net.tokens, &words);
        return said.with("Net: n/a in money, ").with(tokens).with(" tokens ").with(tagged(money.net.certainty.word()));
    };
    let amount = figure("money.net.usd", net, &signed(net)).class(if net < 0.0 { "loss" } else { "gain" });
    let words = if net < 0.0 { " net: the layers cost more than they saved" } else { " net saved" };
    let share = money.without_usd.filter(|without| *without > 0.0 && net > 0.0);
    let share = share.map(|without| format!(", {:.0} % of what it would have cost", net / without * 100.0));
    said.with(amount).with(words).with(share.unwrap_or_default()).with(" ").with(tagged(money.net.certainty.word()))
}

fn in_money(usd: Option<f64>) -> String {
    usd.map_or_else(|| "n/a".to_owned(), signed)
}

fn steps(report: &SessionReport) -> Html {
    let money = &report.money;
    let whole = |name: &str, place: &str, usd: Option<f64>, certainty: Certainty| {
        let text = usd.map_or_else(|| "n/a".to_owned(), dollars);
        let cell = figure(place, usd.map_or_else(|| "null".to_owned(), |usd| usd.to_string()), &text);
        vec![Html::from(name), "".into(), cell.into(), certainty.word().into()]
    };
    let mut rows = vec![whole("without the layers", "money.without_usd", money.without_usd, Certainty::Estimated)];
    rows.extend(money.steps.iter().map(|step| {
        let sum = step.sum;
        let saved = sum.usd.map(|usd| -usd);
        vec![
            money_chart::name(step).into(),
            sum.tokens.to_string().into(),
            in_money(saved).into(),
            sum.certainty.word().into(),
        ]
    }));
    rows.push(whole("billed", "money.billed_usd", money.billed_usd, Certainty::Reported));
    let falls = table(&["step", "tokens", "money", "how sure"], rows);
    let layers = money.by_layer.iter().map(|net| {
        let sum = net.sum;
        vec![
            net.layer.word().into(),
            sum.tokens.to_string().into(),
            in_money(sum.usd).into(),
            sum.certainty.word().into(),
        ]
    });
    let layers = table(&["net by layer", "tokens", "money", "how sure"], layers);
    Html::from(falls).and(layers)
}

fn calls(report: &SessionReport) -> Tag {
    let rows = report.money.calls.iter().map(|one| {
        let usage = one.usage;
        let numbers =
            [one.calls, usage.input, usage.cache_read, usage.cache_write_5m + usage.cache_write_1h, usage.output];
        let mut cells = vec![Html::from(one.source.as_str()), one.model.as_str().into()];
        cells.extend(numbers.map(grouped).map(Html::from));
        cells.push(one.usd.map_or_else(|| "n/a".to_owned(), dollars).into());
        cells
    });
    table(&["who asked", "model", "calls", "fresh", "from cache", "written", "out", "cost"], rows)
}
