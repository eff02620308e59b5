//! The tokens of a conversation, counted by the service where it does that.

use super::Client;
use super::Request;
use crate::process::Interrupt;
use serde_json::Value;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::timeout;

/// A count may take so long; an estimate is at hand without it.
const LIMIT: Duration = Duration::from_secs(15);

/// No answer is read further than this.
const ANSWER: usize = 64 << 10;

impl Client {
    /// Counts the tokens of a request; none where the service does not count. After one failure it is not asked again.
    pub fn count(&self, request: &Request, interrupt: &Interrupt) -> Option<u64> {
        if !self.counts.load(Ordering::Relaxed) {
            return None;
        }
        let answer = self.block_on(async {
            tokio::select! {
                biased;
                () = interrupt.wait() => Err(()),
                counted = timeout(LIMIT, self.ask_count(request)) => Ok(counted.ok().flatten()),
            }
        });
        let counted = answer.ok()?.ok()?;
        self.counts.store(counted.is_some(), Ordering::Relaxed);
        counted
    }

    async fn ask_count(&self, request: &Request) -> Option<u64> {
        let (body, headers) = self.prepared(request);
        let mut endpoint = self.endpoint.clone();
        endpoint.set_path(&format!("{}/count_tokens", endpoint.path()));
        let asked = self.http.post(endpoint).headers(headers).body(body.for_count().json());
        let answer = asked.send().await.ok()?.error_for_status().ok()?;
        let body = self.read_body(answer, ANSWER).await.ok()?;
        serde_json::from_slice::<Value>(&body).ok()?["input_tokens"].as_u64()
    }
}
