use super::super::session::Since;
use super::*;
use proptest::prelude::*;
use scrubjay::settings::Sources;
use std::sync::Arc;

const OPENING: u64 = 20_000;

/// A session whose every character is a third of a token, billed as an agent that only appends is.
fn session(steps: Vec<(i64, Vec<Piece>)>) -> Session {
    let (mut total, mut made) = (OPENING as f64, Vec::new());
    for (number, (minute, added)) in (1..).zip(steps) {
        total += added.iter().map(Piece::around).sum::<u64>() as f64 / 3.0;
        made.push(Step {
            id: number,
            at: Some(Timestamp::from_second(minute * 60).unwrap()),
            model: Arc::from("claude-opus-4-5-20251101"),
            usage: Usage { cache_write_5m: total as u64, ..Usage::default() },
            added,
            since: Since::default(),
            compacted: false,
            updated: false,
        });
    }
    Session { steps: made, ..Session::new("s.jsonl".into()) }
}

fn piece(chars: u64, what: What) -> Piece {
    Piece { chars, what }
}

fn answer(tool: Tool, chars: u64) -> Vec<Piece> {
    vec![piece(100, What::Call), piece(chars, What::Answer(tool, 0))]
}

fn both(session: &Session) -> (Outcome, Outcome) {
    let (catalogue, limits) = (Catalogue::built_in().unwrap(), Limits::default());
    let settings = Settings::resolve(&Sources::default());
    let terms = Terms::of(session, &catalogue, &settings, &limits);
    let play = |layers| play(session, &terms, layers, |_| true);
    (play(Layers::On), play(Layers::Off))
}

/// Requests a minute apart, each after one of these.
fn talk(steps: Vec<Vec<Piece>>) -> Vec<(i64, Vec<Piece>)> {
    (0..).zip(steps).collect()
}

// spec: U3
#[test]
fn where_there_is_nothing_to_do_nothing_is_done() {
    let (with, without) = both(&session(talk(vec![vec![piece(900, What::Words)]; 30])));
    assert_eq!((with.stored, with.cleared, with.from_notes, with.summarised), (0, 0, 0, 0));
    assert!((with.cost - without.cost).abs() < 1e-6, "{} {}", with.cost, without.cost);
    let hit = without.read as f64 / without.total as f64;
    assert!(hit > 0.9, "what was sent before is read: {hit}");
}

// spec: U3
#[test]
fn layer_1_spares_every_request_behind_a_large_answer() {
    let steps = |chars| talk([vec![answer(Tool::Bash, chars)], vec![vec![piece(30, What::Words)]; 9]].concat());
    let (with, without) = both(&session(steps(60_000)));
    assert_eq!(with.stored, 1);
    assert!((19_000..20_000).contains(&with.stored_tokens), "{}", with.stored_tokens);
    assert_eq!(without.total - with.total, 10 * with.stored_tokens);
    assert_eq!(both(&session(steps(7_999))).0.stored, 0);
    assert_eq!(
        both(&session(talk(vec![answer(Tool::Read, 40_000); 3]))).0.stored,
        0,
        "file reads have a limit of their own"
    );
}

// spec: U3
#[test]
fn layer_2_clears_when_the_cache_is_gone_anyway() {
    let mut steps = talk(vec![answer(Tool::Grep, 6_000); 10]);
    let (warm, _) = both(&session(steps.clone()));
    assert_eq!(warm.cleared, 0);
    steps.push((200, vec![piece(30, What::Words)]));
    let (with, without) = both(&session(steps.clone()));
    assert_eq!(with.cleared, 5, "the newest five stay");
    assert_eq!(without.total - with.total, with.cleared_tokens);
    assert!(with.all() < without.all());
    let other = steps.into_iter().map(|(at, pieces)| (at, pieces.into_iter().map(of_another_tool).collect())).collect();
    assert_eq!(both(&session(other)).0.cleared, 0, "what cannot be asked again stays");
}

fn of_another_tool(piece: Piece) -> Piece {
    match piece.what {
        What::Answer(_, file) => Piece { what: What::Answer(Tool::Other, file), ..piece },
        _ => piece,
    }
}

