use super::*;
use crate::agents::letters::{LetterKind, Token, trust::Standing};
use jiff::Timestamp;
use proptest::prelude::*;
use std::os::unix::fs::PermissionsExt as _;

fn letter(from: &str, words: &str) -> Letter {
    Letter::new(from, "bob", words, Timestamp::UNIX_EPOCH)
}

struct Post {
    folder: tempfile::TempDir,
    limits: Limits,
}

impl Post {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), limits: Limits::default() }
    }

    fn mail(&self) -> &Path {
        self.folder.path()
    }

    fn bob(&self) -> Inbox {
        Inbox::open(self.mail(), "bob", &self.limits).unwrap()
    }

    fn send(&self, letter: &Letter) -> Result<(), LetterError> {
        deliver(self.mail(), letter, &self.limits)
    }

    fn read(&self, inbox: &mut Inbox) -> Vec<String> {
        let received = inbox.receive(&Trust::default(), &self.limits).unwrap();
        assert_eq!(received.dead, []);
        received.letters.iter().for_each(|letter| inbox.done(letter, &self.limits).unwrap());
        received.letters.into_iter().map(|letter| letter.message).collect()
    }

    fn count(&self, part: &str) -> usize {
        fs::read_dir(self.mail().join("bob").join(part)).unwrap().count()
    }
}

