//! Skills in folders.

use crate::bench::{Workshop, bad, good};
use scrubjay::limits::Limits;
use scrubjay::tool::Tool;
use scrubjay::tools::skill::Skill;
use serde_json::json;

// spec: Q6
#[tokio::test]
async fn skills_are_listed_once_and_loaded_on_use() {
    let shop = Workshop::new();
    let (mine, theirs) = (shop.dir.join("mine"), shop.dir.join("theirs"));
    shop.file("mine/zeta/SKILL.md", "---\nname: zeta\ndescription: \"Last \u{1b}of all\"\n---\nDo z.\n");
    shop.file("mine/alpha/SKILL.md", "No header.\n");
    shop.file("theirs/alpha/SKILL.md", "---\ndescription: loses\n---\n");
    shop.file("theirs/empty/readme.txt", "not a skill");
    shop.file("theirs/bad name/SKILL.md", "x");
    shop.file("secret.txt", "secret");
    std::fs::create_dir(theirs.join("link")).unwrap();
    std::os::unix::fs::symlink(shop.dir.join("secret.txt"), theirs.join("link/SKILL.md")).unwrap();

    let skill = Skill::in_dirs(&[mine.clone(), theirs, shop.dir.join("missing")], &Limits::default()).unwrap();
    let description = &skill.spec().description;
    assert!(description.ends_with("Skills:\n- alpha: (no description)\n- zeta: Last ⟦U+001B⟧of all"), "{description}");
    let text = good(&shop.call_this(&skill, json!({"name": "zeta"})).await);
    assert!(text.contains("Do z.") && text.contains("/mine/zeta"), "{text}");
    let unknown = bad(&shop.call_this(&skill, json!({"name": "../secret"})).await);
    assert!(unknown.contains("There are: alpha, zeta"), "{unknown}");

    let file = mine.join("zeta/SKILL.md");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(shop.dir.join("secret.txt"), &file).unwrap();
    assert!(!bad(&shop.call_this(&skill, json!({"name": "zeta"})).await).contains("secret\n"));
}

#[tokio::test]
async fn a_large_skill_is_cut() {
    let mut shop = Workshop::new();
    shop.file("s/big/SKILL.md", "x".repeat(5_000));
    shop.limits.skill_bytes = 1_024;
    let skill = Skill::in_dirs(&[shop.dir.join("s")], &shop.limits).unwrap();
    assert!(good(&shop.call_this(&skill, json!({"name": "big"})).await).contains("cut after 1024 bytes"));
}

#[test]
fn without_skills_there_is_no_tool() {
    assert!(Skill::in_dirs(&[], &Limits::default()).is_none());
    assert!(Skill::in_dirs(&["/no/such/dir".into()], &Limits::default()).is_none());
}
