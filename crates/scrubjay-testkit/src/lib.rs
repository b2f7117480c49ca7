//! What scrubjay's tests stand on: a temporary home, a fixed clock, a recorded model, storyboards, the API simulator and a service
//! that makes vectors of texts.

mod learner_check;
mod clock;
mod home;
mod meanings;
mod obedient;
mod poisoning;
mod provider_address;
mod recorder;
pub mod simulator;
mod story;
mod storyboard;

pub use clock::FixedClock;
pub use home::Home;
pub use meanings::{Embedded, Manner, Meanings};
pub use obedient::Obedient;
pub use poisoning::{Attack, Ending, Entrance, Hands};
pub use provider_address::ProviderAddress;
pub use recorder::Recorder;
pub use story::{Setting, Story};
pub use storyboard::Storyboard;
