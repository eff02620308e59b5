//! Where requests go, and with which headers: nowhere the key must not go.

use super::Settings;
use super::http::BETAS;
use anyhow::Context;
use anyhow::Result;
use anyhow::bail;
use anyhow::ensure;
use reqwest::Url;
use reqwest::header::HeaderMap;
use reqwest::header::HeaderValue;
use std::net::IpAddr;

/// Sent to a loopback endpoint when there is no key, since some local services want the header.
const NO_KEY: &str = "no-key";

/// Returns the address requests go to, and whether it is a loopback one.
pub(super) fn endpoint(base_url: &str) -> Result<(Url, bool)> {
    let mut url = Url::parse(base_url.trim()).with_context(|| {
        format!("`[provider] base_url` is no address, such as `https://api.anthropic.com`: `{base_url}`")
    })?;
    ensure!(
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none(),
        "`[provider] base_url` must hold a host and at most a path; the key belongs into the variable `[provider] key_env` names"
    );
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let named = host == "localhost" || host.ends_with(".localhost");
    let loopback = named || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    match url.scheme() {
        "https" => {}
        "http" if loopback => {}
        "http" => bail!(
            "`[provider] base_url` would send the key unencrypted to another machine: `{base_url}`; use `https://`, \
             or a tunnel that ends at `http://127.0.0.1`"
        ),
        _ => bail!("`[provider] base_url` must begin with `https://`: `{base_url}`"),
    }
    let path = url.path().trim_end_matches('/');
    // Some gateways give their address with the version, as other clients want it.
    let path = path.strip_suffix("/v1").unwrap_or(path);
    let path = format!("{path}/v1/messages");
    url.set_path(&path);
    Ok((url, loopback))
}

pub(super) fn headers(settings: &Settings, loopback: bool) -> Result<HeaderMap> {
    let variable = &settings.key_env;
    let key = match &settings.key {
        Some(key) if !key.reveal().is_empty() => key.reveal(),
        _ if loopback => NO_KEY,
        _ => bail!(
            "no key for the model service: `{variable}` is not set; set it, or see how a run looks without one by \
             `longhaul demo` or `longhaul rehearse`"
        ),
    };
    let mut key = HeaderValue::from_str(key)
        .with_context(|| format!("the key in `{variable}` holds characters that no key has; set it again"))?;
    key.set_sensitive(true);
    let value = |name: &str, value: &str| {
        HeaderValue::from_str(value)
            .with_context(|| format!("`[provider] {name}` cannot be sent as a header: `{value}`"))
    };
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", key);
    headers.insert("anthropic-version", value("version", &settings.version)?);
    if !settings.betas.is_empty() {
        headers.insert(BETAS, value("betas", &settings.betas.join(","))?);
    }
    HeaderValue::from_str(&settings.edit_betas.join(","))
        .with_context(|| format!("`[context] betas` cannot be sent as a header: {:?}", settings.edit_betas))?;
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("accept", HeaderValue::from_static("application/json"));
    Ok(headers)
}
