//! Model APIs over HTTP for scrubjay: requests as exact bytes, streams, retries, the model catalogue and prices.
//!
//! [`connect`] turns a [`Choice`] into a `scrubjay::model::Model`. Two dialects are spoken: Messages and Chat
//! Completions. Without a key or an address, [`Offline`] answers; tests and demonstrations use [`Scripted`]. [`embedder`]
//! connects what makes vectors of texts: an endpoint, or with the feature `embed` a model file.

// what is known beforehand
mod address;
mod catalogue;
mod keys;
mod metadata;
mod vendor;
// one exchange over HTTP
mod fields;
mod overflow;
mod refusal;
mod retry;
mod wire;
mod stream;
mod exchange;
// the dialects
mod anthropic;
mod openai;
mod facts;
// without a service
mod offline;
pub mod scripted;
// putting it together
mod choice;
// meanings
mod embedding;
#[cfg(feature = "embed")]
mod table;

#[cfg(fuzzing)]
pub mod fuzzing;
#[cfg(test)]
mod samples;

pub use address::AddressError;
pub use catalogue::{Able, Catalogue, CatalogueError, Entry, Keeps, Prices};
pub use choice::{
    Choice, ConnectError, Destination, Provider, UrlOrigin, cheapest, connect, connect_consulting, destination,
    provider_of, window_of,
};
pub use embedding::embedder;
pub use keys::{
    ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN, EMBEDDINGS_KEY, KEY_NAMES, KeyError, Keys, OPENAI_API_KEY, SECRET_NAMES,
};
pub use metadata::{carried_v4, is_metadata_address, is_metadata_name};
pub use offline::Offline;
pub use scripted::Scripted;
pub use vendor::{
    ANTHROPIC_BASE_URL, ANTHROPIC_CUSTOM_HEADERS, OPENAI_BASE_URL, OPENAI_CUSTOM_HEADERS, VendorVariables,
};
