//! The program: take the world once, do what was typed, end with its code.

use longhaul::cli;
use longhaul::config::Environment;
use longhaul::process;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    process::keep_to_itself();
    process::keep_descriptors();
    let environment = Environment::take();
    let output = Arc::new(cli::Output::standard(&environment));
    cli::run(std::env::args_os(), environment, &output).into()
}
