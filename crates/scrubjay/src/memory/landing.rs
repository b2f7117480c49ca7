//! The one way a file of the memory changes: written beside it, brought to the disk, exchanged in one move, and looked at
//! once more, so that nobody's version is lost even if an editor saved it in between.

use super::folder::{Folder, Stamp};
use super::name;
use crate::digest::Digest;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

const MARK: &str = ".scrubjay-";
const WRITTEN: &str = ".tmp";
const SET: &str = ".set";
/// Of a digest, in a file's name.
const SHORT: usize = 16;
const LONGEST_PATH: usize = 150;

/// The folders that a change is about, each opened once: a change of thousands of files holds no thousands of handles.
pub(super) type Folders = BTreeMap<String, Arc<Folder>>;

/// What is to happen to one file.
#[derive(Debug)]
pub(super) struct Landing {
    /// Where it lies.
    pub(super) folder: Arc<Folder>,
    /// Its path below the memory directory.
    pub(super) path: String,
    /// What it held when the decision was taken.
    pub(super) before: Option<Digest>,
    /// What it will hold.
    pub(super) after: Option<Digest>,
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Landed {
    /// As planned.
    Well,
    /// Somebody else had changed the file in that very moment; this copy holds one of the two versions.
    Beside(String),
    /// Somebody else had changed the file that was to be removed, so it stays.
    Stays,
}

impl Landing {
    pub(super) fn file(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    fn mark(&self) -> String {
        let short = |digest: &Option<Digest>| match digest {
            Some(digest) => digest.as_str()[..SHORT].to_owned(),
            None => "0".repeat(SHORT),
        };
        let path = if self.path.len() <= LONGEST_PATH { self.path.replace('/', "^") } else { "rescued.md".to_owned() };
        format!("{MARK}{}-{}-{path}", short(&self.after), short(&self.before))
    }

    /// Write the new text beside the file and bring it to the disk.
    pub(super) fn stage(&self, bytes: &[u8], modified: Option<i64>) -> io::Result<Stamp> {
        let name = self.mark() + WRITTEN;
        // Only we write such names, and only under the lock: what stands there is left over.
        self.folder.remove(&name)?;
        self.folder.stage(&name, bytes, modified)
    }

    /// Forget what was staged.
    pub(super) fn abandon(&self) -> io::Result<()> {
        self.folder.remove(&(self.mark() + WRITTEN))
    }

    /// The moment itself.
    pub(super) fn land(&self, displaced: Option<&Folder>, most: u64) -> io::Result<Landed> {
        match (&self.before, &self.after) {
            (_, None) => self.take_away(displaced, most),
            (None, Some(after)) => self.put_new(after),
            (Some(_), Some(after)) => {
                self.folder.rename(&(self.mark() + WRITTEN), &(self.mark() + SET))?;
                match self.folder.exchange(&(self.mark() + SET), self.file()) {
                    Ok(()) => self.look_again(displaced, most),
                    // Somebody removed it in that very moment; what they removed we do not bring back, but ours stays.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        self.folder.rename(&(self.mark() + SET), &(self.mark() + WRITTEN))?;
                        self.put_new(after)
                    }
                    Err(error) => Err(error),
                }
            }
        }
    }

    fn put_new(&self, after: &Digest) -> io::Result<Landed> {
        let staged = self.mark() + WRITTEN;
        if self.folder.place(&staged, self.file())? {
            return Ok(Landed::Well);
        }
        self.beside(&staged, after)
    }

    /// Keep a version beside the file it is a version of.
    fn beside(&self, name: &str, digest: &Digest) -> io::Result<Landed> {
        let copy = free_name(&self.folder, self.file(), digest)?;
        self.folder.place(name, &copy)?;
        let under = &self.path[..self.path.len() - self.file().len()];
        Ok(Landed::Beside(format!("{under}{copy}")))
    }

    /// What was replaced must be what we decided upon; otherwise it is somebody's version and is kept.
    fn look_again(&self, displaced: Option<&Folder>, most: u64) -> io::Result<Landed> {
        let set = self.mark() + SET;
        let old = self.folder.read(&set, most)?.map(|loaded| loaded.digest());
        match old {
            Some(digest) if Some(&digest) != self.before.as_ref() => self.beside(&set, &digest),
            _ => dispose(&self.folder, &set, displaced).map(|()| Landed::Well),
        }
    }

    fn take_away(&self, displaced: Option<&Folder>, most: u64) -> io::Result<Landed> {
        let set = self.mark() + SET;
        match self.folder.rename(self.file(), &set) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Landed::Well),
            moved => moved?,
        }
        let old = self.folder.read(&set, most)?.map(|loaded| loaded.digest());
        if old == self.before {
            return dispose(&self.folder, &set, displaced).map(|()| Landed::Well);
        }
        match self.folder.place(&set, self.file())? {
            true => Ok(Landed::Stays),
            false => old.map_or(Ok(Landed::Stays), |digest| self.beside(&set, &digest)),
        }
    }
}

