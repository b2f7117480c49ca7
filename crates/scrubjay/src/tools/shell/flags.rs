//! Commands that only read, with the flags under which they do. What is not listed is not known, and what is not known
//! may write: GNU programs accept shortened long flags, so only exact spellings count.
//!
//! No git: the configuration of a repository can make `git status` run a helper. No flag that follows links out of a
//! tree, reads lists of file names, loads a program or a pattern from a file, or waits for more input.
//!
//! A word counts as a value only where program and table cannot disagree about it: a long flag has its value behind an
//! equals sign, and a value in a word of its own never begins with a dash. Otherwise `--regexp -- --pre=x` would be a
//! pattern and two operands to one reader, and a flag that runs a program to the other.

/// What is known about one command.
struct Known {
    names: &'static [&'static str],
    /// One-letter flags without a value.
    bare: &'static str,
    /// One-letter flags with a value, attached or in the next word.
    valued: &'static str,
    /// Long flags, parted by spaces: `--flag` has no value, `--flag=` needs one, `--flag?` may have one.
    long: &'static str,
    /// Whether a one-letter flag may carry its value in the same word. Where it may not, it stands alone in its word.
    attaches: bool,
    operands: Operands,
}

/// What the words that are not flags may be.
enum Operands {
    /// Anything: they are only read or printed.
    Any,
    /// At most this many: the next one would be written to.
    AtMost(usize),
    /// Decided by a rule of their own.
    Which(fn(&[&str]) -> bool),
}

use Operands::{Any, AtMost, Which};

const GREP_LONG: &str = "--after-context= --basic-regexp --before-context= --binary-files= --color? --colour? --context= --count --exclude= \
    --exclude-dir= --extended-regexp --files-with-matches --files-without-match --fixed-strings --ignore-case \
    --include= --initial-tab --invert-match --line-number --line-regexp --max-count= --no-filename --no-messages \
    --null --only-matching --perl-regexp --quiet --recursive --regexp= --silent --text --with-filename \
    --word-regexp";

const RG_LONG: &str = "--after-context= --before-context= --case-sensitive --color= --column --context= --count --count-matches --files \
    --files-with-matches --files-without-match --fixed-strings --glob= --heading --hidden --iglob= \
    --ignore-case --invert-match --json --line-number --line-regexp --max-columns= --max-count= --max-depth= \
    --max-filesize= --multiline --multiline-dotall --no-config --no-filename --no-heading --no-ignore \
    --no-ignore-vcs --no-line-number --no-messages --null --only-matching --pcre2 --pretty --quiet --regexp= \
    --replace= --smart-case --sort= --sortr= --stats --text --trim --type= --type-list --type-not= --vimgrep \
    --with-filename --word-regexp";

const SUMS: &[&str] = &["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"];

const fn known(names: &'static [&'static str], bare: &'static str, valued: &'static str) -> Known {
    Known { names, bare, valued, long: "", attaches: true, operands: Any }
}

impl Known {
    const fn long(self, long: &'static str) -> Self {
        Self { long, ..self }
    }

    const fn operands(self, operands: Operands) -> Self {
        Self { operands, ..self }
    }

    /// One-letter flags with a value stand alone.
    const fn alone(self) -> Self {
        Self { attaches: false, ..self }
    }
}

