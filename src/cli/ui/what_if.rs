//! What a change of policies or pods would move: the texts of a question, compiled as ever, and decided on the cluster that
//! the tabs are shown, from the same instant and with the same seed.

use super::documents::{Base, of};
use crate::cli::setup::{Changed, Text, with_texts};
use crate::cluster::viewer::desk::Answer;
use crate::cluster::viewer::follower::Follower;
use crate::diag::{Diagnostic, json};
use crate::page::packed;
use serde_json::{Value, json};

/// The most texts of a question.
const TEXTS: usize = 32;

/// The answer to a question. What is wrong with it is in the answer, too.
pub(super) fn answer(body: &[u8], base: Option<&Base>, follower: Option<&Follower>) -> Answer {
    let made = texts(body).and_then(|texts| match base {
        Some(base) => tried(&texts, base, follower).map_err(|error| format!("{error:#}")),
        None => Err("the cluster is not read yet".to_owned()),
    });
    made.unwrap_or_else(|problem| Answer { head: json!({ "problem": problem }), document: Vec::new() })
}

/// The texts of a question, `{"texts": [{"name": …, "text": …}]}`.
fn texts(body: &[u8]) -> Result<Vec<Text>, String> {
    let question: Value = serde_json::from_slice(body).map_err(|error| format!("no question: {error}"))?;
    let given = question.get("texts").and_then(Value::as_array).ok_or("the question has no texts")?;
    if given.len() > TEXTS {
        return Err(format!("{} texts are too many: at most {TEXTS} are tried at once", given.len()));
    }
    let text = |of: &Value| {
        let field = |name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Text { name: field("name")?, text: field("text")? })
    };
    given.iter().map(|of| text(of).ok_or_else(|| "a text has no name".to_owned())).collect()
}

fn tried(texts: &[Text], base: &Base, follower: Option<&Follower>) -> anyhow::Result<Answer> {
    let Changed { policies, setup, notes } = with_texts(&base.setup, texts, follower)?;
    let ours = |said: &&Diagnostic| {
        let file = policies.sources.file(said.span);
        file.is_some_and(|file| texts.iter().any(|text| text.name == file.name()))
    };
    let said: Vec<Value> =
        policies.diagnostics.iter().filter(ours).map(|said| json::one(&policies.sources, said)).collect();
    let document = match &setup {
        Some(setup) => {
            let plan = of(setup, &base.options, (&base.how, &base.flags), Some(&base.before));
            packed(&plan)?
        }
        None => Vec::new(),
    };
    let head = json!({ "diagnostics": said, "notes": notes, "document": !document.is_empty() });
    Ok(Answer { head, document })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_is_none_is_answered_in_words() {
        let said =
            |body: &str| answer(body.as_bytes(), None, None).head["problem"].as_str().unwrap().to_owned();
        assert!(said("").starts_with("no question: "));
        assert_eq!(said("{}"), "the question has no texts");
        assert_eq!(said(r#"{"texts": [{"name": "a.bay"}]}"#), "a text has no name");
        assert_eq!(said(r#"{"texts": []}"#), "the cluster is not read yet");
        let many = json!({"texts": vec![json!({"name": "a", "text": ""}); TEXTS + 1]});
        assert!(said(&many.to_string()).starts_with("33 texts are too many"));
    }
}
