//! `scrubjay report`: one page about a session, with the numbers that the other commands tell.

use crate::stage::{Stage, files};
use crate::workweek::{catalogue, play};
use scrubjay_testkit::simulator::{Script, Simulator, text};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// The person's own catalogue gives the model the window that the session had.
fn stage() -> Stage {
    let stage = Stage::offline();
    let config = stage.home().join("config");
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("models.toml"), catalogue()).unwrap();
    stage
}

/// The person writes something down twice, and the next dream proposes to tidy that up.
fn untidy(stage: &Stage) {
    for name in ["greenhouse", "greenhouse again"] {
        let about = ["--name", name, "--description", "the key of the greenhouse", "The key hangs behind the door."];
        stage.run(&[&["memory", "add", "--type", "project"], &about[..]].concat()).ended_with(0);
    }
    stage.run(&["dream"]).ended_with(0);
}

/// The page of a session, and the facts it was drawn from.
fn reported(stage: &Stage, session: &str) -> (String, Value) {
    let ran = stage.run(&["report", "--session", session, "--json", "--out", "page.html"]).ended_with(0);
    (fs::read_to_string(stage.project().join("page.html")).unwrap(), ran.json())
}

/// What stands between two texts, each time.
fn between<'a>(page: &'a str, start: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(start).skip(1).map(move |rest| rest.split(end).next().unwrap())
}

/// The value at a place such as `requests.3.without`.
fn at(facts: &Value, place: &str) -> String {
    let found = place.split('.').try_fold(facts.clone(), |value, step| match (&value, step) {
        (Value::Array(list), "length") => Some(list.len().into()),
        (Value::Array(list), step) => list.get(step.parse::<usize>().ok()?).cloned(),
        (value, step) => value.get(step).cloned(),
    });
    found.unwrap_or_else(|| panic!("nothing at {place}")).to_string()
}

