//! Leaves the values that longhaul holds out of an event before a person is told of it: told in part they would slip
//! through afterwards, since long texts are cut.

use crate::event::Event;
use crate::secrets::Secrets;
use serde_json::Value;

/// Returns the event without these values in what the agent, a tool or the service says.
pub(super) fn without(secrets: &Secrets, event: &Event) -> Event {
    let json = |value: &mut Value| *value = secrets.hide_in_json(value.take());
    let text = |text: &mut String| *text = secrets.hide(text);
    let mut hidden = event.clone();
    match &mut hidden {
        Event::Replied { message: said, .. } | Event::ToolEnded { content: said, .. } => json(said),
        Event::ToolStarted { name, input, .. } => {
            text(name);
            json(input);
        }
        Event::Retrying { reason: said, .. }
        | Event::Extracted { ended: said, .. }
        | Event::CheckEnded { tail: said, .. }
        | Event::Notice { text: said }
        | Event::Warning { text: said }
        | Event::SessionEnded { reason: said, .. } => text(said),
        _ => {}
    }
    hidden
}
