//! Instr.
