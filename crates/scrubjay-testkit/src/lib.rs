//! What scrubjay's tests stand on: a temporary home, a fixed clock, a recorded model, storyboards and the API simulator.

mod clock;
mod home;
mod obedient;
mod poisoning;
mod recorder;
pub mod simulator;
mod story;
mod storyboard;

pub use clock::FixedClock;
pub use home::Home;
pub use obedient::Obedient;
pub use poisoning::{Attack, Ending, Entrance, Hands};
pub use recorder::Recorder;
pub use story::{Setting, Story};
pub use storyboard::Storyboard;
