//! A link leads somewhere.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match path.is_dir() {
            true => pages(&path, found),
            false if path.extension().is_some_and(|extension| extension == "md") => found.push(path),
            false => {}
        }
    }
}

/// Where a page links to, without what lies on the network, anchors, and code.
fn targets(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).flat_map(|part| part.split('`').step_by(2)).collect();
    let links = prose.split("](").skip(1);
    let target = |rest: &str| rest.split([')', '#', ' ']).next().unwrap_or_default().to_owned();
    links.map(target).filter(|link| !link.is_empty() && !link.contains("://")).collect()
}

#[test]
fn every_link_between_pages_leads_to_a_file() {
    let mut all = vec![root().join("llms.txt")];
    pages(&root().join("docs"), &mut all);
    // It quotes beginnings of sentences, in which code may stay open.
    all.retain(|page| !page.ends_with("conformance.md"));
    let at_the_top = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    all.extend(at_the_top.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    let mut dead = Vec::new();
    let mut count = 0;
    for page in &all {
        for link in targets(&fs::read_to_string(page).unwrap()) {
            count += 1;
            if !page.parent().unwrap().join(&link).exists() {
                dead.push(format!("{} in {}", link, page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(count > 50, "only {count} links were found: the test does not read the pages any more");
    assert_eq!(dead, Vec::<String>::new());
}

/// Whoever looks for a page finds it from the first one.
#[test]
fn the_index_names_every_page() {
    let index = fs::read_to_string(root().join("docs/README.md")).unwrap();
    let mut all = Vec::new();
    pages(&root().join("docs"), &mut all);
    let named =
        |page: &Path| index.contains(&format!("({})", page.strip_prefix(root().join("docs")).unwrap().display()));
    let lost: Vec<&PathBuf> = all.iter().filter(|page| !page.ends_with("README.md") && !named(page)).collect();
    assert!(lost.is_empty(), "docs/README.md does not name {lost:?}");
}
