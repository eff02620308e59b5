//! Who the user is to git.

use super::Project;

const OWN_NAME: &str = "longhaul";
const OWN_MAIL: &str = "longhaul@localhost.invalid";

/// A name and a mail address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Identity {
    pub name: String,
    pub mail: String,
}

impl Project {
    /// Returns who commits here: the user, or longhaul where git knows no user.
    pub fn identity(&self) -> Identity {
        self.users_identity().unwrap_or_else(|| Identity { name: OWN_NAME.to_owned(), mail: OWN_MAIL.to_owned() })
    }

    /// Returns the user as the environment or git's settings name them.
    pub(super) fn users_identity(&self) -> Option<Identity> {
        let given = |variable: &str| self.environment.get(variable).filter(|value| !value.is_empty()).cloned();
        let set = |key: &str| self.git_line(&["config", "--get", key]).ok().filter(|value| !value.is_empty());
        let name = given("GIT_AUTHOR_NAME").or_else(|| set("user.name"))?;
        Some(Identity { name, mail: given("GIT_AUTHOR_EMAIL").or_else(|| set("user.email"))? })
    }
}
