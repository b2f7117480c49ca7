//! Whom a letter is for.

use super::{LetterError, is_name};
use std::path::PathBuf;

/// Whom a letter is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An agent of this process, or else whoever has the team mailbox of this name.
    Name(String),
    /// Everybody in this process and in the team.
    Everybody,
    /// Another session, by its socket.
    Socket(PathBuf),
    /// Somebody on another machine.
    Bridge(String),
}

impl Address {
    /// Read what a model or a person wrote.
    pub fn read(text: &str) -> Result<Self, LetterError> {
        match text.trim() {
            "*" => Ok(Address::Everybody),
            text => match text.split_once(':') {
                Some(("uds", path)) if !path.is_empty() => Ok(Address::Socket(PathBuf::from(path))),
                Some(("bridge", id)) if !id.is_empty() => Ok(Address::Bridge(id.to_owned())),
                None if is_name(text) => Ok(Address::Name(text.to_owned())),
                _ => Err(LetterError::NoName(text.to_owned())),
            },
        }
    }
}

/// What is said about a bridge where there is none.
pub const NO_BRIDGE: &str = "no bridge is configured, so nobody on another machine can be written to";

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A4
    #[test]
    fn addresses_are_names_everybody_sockets_and_bridges() {
        let read = |text| Address::read(text).ok();
        assert_eq!(read("scout-1"), Some(Address::Name("scout-1".to_owned())));
        assert_eq!(read(" * "), Some(Address::Everybody));
        assert_eq!(read("uds:/run/x.sock"), Some(Address::Socket(PathBuf::from("/run/x.sock"))));
        assert_eq!(read("bridge:desk"), Some(Address::Bridge("desk".to_owned())));
        for none in ["", "uds:", "bridge:", "tcp:host", "../x", "a b", "**"] {
            assert_eq!(read(none), None, "{none:?}");
        }
    }
}
