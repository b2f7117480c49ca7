//! What differs from model to model, as data: windows, prices, abilities. One file, and a person's own over it.

use scrubjay::limits::Limits;
use scrubjay::message::Usage;
use scrubjay::model::Ability;
pub use scrubjay::prompt_cache::prices::Prices;
use scrubjay::tokens::ContextWindow;
use serde::Deserialize;
use std::collections::BTreeMap;

const BUILT_IN: &str = include_str!("catalogue.toml");
/// Asks for the long window on models that have it only by request.
pub(crate) const LONG_CONTEXT_BETA: &str = "context-1m-2025-08-07";
const LONG_SUFFIX: &str = "[1m]";

/// Everything known about models.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    #[serde(default)]
    defaults: BTreeMap<String, Entry>,
    #[serde(default)]
    models: BTreeMap<String, Entry>,
}

/// What is known about one model. What is not known is absent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Entry {
    /// The model taken when none is named (for the defaults of a provider).
    pub model: Option<String>,
    /// Input and output together, in tokens.
    pub window: Option<u64>,
    /// The most it writes at once, in tokens.
    pub max_output: Option<u64>,
    /// Dollars per million tokens.
    pub prices: Prices,
    /// A shorter prefix is not cached, in tokens.
    pub min_cacheable: Option<u64>,
    /// Which earlier reasoning it still reads.
    pub keeps_thinking: Option<Keeps>,
    /// Whether its reasoning is bound to the exact bytes before it.
    pub binds_thinking: bool,
    /// Which `thinking` settings it takes.
    pub thinking: Vec<String>,
    /// Whether it takes `system` messages in the middle.
    pub system_messages: bool,
    /// Betas that every request to it names.
    pub betas: Vec<String>,
    /// What it can do that not all can.
    pub abilities: Vec<Able>,
}

/// What is known about a model when it is connected.
pub(crate) struct Known {
    pub(crate) name: String,
    pub(crate) window: ContextWindow,
    pub(crate) entry: Entry,
    pub(crate) near: Vec<String>,
}

/// Which earlier reasoning a model still reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keeps {
    /// All of it.
    All,
    /// That of the last turn.
    LastTurn,
}

/// An ability, as the file spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the words of `Ability`, which explains them")]
pub enum Able {
    Tools,
    Images,
    CacheMarkers,
    ServerClearing,
    ServerCompaction,
    CacheEdits,
    ExactCount,
    StrictTools,
}

impl Able {
    fn ability(self) -> Ability {
        match self {
            Able::Tools => Ability::Tools,
            Able::Images => Ability::Images,
            Able::CacheMarkers => Ability::CacheMarkers,
            Able::ServerClearing => Ability::ServerClearing,
            Able::ServerCompaction => Ability::ServerCompaction,
            Able::CacheEdits => Ability::CacheEdits,
            Able::ExactCount => Ability::ExactCount,
            Able::StrictTools => Ability::StrictTools,
        }
    }
}

/// Why a person's own catalogue was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the model catalogue cannot be read, so only the built-in one is used: {0}")]
pub struct CatalogueError(String);

impl Entry {
    /// What a call cost, if every price it needs is known.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        self.prices.cost(usage)
    }

    /// What a million tokens in and a million out cost together, if both prices are known.
    pub fn price(&self) -> Option<f64> {
        Some(self.prices.input? + self.prices.output?)
    }

    /// Whether it can do something that only some can.
    pub fn can(&self, ability: Ability) -> bool {
        match ability {
            Ability::BoundThinking => self.binds_thinking,
            other => self.abilities.iter().any(|able| able.ability() == other),
        }
    }

    /// Whether it takes this `thinking` setting.
    pub fn takes_thinking(&self, kind: &str) -> bool {
        self.thinking.iter().any(|known| known == kind)
    }
}

impl Catalogue {
    /// The catalogue that comes with the program.
    pub fn built_in() -> Result<Self, CatalogueError> {
        Self::with(None)
    }

