//! Settings whose feature is not there yet: a value that would be ignored is refused instead, because a person would rely on it.

use super::layers::Layers;
use crate::failure::Failure;
use anyhow::Result;

/// Settings, and the values this version can honour.
const HONOURED: [(&str, &[&str]); 2] = [("agent.driver", &["api"]), ("run.branch", &[""])];

/// Refuses the first value this version would silently ignore.
pub(super) fn refuse(layers: &Layers) -> Result<()> {
    for (key, honoured) in HONOURED {
        let setting = layers.get(key)?;
        let given = setting.given.to_string();
        let bare = given.trim_matches('"');
        if !honoured.contains(&bare) {
            let text = format!("`{key}` is `{bare}` {}: not yet available in this version", setting.source.place());
            let values: Vec<String> = honoured.iter().map(|value| format!("`{value}`")).collect();
            let hint = match honoured {
                [""] => "leave it empty".to_owned(),
                _ => format!("use {}", values.join(" or ")),
            };
            return Err(Failure::usage(text).hint(hint).into());
        }
    }
    Ok(())
}
