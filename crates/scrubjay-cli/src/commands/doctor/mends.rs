//! What can be put right without losing anything: modes of private files, torn last lines, what a crash left behind, the
//! order of the memory. Only what lies in the program's own folders and belongs to this person is touched; links never are.

use crate::failure::Failure;
use crate::letters::socket::stale;
use crate::memories;
use crate::places::Places;
use crate::shelf::{Place, Shelf};
use crate::workplace::Workplace;
use rustix::process::getuid;
use scrubjay::ledger::book::{self, Book};
use scrubjay::paths::write_private;
use scrubjay::transcript::{Damage, read, take_pen};
use std::fs::{self, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A file that is being written is younger than this.
const ABANDONED: Duration = Duration::from_secs(3_600);

/// One thing to put right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mend {
    /// Others can look at it.
    Restrict { path: PathBuf, mode: u32 },
    /// The last line was torn by a kill: its bytes are kept beside the session, and the file ends before it.
    Trim { file: PathBuf, session: PathBuf, from: u64 },
    /// A crash left it, and nobody needs it.
    Remove { path: PathBuf, what: &'static str },
    /// The memory is not in order.
    Memory,
}

impl Mend {
    /// The word that names it everywhere.
    pub(super) fn code(&self) -> &'static str {
        match self {
            Mend::Restrict { .. } => "exposed",
            Mend::Trim { .. } => "torn-line",
            Mend::Remove { .. } => "left-behind",
            Mend::Memory => "memory-order",
        }
    }

    /// What is to be done.
    pub(super) fn words(&self) -> String {
        match self {
            Mend::Restrict { path, mode } => format!("make {} private (mode {mode:o})", path.display()),
            Mend::Trim { file, from, .. } => {
                format!("end {} at byte {from}, before its torn last line; the torn bytes are kept", file.display())
            }
            Mend::Remove { path, what } => format!("remove {}, {what}", path.display()),
            Mend::Memory => "put the memory in order, as `scrubjay memory check --fix` does".to_owned(),
        }
    }

    /// Do it. What was done, or why not.
    pub(super) fn act(&self, workplace: &Workplace) -> Result<String, Failure> {
        let failed = |error: io::Error| Failure::failed(format!("could not {}: {error}", self.words()));
        match self {
            Mend::Restrict { path, mode } => {
                restrict(path, *mode).map_err(failed)?;
                Ok(format!("{} is private now", path.display()))
            }
            Mend::Trim { file, session, from } => trim(file, session, *from).map_err(failed),
            Mend::Remove { path, .. } => {
                fs::remove_file(path).map_err(failed)?;
                Ok(format!("{} is gone", path.display()))
            }
            Mend::Memory => {
                let (mut memory, _) = memories::open_quietly(workplace)?;
                memory.fix()?;
                Ok("the memory is in order; `scrubjay undo` takes it back".to_owned())
            }
        }
    }
}

/// Through no link, and only what is still ours.
fn restrict(path: &Path, mode: u32) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(meta) if is_ours(&meta) && !meta.is_symlink() => fs::set_permissions(path, Permissions::from_mode(mode)),
        Ok(_) => Err(io::Error::other("it is not what it was")),
        Err(error) => Err(error),
    }
}

/// Under the session's pen, so that nobody appends meanwhile.
fn trim(file: &Path, session: &Path, from: u64) -> io::Result<String> {
    let Some(_pen) = take_pen(session)? else {
        return Err(io::Error::other("the session is open in another process"));
    };
    let mut log = OpenOptions::new().read(true).write(true).open(file)?;
    log.seek(SeekFrom::Start(from))?;
    let mut torn = Vec::new();
    log.read_to_end(&mut torn)?;
    if torn.contains(&b'\n') {
        return Err(io::Error::other("something was written behind it meanwhile"));
    }
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let kept = session.with_extension("").join(format!("torn-{name}-{from}"));
    write_private(&kept, &torn)?;
    log.set_len(from)?;
    log.sync_all()?;
    Ok(format!("{} ends with a whole line; its torn {} bytes lie in {}", file.display(), torn.len(), kept.display()))
}

