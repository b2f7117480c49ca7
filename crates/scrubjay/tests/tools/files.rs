//! Reading, writing and editing.

use crate::bench::{Workshop, bad, good};
use scrubjay::digest::Digest;
use scrubjay::message::Kind;
use scrubjay::tool::Effect;
use serde_json::json;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

// spec: R1
#[tokio::test]
async fn a_long_file_is_read_page_by_page_and_then_known() {
    let mut shop = Workshop::new();
    let lines: String = (1..=4_500).map(|line| format!("line {line}\n")).collect();
    let path = shop.file("long.txt", &lines);
    let first = shop.call("Read", json!({"file_path": "long.txt"})).await;
    assert!(good(&first).ends_with("[2500 more lines of 4500; continue with offset 2001]\n"));
    assert_eq!(first.saw, [(path, Digest::of(lines.as_bytes()))]);
    let last = good(&shop.call("Read", json!({"file_path": "long.txt", "offset": 4_500})).await);
    assert_eq!(last, "  4500\tline 4500\n");
}

#[tokio::test]
async fn one_huge_line_is_cut() {
    let mut shop = Workshop::new();
    shop.file("min.js", "x".repeat(20_000_000));
    let text = good(&shop.call("Read", json!({"file_path": "min.js"})).await);
    assert!(text.len() < 3_000 && text.contains("[19998000 more characters in this line]"), "{}", text.len());
}

#[tokio::test]
async fn a_picture_comes_back_as_a_picture_unless_it_is_too_large() {
    let mut shop = Workshop::new();
    let png = [b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 100]].concat();
    shop.file("dot.png", &png);
    let shown = shop.call("Read", json!({"file_path": "dot.png"})).await;
    assert!(matches!(shown.parts[1].kind(), Kind::Image), "{shown:?}");
    assert!(shown.parts[1].json().contains("iVBORw0KGgoAAAAA"));
    shop.limits.image_bytes = 64;
    assert!(bad(&shop.call("Read", json!({"file_path": "dot.png"})).await).contains("too large to be shown"));
}

// safety: F-43
#[tokio::test]
async fn what_is_not_a_regular_file_is_refused_without_waiting() {
    let mut shop = Workshop::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, shop.dir.join("pipe"), rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let _socket = UnixListener::bind(shop.dir.join("socket")).unwrap();
    symlink("loop", shop.dir.join("loop")).unwrap();
    symlink("/dev/zero", shop.dir.join("zero")).unwrap();
    for (name, says) in [
        ("pipe", "a pipe"),
        ("socket", "a socket"),
        ("loop", "in a circle"),
        ("zero", "a device"),
        ("/dev/tty", ""),
        (".", "is a directory"),
        ("missing/deep.txt", "does not exist either"),
    ] {
        let read = bad(&shop.call("Read", json!({"file_path": name})).await);
        assert!(read.contains(says), "{name}: {read}");
        if says.starts_with("a ") || says == "in a circle" {
            bad(&shop.call("Write", json!({"file_path": name, "content": "x"})).await);
            bad(&shop.call("Edit", json!({"file_path": name, "old_string": "x", "new_string": "y"})).await);
        }
    }
    bad(&shop.call("Write", json!({"file_path": ".", "content": "x"})).await);
}

// safety: F-43
#[tokio::test]
async fn a_sparse_giant_costs_nothing() {
    let mut shop = Workshop::new();
    let path = shop.file("giant", "");
    std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(bad(&shop.call("Read", json!({"file_path": "giant"})).await).contains("is not text (more than"));
    assert_eq!(good(&shop.call("Grep", json!({"pattern": "x"})).await), "Nothing matches.");
    bad(&shop.call("Write", json!({"file_path": "giant", "content": "x"})).await);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 40);
}

#[tokio::test]
async fn a_missing_file_is_answered_with_near_names() {
    let mut shop = Workshop::new();
    shop.file("main.rs", "x");
    let text = bad(&shop.call("Read", json!({"file_path": "mian.rs"})).await);
    assert!(text.contains("does not exist") && text.contains("Near names there: main.rs"), "{text}");
}

