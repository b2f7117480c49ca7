//! `scrubjay demo`: four days of work, played in seconds through the real engine.
//!
//! `script` (what is said) · `project` (where it is said) · `actor`, `clock`, `stage` (who answers, when, with what) · `play` (turn
//! by turn) · `firing` (what layers did) · `receipt`, `kept`, `plain`, `memories` (what came of it) · `chart`, `screen`, `closing` (how it
//! is shown). Nothing is computed beforehand: switch a layer off and every number changes.

mod actor;
mod chart;
mod clock;
mod closing;
mod firing;
mod kept;
mod memories;
mod plain;
mod play;
mod project;
mod receipt;
mod screen;
mod script;
mod stage;

use crate::arguments::{DemoFlags, Layer, command};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::paper::{Form, Paper, Tone};
use crate::report_page::{self, Subject};
use actor::{Actor, Summaries};
use clap::ValueEnum as _;
use closing::Page;
use jiff::tz::TimeZone;
use kept::Kept;
use memories::{Dreamt, Remembered, dreamt, remembered};
use play::{News, Played, Programme, play};
use receipt::{Bill, Receipt};
use screen::{Screen, say};
use script::Script;
use scrubjay::memory::Memory;
use scrubjay::model::Model as _;
use serde_json::{Value, json};
use stage::Folder;
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// How long a turn is looked at, and one in which a layer did something.
const GLANCE: Duration = Duration::from_millis(45);
const LOOK: Duration = Duration::from_millis(110);

/// Everything that came of it.
struct Outcome {
    played: Played,
    receipt: Receipt,
    kept: Kept,
    memories: Vec<Remembered>,
    dream: Option<Dreamt>,
}

pub(crate) async fn run(flags: &DemoFlags, environment: &Environment, paper: &Paper) -> Result<(), Failure> {
    let script = Script::embedded().map_err(|unclear| Failure::failed(unclear.to_string()))?;
    let turns = flags.turns.and_then(|turns| usize::try_from(turns).ok()).unwrap_or(usize::MAX);
    let folder = match &flags.keep {
        Some(path) => Folder::kept(path)?,
        None => Folder::temporary(environment)?,
    };
    let beside = Folder::temporary(environment)?;
    let with = Programme {
        turns: turns.min(script.turns.len()),
        script: Arc::new(script),
        folder: folder.path().to_owned(),
        switches: switched_off(&flags.without),
        summaries: Summaries::Careful,
        stop: CancellationToken::new(),
    };
    let without = Programme { folder: beside.path().to_owned(), ..plain(&with) };
    let (news, with_layers) = staged(with.clone(), *paper);
    let (other, without_layers) = staged(without, *paper);
    let stop = with.stop.clone();
    let mut show = Show::new(&with, flags, environment, paper)?;
    if !show.is_quiet {
        show.open(folder.path(), with.turns)?;
    }
    let shown = tokio::select! {
        shown = show.all(news, other) => shown,
        _ = tokio::signal::ctrl_c() => Err(Failure::interrupted()),
    };
    if let Err(failure) = shown {
        stop.cancel();
        show.screen.leave()?;
        // Both end at their next step; their folders go with us.
        ended(with_layers).await.map(drop).unwrap_or_default();
        ended(without_layers).await.map(drop).unwrap_or_default();
        return Err(failure);
    }
    let played = ended(with_layers).await?;
    let without = Bill::of(&ended(without_layers).await?);
    let all = gathered(played, without)?;
    all.write_page(&folder.page())?;
    match paper.form {
        Form::Json => paper.json("demo", all.json(flags, &folder.page())),
        Form::Words => show.close(&all, &folder),
    }
}

/// Settings that switch these layers off.
fn switched_off(layers: &[Layer]) -> Vec<String> {
    layers.iter().flat_map(|layer| layer.settings()).map(|key| format!("{key}=false")).collect()
}

/// The same without any layer but the last: a full window is summarised, because otherwise there would be no more answer.
fn plain(with: &Programme) -> Programme {
    let off: Vec<Layer> = Layer::value_variants().iter().copied().filter(|layer| *layer != Layer::Compaction).collect();
    let mut switches = switched_off(&off);
    switches.extend(["memory.enabled=false", "cache_ttl=5m"].map(str::to_owned));
    Programme { switches, summaries: Summaries::Plain, ..with.clone() }
}

