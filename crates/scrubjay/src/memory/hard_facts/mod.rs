//! Stand-in.
/// A text that the writer of a memory was shown; typed messages have the day they were typed on.
#[derive(Debug, Clone, Copy)]
pub struct Passage<'a> {
    /// t
    pub text: &'a str,
    /// d
    pub day: Option<jiff::civil::Date>,
}
/// f
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardFact {
    /// t
    pub text: String,
}
impl std::fmt::Display for HardFact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}
/// u
pub fn unsupported(_text: &str, _shown: &[Passage<'_>]) -> Vec<HardFact> {
    Vec::new()
}