static TABLE: &[Known] = &[
    known(&["cat"], "AbeEnstTuv", "")
        .long("--number --number-nonblank --show-all --show-ends --show-nonprinting --show-tabs --squeeze-blank"),
    known(&["ls"], "1aAbBcCdfFgGhiklmnNopqQrRsStuUvxXZ", "Iw").long(
        "--all --almost-all --author --classify? --color? --directory --full-time --group-directories-first --hide= \
        --human-readable --ignore= --inode --no-group --recursive --reverse --si --size --sort= --time= --time-style=",
    ),
    known(&["head"], "qvz0123456789", "nc").long("--bytes= --lines= --quiet --silent --verbose"),
    known(&["tail"], "qvz0123456789", "nc")
        .long("--bytes= --lines= --quiet --silent --verbose")
        .operands(Which(no_obsolete_key)),
    known(&["wc"], "clLmw", "").long("--bytes --chars --lines --max-line-length --words"),
    known(&["grep", "egrep", "fgrep"], "EFGPabcHhiIlLnoqsTrvwxyzZ0123456789", "eABCm").long(GREP_LONG),
    known(&["rg"], "0abcFHIilnNoPpqSsUuVvwx", "eABCgtTmrdjM").long(RG_LONG),
    known(&["find"], "", "").operands(Which(find)),
    known(&["stat"], "ft", "c").long("--file-system --format= --printf= --terse"),
    known(&["file"], "bhi0rN", "F").long("--brief --mime --mime-encoding --mime-type --no-dereference"),
    known(&["pwd"], "LP", ""),
    known(&["echo"], "", "").operands(Which(anything)),
    known(&["printf"], "", "").operands(Which(printf)),
    known(&["sort"], "bcCdfghiMnRrsuVz", "kt")
        .long(
            "--check? --dictionary-order --field-separator= --general-numeric-sort --human-numeric-sort \
            --ignore-case --ignore-leading-blanks --key= --month-sort --numeric-sort --reverse \
            --stable --unique --version-sort --zero-terminated",
        )
        .operands(Which(no_obsolete_key)),
    known(&["uniq"], "cdDiuz", "fsw")
        .long("--check-chars= --count --ignore-case --repeated --skip-chars= --skip-fields= --unique")
        .operands(AtMost(1)),
    known(&["cut"], "nsz", "bcdf").long(
        "--bytes= --characters= --complement --delimiter= --fields= --only-delimited \
        --output-delimiter=",
    ),
    known(&["tr"], "cCdst", "").long("--complement --delete --squeeze-repeats --truncate-set1"),
    known(&["nl"], "p", "bdfhilnsvw").long("--body-numbering= --number-width= --starting-line-number="),
    known(&["basename"], "az", "s").long("--multiple --suffix= --zero"),
    known(&["dirname"], "z", ""),
    known(&["realpath"], "eLmPqsz", "")
        .long("--canonicalize-existing --canonicalize-missing --relative-base= --relative-to="),
    known(&["readlink"], "efmnqsvz", "")
        .long("--canonicalize --canonicalize-existing --canonicalize-missing --no-newline"),
    known(&["du"], "0abchHklmPsSx", "dt").long(
        "--all --apparent-size --bytes --exclude= --human-readable --max-depth= --one-file-system \
        --summarize --threshold= --total",
    ),
    known(&["df"], "ahHiklPT", "tx").long("--human-readable --inodes --local --output? --portability --total --type="),
    known(&["date"], "IuR", "d")
        .long("--date= --iso-8601? --rfc-3339= --rfc-email --universal --utc")
        .operands(Which(date)),
    known(&["whoami"], "", "").operands(AtMost(0)),
    known(&["id"], "gGnruz", "").long("--group --groups --name --real --user"),
    known(&["uname"], "aimnoprsv", "").long("--all --kernel-name --kernel-release --machine").operands(AtMost(0)),
    known(&["which"], "a", ""),
    known(&["true", "false"], "", "").operands(Which(anything)),
    known(&["test"], "", "").operands(Which(test)),
    known(&["["], "", "").operands(Which(bracket)),
    known(&["sed"], "n", "").long("--quiet --silent").operands(Which(sed)),
    known(&["diff"], "aBbcdeEinNpqstuwyZ0123456789", "UCW").long(
        "--brief --context? --ignore-all-space --ignore-blank-lines --ignore-case \
        --ignore-space-change --minimal --report-identical-files --side-by-side \
        --suppress-common-lines --text --unified? --width=",
    ),
    known(&["cmp"], "bls", "in").long("--bytes= --print-bytes --quiet --silent --verbose"),
    known(SUMS, "btz", "").long("--binary --tag --text --zero"),
    known(&["cksum"], "z", "").long("--tag --zero"),
    known(&["tree"], "aACdfiJDFghNnpqrStuvX", "ILP")
        .alone()
        .long("--charset= --dirsfirst --du --filelimit= --gitignore --matchdirs --noreport --prune --sort="),
    known(&["jq"], "acCejMnrRsS", "")
        .long(
            "--ascii-output --color-output --compact-output --exit-status --join-output \
        --monochrome-output --null-input --raw-input --raw-output --slurp --sort-keys --tab",
        )
        .operands(Which(jq)),
    known(&["cd"], "LP", "").operands(AtMost(1)),
];

/// Whether this command, with these words, is known to only read.
pub(super) fn only_reads(words: &[String]) -> bool {
    let Some((name, rest)) = words.split_first() else { return false };
    let Some(known) = TABLE.iter().find(|known| known.names.contains(&name.as_str())) else { return false };
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    // These have words that begin with a dash and are no flags.
    let has_own_grammar = matches!(name.as_str(), "find" | "echo" | "test" | "[" | "true" | "false");
    let operands = if has_own_grammar { Some(rest) } else { operands(known, &rest) };
    operands.is_some_and(|operands| match known.operands {
        Any => true,
        AtMost(most) => operands.len() <= most,
        Which(rule) => rule(&operands),
    })
}

/// The words that are not flags, if every flag is known. Flags may stand behind operands, up to the first `--`.
fn operands<'a>(known: &Known, words: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--" => {
                found.extend(words);
                break;
            }
            "-" => found.push(*word),
            word if word.starts_with("--") => is_long(known, word).then_some(())?,
            word if word.starts_with('-') => {
                if takes_next(known, &word[1..])? {
                    // A value that looks like a flag might be one, if this table were wrong.
                    words.next().filter(|value| !value.starts_with('-'))?;
                }
            }
            word => found.push(word),
        }
    }
    Some(found)
}