#[tokio::test]
async fn writing_needs_reading_first_and_keeps_the_permission_bits() {
    let mut shop = Workshop::new();
    let made = good(&shop.call("Write", json!({"file_path": "a/b/c.sh", "content": "one\n"})).await);
    assert!(made.starts_with("Created ") && made.ends_with("(1 line)."), "{made}");
    let path = shop.dir.join("a/b/c.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).unwrap();
    let again = good(&shop.call("Write", json!({"file_path": "a/b/c.sh", "content": "one\ntwo\n"})).await);
    assert!(again.ends_with("(2 lines, 1 before)."), "{again}");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o751);
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file is left");

    shop.file("theirs.txt", "precious");
    let refused = bad(&shop.call("Write", json!({"file_path": "theirs.txt", "content": "x"})).await);
    assert!(refused.contains("Read it first"), "{refused}");
    assert_eq!(std::fs::read_to_string(shop.dir.join("theirs.txt")).unwrap(), "precious");
}

#[tokio::test]
async fn an_edit_after_somebody_else_changed_the_file_is_refused() {
    let mut shop = Workshop::new();
    let path = shop.file("shared.txt", "alpha\nbeta\n");
    let edit = json!({"file_path": "shared.txt", "old_string": "beta", "new_string": "gamma"});
    assert!(bad(&shop.call("Edit", edit.clone()).await).contains("Read it first"));
    good(&shop.call("Read", json!({"file_path": "shared.txt"})).await);
    std::fs::write(&path, "alpha\nbeta\ndelta\n").unwrap();
    assert!(bad(&shop.call("Edit", edit.clone()).await).contains("changed after you read it"));
    assert!(
        bad(&shop.call("Write", json!({"file_path": "shared.txt", "content": ""})).await).contains("changed after")
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "alpha\nbeta\ndelta\n");
    good(&shop.call("Read", json!({"file_path": "shared.txt"})).await);
    let changed = good(&shop.call("Edit", edit).await);
    assert!(changed.contains("Changed 1 place") && changed.contains("     2\tgamma\n"), "{changed}");
    let more = json!({"file_path": "shared.txt", "old_string": "gamma", "new_string": "g"});
    good(&shop.call("Edit", more).await);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "alpha\ng\ndelta\n");
}

#[tokio::test]
async fn line_endings_and_marks_survive_an_edit() {
    let mut shop = Workshop::new();
    let path = shop.file("dos.txt", b"\xef\xbb\xbfone\r\ntwo\r\n\xff\r\n");
    let read = good(&shop.call("Read", json!({"file_path": "dos.txt"})).await);
    assert!(read.contains("CR LF") && read.contains("byte-order mark") && read.contains("not UTF-8"), "{read}");
    good(&shop.call("Edit", json!({"file_path": "dos.txt", "old_string": "one\ntwo", "new_string": "1\n2"})).await);
    assert_eq!(std::fs::read(&path).unwrap(), b"\xef\xbb\xbf1\r\n2\r\n\xff\r\n");
}

// spec: X1
#[tokio::test]
async fn links_are_resolved_before_anything_is_decided_or_written() {
    let mut shop = Workshop::new();
    let outside = shop.dir.parent().unwrap().join("outside");
    std::fs::create_dir(&outside).unwrap();
    symlink(&outside, shop.dir.join("out")).unwrap();
    symlink("real.txt", shop.dir.join("alias.txt")).unwrap();
    let real = shop.file("real.txt", "x\n");
    let write = json!({"file_path": "out/new.txt", "content": "n"});
    assert_eq!(shop.effect("Write", write.clone()), Effect::Writes(outside.join("new.txt")));
    assert_eq!(shop.effect("Read", json!({"file_path": "alias.txt"})), Effect::Reads(vec![real.clone()]));
    good(&shop.call("Read", json!({"file_path": "alias.txt"})).await);
    good(&shop.call("Edit", json!({"file_path": "alias.txt", "old_string": "x", "new_string": "y"})).await);
    assert!(shop.dir.join("alias.txt").is_symlink(), "the link itself stays");
    assert_eq!(std::fs::read_to_string(real).unwrap(), "y\n");
    let said = good(&shop.call("Write", write).await);
    assert!(said.contains("/outside/new.txt"), "{said}");
}

