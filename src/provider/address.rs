//! Where requests go, and with which headers: nowhere the key must not go.
//!
//! What is wrong here is a setting's fault: it is told by the setting's name, before any request, and without any secret.

use super::Secret;
use super::Settings;
use super::http::BETAS;
use crate::failure::Failure;
use reqwest::Url;
use reqwest::header::HeaderMap;
use reqwest::header::HeaderValue;
use std::net::IpAddr;

/// Sent to a loopback endpoint when there is no key, since some local services want the header.
const NO_KEY: &str = "no-key";

/// Returns the address requests go to, and whether it is a loopback one.
pub(super) fn endpoint(base_url: &str) -> Result<(Url, bool)> {
    // What stands before an `@` may be a password, whatever the rest is worth.
    if base_url.contains('@') {
        let failure = Failure::usage("`[provider] base_url` holds a user, a password or another `@`");
        return Err(failure.hint(
            "leave only `https://`, the host and at most a path; the key belongs into the variable that `[provider] \
             key_env` names",
        ));
    }
    let such = "give an address such as `https://api.anthropic.com`";
    let mut url = Url::parse(base_url.trim()).map_err(|error| {
        Failure::usage(format!("`[provider] base_url` is no address, `{base_url}`: {error}")).hint(such)
    })?;
    if url.query().is_some() || url.fragment().is_some() {
        let failure = Failure::usage("`[provider] base_url` must hold a host and at most a path");
        return Err(failure.hint(
            "leave out what follows `?` or `#`; the key belongs into the variable that `[provider] key_env` names",
        ));
    }
    let loopback = is_loopback(&url);
    match url.scheme() {
        "https" => {}
        "http" if loopback => {}
        "http" => {
            let message =
                format!("`[provider] base_url` would send the key unencrypted to another machine: `{base_url}`");
            return Err(Failure::usage(message).hint("use `https://`, or a tunnel that ends at `http://127.0.0.1`"));
        }
        _ => {
            let message = format!("`[provider] base_url` must begin with `https://`: `{base_url}`");
            return Err(Failure::usage(message).hint(such));
        }
    }
    let path = url.path().trim_end_matches('/');
    // Some gateways give their address with the version, as other clients want it.
    let path = path.strip_suffix("/v1").unwrap_or(path);
    let path = format!("{path}/v1/messages");
    url.set_path(&path);
    Ok((url, loopback))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let named = host == "localhost" || host.ends_with(".localhost");
    named || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns the headers of every request.
pub(super) fn headers(settings: &Settings, loopback: bool) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert("x-api-key", key(settings, loopback)?);
    headers.insert("anthropic-version", value("[provider] version", &settings.version)?);
    if !settings.betas.is_empty() {
        headers.insert(BETAS, value("[provider] betas", &settings.betas.join(","))?);
    }
    value("[context] betas", &settings.edit_betas.join(","))?;
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("accept", HeaderValue::from_static("application/json"));
    Ok(headers)
}

fn key(settings: &Settings, loopback: bool) -> Result<HeaderValue> {
    let variable = &settings.key_env;
    let key = settings.key.as_ref().map(Secret::reveal).filter(|key| !key.is_empty());
    let key = match key {
        Some(key) => key,
        None if loopback => NO_KEY,
        None => {
            let failure = Failure::usage(format!("no key for the model service: the variable `{variable}` is not set"));
            return Err(failure.hint("set it to your key; `longhaul demo` and `longhaul rehearse` need none"));
        }
    };
    let plain = key.bytes().all(|byte| byte.is_ascii_graphic());
    let header = HeaderValue::from_str(key).ok().filter(|_| plain);
    let mut header = header.ok_or_else(|| {
        let message =
            format!("the key in the variable `{variable}` holds a blank, a line end or a letter that no key has");
        Failure::usage(message).hint(format!("set `{variable}` again, to the key alone"))
    })?;
    header.set_sensitive(true);
    Ok(header)
}

fn value(setting: &str, value: &str) -> Result<HeaderValue> {
    HeaderValue::from_str(value).map_err(|_| {
        let message = format!("`{setting}` cannot be sent as a header: {value:?}");
        Failure::usage(message).hint("leave out line ends and letters beyond ASCII")
    })
}

type Result<T> = std::result::Result<T, Failure>;
