//! Puts lines into a policy text where it is written: in its own file, or in a scalar of a YAML or JSON file, of
//! every style. Called by `bayplan explain --fix`, which prints the difference as a patch.
//!
//! The ways to write it are tried from the one that changes least to the one that always can: lines of a block,
//! escaped text within quotes, the whole scalar anew. Each is read again: that text has changed, and nothing else.

use super::Replacement;
use super::replace::{line_end, replaced};
use bayplan_diag::{Source, SourceMap, Span};
use bayplan_yaml::{self as yaml, At, Tree, TreeEntry, TreeValue};

/// The text of the file of `source` with `added` put at a byte of `source`. `None` where the file cannot be written so that
/// exactly this text changes.
pub fn inserted(sources: &SourceMap, source: &Source, at: usize, added: &str) -> Option<String> {
    let put = |text: &str, at: usize, added: &str| {
        let (before, after) = (text.get(..at)?, text.get(at..)?);
        Some(format!("{before}{added}{after}"))
    };
    let Some(host) = source.host().and_then(|host| sources.get(host)) else {
        return put(source.text(), at, &added.replace('\n', line_end(source.text())));
    };
    let file = host.text();
    let new = put(source.text(), at, added)?;
    let start = sources.in_file(Span::new(source.id(), 0, 0)).start as usize;
    let (trees, errors) = yaml::documents(file);
    let entry = trees.iter().find_map(|tree| entry_with(tree, start)).filter(|_| errors.is_empty())?;
    let outer = sources.in_file(Span::new(source.id(), at, at)).start as usize;
    let escaped = serde_json::Value::from(added).to_string();
    let quoted = || put(file, outer, escaped.get(1..escaped.len() - 1)?);
    let anew = || {
        let origin = source.origin()?;
        let (object, key) = (origin.object.clone(), origin.key.clone());
        replaced(file, &[Replacement { object, old_key: key.clone(), key, text: new.clone() }])
    };
    let ways: [&dyn Fn() -> Option<String>; 3] =
        [&|| lines(file, entry.value.at, source.text(), &new), &quoted, &anew];
    let as_meant = |changed: &String| {
        let (after, errors) = yaml::documents(changed);
        let pairs = trees.iter().zip(&after);
        errors.is_empty()
            && trees.len() == after.len()
            && pairs.into_iter().all(|(old, is)| differs_by(old, is, entry, &new))
    };
    ways.iter().filter_map(|way| way()).find(as_meant)
}

/// The entry of a map whose value is a text around a byte of the file.
fn entry_with(tree: &Tree, at: usize) -> Option<&TreeEntry> {
    match &tree.value {
        TreeValue::List(items) => items.iter().find_map(|item| entry_with(item, at)),
        TreeValue::Map(entries) => entries.iter().find_map(|entry| {
            let At { start, end } = entry.value.at;
            let here = entry.value.as_str().is_some() && start <= at && at <= end;
            if here { Some(entry) } else { entry_with(&entry.value, at) }
        }),
        _ => None,
    }
}

/// Whether two trees are the same, but for one text, which has become `new`. White space at its end does not count.
fn differs_by(old: &Tree, is: &Tree, changed: &TreeEntry, new: &str) -> bool {
    match (&old.value, &is.value) {
        (TreeValue::List(old), TreeValue::List(is)) => {
            old.len() == is.len() && old.iter().zip(is).all(|(old, is)| differs_by(old, is, changed, new))
        }
        (TreeValue::Map(old), TreeValue::Map(is)) => {
            let same = |(old, is): (&TreeEntry, &TreeEntry)| {
                let here = std::ptr::eq(old, changed);
                old.key == is.key
                    && match is.value.as_str().filter(|_| here) {
                        Some(text) => text.trim_end() == new.trim_end(),
                        None => differs_by(&old.value, &is.value, changed, new),
                    }
            };
            old.len() == is.len() && old.iter().zip(is).all(same)
        }
        _ => old.same(is),
    }
}

