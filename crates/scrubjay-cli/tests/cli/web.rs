//! Stories of fetching pages: what is read, and what is never contacted.

use crate::stage::Stage;
use scrubjay_testkit::simulator::{Script, Simulator, raw, text, tool_use};
use serde_json::json;

/// What the model heard about a fetch of `path` on the simulator's own host.
async fn fetched(address: impl Fn(&str) -> String, flags: &[&str]) -> String {
    let pages = Script::new()
        .at_path(
            "/page",
            raw(
                200,
                "text/html; charset=iso-8859-1",
                &b"<h1>Jays</h1><script>x()</script><p>caf\xe9 <a href=\"/next\">on</a>\x1b[31m"[..],
            ),
        )
        .at_path("/data", raw(200, "application/json", "{\"a\":1}"))
        .at_path("/bird.png", raw(200, "image/png", "png"))
        .at_path("/liar", raw(200, "text/plain", &b"a\0b"[..]))
        .at_path("/gone", raw(404, "text/plain", "not here"))
        .at_path("/here", raw(302, "text/plain", "").header("location", "/data"))
        .at_path("/away", raw(302, "text/plain", "").header("location", "http://elsewhere.example/x"))
        .at_path("/loop", raw(302, "text/plain", "").header("location", "/loop"))
        .at_path("/long", raw(200, "text/plain", "word ".repeat(50_000)));
    let simulator = Simulator::start(pages).await.unwrap();
    let stage = Stage::with(&simulator);
    simulator.push(tool_use("WebFetch", json!({ "url": address(&simulator.url()) })));
    simulator.push(text("Read."));
    stage.run(&[&["-p", "read the page", "--allow", "WebFetch"], flags].concat()).ended_with(0);
    simulator.last_request().unwrap().tool_results()[0].1.clone()
}

const PRIVATE_TOO: &[&str] =
    &["--set", "web.private_addresses=true", "--set", "limits.fetch_redirects=3", "--set", "limits.fetch_chars=1000"];

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_read_as_text() {
    for (path, words) in [
        ("/page", &["# Jays", "café [on](http://127.0.0.1", "/next)", "⟦U+001B⟧"][..]),
        ("/data", &["{\"a\":1}"]),
        ("/here", &["{\"a\":1}"]),
        ("/bird.png", &["not text but image/png"]),
        ("/liar", &["it is binary"]),
        ("/gone", &["404", "not here"]),
        ("/away", &["redirects to another host", "http://elsewhere.example/x"]),
        ("/loop", &["again and again"]),
        ("/long", &["cut here"]),
    ] {
        let heard = fetched(|url| format!("{url}{path}"), PRIVATE_TOO).await;
        for word in words {
            assert!(heard.contains(word), "{path}: `{word}` in {}", &heard[..heard.len().min(500)]);
        }
        assert!(!heard.contains("x()") && !heard.contains('\u{1b}'));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_public_is_not_contacted() {
    for (address, words) in [
        ("LOCAL/page", "not on the public internet"),
        ("http://localhost:1/", "not on the public internet"),
        ("http://169.254.169.254/latest/meta-data", "it was not contacted"),
        ("http://[::1]:1/", "not on the public internet"),
        ("http://[::ffff:10.0.0.1]/", "not on the public internet"),
        ("http://2130706433/", "not on the public internet"),
        ("http://0x7f.1/", "not on the public internet"),
        ("file:///etc/passwd", "Only http and https"),
        ("http://me:secret@127.0.0.1/", "user name or password"),
        ("nonsense", "not an address"),
    ] {
        let heard = fetched(|url| address.replace("LOCAL", url), &[]).await;
        assert!(heard.contains(words), "{address}: {heard}");
        assert!(!heard.contains("secret"), "{heard}");
    }
}

// spec: X3
#[tokio::test(flavor = "multi_thread")]
async fn no_setting_lets_a_cloud_tell_its_keys() {
    for address in [
        "http://169.254.169.254/latest/meta-data",
        "http://2852039166/latest",
        "http://0xa9fea9fe/",
        "http://0251.0376.0251.0376/",
        "http://169.254.43518/",
        "http://169.254.169.254./",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::169.254.169.254]/",
        "http://[2002:a9fe:a9fe::1]/",
        "http://[fd00:ec2::254]/",
        "http://100.100.100.200/",
        "http://168.63.129.16/machine?comp=goalstate",
        "http://192.0.0.192/opc/v2",
    ] {
        let heard = fetched(|_| address.to_owned(), PRIVATE_TOO).await;
        assert!(heard.contains("tells a machine its own keys"), "{address}: {heard}");
    }
}