/// Everything that could be put right, in the order in which it is best done.
pub(super) fn find(workplace: &Workplace) -> Vec<Mend> {
    let mut mends = Vec::new();
    for (_, folder) in workplace.places.named() {
        exposed(folder, &mut mends);
    }
    mends.extend(torn(workplace));
    mends.extend(left_behind(&workplace.places));
    let is_fixable = |found: Option<(scrubjay::memory::Memory, _)>| {
        found.is_some_and(|(mut memory, _)| {
            memory.check().is_ok_and(|findings| findings.iter().any(scrubjay::memory::Finding::is_fixable))
        })
    };
    if memories::peek(workplace).is_ok_and(is_fixable) {
        mends.push(Mend::Memory);
    }
    mends
}

fn is_ours(meta: &Metadata) -> bool {
    meta.uid() == getuid().as_raw()
}

/// Whatever others may look at. Settings are theirs to read if the person likes; a checkout below is the project's own.
fn exposed(path: &Path, mends: &mut Vec<Mend>) {
    let Ok(meta) = path.symlink_metadata() else { return };
    let is_setting = path.extension().is_some_and(|extension| extension == "toml");
    // A link is neither.
    if !is_ours(&meta) || is_setting || !(meta.is_dir() || meta.is_file()) {
        return;
    }
    let mode = meta.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        mends.push(Mend::Restrict { path: path.to_owned(), mode: mode & 0o700 });
    }
    if meta.is_dir() && !path.join(".git").exists() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            exposed(&entry.path(), mends);
        }
    }
}

/// Records of this project's sessions, and their receipts, whose last line a kill tore.
fn torn(workplace: &Workplace) -> Vec<Mend> {
    let places = Shelf::of(workplace).places().unwrap_or_default();
    let limits = &workplace.limits;
    let mends = places.iter().flat_map(|Place { path, .. }| {
        let ledger = Book::path_of(path);
        let record = read(path, limits).ok().filter(|reading| reading.torn_tail_only).map(|reading| reading.damage);
        let receipts =
            book::read(&ledger, limits).ok().filter(|reading| reading.torn_tail_only).map(|reading| reading.damage);
        let trim = |file: &Path, damage: Option<Vec<Damage>>| {
            let from = damage.and_then(|damage| damage.first().map(|one| one.offset))?;
            Some(Mend::Trim { file: file.to_owned(), session: path.clone(), from })
        };
        [trim(path, record), trim(&ledger, receipts)].into_iter().flatten().collect::<Vec<_>>()
    });
    mends.collect()
}

/// Sockets nobody listens to, letters and files that were never finished.
fn left_behind(places: &Places) -> Vec<Mend> {
    let sockets = stale(&places.sockets())
        .into_iter()
        .map(|path| Mend::Remove { path, what: "a socket of a session that is gone" });
    let mut mends: Vec<Mend> = sockets.collect();
    for folder in [&places.data, &places.state, &places.cache] {
        unfinished(folder, &mut mends);
    }
    mends
}

fn unfinished(folder: &Path, mends: &mut Vec<Mend>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(meta) = path.symlink_metadata() else { continue };
        let is_the_persons = path.file_name().is_some_and(|name| name == "memory") || path.join(".git").exists();
        if meta.is_dir() && is_ours(&meta) && !is_the_persons {
            unfinished(&path, mends);
        } else if meta.is_file() && is_ours(&meta) && is_abandoned(&meta) && is_temporary(&path) {
            mends.push(Mend::Remove { path, what: "a file that was never finished" });
        }
    }
}

fn is_abandoned(meta: &Metadata) -> bool {
    meta.modified().is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > ABANDONED))
}

/// As this program names what it has not finished: a random name in a folder that holds none such, a letter that was never
/// sent, the doctor's own probe.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let random = uuid::Uuid::try_parse(name).is_ok_and(|id| id.get_version_num() == 4 && name.len() == 36);
    let unsent = path.parent().and_then(Path::file_name).is_some_and(|folder| folder == "tmp")
        && path.ancestors().any(|above| above.file_name().is_some_and(|name| name == "mail"));
    random || unsent || name.starts_with(".doctor-")
}
