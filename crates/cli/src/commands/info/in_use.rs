//! A volume that is mounted for writing.

use crate::listing::json_text;
use crate::out::{Outcome, Status, print};
use crate::text;
use serde::Serialize;
use serde_json::{Map, Value};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A volume that is mounted for writing: only its server can read it, and reports its state.
#[derive(Debug, Serialize)]
pub(super) struct InUse {
    image: String,
    mounted_on: String,
    /// The server's report: `scheme`, `scheme_counters`, `since_mount`, and `reclaim`, the progress of reclaiming what
    /// a crash has leaked (docs/reclaim.md).
    #[serde(flatten)]
    status: Map<String, Value>,
}

impl InUse {
    pub(super) fn of(image: &Path) -> Option<InUse> {
        let (dir, status) = ordo_fuse::status(image.as_os_str()).ok()??;
        Some(InUse {
            image: json_text(image.as_os_str().as_bytes()).0,
            mounted_on: json_text(dir.as_os_str().as_bytes()).0,
            status: status.and_then(|status| serde_json::from_str(&status).ok()).unwrap_or_default(),
        })
    }

    fn lines(&self) -> Vec<(String, String)> {
        let mut lines =
            vec![("image".to_owned(), self.image.clone()), ("mounted on".to_owned(), self.mounted_on.clone())];
        for (name, value) in &self.status {
            let value = match value {
                Value::Object(facts) => facts_of(facts),
                Value::Null => String::new(),
                value => shown(value),
            };
            lines.push((name.replace('_', " "), value));
        }
        lines.retain(|(_, value)| !value.is_empty());
        lines
    }

    pub(super) fn show(&self, json: bool) -> Outcome {
        print(|out| {
            if json {
                return out.json(self);
            }
            for (what, value) in self.lines() {
                out.line(format!("{what:<15} {}", text::one_line(&value)))?;
            }
            Ok(())
        })?;
        Ok(Status::DONE)
    }
}

/// Names and values in one line, without empty ones.
fn facts_of(facts: &Map<String, Value>) -> String {
    let known = facts.iter().filter(|(_, value)| !value.is_null());
    known.map(|(name, value)| format!("{} {}", name.replace('_', " "), shown(value))).collect::<Vec<_>>().join(", ")
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => format!("{:.1}", number.as_f64().unwrap_or_default()),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_becomes_lines() {
        let status = serde_json::json!({
            "scheme": "softupdates",
            "scheme_counters": {"names_rolled_back": 3},
            "since_mount": {"flushes": 7, "flushes_per_second": 0.25},
            "reclaim": {"phase": "over", "failure": null},
            "more": {},
        });
        let Value::Object(status) = status else { unreachable!() };
        let used = InUse { image: "v.img".into(), mounted_on: "/mnt".into(), status };
        let lines: Vec<String> = used.lines().into_iter().map(|(what, value)| format!("{what}: {value}")).collect();
        for line in [
            "image: v.img",
            "mounted on: /mnt",
            "scheme: softupdates",
            "scheme counters: names rolled back 3",
            "since mount: flushes 7, flushes per second 0.2",
            "reclaim: phase over",
        ] {
            assert!(lines.iter().any(|shown| shown == line), "{line} in {lines:?}");
        }
        assert_eq!(lines.len(), 6);
    }
}