/// An editor may still hold a replaced file open and write to it, so it is kept until the next look.
fn dispose(folder: &Folder, name: &str, displaced: Option<&Folder>) -> io::Result<()> {
    match displaced.map(|other| folder.move_to(name, other, name)) {
        Some(Ok(())) => Ok(()),
        // Another disk, or no place to keep it.
        _ => folder.remove(name),
    }
}

/// A name for another version. One that is taken is taken: an editor may have written to that file since it was named.
fn free_name(folder: &Folder, file: &str, digest: &Digest) -> io::Result<String> {
    let named = name::conflict_name(file, digest.as_str());
    let mut copy = named.clone();
    let mut n = 1;
    while folder.look(copy.as_ref())?.is_some() {
        n += 1;
        copy = format!("{}-{n}.md", named.trim_end_matches(".md"));
    }
    Ok(copy)
}

/// Whether a name is one of ours.
pub(super) fn is_mark(name: &[u8]) -> bool {
    name.starts_with(MARK.as_bytes())
}

/// Clear away what an earlier change left in a folder, unless somebody wrote to it since: then it is kept as a version of
/// its memory, and the path of that is returned.
pub(super) fn clear(at: &Folder, left: &str, memory: &Folder, most: u64) -> io::Result<Option<String>> {
    let Some((after, before, path)) = parts(left) else {
        return at.remove(left).map(|()| None);
    };
    let Some(loaded) = at.read(left, most)? else { return Ok(None) };
    if loaded.bytes.is_empty() {
        // An editor has emptied it, maybe before it was replaced, and is about to write.
        return Ok(None);
    }
    let digest = loaded.digest();
    let ours = [after, before].iter().any(|known| digest.as_str().starts_with(known));
    if ours || std::str::from_utf8(&loaded.bytes).is_err() {
        return at.remove(left).map(|()| None);
    }
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", &path));
    let mut folder = memory.step(".")?;
    for step in folders.split('/').filter(|step| !step.is_empty()) {
        folder = folder.step_or_make(step)?;
    }
    let (copy, staged) = (free_name(&folder, file, &digest)?, format!("{MARK}rescued{WRITTEN}"));
    folder.stage(&staged, &loaded.bytes, Some(loaded.stamp.modified))?;
    folder.place(&staged, &copy)?;
    folder.sync()?;
    at.remove(left)?;
    Ok(Some(if folders.is_empty() { copy } else { format!("{folders}/{copy}") }))
}

/// Both digests and the path, of a name that may hold somebody's version.
fn parts(left: &str) -> Option<(&str, &str, String)> {
    let rest = left.strip_prefix(MARK)?.strip_suffix(SET)?;
    let (after, rest) = rest.split_once('-')?;
    let (before, path) = rest.split_once('-')?;
    let path = path.replace('^', "/");
    let is_index = path.rsplit('/').next() == Some(name::INDEX);
    (is_index || name::parts(&path).is_ok()).then_some((after, before, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    // safety: F-15
    // spec: D10
    #[test]
    fn whoever_saves_in_that_very_moment_keeps_their_version_and_so_do_we() {
        let well = |now: &str| (Landed::Well, vec![("a.md".to_owned(), now.to_owned())]);
        let beside = |now: &str, other: &str| {
            let copy = name::conflict_name("a.md", Digest::of(other.as_bytes()).as_str());
            (Landed::Beside(copy.clone()), vec![(copy, other.to_owned()), ("a.md".to_owned(), now.to_owned())])
        };
        for (before, after, meanwhile, expected) in [
            (Some("one"), Some("two"), Some("one"), well("two")),
            (Some("one"), Some("two"), Some("theirs"), beside("two", "theirs")),
            (Some("one"), Some("two"), None, well("two")),
            (None, Some("two"), None, well("two")),
            (None, Some("two"), Some("theirs"), beside("theirs", "two")),
            (Some("one"), None, Some("one"), (Landed::Well, vec![])),
            (Some("one"), None, Some("theirs"), (Landed::Stays, vec![("a.md".to_owned(), "theirs".to_owned())])),
            (Some("one"), None, None, (Landed::Well, vec![])),
        ] {
            let (held, kept) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let digest = |text: Option<&str>| text.map(|text| Digest::of(text.as_bytes()));
            let (folder, path) = (Arc::new(Folder::open(held.path()).unwrap()), "a.md".to_owned());
            let landing = Landing { folder, path, before: digest(before), after: digest(after) };
            if let Some(text) = after {
                landing.stage(text.as_bytes(), None).unwrap();
            }
            meanwhile.into_iter().for_each(|text| std::fs::write(held.path().join("a.md"), text).unwrap());
            let landed = landing.land(Some(&Folder::open(kept.path()).unwrap()), 1 << 10).unwrap();
            let read = |name: String| (name.clone(), std::fs::read_to_string(held.path().join(name)).unwrap());
            let names = std::fs::read_dir(held.path()).unwrap().map(|entry| entry.unwrap().file_name());
            let mut left: Vec<_> = names.map(|name| read(name.into_string().unwrap())).collect();
            left.sort_by_key(|(name, _)| name.len());
            left.reverse();
            assert_eq!((landed, left), expected, "{before:?} {after:?} {meanwhile:?}");
        }
    }
}
