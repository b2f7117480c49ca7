//! What the last look at the memory directory found, kept so that the next one reads only what changed.
//!
//! A table of lines with a checksum at the end. It is made from the files and can be lost at any time: then everything
//! is read once more.

use super::folder::{Folder, Stamp};
use super::scan::{Entry, Scan, Team};
use super::topic::Kind;
use crate::digest::Digest;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

/// The table of the person's own memories, and the one of who looks at what is shared besides.
const NAMES: [&str; 2] = ["headers", "headers-team"];
const STEP: &str = "in_step";
const FORMAT: &str = "2";
/// A file that changed this shortly before the table was written may have changed again without a trace.
const TICK: i64 = Duration::from_millis(20).as_nanos() as i64;

/// The table, and how far the journal had come when it was made.
#[derive(Debug, Default)]
pub(super) struct Headers {
    pub(super) scan: Scan,
    /// Bytes of the journal that are accounted for.
    pub(super) journal: u64,
    /// The last change among them.
    pub(super) last: u64,
}

fn name(team: Team) -> &'static str {
    NAMES[usize::from(team == Team::On)]
}

/// Read the table; one that is missing, torn or of another format is empty.
pub(super) fn read(folder: &Folder, team: Team, most: u64) -> Headers {
    let Ok(Some(loaded)) = folder.read(name(team), most) else { return Headers::default() };
    let Ok(text) = std::str::from_utf8(&loaded.bytes) else { return Headers::default() };
    parse(text, loaded.stamp.modified.saturating_sub(TICK)).unwrap_or_default()
}

fn parse(text: &str, settled: i64) -> Option<Headers> {
    let (body, seal) = text.strip_suffix('\n')?.rsplit_once('\n')?;
    let sum = crc32c::crc32c(body.as_bytes());
    if seal != format!("{sum:08x}") {
        return None;
    }
    let mut lines = body.split('\n');
    let mut head = lines.next()?.split('\t');
    if head.next()? != FORMAT {
        return None;
    }
    let (journal, last) = (head.next()?.parse().ok()?, head.next()?.parse().ok()?);
    let mut entries = Vec::new();
    for line in lines {
        let mut entry = row(line)?;
        if entry.stamp.changed >= settled {
            entry.stamp = Stamp::default();
        }
        entries.push(entry);
    }
    Some(Headers { scan: Scan { entries, ..Scan::default() }, journal, last })
}

fn row(line: &str) -> Option<Entry> {
    let mut cells = line.split('\t');
    let mut cell = || cells.next();
    let path = plain(cell()?);
    let kind = Kind::of(cell()?);
    let (name, description) = (plain(cell()?), plain(cell()?));
    let digest = Digest::from_hex(cell()?)?;
    let stamp = Stamp {
        dev: cell()?.parse().ok()?,
        ino: cell()?.parse().ok()?,
        size: cell()?.parse().ok()?,
        modified: cell()?.parse().ok()?,
        changed: cell()?.parse().ok()?,
    };
    let kept = cell()? == "k";
    Some(Entry { path, kind, name, description, digest, stamp, kept })
}

/// Write the table. It is replaced in one move and not forced to the disk: its checksum tells whether it is whole.
pub(super) fn write(folder: &Folder, team: Team, headers: &Headers) -> io::Result<()> {
    let mut text = format!("{FORMAT}\t{}\t{}", headers.journal, headers.last);
    for entry in &headers.scan.entries {
        let stamp = &entry.stamp;
        let (path, name, description) = (escaped(&entry.path), escaped(&entry.name), escaped(&entry.description));
        let (kind, digest, kept) = (entry.kind.as_str(), entry.digest.as_str(), if entry.kept { "k" } else { "-" });
        let Stamp { dev, ino, size, modified, changed } = stamp;
        let row = format_args!(
            "\n{path}\t{kind}\t{name}\t{description}\t{digest}\t{dev}\t{ino}\t{size}\t{modified}\t{changed}\t{kept}"
        );
        text.write_fmt(row).map_err(io::Error::other)?;
    }
    let sum = crc32c::crc32c(text.as_bytes());
    text.push_str(&format!("\n{sum:08x}\n"));
    let staged = format!("{}.new", name(team));
    folder.remove(&staged)?;
    folder.put(&staged, text.as_bytes())?;
    folder.rename(&staged, name(team))
}

