//! What a node of a cluster does: any mix of three roles.

use std::fmt;
use std::str::FromStr;

use chronos_core::store::Roles;
use serde::{Deserialize, Serialize};

/// What a node does, written as a list such as `api,worker`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeRoles(Roles);

impl NodeRoles {
    /// Everything.
    pub const ALL: Self = Self(Roles { api: true, scheduler: true, worker: true });
}

impl From<NodeRoles> for Roles {
    fn from(roles: NodeRoles) -> Self {
        roles.0
    }
}

impl FromStr for NodeRoles {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut roles = Roles { api: false, scheduler: false, worker: false };
        for name in text.split(',').map(str::trim) {
            match name {
                "api" => roles.api = true,
                "scheduler" => roles.scheduler = true,
                "worker" => roles.worker = true,
                "" => return Err("a role is missing".into()),
                unknown => return Err(format!("\"{unknown}\" is no role")),
            }
        }
        Ok(Self(roles))
    }
}

impl TryFrom<String> for NodeRoles {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl fmt::Display for NodeRoles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.names().join(","))
    }
}

impl From<NodeRoles> for String {
    fn from(roles: NodeRoles) -> Self {
        roles.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_in_any_mix_and_written_in_one_order() {
        for (text, written) in [
            ("api,scheduler,worker", "api,scheduler,worker"),
            ("worker, api", "api,worker"),
            ("scheduler", "scheduler"),
            ("worker,worker", "worker"),
        ] {
            assert_eq!(text.parse::<NodeRoles>().unwrap().to_string(), written);
        }
        assert_eq!("api,boss".parse::<NodeRoles>().unwrap_err(), "\"boss\" is no role");
        assert_eq!("".parse::<NodeRoles>().unwrap_err(), "a role is missing");
        assert_eq!("api,".parse::<NodeRoles>().unwrap_err(), "a role is missing");
    }
}
