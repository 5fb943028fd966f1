//! The difference of two texts as `patch -p1` and `git apply` take it, line ends included.

use std::path::{Component, Path, PathBuf};

/// Lines of unchanged text around a change.
const CONTEXT: usize = 3;

/// The difference of two texts, where one run of lines differs. `name` is that of the file, from the folder in which the
/// patch is applied.
pub(super) fn unified(name: &str, old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let behind = old[same..].iter().rev().zip(new[same..].iter().rev()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(CONTEXT);
    let (old_end, new_end) = (old.len() - behind, new.len() - behind);
    let after = behind.min(CONTEXT);
    let (old_lines, new_lines) = (old_end + after - from, new_end + after - from);
    let mut text = format!("--- {}\n+++ {}\n", header("a", name), header("b", name));
    text.push_str(&format!("@@ -{},{old_lines} +{},{new_lines} @@\n", from + 1, from + 1));
    let mut lines = |mark: char, lines: &[&str]| {
        for line in lines {
            let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            text.push_str(&format!("{mark}{line}{end}"));
        }
    };
    lines(' ', &old[from..same]);
    lines('-', &old[same..old_end]);
    lines('+', &new[same..new_end]);
    lines(' ', &old[old_end..old_end + after]);
    text
}

/// A name in the head of a patch. Quotes, backslashes and control characters are escaped as in C, and a tab ends a name with
/// blanks.
fn header(side: &str, name: &str) -> String {
    if !name.contains(|c: char| c.is_control() || c == '"' || c == '\\') {
        let end = if name.contains(' ') { "\t" } else { "" };
        return format!("{side}/{name}{end}");
    }
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().map(|byte| format!("\\{byte:03o}")).collect()
        }
        c => c.to_string(),
    };
    format!("\"{side}/{}\"", name.chars().map(escaped).collect::<String>())
}

/// The folder in which a patch of a file is applied, if it is not the present one, and the name of the file from there:
/// neither tool goes to folders above.
pub(super) fn place(file: &Path) -> (Option<PathBuf>, String) {
    let here = std::env::current_dir().unwrap_or_default();
    let below = plain(&here.join(file)).strip_prefix(plain(&here)).map(Path::to_owned);
    match below {
        Ok(below) => (None, below.display().to_string()),
        Err(_) => {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (file.parent().map(Path::to_owned), name)
        }
    }
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_a_missing_one_are_kept() {
        assert_eq!(
            unified("a b", "1\r\n2\r\n3", "1\r\nx\r\n2\r\n3"),
            "--- a/a b\t\n+++ b/a b\t\n@@ -1,3 +1,4 @@\n 1\r\n+x\r\n 2\r\n 3\n\\ No newline at end of file\n"
        );
        assert_eq!(header("a", "x\ny\"z"), "\"a/x\\012y\\\"z\"");
    }

    #[test]
    fn a_file_elsewhere_is_named_from_its_folder() {
        assert_eq!(place(Path::new("./x/../p.bay")), (None, "p.bay".to_owned()));
        assert_eq!(place(Path::new("../p.bay")), (Some(PathBuf::from("..")), "p.bay".to_owned()));
        assert_eq!(place(Path::new("/x/p.bay")), (Some(PathBuf::from("/x")), "p.bay".to_owned()));
    }
}