/// The state in which the index was last in step with the files, as far as anybody wrote it down.
pub(super) fn in_step(folder: &Folder) -> Option<String> {
    let loaded = folder.read(STEP, 1 << 16).ok()??;
    String::from_utf8(loaded.bytes).ok()
}

/// Write that state down, or forget it before something changes.
pub(super) fn set_in_step(folder: &Folder, state: Option<&str>) -> io::Result<()> {
    folder.remove(STEP)?;
    state.map_or(Ok(()), |state| folder.put(STEP, state.as_bytes()))
}

fn escaped(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains(['\\', '\t', '\n']) {
        return text.into();
    }
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").into()
}

fn plain(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, true) => out.push(match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                other => other.unwrap_or('\\'),
            }),
            (c, false) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(path: &str, name: &str, description: &str) -> Entry {
        Entry {
            path: path.into(),
            kind: Kind::Project,
            name: name.into(),
            description: description.into(),
            digest: Digest::of(name.as_bytes()),
            stamp: Stamp { dev: 1, ino: 2, size: 3, modified: -4, changed: 5 },
            kept: true,
        }
    }

    #[test]
    fn a_table_that_is_not_whole_is_no_table() {
        let held = tempfile::tempdir().unwrap();
        let folder = Folder::open(held.path()).unwrap();
        assert_eq!(read(&folder, Team::Off, 1 << 20).scan, Scan::default());
        let scan =
            Scan { entries: vec![entry("a.md", "A", "about a"), entry("b.md", "B", "about b")], ..Scan::default() };
        write(&folder, Team::Off, &Headers { scan: scan.clone(), journal: 7, last: 3 }).unwrap();
        let back = read(&folder, Team::Off, 1 << 20);
        assert_eq!((back.scan, back.journal, back.last), (scan, 7, 3));
        assert_eq!(
            read(&folder, Team::On, 1 << 20).scan,
            Scan::default(),
            "who looks at more has a table of their own"
        );
        let text = std::fs::read_to_string(held.path().join(name(Team::Off))).unwrap();
        for cut in 1..text.len() {
            assert!(parse(&text[..cut], i64::MAX).is_none(), "{cut}");
        }
        assert!(parse(&text.replace("about a", "about e"), i64::MAX).is_none());
        assert_eq!(read(&folder, Team::Off, 10).scan, Scan::default(), "larger than anything we wrote");
    }

    #[test]
    fn what_changed_in_the_last_moment_is_read_again() {
        let held = tempfile::tempdir().unwrap();
        let folder = Folder::open(held.path()).unwrap();
        let mut fresh = entry("a.md", "A", "a");
        fresh.stamp.changed = i64::MAX;
        let scan = Scan { entries: vec![fresh, entry("b.md", "B", "b")], ..Scan::default() };
        write(&folder, Team::Off, &Headers { scan, journal: 0, last: 0 }).unwrap();
        let back = read(&folder, Team::Off, 1 << 20).scan.entries;
        assert_eq!((back[0].stamp, back[1].stamp.ino), (Stamp::default(), 2));
    }

    proptest! {
        #[test]
        fn any_row_comes_back(name in any::<String>(), description in any::<String>()) {
            let one = entry("a.md", &name, &description);
            let held = tempfile::tempdir().unwrap();
            let folder = Folder::open(held.path()).unwrap();
            let scan = Scan { entries: vec![one], ..Scan::default() };
            write(&folder, Team::Off, &Headers { scan: scan.clone(), journal: 0, last: 0 }).unwrap();
            prop_assert_eq!(read(&folder, Team::Off, 1 << 20).scan, scan);
        }
    }
}
