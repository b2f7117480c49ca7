//! The socket of a session, for its owner alone. The session greets, the other side writes one letter on one line, and
//! the session says on one line what became of it. Nothing is written to a socket that does not greet.

use futures::StreamExt as _;
use futures::future::{AbortHandle, Aborted, abortable};
use futures::stream::FuturesUnordered;
use rustix::process::getuid;
use scrubjay::agents::letters::{Letter, LetterKind, inbox};
use scrubjay::agents::staff::Mail;
use scrubjay::limits::Limits;
use scrubjay::paths::create_dir_private;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;
use tokio::time::error::Elapsed;

const GREETING: &str = "scrubjay letters 1";

/// Before nobody could be let in is tried again.
const PAUSE: Duration = Duration::from_millis(100);

fn patience(limits: &Limits) -> Duration {
    Duration::from_millis(limits.socket_client_ms)
}

/// What became of a letter.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reply {
    Accepted,
    Refused(String),
}

/// A socket that is listened to; it goes when this does.
pub(crate) struct Listening {
    listener: UnixListener,
    path: PathBuf,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Gone already is as good.
        std::fs::remove_file(&self.path).unwrap_or_default();
    }
}

/// Listen under this name. Sockets that nobody listens to any more are removed.
pub(crate) fn listen(folder: &Path, name: &str) -> io::Result<Listening> {
    create_dir_private(folder)?;
    sweep(folder);
    let path = folder.join(format!("{name}.sock"));
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(Listening { listener, path })
}

fn sockets(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sock"));
    paths.sort();
    paths
}

fn is_stale(path: &Path) -> bool {
    let tried = std::os::unix::net::UnixStream::connect(path);
    tried.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Sockets that nobody listens to any more.
pub(crate) fn stale(folder: &Path) -> Vec<PathBuf> {
    sockets(folder).into_iter().filter(|path| is_stale(path)).collect()
}

fn sweep(folder: &Path) {
    for path in stale(folder) {
        std::fs::remove_file(path).unwrap_or_default();
    }
}

impl Listening {
    /// Sockets in this folder at which somebody listens.
    pub(crate) fn living(folder: &Path) -> Vec<PathBuf> {
        sockets(folder).into_iter().filter(|path| !is_stale(path)).collect()
    }

    /// Take letters as long as the session lives. Clients do not wait for each other: one that says nothing, slowly or for
    /// ever, only takes a place, and gives it up when its time is over or when all places are taken and another one comes.
    pub(crate) async fn serve(self, mail: &Mail, limits: &Limits, rung: &Notify) {
        let most = usize::try_from(limits.socket_clients).unwrap_or(usize::MAX);
        let mut clients = FuturesUnordered::new();
        let mut places: VecDeque<(u64, AbortHandle)> = VecDeque::new();
        for number in 0_u64.. {
            let stream = loop {
                tokio::select! {
                    Some((left, taken)) = clients.next() => {
                        places.retain(|(number, _)| *number != left);
                        told(taken, rung);
                    }
                    accepted = self.listener.accept() => match accepted {
                        Ok((stream, _)) => break stream,
                        Err(error) => {
                            tracing::warn!(%error, "nobody can be let in at the socket");
                            tokio::time::sleep(PAUSE).await;
                        }
                    },
                }
            };
            while places.len() >= most {
                places.pop_front().into_iter().for_each(|(_, longest)| longest.abort());
            }
            let (taken, handle) = abortable(tokio::time::timeout(patience(limits), take(stream, mail, limits)));
            places.push_back((number, handle));
            clients.push(async move { (number, taken.await) });
        }
    }
}

/// What came of a client: its letter is there, or why not.
fn told(taken: Result<Result<io::Result<()>, Elapsed>, Aborted>, rung: &Notify) {
    match taken {
        Ok(Ok(Ok(()))) => rung.notify_one(),
        Ok(Ok(Err(error))) => tracing::debug!(%error, "somebody left the socket without a letter"),
        Ok(Err(_)) => tracing::warn!("somebody at the socket was too slow"),
        Err(Aborted) => tracing::warn!("somebody at the socket had to make room"),
    }
}

/// Whether the other side is the same person.
fn is_mine(stream: &UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == getuid().as_raw())
}

async fn line(reader: &mut (impl tokio::io::AsyncBufRead + Unpin), most: u64) -> io::Result<String> {
    let mut line = String::new();
    reader.take(most + 1).read_line(&mut line).await?;
    if !line.ends_with('\n') {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the line has no end, or is too long"));
    }
    Ok(line)
}

async fn take(stream: UnixStream, mail: &Mail, limits: &Limits) -> io::Result<()> {
    if !is_mine(&stream)? {
        tracing::warn!("somebody else wanted to write to this session");
        return Ok(());
    }
    let (reader, mut writer) = stream.into_split();
    writer.write_all(format!("{GREETING} {}\n", mail.name).as_bytes()).await?;
    let text = match line(&mut BufReader::new(reader), limits.letter_bytes).await {
        Ok(text) => text,
        Err(error) => return answer(&mut writer, Reply::Refused(error.to_string())).await,
    };
    let reply = match accept(&text, mail, limits) {
        Ok(()) => Reply::Accepted,
        Err(why) => Reply::Refused(why),
    };
    answer(&mut writer, reply).await
}