    /// The built-in catalogue with a person's own TOML laid over it, field by field.
    pub fn with(own: Option<&str>) -> Result<Self, CatalogueError> {
        let said = |error: toml::de::Error| CatalogueError(error.message().to_owned());
        let mut all: toml::Table = toml::from_str(BUILT_IN).map_err(said)?;
        if let Some(own) = own {
            lay_over(&mut all, toml::from_str(own).map_err(said)?);
        }
        all.try_into().map_err(said)
    }

    /// What is known about a model by its name, whatever date, vendor prefix or `[1m]` stands around it.
    pub fn find(&self, name: &str) -> Option<&Entry> {
        let plain = plain_name(name);
        self.models.get(&plain).or_else(|| self.models.get(without_date(&plain)))
    }

    /// Every model that is known, by its name.
    pub fn models(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.models.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// What is assumed about a provider's models that the catalogue does not know.
    pub fn default_of(&self, provider: &str) -> Entry {
        self.defaults.get(provider).cloned().unwrap_or_default()
    }

    /// How much a model holds: by a `[1m]` suffix, by the table, by the long-context beta, by the caller's override, or
    /// as limits assume.
    pub fn window(&self, name: &str, betas: &[String], own: Option<u64>, limits: &Limits) -> ContextWindow {
        let entry = self.find(name);
        let size = has_long_suffix(name)
            .then_some(limits.long_window)
            .or_else(|| entry?.window)
            .or_else(|| betas.iter().any(|beta| beta == LONG_CONTEXT_BETA).then_some(limits.long_window))
            .or(own)
            .unwrap_or(limits.default_window);
        let max_output = entry.and_then(|entry| entry.max_output).unwrap_or(limits.max_output);
        ContextWindow { size, max_output: max_output.min(size) }
    }

    /// Known names that look like this one, best first.
    pub fn near(&self, name: &str) -> Vec<&str> {
        let plain = plain_name(name);
        let mut names: Vec<(usize, &str)> =
            self.models.keys().map(|known| (distance(&plain, known), known.as_str())).collect();
        names.sort_unstable();
        names.into_iter().take_while(|(far, _)| *far <= plain.len().div_ceil(3)).take(3).map(|(_, name)| name).collect()
    }
}

/// The name a request carries: without our own `[1m]`.
pub(crate) fn request_name(name: &str) -> &str {
    let name = name.trim();
    if has_long_suffix(name) { &name[..name.len() - LONG_SUFFIX.len()] } else { name }
}

pub(crate) fn has_long_suffix(name: &str) -> bool {
    name.trim().to_ascii_lowercase().ends_with(LONG_SUFFIX)
}

/// `us.anthropic.claude-x-v1:0`, `anthropic/claude-x`, `claude-x@20250101` and `claude-x-latest` are all `claude-x`.
fn plain_name(name: &str) -> String {
    let name = request_name(name).to_ascii_lowercase();
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = name.rsplit_once("anthropic.").map_or(name, |(_, rest)| rest);
    let name = name.split(['@', ':']).next().unwrap_or_default();
    let name = name.strip_suffix("-v1").unwrap_or(name);
    name.strip_suffix("-latest").unwrap_or(name).to_owned()
}

/// Without a release date at the end: `-20251101` or `-2025-11-01`.
fn without_date(name: &str) -> &str {
    let is_date = |text: &str| {
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let dashes = text.bytes().filter(|byte| *byte == b'-').count();
        text.starts_with("20") && digits == 8 && digits + dashes == text.len()
    };
    name.match_indices('-').find(|(at, _)| is_date(&name[at + 1..])).map_or(name, |(at, _)| &name[..at])
}

fn lay_over(below: &mut toml::Table, above: toml::Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => lay_over(below, above),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// How many letters to change to come from one name to the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Catalogue {
        Catalogue::built_in().unwrap()
    }

