//! The planner in a session: what was already sent is changed only where it pays, and the ledger holds what was expected
//! beside what came of it.

use jiff::SignedDuration;
use scrubjay::context::compaction::boundary::{Part, Wish};
use scrubjay::context::microcompaction::server_clearing;
use scrubjay::event::Event;
use scrubjay::ledger::savings::Account;
use scrubjay::ledger::{Called, Certainty, Layer, Removed, Row};
use scrubjay::limits::Limits;
use scrubjay::model::Ability;
use scrubjay::prompt_cache::planner::{Unit, Warmth};
use scrubjay::prompt_cache::prices::Prices;
use scrubjay::settings::{Settings, Sources};
use scrubjay::tools;
use scrubjay::transcript::{Author, CLEARED, Cause, Entry, Trigger, Ttl};
use scrubjay_providers::scripted::{Scripted, Turn};
use scrubjay_providers::{Catalogue, Choice, Keys, connect};
use scrubjay_testkit::simulator::{self, RecordedRequest, Reply, Script, Simulator};
use scrubjay_testkit::{Setting, Story};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A story over HTTP whose two clocks go together.
struct Idle {
    story: Story,
    simulator: Simulator,
}

impl Idle {
    async fn begin(script: Script, change: impl FnOnce(&mut Setting)) -> Self {
        let simulator = Simulator::start(script).await.unwrap();
        let keys = Keys::from_values(&BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())]));
        let choice = Choice { model: "claude-opus-5-5".into(), base_url: Some(simulator.url()), ..Choice::default() };
        let model = connect(&choice, &keys, &Catalogue::built_in().unwrap(), &Limits::default()).unwrap();
        let mut setting = Setting::new(model);
        change(&mut setting);
        Self { story: begun(setting), simulator }
    }

    fn wait(&self, minutes: i64) {
        let time = SignedDuration::from_mins(minutes);
        self.story.setting.clock.advance(time);
        self.simulator.clock().advance(time.unsigned_abs());
    }

    async fn back_after(&mut self, minutes: i64) {
        self.wait(minutes);
        self.story.ask("And now?").await.unwrap();
    }
}

fn begun(setting: Setting) -> Story {
    let limits = setting.limits.clone();
    let story = setting.tools(tools::standard(&[], &limits)).begin().unwrap();
    story.home.write("big.txt", "a line of some length, as files have them\n".repeat(200)).unwrap();
    story
}

/// Nine pages are read, then everything is answered in a word.
fn reading() -> Script {
    let page = |n: usize| simulator::tool_use("Read", json!({ "file_path": "big.txt", "offset": 1 + n }));
    let pages = (1..9).fold(page(0), |pages, n| pages.and(page(n)));
    Script::new().reply(pages).otherwise(simulator::text("ok"))
}

fn is_cleared(story: &Story) -> bool {
    let mut results = story.session.transcript().view().history.iter().flat_map(|message| message.tool_results());
    results.any(|result| result.text() == CLEARED)
}

fn removed(story: &Story, layer: Layer) -> Vec<Removed> {
    let rows = story.session.ledger().iter();
    rows.filter_map(|row| match row {
        Row::Removed(removed) if removed.layer == layer => Some(removed.clone()),
        _ => None,
    })
    .collect()
}

fn main_calls(story: &Story) -> Vec<Called> {
    let rows = story.session.ledger().iter();
    rows.filter_map(|row| match row {
        Row::Called(called) if called.source == "main" => Some(called.clone()),
        _ => None,
    })
    .collect()
}

fn told(story: &Story, words: &str) -> usize {
    story.events().iter().filter(|event| matches!(event, Event::Notice(text) if text.contains(words))).count()
}

fn rewrote(story: &Story, layer: Layer) -> u64 {
    let rows = story.session.ledger().iter();
    rows.map(|row| match row {
        Row::Rewrote(share) if share.layer == layer => share.tokens,
        _ => 0,
    })
    .sum()
}

