//! What users of such tools suffered from, each as a test named after what went wrong.
//!
//! The letters and numbers are those of the reports the faults were read in.

mod branches;
mod custody;
mod done;
mod faults;
mod gate;
mod git;
mod hooks;
mod inputs;
mod loops;
mod memory;
mod paths;
mod prompts;
mod provider;
mod state;
mod tampers;