    // spec: H8
    #[test]
    fn names_are_found_through_dates_and_prefixes() {
        let catalogue = catalogue();
        for (name, output_price) in [
            ("claude-opus-5-5", Some(20.0)),
            ("claude-opus-4-5-20251101", Some(25.0)),
            ("claude-sonnet-4-5-2025-09-29", Some(15.0)),
            ("Claude-Sonnet-5-5[1m]", Some(10.0)),
            ("us.anthropic.claude-haiku-4-5-20251001-v1:0", Some(5.0)),
            ("anthropic/claude-opus-5", Some(25.0)),
            ("claude-opus-4-1", None),
            ("llama3", None),
        ] {
            assert_eq!(catalogue.find(name).and_then(|entry| entry.prices.output), output_price, "{name}");
        }
        assert_eq!(catalogue.near("claude-opus-55"), ["claude-opus-5", "claude-opus-5-5", "claude-opus-4-5"]);
        assert_eq!(catalogue.near("llama3"), Vec::<&str>::new());
    }

    // spec: T3
    #[test]
    fn the_window_is_resolved_in_one_order() {
        let (catalogue, limits) = (catalogue(), Limits::default());
        let beta = [LONG_CONTEXT_BETA.to_owned()];
        let table = [
            ("claude-haiku-4-5[1m]", &[][..], Some(7_000), 1_000_000),
            ("claude-haiku-4-5", &beta[..], Some(7_000), 200_000),
            ("unheard-of", &beta[..], Some(7_000), 1_000_000),
            ("unheard-of", &[][..], Some(7_000), 7_000),
            ("unheard-of", &[][..], None, 200_000),
        ];
        for (name, betas, own, size) in table {
            assert_eq!(catalogue.window(name, betas, own, &limits).size, size, "{name} {betas:?} {own:?}");
        }
        assert_eq!(catalogue.window("unheard-of", &[], Some(4_096), &limits).max_output, 4_096);
    }

    // spec: H8
    #[test]
    fn a_cost_is_known_only_when_all_its_prices_are() {
        let usage = Usage { input: 1_000_000, cache_read: 2_000_000, output: 500_000, ..Usage::default() };
        let catalogue = catalogue();
        let cost = |name: &str, usage: &Usage| catalogue.find(name).unwrap().cost(usage);
        assert_eq!(cost("claude-opus-5-5", &usage), Some(4.0 + 0.4 + 10.0));
        assert_eq!(cost("claude-haiku-5-5", &usage), None);
        assert_eq!(cost("gpt-5.6", &usage), None);
        assert_eq!(cost("gpt-5.6", &Usage { output: 0, ..usage }), Some(4.0 + 0.8));
        assert_eq!(Entry::default().cost(&Usage::default()), Some(0.0));
    }

    // spec: H8
    #[test]
    fn a_persons_own_file_changes_single_fields() {
        let own = "[models.'claude-opus-5-5'.prices]\nread = 0.5\n[models.'tiny']\nwindow = 8192\n";
        let catalogue = Catalogue::with(Some(own)).unwrap();
        let opus = catalogue.find("claude-opus-5-5").unwrap();
        assert_eq!((opus.prices.read, opus.prices.output, opus.window), (Some(0.5), Some(20.0), Some(1_000_000)));
        assert_eq!(catalogue.window("tiny", &[], None, &Limits::default()).size, 8_192);
        for bad in ["models = 3", "[models.x]\nwindw = 1", "not toml at all ["] {
            assert!(Catalogue::with(Some(bad)).unwrap_err().to_string().contains("built-in"), "{bad}");
        }
    }

    // spec: H8
    #[test]
    fn every_row_agrees_with_itself() {
        for (name, entry) in &catalogue().models {
            let prices = &entry.prices;
            if let (Some(input), Some(five), Some(hour)) = (prices.input, prices.write_5m, prices.write_1h) {
                assert!((five - input * 1.25).abs() < 1e-9 && (hour - input * 2.0).abs() < 1e-9, "{name}");
            }
            assert!(entry.can(Ability::Tools), "{name}");
            assert_eq!(entry.can(Ability::BoundThinking), entry.binds_thinking, "{name}");
        }
    }
}