// spec: H6, H7
// spec: M2, M6
#[tokio::test]
async fn who_comes_back_to_a_cold_cache_finds_old_results_cleared_and_the_ledger_says_what_for() {
    // The service is asked to clear too, but only far above what this session measures.
    let mut idle = Idle::begin(reading(), |setting| {
        let settings = Settings::resolve(&Sources::default());
        setting.options.context_management = server_clearing(setting.model.as_ref(), &[], &settings, &setting.limits);
        assert!(setting.options.context_management.is_some());
    })
    .await;
    idle.story.ask("Read it all").await.unwrap();
    idle.back_after(4).await;
    assert!(!is_cleared(&idle.story), "the cache is warm: nine results are not worth writing the rest again");
    idle.back_after(6).await;
    assert!(is_cleared(&idle.story));
    let [cleared] = &removed(&idle.story, Layer::Microcompaction)[..] else { panic!("one clearing") };
    let forecast = cleared.forecast.unwrap();
    assert!(forecast.unit == Unit::Dollars && forecast.saving > forecast.cost, "{forecast:?}");
    assert_eq!(rewrote(&idle.story, Layer::Microcompaction), 0, "a cold cache has nothing to damage");
    assert_eq!(told(&idle.story, "old tool results"), 1);

    let calls = main_calls(&idle.story);
    let [.., before, after] = &calls[..] else { panic!("several calls") };
    assert_eq!((before.warmth, after.warmth), (Some(Warmth::Warm), Some(Warmth::Cold)));
    let spared = before.usage.total_input() - after.usage.total_input();
    assert!(cleared.tokens.abs_diff(spared) < spared / 4, "{} estimated, {spared} billed", cleared.tokens);
    let saved = (after.rates.unwrap().write * cleared.tokens as f64) / 1e6;
    let outcome = Account::of(idle.story.session.ledger()).outcomes()[0];
    assert!(
        (outcome.saved.unwrap() - saved).abs() < 1e-9,
        "what is not written is saved at the write price: {outcome}"
    );

    let rows = idle.story.session.ledger();
    let announced = rows.iter().position(|row| matches!(row, Row::Announced { cause: Cause::Ttl, .. })).unwrap();
    let answered = rows.iter().rposition(|row| matches!(row, Row::Called(_))).unwrap();
    assert!(announced < answered, "announced before the request");
    assert!(!rows.iter().any(|row| matches!(row, Row::Broke { .. })), "and not taken for a surprise");
}

// spec: H7
// spec: M2
#[tokio::test]
async fn a_cache_that_lives_an_hour_is_left_alone_for_an_hour() {
    let mut idle = Idle::begin(reading(), |setting| setting.options.cache_ttl = Ttl::OneHour.into()).await;
    idle.story.ask("Read it all").await.unwrap();
    idle.back_after(6).await;
    assert!(!is_cleared(&idle.story) && main_calls(&idle.story).last().unwrap().usage.cache_read > 10_000);
    idle.back_after(61).await;
    assert!(is_cleared(&idle.story));
}

// spec: H7
#[tokio::test]
async fn what_hardly_saves_anything_is_not_bought() {
    let few = Script::new()
        .reply(simulator::tool_use("Glob", json!({ "pattern": "*.txt" })))
        .reply(simulator::tool_use("Glob", json!({ "pattern": "*.txt" })))
        .otherwise(simulator::text("ok"));
    let mut idle = Idle::begin(few, |setting| setting.limits.clear_keep = 1).await;
    idle.story.ask("What is there?").await.unwrap();
    idle.back_after(61).await;
    assert!(!is_cleared(&idle.story) && removed(&idle.story, Layer::Microcompaction).is_empty());
}