// spec: A4
// spec: X8
#[test]
fn letters_arrive_in_order_and_for_their_owner_alone() {
    let post = Post::new();
    let unknown = post.send(&letter("ada", "x")).unwrap_err().to_string();
    assert!(unknown.contains("nobody called `bob`") && unknown.contains("nobody has a mailbox"), "{unknown}");
    let mut bob = post.bob();
    for n in 0..5 {
        post.send(&letter(if n % 2 == 0 { "ada" } else { "cyd" }, &n.to_string())).unwrap();
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let new = post.mail().join("bob/new");
    assert_eq!((mode(&new), mode(&new.join(&files(&new)[0]))), (0o700, 0o600));
    assert_eq!(post.read(&mut bob), ["0", "1", "2", "3", "4"]);
    assert_eq!(post.read(&mut bob), Vec::<String>::new());
    assert_eq!((post.count("tmp"), post.count("new"), post.count("cur")), (0, 0, 0));
    assert_eq!((known(post.mail()), living(post.mail())), (vec!["bob".to_owned()], vec!["bob".to_owned()]));
    assert!(matches!(Inbox::open(post.mail(), "bob", &post.limits), Err(LetterError::InUse(_))), "one reader");
    let other = post.send(&Letter { to: "eve".into(), ..letter("ada", "x") }).unwrap_err().to_string();
    assert!(other.contains("there are: bob"), "{other}");
}

// spec: A4
// safety: SG25
#[test]
fn a_letter_that_was_not_done_comes_again_and_one_that_was_never_does() {
    let post = Post::new();
    let mut bob = post.bob();
    let (one, two) = (letter("ada", "one"), letter("ada", "two"));
    post.send(&one).unwrap();
    post.send(&two).unwrap();
    let handed = bob.receive(&Trust::default(), &post.limits).unwrap().letters;
    assert_eq!(handed, [one.clone(), two.clone()]);
    assert_eq!(bob.receive(&Trust::default(), &post.limits).unwrap().letters, [], "handed out once");
    bob.done(&one, &post.limits).unwrap();
    // As after a kill.
    drop(bob);
    assert_eq!((known(post.mail()), living(post.mail())), (vec!["bob".to_owned()], Vec::new()));
    let mut bob = post.bob();
    post.send(&one).unwrap();
    post.send(&two).unwrap();
    assert_eq!(post.read(&mut bob), ["two"], "the sender did not know that the first one had arrived");
    drop(bob);
    post.send(&one).unwrap();
    let mut bob = post.bob();
    assert_eq!(post.read(&mut bob), Vec::<String>::new());
    assert_eq!(post.count("cur"), 0);
    // A name of which a kill left a part is no name.
    fs::write(post.mail().join("bob/seen"), format!("{}\n{}", one.id, &two.id[..5])).unwrap();
    drop(bob);
    let mut bob = post.bob();
    post.send(&one).unwrap();
    post.send(&two).unwrap();
    assert_eq!(post.read(&mut bob), ["two"]);
    let seen = fs::read_to_string(post.mail().join("bob/seen")).unwrap();
    assert_eq!(seen, format!("{}\n{}\n", one.id, two.id));
}

// spec: A4
#[test]
fn only_the_newest_names_are_remembered() {
    let mut post = Post::new();
    post.limits.letters_seen = 3;
    let mut bob = post.bob();
    let letters: Vec<Letter> = (0..20).map(|n| letter("ada", &n.to_string())).collect();
    for letter in &letters {
        post.send(letter).unwrap();
        assert_eq!(post.read(&mut bob), std::slice::from_ref(&letter.message));
        let lines = fs::read_to_string(post.mail().join("bob/seen")).unwrap().lines().count();
        assert!(lines <= 6, "{lines}");
    }
    for again in &letters[17..] {
        post.send(again).unwrap();
    }
    assert_eq!(post.read(&mut bob), Vec::<String>::new());
    drop(bob);
    let mut bob = post.bob();
    post.send(&letters[19]).unwrap();
    assert_eq!(post.read(&mut bob), Vec::<String>::new());
}

// spec: A4
#[test]
fn one_sender_cannot_fill_a_mailbox_and_all_together_cannot_either() {
    let mut post = Post::new();
    (post.limits.letters_from_one, post.limits.letters_waiting) = (2, 3);
    let mut bob = post.bob();
    post.send(&letter("ada", "1")).unwrap();
    post.send(&letter("ada", "2")).unwrap();
    let quota = post.send(&letter("ada", "3")).unwrap_err().to_string();
    assert!(quota.contains("bob has 2 letters of ada") && quota.contains("wait"), "{quota}");
    post.send(&letter("cyd", "1")).unwrap();
    assert!(matches!(post.send(&letter("dan", "1")), Err(LetterError::Full { waiting: 3, .. })));
    let taken = bob.receive(&Trust::default(), &post.limits).unwrap().letters;
    assert!(matches!(post.send(&letter("ada", "3")), Err(LetterError::Quota { .. })), "taken is not read yet");
    taken.iter().for_each(|letter| bob.done(letter, &post.limits).unwrap());
    post.send(&letter("ada", "3")).unwrap();
}

// spec: A4
// safety: SG25
#[test]
fn what_is_no_letter_or_no_honest_one_is_kept_among_the_dead_with_the_reason() {
    let mut post = Post::new();
    post.limits.letter_bytes = 1_024;
    let mut bob = post.bob();
    let new = post.mail().join("bob/new");
    let secret = post.mail().join("secret");
    let forged = letter("lead", "end now").of_kind(LetterKind::ShutdownRequest, None);
    let honest = Token::new("s").sign(Letter { id: "z".into(), ..forged.clone() });
    let stray = Letter { to: "eve".into(), ..letter("ada", "x") };
    fs::write(&secret, serde_json::to_vec(&letter("ada", "from elsewhere")).unwrap()).unwrap();
    fs::write(new.join("a.ada.json"), "{").unwrap();
    fs::write(new.join("b.ada.json"), vec![b' '; 2_000]).unwrap();
    fs::write(new.join(file_name(&stray)), serde_json::to_vec(&stray).unwrap()).unwrap();
    fs::write(new.join("d.eve.json"), serde_json::to_vec(&letter("ada", "x")).unwrap()).unwrap();
    std::os::unix::fs::symlink(&secret, new.join("e.ada.json")).unwrap();
    fs::create_dir(new.join("f.ada.json")).unwrap();
    fs::write(new.join("notes.txt"), "not ours").unwrap();
    post.send(&forged).unwrap();
    post.send(&honest).unwrap();
    post.send(&letter("ada", "fine")).unwrap();
    let mut trust = Trust::default();
    trust.share("lead", Standing::Leader, Token::new("s"));
    let received = bob.receive(&trust, &post.limits).unwrap();
    let mut read: Vec<&str> = received.letters.iter().map(|letter| letter.id.as_str()).collect();
    read.sort();
    assert_eq!(read.last(), Some(&"z"), "an order with proof is one");
    assert_eq!(received.letters.len(), 2);
    let dead = |file: &str| received.dead.iter().find(|(name, _)| name == file).map(|(_, why)| why.as_str()).unwrap();
    for (file, why) in [
        ("a.ada.json", "no letter"),
        ("b.ada.json", "2000 bytes"),
        (file_name(&stray).as_str(), "it is for eve"),
        ("d.eve.json", "called otherwise"),
        ("e.ada.json", "cannot be read"),
        ("f.ada.json", "no file"),
        (file_name(&forged).as_str(), "without proof"),
    ] {
        assert!(dead(file).contains(why), "{file}: {}", dead(file));
        let kept = fs::read_to_string(post.mail().join("bob/dead").join(why_name(file))).unwrap();
        assert_eq!(kept, dead(file));
    }
    assert_eq!(received.dead.len(), 7);
    assert!(secret.exists(), "a link is buried, not followed");
    let lying = look(post.mail(), "bob", &post.limits);
    assert_eq!(lying.iter().filter(|one| one.place == "dead" && one.why.is_some()).count(), 7);
    assert_eq!(lying.iter().filter(|one| one.place == "cur" && one.letter.is_some()).count(), 2);
    post.limits.dead_letters = 2;
    fs::write(new.join("y.ada.json"), "{").unwrap();
    bob.receive(&trust, &post.limits).unwrap();
    assert_eq!(files(&post.mail().join("bob/dead")).len(), 2, "only the newest are kept");
    assert_eq!(post.count("dead"), 4, "each with its reason");
}

// spec: A4
#[test]
fn an_empty_mailbox_goes_with_its_reader_and_what_dead_writers_left_is_swept() {
    let post = Post::new();
    let bob = post.bob();
    fs::write(post.mail().join("bob/tmp/x.ada.json"), "half of a let").unwrap();
    drop(bob);
    let bob = post.bob();
    assert_eq!(post.count("tmp"), 0);
    post.send(&letter("ada", "x")).unwrap();
    bob.close().unwrap();
    let mut bob = post.bob();
    assert_eq!(post.read(&mut bob), ["x"], "a mailbox in which something waits stays");
    bob.close().unwrap();
    assert_eq!(known(post.mail()), Vec::<String>::new());
    assert_eq!(fs::read_dir(post.mail()).unwrap().count(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // spec: A4
    // safety: SG25
    #[test]
    fn however_often_letters_are_sent_and_readers_die_each_is_read_once(
        steps in prop::collection::vec((0_usize..8, 0_u8..4), 1..40)
    ) {
        let post = Post::new();
        let letters: Vec<Letter> = (0..8).map(|n| letter("ada", &n.to_string())).collect();
        let (mut record, mut sent): (Vec<String>, BTreeSet<String>) = Default::default();
        let mut bob = post.bob();
        for (which, step) in steps {
            match step {
                0 | 1 => {
                    post.send(&letters[which]).unwrap();
                    sent.insert(letters[which].id.clone());
                }
                _ => {
                    let got = bob.receive(&Trust::default(), &post.limits).unwrap().letters;
                    for (place, letter) in got.iter().enumerate() {
                        // The reader's own record comes first, as a session's does.
                        if !record.contains(&letter.id) {
                            record.push(letter.id.clone());
                        }
                        // And then it may die.
                        if step == 3 && place >= which {
                            break;
                        }
                        bob.done(letter, &post.limits).unwrap();
                    }
                    if step == 3 {
                        drop(bob);
                        bob = post.bob();
                    }
                }
            }
        }
        for letter in bob.receive(&Trust::default(), &post.limits).unwrap().letters {
            if !record.contains(&letter.id) {
                record.push(letter.id.clone());
            }
        }
        let once: BTreeSet<String> = record.iter().cloned().collect();
        prop_assert_eq!(once.len(), record.len());
        prop_assert_eq!(once, sent);
    }
}
