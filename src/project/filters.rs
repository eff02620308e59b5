//! The programs that git's settings put between what a commit holds and what lies in a folder.

use super::Project;
use super::blob_id;
use anyhow::Result;
use std::collections::BTreeMap;

impl Project {
    /// Lists the settings by which git has a program write what it checks out, such as `filter.lfs.smudge`, each with what
    /// tells its value from another. They may stand in the repository, at home, or in a file that one of these includes.
    pub fn filters(&self) -> Result<BTreeMap<String, String>> {
        Ok(of_listing(&self.git(&["config", "--includes", "--list", "-z"], None)?))
    }
}

/// Reads git's listing: a key and its value on lines of their own, each pair ended by a NUL.
fn of_listing(listing: &[u8]) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for setting in listing.split(|byte| *byte == 0) {
        let (key, value) = match setting.iter().position(|byte| *byte == b'\n') {
            Some(at) => (&setting[..at], &setting[at + 1..]),
            None => (setting, &b""[..]),
        };
        let key = String::from_utf8_lossy(key).into_owned();
        if driver(&key).is_some() {
            // The last one holds.
            found.insert(key, blob_id(value));
        }
    }
    found
}

/// Returns the name of the filter that a setting gives a program for checking out.
fn driver(key: &str) -> Option<&str> {
    let name = key.strip_prefix("filter.")?;
    name.strip_suffix(".smudge").or_else(|| name.strip_suffix(".process"))
}

/// Returns the options of `git` under which these settings run nothing; an error names one that cannot be left out.
pub(super) fn without(settings: &[String]) -> Result<Vec<String>, String> {
    let mut options = Vec::new();
    for name in settings.iter().filter_map(|key| driver(key)) {
        // On the command line a key ends with the first such sign.
        if name.contains('=') {
            return Err(format!(
                "the filter `{name}` of git's came after the check was approved, and no git can leave it out"
            ));
        }
        for value in ["smudge=", "process=", "required=false"] {
            options.extend(["-c".to_owned(), format!("filter.{name}.{value}")]);
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_writes_a_checkout_is_told_from_other_settings() {
        let listing = b"core.bare\nfalse\0filter.z.smudge\nsed x\ny\0filter.z.clean\ncat\0filter.a.B.process\n1\0filter.z.smudge\n2\0\
            filter.z.required\0alias.x\nfilter.z.smudge\0";
        let found = of_listing(listing);
        let expected = [("filter.a.B.process", "1"), ("filter.z.smudge", "2")];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), blob_id(value.as_bytes()))).into());
    }

    #[test]
    fn a_filter_is_left_out_with_all_that_would_run_or_require_it() {
        let options = without(&["filter.a b.smudge".to_owned()]).unwrap();
        assert_eq!(
            options,
            ["-c", "filter.a b.smudge=", "-c", "filter.a b.process=", "-c", "filter.a b.required=false"]
        );
        assert!(without(&["filter.a=b.smudge".to_owned()]).unwrap_err().contains("`a=b`"));
    }
}
