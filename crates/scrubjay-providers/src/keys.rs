//! Keys: where they come from, and that they go nowhere but into one request header.

use crate::choice::Provider;
use secrecy::SecretString;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of the environment value that holds an Anthropic API key.
pub const ANTHROPIC_API_KEY: &str = "ANTHROPIC_API_KEY";
/// The name of the environment value that holds a bearer token for an Anthropic-compatible gateway.
pub const ANTHROPIC_AUTH_TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";
/// The name of the environment value that holds an OpenAI API key.
pub const OPENAI_API_KEY: &str = "OPENAI_API_KEY";

/// The name of the environment value that holds a key for an embedding service.
pub const EMBEDDINGS_KEY: &str = "SCRUBJAY_EMBEDDINGS_KEY";

/// Every name a key has.
pub const KEY_NAMES: [&str; 4] = [ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, OPENAI_API_KEY, EMBEDDINGS_KEY];

/// Every variable that may hold a secret: keys, and headers that the user adds.
pub const SECRET_NAMES: [&str; 6] = [
    ANTHROPIC_API_KEY,
    ANTHROPIC_AUTH_TOKEN,
    OPENAI_API_KEY,
    EMBEDDINGS_KEY,
    crate::vendor::ANTHROPIC_CUSTOM_HEADERS,
    crate::vendor::OPENAI_CUSTOM_HEADERS,
];

/// The keys at hand. Their values are never shown, not even by `Debug`.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    /// Sent as `x-api-key`.
    pub anthropic_key: Option<SecretString>,
    /// Sent as `Authorization: Bearer` where there is no key.
    pub anthropic_token: Option<SecretString>,
    /// Sent as `Authorization: Bearer`.
    pub openai_key: Option<SecretString>,
    /// Sent as `Authorization: Bearer` to the embedding service that is set, and to nobody else.
    pub embeddings_key: Option<SecretString>,
}

/// Why a file of keys was not taken.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It could not be read.
    #[error("the key file {} cannot be read: {because}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        because: std::io::Error,
    },
    /// Others on this machine can read it.
    #[error(
        "the key file {path} can be read by other users (mode {mode:04o}), so it is not used; \
         run `chmod 600 {path}` and, if others could have read it, replace the key",
        path = path.display()
    )]
    Exposed {
        /// Which file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A line is not `NAME=value`.
    #[error("line {line} of the key file {path} is not NAME=value; the names are {names}", path = path.display(),
        names = KEY_NAMES.join(", "))]
    Unknown {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
}

impl Keys {
    /// The keys among some environment values; empty ones count as absent.
    pub fn from_values(values: &BTreeMap<String, String>) -> Self {
        let key = |name: &str| {
            let value = values.get(name)?.trim();
            (!value.is_empty()).then(|| SecretString::from(value))
        };
        Self {
            anthropic_key: key(ANTHROPIC_API_KEY),
            anthropic_token: key(ANTHROPIC_AUTH_TOKEN),
            openai_key: key(OPENAI_API_KEY),
            embeddings_key: key(EMBEDDINGS_KEY),
        }
    }

    /// The keys of a file of `NAME=value` lines that only its owner can read.
    pub fn from_file(path: &Path) -> Result<Self, KeyError> {
        let unreadable = |because| KeyError::Unreadable { path: path.to_owned(), because };
        let file = std::fs::File::open(path).map_err(unreadable)?;
        refuse_exposed(path, &file)?;
        let text = std::io::read_to_string(file).map_err(unreadable)?;
        let mut values = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let known = line.split_once('=').filter(|(name, _)| is_known(name.trim()));
            let Some((name, value)) = known else {
                return Err(KeyError::Unknown { path: path.to_owned(), line: at + 1 });
            };
            values.insert(name.trim().to_owned(), value.trim().trim_matches('"').to_owned());
        }
        Ok(Self::from_values(&values))
    }

    /// These keys, and for a vendor without one, the other's.
    pub fn or(self, other: Self) -> Self {
        let opens_anthropic = self.opens_anthropic();
        Self {
            anthropic_key: if opens_anthropic { self.anthropic_key } else { other.anthropic_key },
            anthropic_token: if opens_anthropic { self.anthropic_token } else { other.anthropic_token },
            openai_key: self.openai_key.or(other.openai_key),
            embeddings_key: self.embeddings_key.or(other.embeddings_key),
        }
    }

    /// The name of the key that a provider's service is shown; of two, the one that the vendor's SDK takes.
    pub fn name_for(&self, provider: Provider) -> Option<&'static str> {
        match provider {
            Provider::Anthropic if self.anthropic_key.is_some() => Some(ANTHROPIC_API_KEY),
            Provider::Anthropic => self.anthropic_token.as_ref().map(|_| ANTHROPIC_AUTH_TOKEN),
            Provider::OpenAi => self.openai_key.as_ref().map(|_| OPENAI_API_KEY),
            Provider::Ollama | Provider::Offline => None,
        }
    }

    /// There is something to show to an Anthropic endpoint.
    pub fn opens_anthropic(&self) -> bool {
        self.anthropic_key.is_some() || self.anthropic_token.is_some()
    }
}

