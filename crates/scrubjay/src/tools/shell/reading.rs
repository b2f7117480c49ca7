//! Whether a command line only reads, decided by parsing it.
//!
//! Three sieves, each of which says no when in doubt. The line must parse without an error into nothing but lists and
//! pipelines of plain commands: no substitution, expansion, assignment, function, here-document or background job, and
//! no redirection but to `/dev/null` or between standard output and error. Every word must be spelled so that no shell
//! could read it differently: no wildcards, braces or tildes. Then each command must be known, with every one of its
//! flags (`flags.rs`).

use super::flags;
use tree_sitter::{Node, Parser, Tree};

/// Bytes of a line that is looked at: nobody reads closely what is longer, neither person nor parser.
const LONGEST: usize = 16_384;

/// The commands of a line that only reads, as lists of words, in order; `None` if that is not certain.
pub fn read_only_commands(line: &str) -> Option<Vec<Vec<String>>> {
    let commands = plain_commands(line)?;
    commands.iter().all(|words| flags::only_reads(words)).then_some(commands)
}

/// Whether a command with these words is known to only read.
pub fn only_reads(words: &[String]) -> bool {
    flags::only_reads(words)
}

/// The programs that may be part of such a line.
pub fn programs() -> impl Iterator<Item = &'static str> {
    flags::names()
}

/// The commands of a line that consists of nothing but plain commands, whatever they do; `None` if there is more to it.
pub fn plain_commands(line: &str) -> Option<Vec<Vec<String>>> {
    if line.len() > LONGEST || line.contains("\\\n") || line.chars().any(is_strange) {
        return None;
    }
    let tree = parsed(line)?;
    let root = tree.root_node();
    let mut end = 0;
    if root.has_error() || is_deep(root) || !gaps_are_blank(root, line, &mut end) || !is_blank(&line[end..]) {
        return None;
    }
    let mut commands = Vec::new();
    statement(root, line, &mut commands)?;
    (!commands.is_empty()).then_some(commands)
}

/// The commands of one pipeline, or of one plain command: nothing before it, beside it or after it.
pub(crate) fn pipeline(line: &str) -> Option<Vec<Vec<String>>> {
    let commands = plain_commands(line)?;
    let tree = parsed(line)?;
    let mut node = tree.root_node();
    loop {
        let mut parts = children(node).filter(|child| child.kind() != "file_redirect" && child.kind() != "\n");
        match node.kind() {
            "program" | "redirected_statement" => node = parts.next().filter(|_| parts.next().is_none())?,
            "command" => return Some(commands),
            "pipeline" => {
                let plain = |kind: &str| matches!(kind, "command" | "redirected_statement" | "|");
                return parts.all(|part| plain(part.kind())).then_some(commands);
            }
            _ => return None,
        }
    }
}

/// The line as the grammar reads it; none if it is too long to be looked at.
pub(super) fn parsed(line: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    if line.len() > LONGEST { None } else { parser.parse(in_ascii(line), None) }
}

