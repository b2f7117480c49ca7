//! Kinds of agents: Markdown files with a header, of the person, of the project, and a few that come with the program.
//!
//! What a repository brings may only narrow: it can take tools away and choose among models and places that the person has
//! set up, never name new ones.

use crate::frontmatter::{self, Document, How};
use crate::limits::Limits;
use crate::prompts;
use crate::tools::{beginning, shown};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Who wrote a definition, least trusted last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Author {
    /// It comes with the program.
    Program,
    /// The person.
    Person,
    /// The repository.
    Project,
}

impl Author {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Author::Program => "program",
            Author::Person => "person",
            Author::Project => "project",
        }
    }
}

/// Whose memory an agent has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// One for all projects of the person.
    User,
    /// One that is committed with the project.
    Project,
    /// One for this project on this machine.
    Local,
}

impl Scope {
    /// Its name in a definition.
    pub fn word(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
            Scope::Local => "local",
        }
    }

    fn read(word: &str) -> Option<Self> {
        [Scope::User, Scope::Project, Scope::Local].into_iter().find(|scope| scope.word() == word)
    }
}

/// A kind of agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// What it is called.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// What it is told about itself.
    pub role: String,
    /// The tools it has; all of them where nothing is said.
    pub tools: Option<Vec<String>>,
    /// Tools it has not.
    pub without: Vec<String>,
    /// The model that it thinks with; that of whoever starts it where nothing is said.
    pub model: Option<String>,
    /// Whether it has a memory of its own, and where.
    pub memory: Option<Scope>,
    /// Whether it changes nothing.
    pub reads_only: bool,
    /// Whether whoever starts it goes on meanwhile.
    pub background: bool,
    /// Whether it works in a git worktree of its own.
    pub worktree: bool,
    /// How many rounds it has, if fewer than all agents have.
    pub rounds: Option<u64>,
    /// Who wrote it.
    pub author: Author,
    /// Where it was read.
    pub file: Option<PathBuf>,
}

impl Definition {
    /// Read one that this author wrote, with what was not understood or not allowed. The name of the file stands in for one
    /// that the header does not give.
    pub fn read(text: &str, author: Author, file: Option<&Path>, limits: &Limits) -> (Option<Self>, Vec<String>) {
        let mut notices = Vec::new();
        let definition = Reading { author, file, notices: &mut notices }.definition(text, limits);
        (definition, notices)
    }
}

/// The folders that hold definitions, most important first.
#[derive(Debug, Clone, Default)]
pub struct Folders {
    /// Of the person.
    pub person: Vec<PathBuf>,
    /// Of the project.
    pub project: Vec<PathBuf>,
    /// The project itself: a link that leads out of it is not followed.
    pub root: PathBuf,
}

/// Every kind there is.
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    kinds: BTreeMap<String, Definition>,
    /// What was not understood or not allowed, in words for the person.
    pub notices: Vec<String>,
}

const KEYS: [&str; 12] = [
    "name",
    "description",
    "tools",
    "disallowedTools",
    "model",
    "memory",
    "isolation",
    "background",
    "permissionMode",
    "maxTurns",
    "color",
    "skills",
];

/// What other agents call tools that we have under another name.
const ALIASES: [(&str, &str); 2] = [("Task", "Agent"), ("TodoWrite", "Tasks")];

impl Definitions {
    /// Those that come with the program.
    pub fn built_in(limits: &Limits) -> Self {
        let mut all = Self::default();
        for text in prompts::AGENTS {
            all.take(Definition::read(text, Author::Program, None, limits));
        }
        all
    }

    /// Those, and what the folders hold. The project's stand before the person's, and the person's before the program's.
    pub fn load(folders: &Folders, limits: &Limits) -> Self {
        let mut all = Self::built_in(limits);
        let person = folders.person.iter().rev().map(|dir| (Author::Person, dir, None));
        let project = folders.project.iter().rev().map(|dir| (Author::Project, dir, Some(folders.root.as_path())));
        for (author, dir, root) in person.chain(project) {
            all.read_folder(author, dir, root, limits);
        }
        all
    }

