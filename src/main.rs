//! The binary: hands the arguments to `cli` and turns its answer into an exit status.

fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(bayplan::cli::main(std::env::args_os()) as u8)
}
