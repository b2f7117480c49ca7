//! Time: asking an index, against reading every document again; bringing it up to date; loading it.

pub fn measure() {}