    fn read_folder(&mut self, author: Author, dir: &Path, root: Option<&Path>, limits: &Limits) {
        let most = usize::try_from(limits.agent_definitions).unwrap_or(usize::MAX);
        let files = markdown_files(dir, root);
        if files.len() > most {
            let left = files.len() - most;
            self.notices.push(format!("{left} agents in {} are left out: at most {most} are read", dir.display()));
        }
        for file in files.into_iter().take(most) {
            let text = match beginning(&file, limits.agent_definition_bytes) {
                Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                Err(error) => {
                    self.notices.push(format!("the agent {} cannot be read: {error}", file.display()));
                    continue;
                }
            };
            self.take(Definition::read(&text, author, Some(&file), limits));
        }
    }

    fn take(&mut self, (definition, mut notices): (Option<Definition>, Vec<String>)) {
        self.notices.append(&mut notices);
        self.kinds.extend(definition.map(|definition| (definition.name.clone(), definition)));
    }

    /// One of them.
    pub fn get(&self, name: &str) -> Option<&Definition> {
        self.kinds.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.kinds.values()
    }
}

/// Markdown files of a folder and its folders, by name.
fn markdown_files(dir: &Path, root: Option<&Path>) -> Vec<PathBuf> {
    const DEEPEST: usize = 3;
    let mut found = Vec::new();
    let mut pending = vec![(dir.to_owned(), DEEPEST)];
    while let Some((dir, depth)) = pending.pop() {
        let inside = |path: &PathBuf| match root {
            Some(root) => path.canonicalize().is_ok_and(|real| real.starts_with(root)),
            None => true,
        };
        let entries = std::fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path());
        for path in entries.filter(inside) {
            if path.is_dir() && depth > 0 {
                pending.push((path, depth - 1));
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// One file that is being read.
struct Reading<'a> {
    author: Author,
    file: Option<&'a Path>,
    notices: &'a mut Vec<String>,
}

impl Reading<'_> {
    fn definition(&mut self, text: &str, limits: &Limits) -> Option<Definition> {
        let document = frontmatter::parse(text, &KEYS, limits);
        let stem = self.file.and_then(Path::file_stem).and_then(|stem| stem.to_str()).unwrap_or_default();
        let name = document.get("name").unwrap_or(stem).trim().to_owned();
        if document.how == How::None || !is_kind(&name) || document.body.trim().is_empty() {
            self.tell("is no agent: it needs a header with a name of letters, digits, `-`, `_` or `:`, and a text");
            return None;
        }
        self.tell_of_unknown(&document);
        Some(Definition {
            description: document.get("description").unwrap_or_default().trim().to_owned(),
            role: document.body.trim().to_owned(),
            tools: document.value("tools").map(|_| self.tools(&document, "tools")).filter(|tools| !names_all(tools)),
            without: self.tools(&document, "disallowedTools"),
            model: document.get("model").map(str::trim).filter(|name| !["", "inherit"].contains(name)).map(Into::into),
            memory: self.memory(&document),
            reads_only: self.reads_only(&document),
            background: is_true(document.get("background")),
            worktree: self.worktree(&document),
            rounds: document.get("maxTurns").and_then(|turns| turns.trim().parse().ok()),
            author: self.author,
            file: self.file.map(Path::to_owned),
            name,
        })
    }

    /// Names, however they were listed. One with a pattern is left out: less is safe, more would not be.
    fn tools(&mut self, document: &Document<'_>, key: &str) -> Vec<String> {
        let listed = document.list(key).iter().flat_map(|item| item.split(',')).map(str::trim);
        let mut names = Vec::new();
        for name in listed.filter(|name| !name.is_empty()) {
            if name.contains('(') && key == "tools" {
                self.tell(&format!("is without the tool `{name}`: only whole tools can be listed"));
                continue;
            }
            let name = name.split('(').next().unwrap_or(name);
            let ours = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, ours)| ours);
            names.push(ours.to_owned());
        }
        names
    }

    fn memory(&mut self, document: &Document<'_>) -> Option<Scope> {
        let word = document.get("memory")?.trim().to_lowercase();
        match Scope::read(&word) {
            Some(Scope::User) if self.author == Author::Project => {
                self.tell("has a memory in this project: a repository cannot ask for one that all projects share");
                Some(Scope::Project)
            }
            None if !["", "none", "false"].contains(&word.as_str()) => {
                self.tell(&format!("has no memory: `{word}` is none of user, project, local"));
                None
            }
            scope => scope,
        }
    }

    fn reads_only(&mut self, document: &Document<'_>) -> bool {
        match document.get("permissionMode").map(str::trim) {
            Some("plan" | "read-only") => true,
            None | Some("default" | "ask" | "") => false,
            Some(other) => {
                self.tell(&format!("may do what its caller may: permissionMode `{other}` could only widen that"));
                false
            }
        }
    }

    fn worktree(&mut self, document: &Document<'_>) -> bool {
        match document.get("isolation").map(str::trim) {
            Some("worktree") => true,
            None | Some("" | "none") => false,
            Some(other) => {
                self.tell(&format!("works where its caller works: there is no isolation `{other}`, only `worktree`"));
                false
            }
        }
    }

    fn tell_of_unknown(&mut self, document: &Document<'_>) {
        let keys: Vec<&str> = document
            .unknown()
            .flat_map(str::lines)
            .filter_map(|line| line.split_once(':').map(|(key, _)| key))
            .filter(|key| {
                !key.is_empty() && key.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter))
            })
            .collect();
        if !keys.is_empty() {
            self.tell(&format!("says something that is not understood and has no effect: {}", keys.join(", ")));
        }
    }

    fn tell(&mut self, what: &str) {
        let place = self.file.map(|file| file.display().to_string()).unwrap_or_default();
        self.notices.push(shown(&format!("the agent {place} {what}")).into_owned());
    }
}