// spec: U3
#[test]
fn an_edit_of_what_is_no_longer_shown_is_charged() {
    let edited = |file| {
        let read = |file| vec![piece(100, What::Call), piece(6_000, What::Answer(Tool::Read, file))];
        let mut steps = talk((1..=10).map(read).collect());
        steps.push((200, vec![piece(30, What::Words)]));
        steps.push((201, vec![piece(500, What::Edit(file)), piece(10, What::Answer(Tool::Edit, file))]));
        steps.push((202, vec![piece(500, What::Edit(file))]));
        both(&session(steps)).0
    };
    let (old, new) = (edited(1), edited(10));
    assert_eq!((old.cleared, old.edits, old.edits_hidden), (5, 2, 1), "once, then it is known again");
    assert!(old.reread > 2_000.0, "{}", old.reread);
    assert_eq!((new.edits_hidden, new.reread), (0, 0.0));
}

// spec: U3
#[test]
fn layer_3_compacts_a_full_window_without_a_call() {
    let mut full = session(talk(vec![answer(Tool::Other, 6_000); 110]));
    full.window = Some(200_000);
    let (with, without) = both(&full);
    assert!(with.notes > 0 && with.from_notes > 0, "{with:?}");
    assert_eq!(with.summarised, 0);
    assert!(with.all() < without.all());
    assert!(with.own <= with.cost / 20.0, "notes cost little: {} of {}", with.own, with.cost);

    let mut short = session(talk(vec![answer(Tool::Other, 20_000); 30]));
    short.window = Some(200_000);
    let (with, _) = both(&short);
    assert_eq!((with.notes, with.summarised), (0, 1), "what would cost too much is left to the summariser: {with:?}");
}

#[test]
fn without_layers_the_agent_compacts_where_it_did() {
    let mut recorded = session(talk(vec![vec![piece(30_000, What::Words)]; 6]));
    let plain = both(&recorded).1;
    recorded.steps[3].compacted = true;
    recorded.steps[3].usage = Usage { input: 25_000, ..Usage::default() };
    let compacted = both(&recorded).1;
    assert!(compacted.total < plain.total && compacted.own > 0.0, "{compacted:?}");
}

#[test]
fn prices_are_weighed_by_plain_input() {
    let dear =
        Prices { input: Some(5.0), write_5m: Some(6.25), write_1h: Some(10.0), read: Some(0.5), output: Some(25.0) };
    assert_eq!(weights(Some(dear)), weights(None));
    let silent = Prices { input: Some(2.0), read: Some(0.5), ..Prices::default() };
    let weighed = weights(Some(silent));
    assert_eq!((weighed.write_5m, weighed.read), (Some(1.0), Some(0.25)), "a vendor without a write price bills input");
}

fn any_piece() -> impl Strategy<Value = Piece> {
    let what = prop_oneof![
        Just(What::Words),
        Just(What::Rest),
        Just(What::Call),
        (1u64..4).prop_map(What::Edit),
        (0usize..3, 0u64..4).prop_map(|(tool, file)| What::Answer([Tool::Read, Tool::Bash, Tool::Other][tool], file)),
    ];
    (0u64..200_000, what).prop_map(|(chars, what)| Piece { chars, what })
}

proptest! {
    #[test]
    fn any_session_can_be_played(steps in prop::collection::vec((0i64..90, prop::collection::vec(any_piece(), 0..6)), 0..25), compacted in 0usize..25, thinks in any::<bool>()) {
        let mut at = 0;
        let steps = steps.into_iter().map(|(gap, pieces)| { at += gap; (at, pieces) }).collect();
        let mut session = session(steps);
        session.thinks = thinks;
        if let Some(step) = session.steps.get_mut(compacted) {
            step.compacted = true;
        }
        let (with, without) = both(&session);
        prop_assert!(with.read <= with.total && without.read <= without.total);
        prop_assert!(with.all().is_finite() && with.all() >= 0.0);
        prop_assert_eq!((without.stored, without.cleared, without.from_notes, without.edits_hidden), (0, 0, 0, 0));
        prop_assert!(without.edits <= with.edits);
    }
}
