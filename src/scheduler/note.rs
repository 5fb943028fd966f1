//! The text of an event, no longer than the API server takes.

/// The longest note of an event.
const NOTE_LENGTH: usize = 1_024;

/// The note of an event: at most 1,024 bytes, with ` ...` at the end when it was cut.
pub(super) fn note(message: &str) -> String {
    if message.len() <= NOTE_LENGTH {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(NOTE_LENGTH - 4);
    format!("{} ...", &message[..end])
}
