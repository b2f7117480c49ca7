//! Background work: one running, the newest waiting, drained on the way out.

use scrubjay::agents::background::{Background, Drained, Offered};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;

type Ran = Arc<Mutex<Vec<&'static str>>>;

fn offer(bench: &Background, ran: &Ran, name: &'static str, until: oneshot::Receiver<()>) -> Offered {
    let ran = ran.clone();
    bench.offer(move |cancel| async move {
        tokio::select! {
            _ = until => ran.lock().unwrap().push(name),
            () = cancel.cancelled() => ran.lock().unwrap().push("cancelled"),
        }
    })
}

#[tokio::test]
async fn one_runs_the_newest_waits_and_the_ones_between_are_dropped() {
    let (bench, ran) = (Background::default(), Ran::default());
    let (first, until_first) = oneshot::channel();
    let (_second, until_second) = oneshot::channel();
    let (third, until_third) = oneshot::channel();
    assert_eq!(offer(&bench, &ran, "first", until_first), Offered::Started);
    assert_eq!(offer(&bench, &ran, "second", until_second), Offered::Waiting);
    assert_eq!(offer(&bench, &ran, "third", until_third), Offered::ReplacedOlder);
    assert!(bench.is_busy());
    first.send(()).unwrap();
    third.send(()).unwrap();
    assert_eq!(bench.drain(Duration::from_secs(60)).await, Drained::Finished);
    assert_eq!(*ran.lock().unwrap(), ["first", "third"]);
    let (_late, until_late) = oneshot::channel();
    assert_eq!(offer(&bench, &ran, "late", until_late), Offered::TooLate);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_finish_in_time_is_cancelled() {
    let (bench, ran) = (Background::default(), Ran::default());
    let (_never, until_never) = oneshot::channel();
    let (_waits, until_waits) = oneshot::channel();
    offer(&bench, &ran, "never", until_never);
    offer(&bench, &ran, "waits", until_waits);
    assert_eq!(bench.drain(Duration::from_secs(60)).await, Drained::Abandoned);
    assert_eq!(bench.drain(Duration::from_secs(60)).await, Drained::Finished);
    assert_eq!(*ran.lock().unwrap(), ["cancelled"]);
    assert!(!bench.is_busy());
}

#[tokio::test]
async fn a_job_that_panics_does_not_hold_up_the_next() {
    let (bench, ran) = (Background::default(), Ran::default());
    let (go, until_go) = oneshot::channel::<()>();
    bench.offer(|_| async move {
        until_go.await.unwrap();
        panic!("as a faulty job would");
    });
    let (next, until_next) = oneshot::channel();
    offer(&bench, &ran, "next", until_next);
    go.send(()).unwrap();
    next.send(()).unwrap();
    assert_eq!(bench.drain(Duration::from_secs(60)).await, Drained::Finished);
    assert_eq!(*ran.lock().unwrap(), ["next"]);
}