/// A name that a model can say, that can be a folder once `:` is a dash, and that leads nowhere.
pub fn is_kind(name: &str) -> bool {
    const LONGEST: usize = 64;
    let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_:".contains(letter));
    plain && name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.len() <= LONGEST
}

fn names_all(tools: &[String]) -> bool {
    tools.iter().any(|name| name == "*")
}

fn is_true(word: Option<&str>) -> bool {
    matches!(word.map(str::trim), Some("true" | "yes" | "on"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(author: Author, text: &str) -> (Option<Definition>, Vec<String>) {
        Definition::read(text, author, Some(Path::new("/agents/reviewer.md")), &Limits::default())
    }

    // spec: A3
    #[test]
    fn a_definition_says_what_an_agent_has_and_a_project_may_only_narrow() {
        let text = "---\nname: reviewer\ndescription: Reviews: every change\ntools: Read, Grep, Bash(git *), Task\n\
                    model: small\nmemory: user\nisolation: worktree\nbackground: true\npermissionMode: bypassPermissions\n\
                    base_url: https://evil.example\ncolor: red\n---\nYou review.\n";
        let (mine, notices) = read(Author::Person, text);
        let mine = mine.unwrap();
        assert_eq!(
            mine.tools,
            Some(vec!["Read".to_owned(), "Grep".into(), "Agent".into()]),
            "a pattern is not widened"
        );
        assert_eq!((mine.memory, mine.worktree, mine.background), (Some(Scope::User), true, true));
        assert_eq!((mine.description.as_str(), mine.role.as_str()), ("Reviews: every change", "You review."));
        assert!(!mine.reads_only && notices.iter().any(|notice| notice.contains("could only widen")), "{notices:?}");
        assert!(notices.iter().any(|notice| notice.contains("base_url")), "{notices:?}");
        let (theirs, notices) = read(Author::Project, text);
        assert_eq!(theirs.unwrap().memory, Some(Scope::Project), "not the person's own");
        assert!(notices.iter().any(|notice| notice.contains("cannot ask")), "{notices:?}");
    }

    // spec: A3
    #[test]
    fn bad_headers_are_read_line_by_line_and_no_agent_has_a_name_that_leads_elsewhere() {
        let (found, _) = read(Author::Project, "---\nname: a:b\ndescription: \"open\ntools: [Read, Glob]\n---\nGo.\n");
        let found = found.unwrap();
        assert_eq!((found.name.as_str(), found.tools.unwrap().len()), ("a:b", 2));
        for name in ["../x", "a/b", ".hidden", "", "a b"] {
            let (found, notices) = read(Author::Person, &format!("---\nname: \"{name}\"\n---\nGo.\n"));
            assert!(found.is_none() && notices.len() == 1, "{name}: {notices:?}");
        }
        assert!(read(Author::Person, "no header").0.is_none());
        assert!(read(Author::Person, "---\nname: x\n---\n \n").0.is_none(), "nothing to do");
    }

    // spec: A3
    #[test]
    fn the_projects_kinds_stand_before_the_persons_and_a_link_out_of_it_is_not_followed() {
        let held = tempfile::tempdir().unwrap();
        let held = held.path().canonicalize().unwrap();
        let (person, root) = (held.join("person"), held.join("project"));
        let project = root.join(".claude/agents");
        std::fs::create_dir_all(project.join("deep")).unwrap();
        std::fs::create_dir_all(&person).unwrap();
        let kind = |name: &str, role: &str| format!("---\nname: {name}\ndescription: d\n---\n{role}\n");
        std::fs::write(person.join("a.md"), kind("both", "person")).unwrap();
        std::fs::write(person.join("b.md"), kind("mine", "person")).unwrap();
        std::fs::write(person.join("c.md"), kind("explore", "person")).unwrap();
        std::fs::write(project.join("deep/a.md"), kind("both", "project")).unwrap();
        std::os::unix::fs::symlink(person.join("b.md"), project.join("link.md")).unwrap();
        let folders = Folders { person: vec![person], project: vec![project], root };
        let all = Definitions::load(&folders, &Limits::default());
        let by = |name: &str| all.get(name).map(|kind| (kind.author, kind.role.clone()));
        assert_eq!(by("both"), Some((Author::Project, "project".to_owned())));
        assert_eq!(by("mine"), Some((Author::Person, "person".to_owned())));
        assert_eq!(by("explore"), Some((Author::Person, "person".to_owned())));
        assert_eq!(by("general").map(|(author, _)| author), Some(Author::Program));
        let few = Limits { agent_definitions: 1, ..Limits::default() };
        assert!(Definitions::load(&folders, &few).notices.iter().any(|notice| notice.contains("left out")));
    }

    #[test]
    fn what_comes_with_the_program_is_well_formed() {
        let all = Definitions::built_in(&Limits::default());
        assert_eq!(all.notices, Vec::<String>::new());
        let names: Vec<&str> = all.iter().map(|kind| kind.name.as_str()).collect();
        assert_eq!(names, ["explore", "general"]);
        assert!(all.get("explore").unwrap().reads_only && !all.get("general").unwrap().reads_only);
    }

    proptest! {
        #[test]
        fn every_text_is_read_to_an_end(text in "(---\n)?([a-zA-Z:\\-\"\\[\\], *(){}]{0,30}\n){0,12}(---\n)?.{0,40}") {
            let (found, _) = read(Author::Project, &text);
            if let Some(found) = found {
                prop_assert!(is_kind(&found.name) && found.memory != Some(Scope::User));
            }
        }
    }
}