fn is_known(name: &str) -> bool {
    KEY_NAMES.contains(&name)
}

/// The open file is asked, not the path, so that the answer is about what will be read.
#[cfg(unix)]
fn refuse_exposed(path: &Path, file: &std::fs::File) -> Result<(), KeyError> {
    use std::os::unix::fs::PermissionsExt;
    let meta = file.metadata().map_err(|because| KeyError::Unreadable { path: path.to_owned(), because })?;
    let mode = meta.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(KeyError::Exposed { path: path.to_owned(), mode }) }
}

#[cfg(not(unix))]
fn refuse_exposed(_: &Path, _: &std::fs::File) -> Result<(), KeyError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    const CANARY: &str = "sk-ant-canary-0123456789";

    fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    // safety: F-70
    #[test]
    fn a_key_is_read_and_never_shown() {
        let keys =
            Keys::from_values(&values(&[(ANTHROPIC_API_KEY, " sk-ant-canary-0123456789\n"), (OPENAI_API_KEY, " ")]));
        assert_eq!(keys.anthropic_key.as_ref().map(ExposeSecret::expose_secret), Some(CANARY));
        assert!(keys.openai_key.is_none());
        assert!(keys.opens_anthropic());
        assert!(!format!("{keys:?}{keys:#?}").contains("canary"));
    }

    // spec: X8
    #[cfg(unix)]
    #[test]
    fn a_key_file_is_taken_only_when_it_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("keys");
        std::fs::write(&path, format!("# mine\n{ANTHROPIC_API_KEY}=\"{CANARY}\"\n")).unwrap();
        for (mode, taken) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o666, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            match Keys::from_file(&path) {
                Ok(keys) => assert!(taken && keys.anthropic_key.is_some(), "{mode:o}"),
                Err(error) => {
                    assert!(!taken, "{mode:o}");
                    let said = format!("{error} {error:?}");
                    assert!(said.contains("chmod 600") && !said.contains("canary"), "{said}");
                }
            }
        }
    }

    #[test]
    fn one_key_of_a_vendor_is_taken_the_key_before_the_token() {
        let of = |pairs: &[(&str, &str)]| Keys::from_values(&values(pairs));
        let both = of(&[(ANTHROPIC_API_KEY, "key-of-here"), (ANTHROPIC_AUTH_TOKEN, "token")]);
        assert_eq!(both.name_for(Provider::Anthropic), Some(ANTHROPIC_API_KEY));
        assert_eq!((both.name_for(Provider::OpenAi), both.name_for(Provider::Ollama)), (None, None));
        let filed = of(&[(ANTHROPIC_API_KEY, "key-of-file"), (OPENAI_API_KEY, "other")]);
        let token = of(&[(ANTHROPIC_AUTH_TOKEN, "token")]).or(filed);
        assert_eq!(token.name_for(Provider::Anthropic), Some(ANTHROPIC_AUTH_TOKEN), "what is nearer counts");
        assert_eq!(token.name_for(Provider::OpenAi), Some(OPENAI_API_KEY));
    }

    #[test]
    fn a_line_that_is_no_key_is_named_by_its_number_alone() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("keys");
        std::fs::write(&path, format!("\n{CANARY}\n")).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let said = Keys::from_file(&path).unwrap_err().to_string();
        assert!(said.contains("line 2") && said.contains(OPENAI_API_KEY) && !said.contains("canary"), "{said}");
        assert!(matches!(Keys::from_file(&home.path().join("none")), Err(KeyError::Unreadable { .. })));
    }
}