type Playing = JoinHandle<Result<Played, Failure>>;

/// Play it on a thread of its own, where nothing else can come between its steps.
fn staged(programme: Programme, paper: Paper) -> (UnboundedReceiver<News>, Playing) {
    let (sender, receiver) = unbounded_channel();
    let playing = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::failed(format!("the demo cannot start: {error}")))?;
        // Whoever has left has no use for the news.
        let mut watch = |news| sender.send(news).unwrap_or_default();
        runtime.block_on(play(&programme, &paper, &mut watch))
    });
    (receiver, playing)
}

async fn ended(playing: Playing) -> Result<Played, Failure> {
    playing.await.unwrap_or_else(|error| Err(Failure::failed(format!("the demo broke off: {error}"))))
}

fn gathered(played: Played, without: Bill) -> Result<Outcome, Failure> {
    let session = &played.stage.session;
    let kept = Kept::of(session.transcript(), &played.stage.workplace.root, &session.desk().limits);
    let memories = played.stage.memory.as_ref().map(remembered).unwrap_or_default();
    let (receipt, dream) = (Receipt::of(&played, without), dreamt(&played)?);
    Ok(Outcome { played, receipt, kept, memories, dream })
}

/// What a person sees.
struct Show {
    screen: Screen,
    page: Page,
    is_quiet: bool,
    is_paced: bool,
}

impl Show {
    fn new(
        programme: &Programme,
        flags: &DemoFlags,
        environment: &Environment,
        paper: &Paper,
    ) -> Result<Self, Failure> {
        const WIDEST: usize = 100;
        let mut paper = *paper;
        paper.width = paper.width.min(WIDEST);
        let screen = Screen::new(&paper, (&programme.script, programme.turns), Actor::budget()?, &flags.without);
        let is_terminal = std::io::stdout().is_terminal() && environment.get("TERM") != Some("dumb");
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok().filter(|_| is_terminal);
        let screen = match size {
            Some(size) => screen.on_terminal(usize::from(size.ws_row)),
            None => screen,
        };
        Ok(Self {
            is_paced: screen.is_picture() && !flags.fast,
            screen,
            page: Page { ink: paper.ink, width: paper.width },
            is_quiet: paper.form == Form::Json,
        })
    }

    fn open(&self, folder: &Path, turns: usize) -> Result<(), Failure> {
        let ink = self.page.ink;
        let title = ink.paint(Tone::Strong, "scrubjay demo");
        let about = format!(
            "A person and a coding agent over four days, {turns} turns, played through the real engine: real tools in a project \
             of its own, a model that follows a script, a cache that keeps to the published rules. No key, no network."
        );
        let place = format!("It writes to {} and nowhere else.", folder.display());
        let mut lines = vec![title];
        lines.extend(self.page.paragraph(&about));
        lines.extend(self.page.paragraph(&place));
        lines.push(String::new());
        say(&lines)
    }

    /// Show every turn as it comes.
    async fn all(
        &mut self,
        mut news: UnboundedReceiver<News>,
        mut other: UnboundedReceiver<News>,
    ) -> Result<(), Failure> {
        while let Some(news) = news.recv().await {
            if self.is_quiet {
                continue;
            }
            while let Ok(News::Turn(frame)) = other.try_recv() {
                self.screen.compare(frame.tokens());
            }
            let pause = match news {
                News::Turn(frame) => {
                    let pause = if frame.firings.is_empty() { GLANCE } else { LOOK };
                    self.screen.show(frame)?;
                    pause
                }
                News::Night(firing) => {
                    self.screen.tell(firing)?;
                    LOOK * 4
                }
            };
            if self.is_paced {
                tokio::time::sleep(pause).await;
            }
        }
        while let Some(News::Turn(frame)) = other.recv().await {
            self.screen.compare(frame.tokens());
        }
        if self.is_quiet { Ok(()) } else { self.screen.end() }
    }

