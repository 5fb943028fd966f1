//! The binary: hands the arguments to `cli` and turns its answer into an exit status.

use std::io::Write;

fn main() -> std::process::ExitCode {
    std::panic::set_hook(Box::new(bayplan::cli::panicked));
    // On a stack of its own: how large the first one is depends on the shell.
    let cli = std::thread::Builder::new()
        .stack_size(bayplan::lang::STACK)
        .spawn(|| bayplan::cli::main(std::env::args_os()) as u8);
    match cli.map(std::thread::JoinHandle::join) {
        Ok(Ok(status)) => std::process::ExitCode::from(status),
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: cannot start a thread: {error}");
            std::process::ExitCode::from(2)
        }
    }
}
