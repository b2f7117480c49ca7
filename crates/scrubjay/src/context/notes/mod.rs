//! Layer 3.