/// The file with the lines of `new` in place of those of `old`, which are those of a block scalar whose content begins
/// at a place.
fn lines(file: &str, at: At, old: &str, new: &str) -> Option<String> {
    let first = file.get(..at.start)?.rfind('\n')? + 1;
    let indent = file.get(first..at.start)?;
    let own = old.trim_start_matches('\n').len() - old.trim_start_matches('\n').trim_start_matches(' ').len();
    let indent = indent.get(..indent.len().checked_sub(own)?).filter(|indent| indent.trim().is_empty())?;
    // The reader leaves out the empty lines before the first one with content.
    let skipped = old.len() - old.trim_start_matches('\n').len();
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let alike = old.get(same..)?.iter().rev().zip(new.get(same..)?.iter().rev());
    let behind = alike.take_while(|(old, new)| old == new).count();
    let written = file.get(first..)?.split_inclusive('\n');
    let skip = same.checked_sub(skipped)?;
    let start = first + written.clone().take(skip).map(str::len).sum::<usize>();
    let replaced = old.len().checked_sub(behind + same)?;
    let end = start + written.skip(skip).take(replaced).map(str::len).sum::<usize>();
    let (before, after) = (file.get(..start)?, file.get(end..)?);
    let line_end = line_end(file);
    let mut text = before.to_owned();
    for line in new.get(same..new.len().checked_sub(behind)?)? {
        let indent = if line.is_empty() { "" } else { indent };
        text.push_str(&format!("{indent}{line}{line_end}"));
    }
    text.push_str(after);
    Some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::policies_in;
    use super::*;

    /// The file with `  except` as a line of its own after the brace of each policy.
    fn with_lines(file: &str) -> Vec<Option<String>> {
        let mut sources = SourceMap::new();
        let id = sources.add("x.yaml", file);
        let (found, said) = policies_in(&mut sources, id);
        assert!(!found.is_empty(), "{said:?}");
        let one = |text: &super::super::PolicyText| {
            let source = sources.get(text.source).unwrap();
            let at = source.text().find('{').unwrap() + 1;
            let rest = if source.text()[at..].starts_with('\n') { "" } else { "\n " };
            inserted(&sources, source, at, &format!("\n  except \"a\" // 'b'{rest}"))
        };
        found.iter().map(one).collect()
    }

    const HEAD: &str =
        "kind: ConfigMap\nmetadata: {name: r, labels: {bayplan.dev/policy: \"true\"}}\ndata:\n";

    #[test]
    fn a_line_is_written_in_every_style_and_changes_as_little_as_it_can() {
        for (value, wanted) in [
            (
                "|\n    policy x {\n    }\n  z: 1\n",
                "|\n    policy x {\n      except \"a\" // 'b'\n    }\n  z: 1\n",
            ),
            (
                "|- # why\n\n    policy x {\n    }\n",
                "|- # why\n\n    policy x {\n      except \"a\" // 'b'\n    }\n",
            ),
            ("|2\n      policy x {\n      }\n", "|2\n      policy x {\n      except \"a\" // 'b'\n      }\n"),
            (
                ">\n    policy x {\n      mode on\n    }\n",
                ">\n    policy x {\n      except \"a\" // 'b'\n      mode on\n    }\n",
            ),
            (
                ">- # note\n    policy x { mode\n    on }\n",
                "| # note\n    policy x {\n      except \"a\" // 'b'\n      mode on }\n",
            ),
            ("\"policy x {\\n}\" # note\n", "\"policy x {\\n  except \\\"a\\\" // 'b'\\n}\" # note\n"),
            ("'policy x {}' # note\n", "| # note\n    policy x {\n      except \"a\" // 'b'\n     }\n"),
            ("policy x { mode on }\n", "|\n    policy x {\n      except \"a\" // 'b'\n      mode on }\n"),
        ] {
            let (file, wanted) = (format!("{HEAD}  a.bay: {value}"), format!("{HEAD}  a.bay: {wanted}"));
            assert_eq!(with_lines(&file), [Some(wanted.clone())], "{file}");
            let (file, wanted) = (file.replace('\n', "\r\n"), wanted.replace('\n', "\r\n"));
            assert_eq!(with_lines(&file), [Some(wanted)], "{file:?}");
        }
    }

    #[test]
    fn flow_maps_lists_and_json_are_written_too() {
        let flow = format!("{}data: {{a.bay: 'policy x {{}}', b: 1}}\n", HEAD.trim_end_matches("data:\n"));
        let wanted =
            flow.replace("a.bay: 'policy x {}'", r#""a.bay": "policy x {\n  except \"a\" // 'b'\n }""#);
        assert_eq!(with_lines(&flow), [Some(wanted)]);
        let json = r#"{"kind": "List", "items": [{"kind": "ConfigMap", "metadata": {"name": "r",
            "labels": {"bayplan.dev/policy": "true"}}, "data": {"a.bay": "policy x {\n}\n"}}]}"#;
        let wanted = json.replace(r"x {\n}", r#"x {\n  except \"a\" // 'b'\n}"#);
        assert_eq!(with_lines(json), [Some(wanted)]);
    }

    #[test]
    fn a_text_that_is_written_for_several_keys_is_left_alone() {
        let twice = format!("{HEAD}  a.bay: &p |\n    policy x {{\n    }}\n  b.md: *p\n");
        assert_eq!(with_lines(&twice)[0], None);
    }

    #[test]
    fn a_text_of_several_keys_is_the_one_that_was_meant() {
        let file =
            format!("{HEAD}  a.bay: |\n    policy x {{\n    }}\n  b.bay: |\n    policy y {{\n    }}\n");
        let texts = with_lines(&file);
        assert_eq!(texts[0].as_deref(), Some(&*file.replace("x {", "x {\n      except \"a\" // 'b'")));
        assert_eq!(texts[1].as_deref(), Some(&*file.replace("y {", "y {\n      except \"a\" // 'b'")));
    }
}
