//! Whether a command line only reads, decided by parsing it.
//!
//! Three sieves, each of which says no when in doubt. The line must parse without an error into nothing but lists and
//! pipelines of plain commands: no substitution, expansion, assignment, function, here-document or background job, and
//! no redirection but to `/dev/null` or between standard output and error. Every word must be spelled so that no shell
//! could read it differently: no wildcards, braces or tildes. Then each command must be known, with every one of its
//! flags (`flags.rs`).

use super::flags;
use tree_sitter::{Node, Parser};

/// Bytes of a line that is looked at: nobody reads closely what is longer, neither person nor parser.
const LONGEST: usize = 16_384;

/// The commands of a line that only reads, as lists of words, in order; `None` if that is not certain.
pub fn read_only_commands(line: &str) -> Option<Vec<Vec<String>>> {
    let commands = plain_commands(line)?;
    commands.iter().all(|words| flags::only_reads(words)).then_some(commands)
}

/// The commands of a line that consists of nothing but plain commands, whatever they do; `None` if there is more to it.
pub fn plain_commands(line: &str) -> Option<Vec<Vec<String>>> {
    if line.len() > LONGEST || line.contains("\\\n") || line.chars().any(is_strange) {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parser.parse(line, None)?;
    let root = tree.root_node();
    if root.has_error() {
        return None;
    }
    let mut commands = Vec::new();
    statement(root, line, &mut commands)?;
    (!commands.is_empty()).then_some(commands)
}

/// Characters that two readers of one line might disagree about.
fn is_strange(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || (letter.is_whitespace() && !letter.is_ascii())
}

fn statement(node: Node<'_>, line: &str, commands: &mut Vec<Vec<String>>) -> Option<()> {
    match node.kind() {
        "program" | "list" | "pipeline" => {
            for child in children(node) {
                match child.kind() {
                    "&&" | "||" | ";" | "|" | "\n" if !child.is_named() => {}
                    _ => statement(child, line, commands)?,
                }
            }
            Some(())
        }
        "redirected_statement" => {
            for child in children(node) {
                match child.kind() {
                    "file_redirect" => harmless_redirect(child, line)?,
                    _ => statement(child, line, commands)?,
                }
            }
            Some(())
        }
        "command" => {
            let words = children(node).map(|child| match child.kind() {
                "command_name" => command_name(child, line),
                _ => word(child, line),
            });
            commands.push(words.collect::<Option<_>>()?);
            Some(())
        }
        "test_command" => {
            let mut words = Vec::new();
            bracket(node, line, &mut words)?;
            (words.first()? == "[").then(|| commands.push(words))
        }
        _ => None,
    }
}

fn children<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    (0..u32::try_from(node.child_count()).unwrap_or(0)).filter_map(move |index| node.child(index))
}

fn text<'l>(node: Node<'_>, line: &'l str) -> Option<&'l str> {
    line.get(node.byte_range())
}

/// A command is named by one bare word.
fn command_name(node: Node<'_>, line: &str) -> Option<String> {
    let name = bare(text(node, line)?)?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_+./[".contains(letter);
    (node.child_count() == 1
        && node.child(0)?.kind() == "word"
        && name.chars().all(is_name)
        && name == text(node, line)?)
    .then_some(name)
}

/// What a word means, if that is certain.
fn word(node: Node<'_>, line: &str) -> Option<String> {
    let raw = text(node, line)?;
    match node.kind() {
        "word" | "number" => (node.child_count() == 0).then(|| bare(raw))?,
        "raw_string" => Some(raw.strip_prefix('\'')?.strip_suffix('\'')?.to_owned()),
        "string" => {
            let plain = children(node).all(|child| matches!(child.kind(), "\"" | "string_content"));
            if plain { quoted(raw.strip_prefix('"')?.strip_suffix('"')?) } else { None }
        }
        "concatenation" => children(node).map(|child| word(child, line)).collect(),
        _ => None,
    }
}

/// An unquoted word, without anything a shell would expand.
fn bare(raw: &str) -> Option<String> {
    let mut out = String::new();
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.push(letters.next().filter(|next| !next.is_whitespace() || *next == ' ')?),
            letter if letter.is_alphanumeric() || "-_./,:=+@%^".contains(letter) => out.push(letter),
            '[' | ']' if raw.len() == 1 => out.push(letter),
            _ => return None,
        }
    }
    (!out.is_empty()).then_some(out)
}

/// The inside of double quotes, without expansions.
fn quoted(raw: &str) -> Option<String> {
    let mut out = String::new();
    let mut letters = raw.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek().copied()) {
            ('\\', Some(next @ ('$' | '`' | '"' | '\\'))) => {
                out.push(next);
                letters.next();
            }
            ('`' | '"', _) => return None,
            ('$', next) if !matches!(next, None | Some(' ' | '|' | ')' | '/')) => return None,
            (letter, _) => out.push(letter),
        }
    }
    Some(out)
}

/// The words of `[ … ]`, which is a command like any other.
fn bracket(node: Node<'_>, line: &str, words: &mut Vec<String>) -> Option<()> {
    for child in children(node) {
        match child.kind() {
            "[" | "]" | "=" | "==" | "!=" | "!" if !child.is_named() => words.push(child.kind().to_owned()),
            "test_operator" => words.push(text(child, line)?.to_owned()),
            "unary_expression" | "binary_expression" => bracket(child, line, words)?,
            _ => words.push(word(child, line)?),
        }
    }
    Some(())
}

/// To `/dev/null`, or one of output and error into the other.
fn harmless_redirect(node: Node<'_>, line: &str) -> Option<()> {
    let mut parts = Vec::new();
    for child in children(node) {
        parts.push(text(child, line)?);
    }
    let parts = match parts.as_slice() {
        ["1" | "2", rest @ ..] => rest,
        all => all,
    };
    matches!(parts, [">" | ">>" | "&>" | "&>>", "/dev/null"] | [">&", "1" | "2"]).then_some(())
}