// spec: H7
// spec: M5
#[tokio::test]
async fn a_warm_cache_is_rewritten_only_where_that_pays_several_times_over() {
    let prices =
        Prices { input: Some(5.0), write_5m: Some(6.25), write_1h: Some(10.0), read: Some(0.5), output: Some(25.0) };
    let page = |n: usize| json!({ "file_path": "long.txt", "offset": 1 + n });
    let script = || {
        let long = (0..4).fold(Turn::default(), |turn, n| turn.and_call("Read", page(n)));
        let few = |n: usize| json!({ "file_path": "big.txt", "offset": 1 + n, "limit": 40 });
        let small = (0..10).fold(Turn::default(), |turn, n| turn.and_call("Read", few(n)));
        Scripted::new().then(long).then(small).afterwards(|_| Ok(Turn::text("ok")))
    };
    for (model, clears) in [(script().priced(prices), true), (script(), false)] {
        let setting = Setting::new(Arc::new(model)).switch("layers.session_notes", "false");
        let mut setting = setting.switch("context.policy", "economy");
        setting.limits.weigh_every_tokens = 1;
        let mut story = begun(setting);
        story.home.write("long.txt", "a line of some length, as files have them\n".repeat(900)).unwrap();
        story.ask("Read it all").await.unwrap();
        assert!(!is_cleared(&story), "a young session has too little before it");
        for _ in 0..12 {
            story.ask("Tell me more about it").await.unwrap();
        }
        assert_eq!(is_cleared(&story), clears, "where reading is free nothing warm is rewritten");
        let entries = story.session.transcript().records().iter();
        let causes: Vec<Cause> = entries.filter_map(|record| record.entry.cause()).collect();
        assert_eq!(causes, if clears { vec![Cause::Us] } else { vec![] });
        assert_eq!(rewrote(&story, Layer::Microcompaction) > 0, clears, "and the damage is booked");
        for outcome in Account::of(story.session.ledger()).outcomes() {
            let several = Limits::default().warm_margin as f64 - 1.0;
            assert!(outcome.expected() > several * outcome.forecast.cost, "{outcome:?}");
            assert!(outcome.cost.unwrap() > 0.0, "{outcome:?}");
        }
    }
}

// spec: H7
#[tokio::test]
async fn without_prices_what_need_not_be_processed_again_is_what_counts() {
    let pages = (0..9)
        .fold(Turn::default(), |turn, n| turn.and_call("Read", json!({ "file_path": "big.txt", "offset": 1 + n })));
    for (abilities, minutes, clears) in [
        (vec![Ability::Tools, Ability::CacheMarkers], 4, false),
        (vec![Ability::Tools, Ability::CacheMarkers], 6, true),
        (vec![Ability::Tools], 6, false),
        (vec![Ability::Tools], 61, true),
    ] {
        let model = Scripted::new().then(pages.clone()).able(abilities.clone()).afterwards(|_| Ok(Turn::text("ok")));
        let mut story = begun(Setting::new(Arc::new(model)));
        story.ask("Read it all").await.unwrap();
        story.setting.clock.advance(SignedDuration::from_mins(minutes));
        story.ask("And now?").await.unwrap();
        assert_eq!(is_cleared(&story), clears, "{abilities:?} after {minutes} minutes");
        let account = Account::of(story.session.ledger());
        for outcome in account.outcomes() {
            assert_eq!(outcome.forecast.unit, Unit::Tokens);
            assert!(outcome.so_far().unwrap() > 5_000.0, "{outcome}");
            assert_eq!(account.savings().net().money, None, "no price, no money");
        }
        assert_eq!(account.outcomes().len(), usize::from(clears));
    }
}

fn economy() -> Settings {
    let switches = [("context.policy", "economy"), ("layers.microcompaction_api", "true")];
    let command_line = switches.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Settings::resolve(&Sources { command_line, ..Sources::default() })
}

/// The errand of the notes, answered as a good fork does.
fn noting(request: &RecordedRequest) -> Reply {
    let old = "_What is being done at this moment, what is unfinished, what comes next_";
    let text = request.all_text();
    let file = text.split("The notes are in ").nth(1).unwrap().split(" and read now").next().unwrap().to_owned();
    let edited = request.messages().last().unwrap().to_string().contains("tool_result");
    if edited {
        return simulator::text("noted");
    }
    let input = json!({ "file_path": file, "old_string": old, "new_string": format!("{old}\nHiding seeds.") });
    simulator::tool_use("Edit", input)
}

fn wants_notes(request: &RecordedRequest) -> bool {
    request.all_text().contains("name=\"session_notes\"") || request.all_text().contains("name=\\\"session_notes\\\"")
}

/// Long answers, and notes when they are wanted.
fn talking() -> Script {
    let answer = "an answer of some length, about seeds and where they are hidden; ".repeat(150);
    Script::new().when_with(wants_notes, noting).otherwise(simulator::text(answer))
}

fn soon(setting: &mut Setting) {
    setting.switches.push(("context.policy".into(), "economy".into()));
    setting.limits.early_compaction_tokens = 12_000;
    setting.limits.kept_least_tokens = 1_000;
    setting.limits.kept_least_messages = 1;
}

