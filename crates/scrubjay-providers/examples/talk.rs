//! A short conversation with a real model, to see what a service really counts and caches.
//!
//! `cargo run --example talk -- BASE_URL anthropic|openai MODEL`

use scrubjay::limits::Limits;
use scrubjay::message::{Block, Message, MessageId, Origin, Role, Usage};
use scrubjay::model::{Delta, Model, ModelError, Reply};
use scrubjay::prompt::Prompt;
use scrubjay::transcript::Options;
use scrubjay_providers::{Catalogue, Choice, Keys, connect_consulting};
use std::io::Write;
use std::sync::Arc;

const QUESTIONS: [&str; 2] = ["What colour is the sky on a clear day?", "And at night?"];

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [base_url, dialect, model] = arguments.as_slice() else {
        return Err("usage: talk BASE_URL anthropic|openai MODEL".into());
    };
    let choice = Choice {
        model: model.clone(),
        provider: Some(dialect.parse()?),
        base_url: Some(base_url.clone()),
        ..Choice::default()
    };
    let keys = Keys::from_values(&std::env::vars().collect());
    let model = connect_consulting(&choice, &keys, &Catalogue::built_in()?, &Limits::default()).await?;
    println!("# {dialect}: {} holds {} tokens", model.name(), model.window().size);
    let cached = converse(&*model).await?;
    println!("# {dialect}: the second turn read {cached} tokens from the cache");
    if cached == 0 {
        return Err("the second turn read nothing from the cache".into());
    }
    match overflow(&*model).await {
        Err(ModelError::PromptTooLong { over_by }) => {
            println!("# {dialect}: too long a prompt is known by {over_by:?}")
        }
        other => return Err(format!("too long a prompt was answered with {other:?}").into()),
    }
    Ok(())
}

/// Ask more than the model holds.
async fn overflow(model: &dyn Model) -> Result<Reply, ModelError> {
    let words = usize::try_from(model.window().size).unwrap_or(usize::MAX).min(1_000_000);
    let long = said(Role::User, vec![Block::text("sky ".repeat(words))]);
    let prompt = Prompt {
        tools: Arc::from([]),
        system: Arc::from(""),
        instructions: vec![],
        history: vec![long],
        options: Options::default(),
    };
    model.reply(&prompt, &mut |_| {}).await
}

/// Ask both questions; how much of the second request came from the cache.
async fn converse(model: &dyn Model) -> Result<u64, Box<dyn std::error::Error>> {
    let mut prompt = Prompt {
        tools: Arc::from([]),
        system: Arc::from("You are a patient teacher. Answer each question in one short sentence. ".repeat(20)),
        instructions: vec![],
        history: vec![],
        options: Options { max_output: Some(48), ..Options::default() },
    };
    let mut last = Usage::default();
    for question in QUESTIONS {
        prompt.history.push(said(Role::User, vec![Block::text(question)]));
        println!("\n> {question}\n  exact count: {:?}", model.count(&prompt).await?);
        let mut show = |delta| {
            if let Delta::Text(text) = delta {
                print!("{text}");
            }
        };
        let reply = model.reply(&prompt, &mut show).await?;
        std::io::stdout().flush()?;
        println!("\n  {:?} {:?}", reply.stop, reply.usage);
        last = reply.usage;
        prompt.history.push(said(Role::Assistant, reply.blocks));
    }
    Ok(last.cache_read)
}

fn said(role: Role, blocks: Vec<Block>) -> Arc<Message> {
    let origin = if role == Role::Assistant { Origin::Model } else { Origin::Person };
    Arc::new(Message { id: MessageId::new("talk"), role, origin, at: jiff::Timestamp::UNIX_EPOCH, blocks })
}
