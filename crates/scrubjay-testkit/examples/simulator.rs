//! The simulator by hand: point any client of the Messages or OpenAI APIs at the address it prints.
//!
//! `cargo run -p scrubjay-testkit --example simulator -- [--port N] [--script FILE] [--key KEY]`
//!
//! Without a script it says back what it was told. The address is the first line of standard output. What was asked can
//! be read at `/_simulator/requests`; `/_simulator/clock` lets time pass, `/_simulator/script` takes a new script.

use scrubjay_testkit::simulator::{Script, Simulator};
use std::error::Error;
use std::io::Write as _;

const USAGE: &str = "usage: simulator [--port N] [--script FILE] [--key KEY]";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut builder = Simulator::builder().script(Script::echo()).with_control();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value; {USAGE}"));
        builder = match argument.as_str() {
            "--port" => builder.port(value()?.parse()?),
            "--key" => builder.key(value()?),
            "--script" => {
                let file = value()?;
                let json = std::fs::read_to_string(&file).map_err(|error| format!("cannot read {file}: {error}"))?;
                let script = Script::from_json(&json).map_err(|error| format!("{file} is no script: {error}"))?;
                builder.script(script)
            }
            _ => return Err(format!("{argument} is not known; {USAGE}").into()),
        };
    }
    let simulator = builder.start().await?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", simulator.url())?;
    out.flush()?;
    simulator.run().await?;
    Ok(())
}