async fn with_notes(change: impl FnOnce(&mut Setting)) -> Idle {
    let mut idle = Idle::begin(talking(), |setting| {
        soon(setting);
        change(setting);
    })
    .await;
    for n in 0..8 {
        idle.story.ask(&format!("question {n}: and the seeds?")).await.unwrap();
    }
    idle.story.session.drain(Duration::from_secs(30)).await.unwrap();
    assert!(idle.story.session.transcript().view().noted.is_some(), "the notes are ready");
    idle
}

// spec: H7
#[tokio::test]
async fn a_cold_cache_and_ready_notes_are_a_moment_to_compact_and_a_warm_one_is_not() {
    for (minutes, compacts) in [(1, false), (5, true), (61, true)] {
        let mut idle = with_notes(|_| {}).await;
        let spent = main_calls(&idle.story).len();
        idle.back_after(minutes).await;
        let view = idle.story.session.transcript().view();
        assert_eq!(view.compactions.len(), usize::from(compacts), "after {minutes} minutes");
        if !compacts {
            continue;
        }
        let author = view.compactions[0].1.author;
        assert!(matches!(author, Author::Notes | Author::Extract), "{author:?}");
        assert_eq!(main_calls(&idle.story).len(), spent + 1, "no model was asked for it");
        let layers = [Layer::SessionNotes, Layer::Compaction];
        let made: Vec<Removed> = layers.into_iter().flat_map(|layer| removed(&idle.story, layer)).collect();
        let [planned] = &made[..] else { panic!("one compaction") };
        assert!(planned.forecast.is_some_and(|forecast| forecast.saving > forecast.cost), "{planned:?}");
        let calls = main_calls(&idle.story);
        let (before, after) = (&calls[calls.len() - 2].usage, &calls[calls.len() - 1].usage);
        assert!(after.total_input() < before.total_input() / 2, "{before:?} {after:?}");
        let outcome = Account::of(idle.story.session.ledger()).outcomes()[0];
        assert!(outcome.so_far().unwrap() > 0.0, "{outcome}");
    }
}

// spec: H7
#[tokio::test]
async fn compacting_early_is_optional_and_can_be_switched_off() {
    let mut idle =
        with_notes(|setting| setting.switches.push(("layers.notes_compaction".into(), "false".into()))).await;
    idle.back_after(61).await;
    assert!(idle.story.session.transcript().view().compactions.is_empty());
}

fn marks(request: &RecordedRequest) -> (Value, Value) {
    let last = |list: &Value| list.as_array().and_then(|list| list.last()).map(|one| one["cache_control"].clone());
    let messages = request.json["messages"].as_array().unwrap();
    let said = last(&messages.last().unwrap()["content"]).unwrap();
    let opening = [last(&request.json["tools"]).unwrap(), last(&request.json["system"]).unwrap()];
    assert_eq!(opening[0], opening[1]);
    (opening[0]["ttl"].clone(), said["ttl"].clone())
}

// spec: H2
// spec: M2
#[tokio::test]
async fn after_a_pause_tools_and_system_are_asked_to_live_longer_where_the_price_is_right() {
    let script = || {
        Script::new()
            .reply(simulator::tool_use("Bash", json!({ "command": "seq 1 30000" })))
            .otherwise(simulator::text("ok"))
    };
    let mut idle = Idle::begin(script(), |_| {}).await;
    idle.story.ask("Count").await.unwrap();
    idle.story.ask("Thank you").await.unwrap();
    assert_eq!(marks(&idle.simulator.last_request().unwrap()), (Value::Null, Value::Null), "five minutes for all");
    idle.back_after(20).await;
    assert_eq!(marks(&idle.simulator.last_request().unwrap()), (json!("1h"), Value::Null), "a pause was seen");
    let bought = main_calls(&idle.story).pop().unwrap();
    assert!(bought.usage.cache_write_1h > 0 && bought.usage.cache_read == 0, "{bought:?}");
    idle.back_after(20).await;
    let kept = main_calls(&idle.story).pop().unwrap();
    assert!(
        kept.usage.cache_read > 0 && kept.outlived == kept.usage.cache_read,
        "the opening was still there: {kept:?}"
    );
    let account = Account::of(idle.story.session.ledger());
    assert!(account.savings().by_layer.contains_key(&Layer::Lifetime));
    let breaks = idle.story.session.transcript().records().iter().filter_map(|record| record.entry.cause()).count();
    assert_eq!(breaks, 0, "choosing a lifetime breaks nothing");

    let mut fixed = Idle::begin(script(), |setting| setting.switches.push(("cache_ttl".into(), "5m".into()))).await;
    fixed.story.ask("Count").await.unwrap();
    fixed.back_after(20).await;
    assert_eq!(marks(&fixed.simulator.last_request().unwrap()), (Value::Null, Value::Null), "a setting is a setting");
}