/// A long flag that is known, with a value exactly where it takes one.
fn is_long(known: &Known, word: &str) -> bool {
    match word.split_once('=') {
        Some((flag, _)) => [format!("{flag}="), format!("{flag}?")].iter().any(|form| is_listed(known.long, form)),
        None => {
            let may_have = format!("{word}?");
            matches!(word, "--help" | "--version") || is_listed(known.long, word) || is_listed(known.long, &may_have)
        }
    }
}

/// Whether a cluster of one-letter flags needs the next word as a value; `None` if one of them is not known.
fn takes_next(known: &Known, cluster: &str) -> Option<bool> {
    for (index, letter) in cluster.char_indices() {
        if known.valued.contains(letter) {
            let is_last = index + letter.len_utf8() == cluster.len();
            return (known.attaches || cluster.len() == letter.len_utf8()).then_some(is_last);
        }
        known.bare.contains(letter).then_some(())?;
    }
    Some(false)
}

fn is_listed(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}

fn anything(_: &[&str]) -> bool {
    true
}

const FIND: &str = "-a -amin -and -atime -cmin -ctime -daystart -depth -empty -executable -false -group -ilname -iname -inum -ipath \
    -iregex -links -lname -ls -maxdepth -mindepth -mmin -mount -mtime -name -newer -nogroup -not -nouser -o -or -P \
    -path -perm -print -print0 -printf -prune -quit -readable -regex -regextype -samefile -size -true -type -user \
    -wholename -writable -xdev -xtype";

/// Numbers may be negative: `-mtime -1`.
fn find(words: &[&str]) -> bool {
    let is_number = |word: &str| word[1..].starts_with(|letter: char| letter.is_ascii_digit());
    words.iter().all(|word| !word.starts_with('-') || is_listed(FIND, word) || (word.len() > 1 && is_number(word)))
}

/// `tail +5f` waits for ever, and `sort +1 -2` has words of its own: an operand that begins with a plus is not one.
fn no_obsolete_key(words: &[&str]) -> bool {
    words.iter().all(|word| !word.starts_with('+'))
}

/// A subscript with a command in it: some shells run it where they expect a number.
fn has_subscript(word: &str) -> bool {
    word.contains('[') && word.contains(['$', '`'])
}

/// `-v` assigns, and so does `%n`: to `PATH`, for example. What follows each percent sign is looked at.
fn printf(words: &[&str]) -> bool {
    let conversions = |format: &str| -> Vec<char> {
        let after =
            |text: &str| text.trim_start_matches(|letter| "-+ #0123456789.*'hlLjzt".contains(letter)).chars().next();
        format.split('%').skip(1).filter_map(after).collect()
    };
    let assigns = |format: &&str| conversions(format).contains(&'n');
    words.first().is_some_and(|format| !assigns(format)) && !words.iter().any(|word| has_subscript(word))
}

/// A bare operand sets the clock; a format begins with a plus.
fn date(words: &[&str]) -> bool {
    words.iter().all(|word| word.starts_with('+'))
}

const TEST: &str = "-b -c -d -e -ef -eq -f -g -ge -gt -h -k -L -le -lt -n -ne -nt -ot -p -r -s -S -u -w -x -z";

/// `-v` and its like evaluate subscripts, which can run commands.
fn test(words: &[&str]) -> bool {
    words.iter().all(|word| (!word.starts_with('-') || is_listed(TEST, word)) && !has_subscript(word))
}

fn bracket(words: &[&str]) -> bool {
    words.split_last().is_some_and(|(last, rest)| *last == "]" && test(rest))
}

/// Only `sed -n`, and only printing of addressed lines.
fn sed(words: &[&str]) -> bool {
    words.first().is_some_and(|script| script.split(';').all(prints))
}

fn prints(command: &str) -> bool {
    let Some(address) = command.trim().strip_suffix('p') else { return false };
    let mut rest = address.trim();
    for _ in 0..2 {
        rest = match after_address(rest) {
            Some("") => return true,
            Some(rest) => match rest.strip_prefix(',') {
                Some(rest) => rest,
                None => return false,
            },
            None => return false,
        };
    }
    false
}

/// What follows one address: a line number, the last line, or a pattern without anything special about slashes.
fn after_address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    if let Some(rest) = text.strip_prefix('/') {
        let (pattern, rest) = rest.split_once('/')?;
        return (!pattern.is_empty() && !pattern.contains(['\\', '\n', '[', ';'])).then_some(rest);
    }
    let rest = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}

/// A filter can print the environment, and load modules or look into them. What follows it are files.
fn jq(words: &[&str]) -> bool {
    const REACHES_OUT: [&str; 6] = ["env", "ENV", "import", "include", "modulemeta", "get_search_list"];
    let parts = |filter: &&str| {
        filter.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|part| REACHES_OUT.contains(&part))
    };
    words.first().is_some_and(|filter| !parts(filter))
}

/// The names of all commands that are known.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|known| known.names).copied()
}