async fn answer(writer: &mut (impl tokio::io::AsyncWrite + Unpin), reply: Reply) -> io::Result<()> {
    let text = serde_json::to_string(&reply).unwrap_or_default();
    writer.write_all(format!("{text}\n").as_bytes()).await
}

/// Into the mailbox of the session, which is as good as read: a kill does not lose it.
fn accept(text: &str, mail: &Mail, limits: &Limits) -> Result<(), String> {
    let letter = Letter::from_bytes(text.as_bytes(), limits)?;
    let letter = Letter { to: mail.name.clone(), ..letter };
    inbox::deliver(&mail.folder, &letter, limits).map_err(|error| error.to_string())?;
    match letter.kind {
        LetterKind::Message => Ok(()),
        // It ends among the dead letters; whoever tries should know.
        kind => Err(format!("a {} does not come by socket", kind.word())),
    }
}

/// Write to the session at this socket.
pub(crate) async fn send(path: &Path, letter: &Letter, limits: &Limits) -> Result<(), String> {
    let shown = path.display();
    let sent = tokio::time::timeout(patience(limits), exchange(path, letter, limits)).await;
    match sent {
        Err(_) => Err(format!("nobody answers at {shown}")),
        Ok(Err(error)) => Err(format!("nobody can be written to at {shown}: {error}")),
        Ok(Ok(Reply::Refused(why))) => Err(format!("{shown} refused the letter: {why}")),
        Ok(Ok(Reply::Accepted)) => Ok(()),
    }
}

async fn exchange(path: &Path, letter: &Letter, limits: &Limits) -> io::Result<Reply> {
    let stream = UnixStream::connect(path).await?;
    if !is_mine(&stream)? {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to somebody else"));
    }
    let (reader, mut writer) = stream.into_split();
    let mut reader = BufReader::new(reader);
    if !line(&mut reader, limits.letter_bytes).await?.starts_with(GREETING) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no session of scrubjay listens there"));
    }
    let bytes = letter.to_bytes(limits).map_err(io::Error::other)?;
    writer.write_all(&[&bytes[..], b"\n"].concat()).await?;
    let reply = line(&mut reader, limits.letter_bytes).await?;
    serde_json::from_str(&reply).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};

    fn mail(folder: &Path) -> Mail {
        Mail {
            name: "ada".to_owned(),
            folder: folder.join("mail"),
            courier: std::sync::Arc::new(|_, _| Box::pin(async { Ok(()) })),
            trust: Default::default(),
            recruit: None,
        }
    }

    /// A session's socket with few places, and what a sender does while others sit there.
    async fn with_idle_clients(
        clients: u64,
        sit: impl Fn(usize, &Path) -> std::os::unix::net::UnixStream,
    ) -> Vec<Result<(), String>> {
        let held = tempfile::tempdir().unwrap();
        let limits = Limits { socket_clients: 4, socket_client_ms: 60_000, ..Limits::default() };
        let listening = listen(&held.path().join("sockets"), "ada").unwrap();
        let path = listening.path.clone();
        let mail = mail(held.path());
        let _mailbox = inbox::Inbox::open(&mail.folder, "ada", &limits).unwrap();
        let rung = Notify::new();
        let talk = async {
            let mut sitting = Vec::new();
            let mut sent = Vec::new();
            for number in 0..usize::try_from(clients).unwrap() {
                sitting.push(sit(number, &path));
                let letter = Letter::new("bob", "ada", format!("letter {number}"), jiff::Timestamp::UNIX_EPOCH);
                sent.push(send(&path, &letter, &limits).await);
            }
            drop(sitting);
            sent
        };
        tokio::select! {
            () = listening.serve(&mail, &limits, &rung) => Vec::new(),
            sent = talk => sent,
        }
    }

    // safety: SG25
    #[tokio::test]
    async fn clients_that_sit_at_the_socket_do_not_keep_a_letter_out() {
        let silent = |_, path: &Path| std::os::unix::net::UnixStream::connect(path).unwrap();
        let dripping = |_, path: &Path| {
            let mut stream = std::os::unix::net::UnixStream::connect(path).unwrap();
            stream.write_all(b"{").unwrap();
            stream
        };
        for sent in [with_idle_clients(12, silent).await, with_idle_clients(12, dripping).await] {
            assert_eq!(sent.len(), 12);
            assert!(sent.iter().all(Result::is_ok), "{sent:?}");
        }
    }

    // safety: SG25
    #[tokio::test(flavor = "multi_thread")]
    async fn a_client_that_says_nothing_is_shown_out() {
        let held = tempfile::tempdir().unwrap();
        let limits = Limits { socket_client_ms: 20, ..Limits::default() };
        let listening = listen(&held.path().join("sockets"), "ada").unwrap();
        let path = listening.path.clone();
        let mail = mail(held.path());
        let rung = Notify::new();
        let heard = tokio::task::spawn_blocking(move || {
            let mut all = Vec::new();
            std::os::unix::net::UnixStream::connect(path).unwrap().read_to_end(&mut all).unwrap();
            all
        });
        tokio::select! {
            () = listening.serve(&mail, &limits, &rung) => {}
            heard = heard => assert!(heard.unwrap().starts_with(GREETING.as_bytes())),
        }
    }
}