// spec: M4, M6
// spec: H6
#[tokio::test]
async fn what_the_service_clears_is_booked_as_reported_and_its_break_is_ours() {
    let script = (0..12).fold(Script::new(), |script, n| {
        script.reply(simulator::tool_use("Read", json!({ "file_path": "big.txt", "offset": 1 + n, "limit": 90 })))
    });
    let mut idle = Idle::begin(script.otherwise(simulator::text("ok")), |setting| {
        setting.limits.server_clear_from = 8_000;
        setting.limits.server_clear_least = 2_000;
        let settings = economy();
        setting.options.context_management = server_clearing(setting.model.as_ref(), &[], &settings, &setting.limits);
    })
    .await;
    idle.story.ask("Read it all").await.unwrap();
    idle.story.ask("And?").await.unwrap();
    let rows = removed(&idle.story, Layer::Microcompaction);
    let view = idle.story.session.transcript().view();
    assert!(view.server_cleared > 2_000, "{}", view.server_cleared);
    assert_eq!(rows.iter().map(|row| row.tokens).sum::<u64>(), view.server_cleared, "each token once");
    assert!(rows.iter().all(|row| row.certainty == Certainty::Reported));
    assert!(rewrote(&idle.story, Layer::Microcompaction) > 0, "the cache behind it was written again");
    let broke = idle.story.session.ledger().iter().any(|row| matches!(row, Row::Broke { .. }));
    assert!(!broke, "we had asked for it");
    let (total, billed) = (view.count.total(), main_calls(&idle.story).pop().unwrap().usage);
    assert_eq!(total, billed.total_input() + billed.output, "the window holds what the service read");
}

// spec: M4
// spec: M5
#[tokio::test]
async fn clearing_by_the_service_that_rewrites_too_much_ends_in_a_compaction() {
    for (percent, compacts) in [(10_000, false), (1, true)] {
        let script = (0..12).fold(Script::new(), |script, n| {
            script.reply(simulator::tool_use("Read", json!({ "file_path": "big.txt", "offset": 1 + n, "limit": 90 })))
        });
        let mut idle = Idle::begin(script.otherwise(simulator::text("ok")), |setting| {
            setting.switches.push(("context.window".into(), "60000".into()));
            setting.limits.server_clear_from = 8_000;
            setting.limits.server_clear_least = 2_000;
            setting.limits.server_rewrite_percent = percent;
            let management = server_clearing(setting.model.as_ref(), &[], &economy(), &setting.limits);
            setting.options.context_management = management;
        })
        .await;
        idle.story.ask("Read it all").await.unwrap();
        idle.story.ask("And?").await.unwrap();
        assert!(rewrote(&idle.story, Layer::Microcompaction) > 0, "each page that leaves the newest is a rewrite");
        let compactions = &idle.story.session.transcript().view().compactions;
        assert_eq!(!compactions.is_empty(), compacts, "{percent} %");
        assert!(compactions.iter().all(|(_, made)| made.author == Author::Model));
    }
}

// spec: M4
// spec: M5
// spec: H7
#[test]
fn the_least_the_service_clears_is_what_pays() {
    let keys = Keys::from_values(&BTreeMap::from([("ANTHROPIC_API_KEY".to_owned(), "k".to_owned())]));
    let choice = Choice { model: "claude-opus-5-5".into(), ..Choice::default() };
    let limits = Limits::default();
    let model = connect(&choice, &keys, &Catalogue::built_in().unwrap(), &limits).unwrap();
    let settings = economy();
    let asked = |limits: &Limits| {
        let asked = server_clearing(model.as_ref(), &[], &settings, limits).unwrap();
        let edit = &asked["edits"][0];
        (edit["trigger"]["value"].as_u64().unwrap(), edit["clear_at_least"]["value"].as_u64().unwrap())
    };
    let (trigger, least) = asked(&limits);
    assert!(least < trigger * 3 / 4 && least > trigger / 2, "{least} of {trigger}");
    let (_, patient) = asked(&Limits { warm_margin: 1, ..limits.clone() });
    assert!(patient < least, "a smaller margin asks for less");
}