// spec: X1
#[tokio::test]
async fn a_hard_link_to_elsewhere_is_broken_not_followed() {
    let mut shop = Workshop::new();
    let secret = shop.dir.parent().unwrap().join("secret");
    std::fs::write(&secret, "keep").unwrap();
    std::fs::hard_link(&secret, shop.dir.join("mine")).unwrap();
    good(&shop.call("Read", json!({"file_path": "mine"})).await);
    good(&shop.call("Write", json!({"file_path": "mine", "content": "new"})).await);
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "keep");
}

// safety: F-42
#[tokio::test]
async fn odd_names_are_listed_on_one_line_each() {
    let mut shop = Workshop::new();
    let names: [&[u8]; 8] =
        [b"-rf.md", b"a\nb.md", b"\xff\xfe.md", b"..md", "x\u{202e}y.md".as_bytes(), &[b'n'; 255], b"con", b"sp ace"];
    for name in names {
        std::fs::write(shop.dir.join(OsStr::from_bytes(name)), "needle\n").unwrap();
    }
    for (tool, input) in
        [("Glob", json!({"pattern": "**/*", "hidden": true})), ("Grep", json!({"pattern": "needle", "hidden": true}))]
    {
        let listed = good(&shop.call(tool, input).await);
        assert_eq!(listed.lines().count(), names.len(), "{listed}");
        assert!(listed.contains("a⟦U+000A⟧b.md") && listed.contains("⟦FF⟧⟦FE⟧.md"), "{listed}");
    }
    for name in ["-rf.md", "a\nb.md", "..md", "con", "sp ace"] {
        good(&shop.call("Read", json!({"file_path": name})).await);
        good(&shop.call("Write", json!({"file_path": name, "content": "w"})).await);
    }
    let long = "n".repeat(300);
    assert!(bad(&shop.call("Write", json!({"file_path": long, "content": "w"})).await).contains("too long"));
}

#[tokio::test]
async fn bad_input_has_no_effect_and_says_why() {
    let mut shop = Workshop::new();
    for tool in ["Read", "Write", "Edit", "Grep", "Glob", "Bash", "Plan", "Tasks"] {
        for input in
            [json!({}), json!(null), json!([1]), json!({"file_path": 1, "command": 2, "pattern": [], "plan": {}})]
        {
            assert_eq!(shop.effect(tool, input.clone()), Effect::Nothing, "{tool}");
            assert!(bad(&shop.call(tool, input).await).contains("does not fit this tool"));
        }
    }
    let nul = shop.call("Read", json!({"file_path": "a\0b"})).await;
    assert!(nul.is_error);
    assert_eq!(shop.effect("Read", json!({"file_path": "../x"})), {
        let up: PathBuf = shop.dir.parent().unwrap().join("x");
        Effect::Reads(vec![up])
    });
}

// spec: Q6
#[tokio::test]
async fn a_plan_that_is_called_was_approved() {
    let mut shop = Workshop::new();
    assert_eq!(shop.effect("Plan", json!({"plan": "1. do it"})), Effect::Proposes);
    assert!(good(&shop.call("Plan", json!({"plan": "1. do it"})).await).contains("was approved"));
    assert!(bad(&shop.call("Plan", json!({"plan": " "})).await).contains("empty"));
}

// spec: X1
#[tokio::test]
async fn a_link_swapped_after_the_permission_leads_nowhere() {
    let shop = Workshop::new();
    let outside = tempfile::tempdir().unwrap();
    std::fs::create_dir(shop.dir.join("docs")).unwrap();
    let input = json!({ "file_path": "docs/new.txt", "content": "text" });
    let approved = shop.effect("Write", input.clone());
    std::fs::remove_dir(shop.dir.join("docs")).unwrap();
    symlink(outside.path(), shop.dir.join("docs")).unwrap();
    let outcome = shop.call_approved(Workshop::tool("Write").as_ref(), input, &approved).await;
    assert!(outcome.is_error, "{outcome:?}");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}