// spec: U8
// spec: V1
#[tokio::test(flavor = "multi_thread")]
async fn a_page_tells_the_numbers_of_the_other_commands() {
    let stage = stage();
    play(&stage, 13).await;
    untidy(&stage);
    let (page, facts) = reported(&stage, "story");
    let told = |verb: &str| stage.run(&[verb, "--session", "story", "--json"]).ended_with(0).json();

    let context = told("context");
    assert_eq!(facts["window"], context["budget"]);
    let last = facts["requests"].as_array().unwrap().last().unwrap();
    assert_eq!(last["filling"]["total"], context["budget"]["used"]);
    for (share, tokens) in last["filling"]["by_share"].as_object().unwrap() {
        assert_eq!(*tokens, context["by_share"][share], "{share} in {context:#}");
    }

    let savings = told("savings");
    let money = &facts["money"];
    assert_eq!((&money["net"], &money["billed_usd"]), (&savings["net"], &savings["billed"]["usd"]));
    assert_eq!(money["without_usd"], savings["without"]["usd"]);
    let steps = money["steps"].as_array().unwrap();
    for kind in ["saved", "cache_damage", "read_again", "longer_lifetime", "own_calls"] {
        let of_kind = steps.iter().filter(|step| step["kind"] == kind);
        let sum: f64 = of_kind.map(|step| step["sum"]["usd"].as_f64().unwrap()).sum();
        assert!((sum - savings[kind]["usd"].as_f64().unwrap()).abs() < 1e-9, "{kind}: {savings:#}");
    }

    let cost = told("cost");
    for (ours, theirs) in money["calls"].as_array().unwrap().iter().zip(cost["by_model"].as_array().unwrap()) {
        let same =
            [("source", "source"), ("model", "model"), ("calls", "calls"), ("usage", "usage"), ("usd", "cost_usd")];
        same.iter().for_each(|(here, there)| assert_eq!(ours[*here], theirs[*there], "{here}"));
    }
    assert_eq!(facts["cache"]["hit_rate"], cost["health"]["cache_hit_rate"]);

    assert_page_is_of(&page, &facts);
    let by: Vec<&str> =
        facts["memories"].as_array().unwrap().iter().map(|change| change["by"].as_str().unwrap()).collect();
    assert_eq!(by, ["extraction from this session", "extraction from this session", "you", "a dream"]);
    assert_eq!(facts["proposals"].as_array().unwrap().len(), 1);
    for words in [
        "A dream: ",
        "A dream proposes, and waits for you",
        "+From now on always run the import tests",
        "scrubjay undo 1",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let layers: Vec<char> = "12356".chars().collect();
    let fired =
        |letter: &char| facts["events"].as_array().unwrap().iter().any(|event| event["letter"] == letter.to_string());
    assert!(layers.iter().all(fired), "{:#}", facts["events"]);
}

/// Every figure has the value that the facts have, every part is there, and nothing is loaded.
fn assert_page_is_of(page: &str, facts: &Value) {
    let held = between(page, "id=\"report\">", "</script>").next().unwrap();
    assert_eq!(serde_json::from_str::<Value>(held).unwrap(), *facts, "the page holds its facts");
    let figures: Vec<&str> = between(page, "<data data-path=\"", "</data>").collect();
    assert!(figures.len() >= 8, "{figures:?}");
    for figure in figures {
        let (place, rest) = figure.split_once('"').unwrap();
        let value = between(rest, "value=\"", "\"").next().unwrap();
        assert_eq!(value, at(facts, place), "{place}");
    }
    for part in ["window", "cache", "money", "compactions", "memory"] {
        assert!(page.contains(&format!("<h2 id=\"{part}\">")), "{part}");
    }
    for drawn in [
        "chart wide",
        "chart narrow",
        "class=\"without\"",
        "class=\"area share-R\"",
        "class=\"whole billed\"",
        "id=\"slider\"",
    ] {
        assert!(page.contains(drawn), "{drawn}");
    }
    assert_loads_nothing(page);
}

fn assert_loads_nothing(page: &str) {
    assert!(page.contains("default-src &#39;none&#39;") && !page.contains("unsafe-inline"));
    for loading in ["http:", "https:", "<link", "<img", "<iframe", "@import", "src="] {
        assert!(!page.contains(loading), "{loading}");
    }
    assert_eq!(between(page, "url(", ")").filter(|place| !place.starts_with('#')).count(), 0);
}

// spec: G2
// spec: X8
#[tokio::test(flavor = "multi_thread")]
async fn hostile_words_stay_words_and_credentials_stay_here() {
    let token = ["ghp", "16C7e42F292c6912E7710c838347Ae178B4a"].join("_");
    let hostile =
        format!("</script><script>alert(1)</script><img src=x onerror='alert(2)'> \" ' & \u{202e}live {token}");
    let simulator = Simulator::start(Script::new().otherwise(text(hostile.as_str()))).await.unwrap();
    let stage = Stage::with(&simulator);
    stage.run(&["-p", &hostile]).ended_with(0);
    let (name, words) = ("<svg/onload=alert(3)>", "an <i>idle</i> memory \u{202e}evil");
    stage.run(&["memory", "add", "--type", "project", "--name", name, "--description", words, words]).ended_with(0);
    let (page, facts) = reported(&stage, "last");
    assert!(!page.contains(&token) && !facts.to_string().contains(&token));
    assert!(page.contains("[REDACTED:") && !page.contains('\u{202e}'));
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert_eq!(page.matches("<script").count(), 2, "the facts and ours");
    for tag in ["<img", "<svg/", "<i>"] {
        assert!(!page.contains(tag), "{tag}");
    }
    let held = between(&page, "id=\"report\">", "</script>").next().unwrap();
    assert_eq!(serde_json::from_str::<Value>(held).unwrap(), facts);
    assert_loads_nothing(&page.replace("src=x", ""));
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(stage.project().join("page.html")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_session_without_an_answer_says_what_to_do() {
    let stage = Stage::offline();
    stage.run(&["report"]).ended_with(3).complained_about(&["no session", "scrubjay chat"]);
    let unreachable = Stage::at("http://127.0.0.1:9");
    unreachable.run(&["-p", "Is anybody there?"]);
    let ran = unreachable.run(&["report"]).ended_with(0);
    assert!(ran.out.contains("report.html") && ran.out.contains("0 requests"), "{ran:?}");
    let page = fs::read_to_string(unreachable.project().join("report.html")).unwrap();
    for words in ["Is anybody there?", "There is nothing to draw yet", "scrubjay chat", "scrubjay sessions"] {
        assert!(page.contains(words), "{words}");
    }
    assert!(!page.contains("id=\"slider\""));
    let seen = files(&unreachable.home());
    unreachable.run(&["report", "--json"]).ended_with(0);
    assert_eq!(files(&unreachable.home()), seen, "looking changes nothing");
}

// spec: U8
#[test]
fn a_file_that_is_no_page_of_ours_is_not_written_over() {
    let stage = Stage::offline();
    stage.run(&["-p", "Is anybody there?"]).ended_with(0);
    let path = |name: &str| stage.project().join(name);
    let ours = "<!doctype html>\n<p>my thesis, which mentions scrubjay report and generator</p>";
    for (name, text) in [("report.html", ours), ("thesis.md", "three years of work"), ("empty.html", "")] {
        fs::write(path(name), text).unwrap();
        let refused = stage.run(&["report", "--out", name]).ended_with(2);
        refused.complained_about(&["no page of scrubjay", "--force", "--out"]);
        assert_eq!(fs::read_to_string(path(name)).unwrap(), text);
    }
    stage.run(&["report"]).ended_with(2).complained_about(&["left as it is"]);
    fs::create_dir(path("pages")).unwrap();
    for force in [&["report", "--out", "pages"][..], &["report", "--out", "pages", "--force"]] {
        stage.run(force).ended_with(2).complained_about(&["is a folder", "pages/report.html"]);
    }
    for (link, target) in
        [("to-thesis.html", "thesis.md"), ("to-page.html", "page.html"), ("to-nothing.html", "nothing")]
    {
        std::os::unix::fs::symlink(target, path(link)).unwrap();
        stage.run(&["report", "--out", link]).ended_with(2).complained_about(&["link"]);
        assert!(fs::symlink_metadata(path(link)).unwrap().is_symlink() && !path("nothing").exists());
    }
    // A page of ours is brought up to date, and --force replaces what stands there, never what a link points to.
    stage.run(&["report", "--out", "page.html"]).ended_with(0);
    stage.run(&["report", "--out", "page.html"]).ended_with(0);
    stage.run(&["report", "--json", "--out", "page.html"]).ended_with(0);
    stage.run(&["report", "--json", "--out", "thesis.md"]).ended_with(2);
    stage.run(&["report", "--force", "--out", "to-thesis.html"]).ended_with(0);
    assert_eq!(fs::read_to_string(path("thesis.md")).unwrap(), "three years of work");
    stage.run(&["report", "--force"]).ended_with(0);
    assert!(fs::read_to_string(path("report.html")).unwrap().contains("Is anybody there?"));
}

/// For the browser suite: pages and their facts in the folder that `REPORT_DIR` names.
#[ignore = "a named suite: suites/browser/run.sh"]
#[tokio::test(flavor = "multi_thread")]
async fn for_a_browser() {
    let (stage, dir) = (stage(), PathBuf::from(std::env::var("REPORT_DIR").unwrap()));
    play(&stage, usize::MAX).await;
    untidy(&stage);
    let (page, facts) = reported(&stage, "story");
    fs::write(dir.join("report.html"), page).unwrap();
    fs::write(dir.join("report.json"), facts.to_string()).unwrap();
    let unreachable = Stage::at("http://127.0.0.1:9");
    unreachable.run(&["-p", "Is anybody there?"]);
    let (page, facts) = reported(&unreachable, "last");
    fs::write(dir.join("empty.html"), page).unwrap();
    fs::write(dir.join("empty.json"), facts.to_string()).unwrap();
}