// spec: V1
// spec: M6
#[tokio::test]
async fn what_was_hidden_and_read_again_is_a_cost() {
    let seq = json!({ "command": "seq 1 30000" });
    let page = |n: usize| Turn::call("Read", json!({ "file_path": "big.txt", "offset": 1 + n, "limit": 100 }));
    let pages = (0..7).fold(Scripted::new(), |script, n| script.then(page(n)));
    let model = pages
        .then(Turn::call("Bash", seq))
        .then(Turn::text("read"))
        .then(page(0))
        .then_by(|prompt| {
            let mut stored =
                prompt.history.iter().flat_map(|message| message.tool_results().map(|r| r.text()).collect::<Vec<_>>());
            let text = stored.rfind(|text| text.contains("persisted-output")).unwrap();
            let path = text.split_whitespace().find(|word| word.contains("tool-results/")).unwrap();
            let path = path.trim_matches(|c: char| !c.is_alphanumeric() && c != '/').to_owned();
            Ok(Turn::call("Read", json!({ "file_path": path, "limit": 50 })))
        })
        .afterwards(|_| Ok(Turn::text("ok")));
    let mut story = begun(Setting::new(Arc::new(model)));
    story.ask("Read it all").await.unwrap();
    story.setting.clock.advance(SignedDuration::from_mins(6));
    story.ask("Again").await.unwrap();
    assert!(is_cleared(&story));
    let back: Vec<(Layer, u64)> = story
        .session
        .ledger()
        .iter()
        .filter_map(|row| if let Row::ReadBack(share) = row { Some((share.layer, share.tokens)) } else { None })
        .collect();
    assert_eq!(back.iter().map(|(layer, _)| *layer).collect::<Vec<_>>(), [Layer::Microcompaction, Layer::ToolResults]);
    assert!(back.iter().all(|(_, tokens)| *tokens > 50), "{back:?}");
    let account = Account::of(story.session.ledger());
    let all = account.savings();
    assert_eq!(all.read_back.tokens, -(back.iter().map(|(_, tokens)| *tokens as i64).sum::<i64>()));
    let parts = [all.gross, all.damage, all.read_back, all.premium, all.spend];
    assert_eq!(parts.iter().map(|part| part.tokens).sum::<i64>(), all.net().tokens);
    assert_eq!(all.by_layer.values().map(|part| part.tokens).sum::<i64>(), all.net().tokens);
}

// spec: M6
#[tokio::test]
async fn a_compaction_while_the_cache_is_warm_is_charged_with_what_it_makes_us_write_again() {
    let script = || {
        Script::new()
            .when(
                |request| request.last_user_text().contains("replaced by a summary"),
                simulator::text("<summary>\n## 8. Current Work\nSeeds.\n</summary>"),
            )
            .otherwise(simulator::text("an answer of some length ".repeat(400)))
    };
    for (minutes, damaged) in [(1, true), (61, false)] {
        let mut idle = Idle::begin(script(), |setting| {
            setting.switches.push(("layers.session_notes".into(), "false".into()));
        })
        .await;
        for n in 0..6 {
            idle.story.ask(&format!("question {n}")).await.unwrap();
        }
        idle.wait(minutes);
        let upto = idle.story.session.transcript().view().history[8].id.clone();
        let wish = Wish { trigger: Trigger::Manual, instructions: None, part: Part::UpTo(upto) };
        idle.story.session.compact(wish).await.unwrap();
        let tokens = rewrote(&idle.story, Layer::Compaction);
        assert_eq!(tokens > 0, damaged, "{tokens} after {minutes} minutes");
        idle.story.ask("and on").await.unwrap();
        let rows = idle.story.session.ledger();
        assert!(rows.iter().any(|row| matches!(row, Row::Announced { cause: Cause::Us, .. })));
        assert!(!rows.iter().any(|row| matches!(row, Row::Broke { .. })));
        let entries = idle.story.session.transcript().records();
        assert!(entries.iter().any(|record| matches!(record.entry, Entry::Compacted(_))));
        if damaged {
            let usage = main_calls(&idle.story).pop().unwrap().usage;
            let written = usage.cache_write_5m;
            assert!(tokens.abs_diff(written) < written / 4, "{tokens} estimated, {written} written");
        }
    }
}
