//! Real projects, from an imported checklist to a last check of everything: Python, Node and Rust as people have them,
//! with the tools of the user's own home.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod cargo;
mod existing;
mod fixture;
mod node;
mod python;
#[expect(dead_code, unused_imports, reason = "shared with the integration tests, which use the rest of it")]
#[path = "../integration/support/mod.rs"]
mod support;