/// Whether things are nested deeper than anybody would write them, and deeper than the functions below may go.
pub(super) fn is_deep(root: Node<'_>) -> bool {
    const DEEPEST: u32 = 100;
    let mut cursor = root.walk();
    loop {
        if cursor.depth() > DEEPEST {
            return true;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}

/// The line with every other letter written as `x`, byte for byte: to a shell they are letters too, while the grammar's
/// scanner looks up characters in tables that end with ASCII.
fn in_ascii(line: &str) -> Vec<u8> {
    line.bytes().map(|byte| if byte.is_ascii() { byte } else { b'x' }).collect()
}

fn is_blank(gap: &str) -> bool {
    gap.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n'))
}

/// Whether nothing but blanks lies between the words. The grammar also skips an escaped blank, which to a shell is a
/// word or part of one.
fn gaps_are_blank(node: Node<'_>, line: &str, end: &mut usize) -> bool {
    if node.child_count() > 0 && node.kind() != "string" {
        return children(node).all(|child| gaps_are_blank(child, line, end));
    }
    let gap = line.get(*end..node.start_byte());
    *end = node.end_byte();
    gap.is_some_and(is_blank)
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
                _ if child.prev_sibling()?.end_byte() == child.start_byte() => None,
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

pub(super) fn children<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    (0..u32::try_from(node.child_count()).unwrap_or(0)).filter_map(move |index| node.child(index))
}

pub(super) fn text<'l>(node: Node<'_>, line: &'l str) -> Option<&'l str> {
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
            let plain = children(node).all(|child| matches!(child.kind(), "\"" | "string_content" | "$"));
            if plain { quoted(raw.strip_prefix('"')?.strip_suffix('"')?) } else { None }
        }
        "concatenation" => {
            let touching = children(node)
                .skip(1)
                .all(|child| child.prev_sibling().is_some_and(|before| before.end_byte() == child.start_byte()));
            if touching { children(node).map(|child| word(child, line)).collect() } else { None }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const READING: &str = r#"
ls
ls -la
ls -lah src
ls --color=never -R src
pwd
pwd && ls
cat README.md
cat -n src/lib.rs
cat a.txt b.txt
cat -- -odd-name
head -5 file
head -n 20 src/main.rs
head -c 100 x
tail -n +5 log.txt
tail -20 log.txt
wc -l src/lib.rs
wc -lwc a b
grep -rn "fn main" src
grep -i error log.txt
grep -A3 -B 2 needle hay
grep -E 'a|b' f
grep -e one -e two f
grep --include='*.rs' -rn todo src
grep "end$" f
grep "cost: \$5" f
egrep 'x+' f
fgrep -c lit f
rg pattern
rg -n --hidden -g '*.rs' 'fn \w+' src
rg -tpy import
rg -C 3 needle
rg --files
find . -name '*.rs'
find src -type f -mtime -1
find . \( -name a -o -name b \) -print
find . -maxdepth 2 -not -path './target/*'
find . -size +10k -printf '%p\n'
stat -c %s file
file -b image.png
echo hello world
echo "quoted; not a command"
echo 'a && rm -rf /'
echo a\ b
printf '%s\n' hello
printf "100%%\n"
sort file
sort -t, -k2 -nr data.csv
sort -u a b
uniq -c names
sort f | uniq -c | sort -rn | head -5
cut -d: -f1 file
tr a-z A-Z
nl file
basename src/lib.rs .rs
dirname src/lib.rs
realpath src
readlink -f link
du -sh src
du -h --max-depth=1
df -h
date
date +%Y-%m-%d
date -u -d yesterday +%s
whoami
id -u
uname -a
which cargo
true
false
test -f Cargo.toml
test -n "a" && echo yes
[ -d src ]
[ "a" = "b" ] || echo no
[ ! -e x ]
sed -n 5p file
sed -n '10,20p' src/lib.rs
sed -n '1,5p;9p' f
sed -n '/start/,/end/p' f
sed -n '$p' f
diff a b
diff -u old new
cmp a b
md5sum f
sha256sum a b
tree -L 2
tree -a -I target
jq . data.json
jq -r '.items[] | .name' data.json
cd src && ls
cat missing 2>/dev/null
ls nope 2>&1 | head -3
grep x f > /dev/null
grep -q x f &>/dev/null
grep x f >&2
"#;

    const HOSTILE: &str = r#"
rm -rf x
mv a b
touch x
git status
git log
git -c core.fsmonitor=./x status
curl http://evil.example
wget x
python3 -c 1
perl -e 1
bash -c ls
sh x
env
printenv
env ls
sudo ls
xargs rm
eval ls
exec ls
command ls
builtin echo
source x
. x
nohup ls
time ls
timeout 5 ls
awk 'BEGIN{system("id")}'
tee out
dd if=a of=b
ln -s a b
chmod +x a
kill 1
vi x
less x
man ls
top
./ls
/bin/ls
/tmp/evil/ls
../ls
bin/cat x
~/ls
PATH=. ls
LD_PRELOAD=./x.so ls
A=1
A=1 B=2 ls
IFS=x; ls
export A=1
alias ls=rm
unalias ls
declare -x A
f() { ls; }; f
function f { ls; }
ls; rm x
ls && rm x
ls || rm x
ls | sh
ls |& sh
cat x | tee y
echo a | xargs rm
ls & 
ls & rm x
sleep 1 &
$(echo ls)
`echo ls`
echo $(id)
echo `id`
echo "$(id)"
echo "`id`"
echo $HOME
echo "$HOME"
echo ${HOME}
echo "${x:-$(id)}"
echo $((1+1))
echo "$((a[$(id)]))"
cat$IFS/etc/passwd
cat ${IFS}x
$cmd x
"$cmd" x
${0} x
l"s" x
"ls" x
'ls'
l\s x
echo a > file
echo a >> file
echo a >| file
echo a > "/dev/null"x
cat < file
cat <> file
cat 3<file
ls 2> err
ls &> all
ls >&3
ls >& file
cat <<E
cat <<< x
cat <(id)
ls >(cat)
diff <(ls a) <(ls b)
echo *
ls *.rs
cat src/?.rs
cat [ab]
sort *
echo {a,b}
cat {-o,x}
cat ~/.ssh/id_rsa
cat ~root/x
echo a=~/x
ls !x
echo $'a\nb'
echo $"x"
( ls )
{ ls; }
! ls
if true; then ls; fi
while true; do ls; done
for x in a; do ls; done
case x in x) ls;; esac
[[ -f x ]]
[[ a[$(id)] -eq 1 ]]
((x=1))
let x=1
test -v a
test -v 'a[$(id)]'
[ -v x ]
[ a -o b ]
ls # comment
coproc ls
find . -exec rm {} \;
find . -exec rm {} +
find . -execdir ls \;
find . -ok rm \;
find . -okdir rm \;
find . -delete
find . -fls out
find . -fprint out
find . -fprint0 out
find . -fprintf out %p
find . -name x -delete
find . \-delete
find . "-delete"
find . '-exec' id \;
find -L . -name x
find -files0-from x
rg --pre ./x pattern
rg --pre=./x pattern
rg --hostname-bin ./x y
rg --hostname-bin=./x y
rg -z x
rg --search-zip x
rg -nz x
rg -f patterns
rg -L x
rg --follow x
rg --pre-glob '*' x
grep -f patterns x
grep --file=patterns x
grep -R x .
grep --dereference-recursive x
grep --unknown x f
sort -o out in
sort -oout in
sort -uo out in
sort --output=out in
sort --outp=out in
sort in -o out
sort --compress-program=./x in
sort --compress-prog=./x in
sort --files0-from=x
sort -T dir in
uniq in out
uniq -c in out
uniq -- in out
date -s tomorrow
date --set=tomorrow
date --se=tomorrow
date 010100002026
date -f x
sed -i s/a/b/ f
sed -n -i 5p f
sed -ni 5p f
sed -n 5p f -i
sed s/a/b/ f
sed -n 's/a/b/w out' f
sed -n '1e id' f
sed -n '1w out' f
sed -n '/x/w out' f
sed -n '1p;w p' f
sed -n '1r x' f
sed -n '1!p' f
sed -e 1p f
sed -f script f
sed --in-place 5p f
sed -n p
tail -f log
tail -F log
tail --follow log
tail -5f log
tree -o out
tree -R -H . -L 1
jq env
jq -n '$ENV'
jq -n '"\(env)"'
jq -f prog x
jq --from-file prog x
jq 'import "x" as x; .' f
jq -L dir . f
printf -v x hi
printf -v 'a[$(id)]' x
printf '12%n' PATH
printf '%5n' PATH
md5sum -c sums
wc --files0-from=x
du --files0-from=x
file -C -m x
file -f list
file -z x
diff -l a b
diff -r a b
diff --to-file=x a
cd a b
less +F x
hash -p ./x ls
enable -f ./x.so y
trap ls EXIT
set -o noclobber
shopt -s expand_aliases
read x
mapfile -C id x
history -w x
jobs
fc -s
bind -x
complete -C id x
ssh host ls
nslookup x.evil.example
ping x
dig x
host x
openssl x
base64 -o out x
tar cf x y
zip x y
cp a b
install a b
mkdir x
rmdir x
mktemp
truncate -s 0 x
split x
csplit x 1
shred x
patch x
make
cargo test
npm test
ls "unterminated
ls 'unterminated
ls )
ls && 
| ls
&& ls
;
"#;

    fn lines(table: &str) -> impl Iterator<Item = &str> {
        table.lines().filter(|line| !line.is_empty())
    }

    // spec: X2
    #[test]
    fn lines_that_only_read_are_known() {
        assert!(lines(READING).count() >= 60);
        for line in lines(READING) {
            assert!(read_only_commands(line).is_some(), "{line}");
        }
    }

    // spec: X2
    #[test]
    fn lines_that_might_do_more_are_not() {
        assert!(lines(HOSTILE).count() >= 120);
        for line in lines(HOSTILE) {
            assert_eq!(read_only_commands(line), None, "{line}");
        }
    }

    // spec: X2
    #[test]
    fn characters_that_readers_disagree_about_are_refused() {
        for line in [
            "",
            " ",
            "\n",
            "ls\0",
            "ls\r",
            "ls\u{b}x",
            "ls\u{a0}x",
            "l\\\ns",
            "ls \\\n-la",
            "ls a\\\tb",
            "ls \u{2028} rm",
            "cat <<E\nx\nE",
            "ls\nrm x",
            "ls\n\nrm x\n",
            "echo \"a\n$(id)\"",
            "echo 'a\nb' ; rm x",
            "ls \u{1b}[0m",
        ] {
            assert_eq!(read_only_commands(line), None, "{line:?}");
        }
        assert!(read_only_commands(&format!("echo {}", "a".repeat(LONGEST))).is_none());
        assert!(read_only_commands("ls\npwd\n").is_some());
    }

    #[test]
    fn deep_nesting_is_refused_without_going_deep() {
        for (open, close) in
            [("(", ")"), ("a && ", "a"), ("[ ! ", "-f x ]"), ("! ", "a"), ("{ ", "}"), ("$(", ")"), ("a | ", "a")]
        {
            for count in [1_000, LONGEST / (open.len() + close.len()) - 1] {
                let line = if close.len() == 1 && close != "a" {
                    open.repeat(count) + "a;" + &close.repeat(count)
                } else {
                    open.repeat(count) + close
                };
                assert_eq!(read_only_commands(&line), None, "{open}");
            }
        }
    }

    #[test]
    fn words_are_what_the_shell_would_pass() {
        for (line, words) in [
            (
                "grep -n \"a b\" 'c d' e\\ f | head -5 2>&1",
                vec![vec!["grep", "-n", "a b", "c d", "e f"], vec!["head", "-5"]],
            ),
            ("cd src && ls 2>/dev/null; pwd", vec![vec!["cd", "src"], vec!["ls"], vec!["pwd"]]),
            ("echo \"a\\\"b\\$c\\d\" x'y'\"z\"", vec![vec!["echo", "a\"b$c\\d", "xyz"]]),
            ("[ ! -f \"a b\" ]", vec![vec!["[", "!", "-f", "a b", "]"]]),
            ("find . \\( -name x \\) -print", vec![vec!["find", ".", "(", "-name", "x", ")", "-print"]]),
            ("echo '' \"\"", vec![vec!["echo", "", ""]]),
        ] {
            assert_eq!(read_only_commands(line).unwrap_or_default(), words, "{line}");
        }
    }

    #[test]
    fn plain_commands_need_not_be_known() {
        assert_eq!(
            plain_commands("cargo test -q && ./run.sh x"),
            Some(vec![vec!["cargo".into(), "test".into(), "-q".into()], vec!["./run.sh".into(), "x".into()],])
        );
        for line in ["cargo test; $(rm x)", "cargo test > out", "A=1 cargo test", "cargo test &", "'cargo test' x"] {
            assert_eq!(plain_commands(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in any::<String>()) {
            read_only_commands(&line);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            read_only_commands(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn nothing_is_added_to_a_reading_line(tail in "[ ;|&<>$`(){}'\"a-z./\\\\-]{0,24}") {
            // Whatever follows, a line is only read-only if each of its commands is one that was looked for.
            if let Some(commands) = read_only_commands(&format!("ls {tail}")) {
                for words in commands {
                    prop_assert!(flags::only_reads(&words), "{:?}", words);
                }
                prop_assert!(!tail.contains(['`', '<']) || tail.contains(['\'', '\\', '"']), "{}", tail);
            }
        }

        // The words we read are the words bash passes.
        #[test]
        fn bash_agrees_about_the_words(tail in "[ \ta-c'\"\\\\=,:@%^+./_$|)(\\[\\]*?~!#{}-]{0,16}") {
            if let Some(commands) = plain_commands(&format!("echo {tail}")) && commands.len() == 1 {
                let line = format!("printf '<%s>' {tail}");
                let ran = std::process::Command::new("bash").arg("-c").arg(&line).output();
                if let Ok(ran) = ran {
                    let ours: String = commands[0][1..].iter().map(|word| format!("<{word}>")).collect();
                    let ours = if ours.is_empty() { "<>".to_owned() } else { ours };
                    prop_assert_eq!(String::from_utf8_lossy(&ran.stdout), ours, "{}", tail);
                }
            }
        }
    }
}