    fn close(&self, all: &Outcome, folder: &Folder) -> Result<(), Failure> {
        let page = &self.page;
        let mut lines: Vec<String> = all.played.cut.iter().flat_map(|cut| page.paragraph(cut)).collect();
        lines.extend(page.receipt(&all.receipt, all.played.cut.as_deref()));
        lines.extend(page.kept(&all.kept));
        lines.extend(page.memories(&all.memories));
        lines.extend(all.dream.iter().flat_map(|dream| page.dream(dream)));
        lines.extend(page.next(&next_steps(folder)));
        say(&lines)
    }
}

/// What to do now: only what this program can do.
fn next_steps(folder: &Folder) -> Vec<(String, &'static str)> {
    let mut steps = vec![(folder.page().display().to_string(), "the same as a page: open it in a browser")];
    if folder.is_kept() {
        let place = folder.path().display();
        steps.push((
            format!("SCRUBJAY_HOME={place}/home scrubjay savings -C {place}/project"),
            "the receipts of this session",
        ));
    } else {
        steps.push(("scrubjay demo --keep DIR".to_owned(), "keep it all, and look around in it"));
    }
    steps.push(("scrubjay demo --without microcompaction".to_owned(), "switch a layer off: every number changes"));
    let known = command();
    let others = [
        ("scan", "what it would have saved in your own sessions"),
        ("chat", "talk; works on the files of this folder"),
    ];
    let there = others.into_iter().filter(|(name, _)| known.find_subcommand(name).is_some());
    steps.extend(there.map(|(name, why)| (format!("scrubjay {name}"), why)));
    steps
}

impl Outcome {
    /// The page that `scrubjay report` would write.
    fn write_page(&self, path: &Path) -> Result<(), Failure> {
        let (stage, night) = (&self.played.stage, &self.played.night);
        let proposals: Vec<_> = night.iter().filter_map(|night| night.landed.proposal.clone()).collect();
        let page = |memory: Option<&Memory>| {
            let subject = Subject {
                transcript: &stage.workplace.project().transcript(stage::SESSION),
                window: stage.actor.window(),
                price: &|_, usage| stage.actor.prices()?.cost(usage),
                memory,
                proposals: &proposals,
                settings: &stage.workplace.settings,
                limits: &stage.workplace.limits,
                zone: TimeZone::UTC,
            };
            report_page::write(&subject, path, report_page::Overwrite::OwnPages).map(drop)
        };
        match &stage.memory {
            Some(memory) => memory.with(|memory| page(Some(memory))),
            None => page(None),
        }
    }

    /// The same for scripts.
    fn json(&self, flags: &DemoFlags, page: &Path) -> Value {
        let frame = |frame: &play::Frame| json!({ "turn": frame.turn, "at": frame.at, "question": frame.words, "tokens": frame.tokens(), "by_share": frame.window, "layers": frame.firings });
        let Receipt { with, without, savings, breaks, recoverable } = &self.receipt;
        let amount = |amount: &scrubjay::ledger::savings::Amount| json!({ "tokens": amount.tokens, "usd": amount.money, "certainty": amount.certainty.word() });
        let things: Vec<Value> = self
            .kept
            .things
            .iter()
            .map(|thing| json!({ "what": thing.what, "text": thing.text, "weight": thing.weight }))
            .collect();
        json!({
            "session_id": stage::SESSION,
            "page": page,
            "billed_as": actor::BILLED_AS,
            "without_layers": flags.without.iter().map(|layer| layer.booked_as().word()).collect::<Vec<_>>(),
            "cut": self.played.cut,
            "turns": self.played.frames.iter().map(frame).collect::<Vec<_>>(),
            "receipt": {
                "with": with,
                "without": without,
                "savings": {
                    "saved": amount(&savings.gross), "cache_damage": amount(&savings.damage),
                    "read_again": amount(&savings.read_back), "longer_lifetime": amount(&savings.premium),
                    "own_calls": amount(&savings.spend), "net": amount(&savings.net()),
                },
                "prefix_breaks": breaks,
                "recoverable": recoverable,
            },
            "kept": { "compactions": self.kept.compactions, "score": self.kept.ours, "plain_score": self.kept.plain, "things": things },
            "memories": self.memories,
            "dream": self.dream,
        })
    }
}
