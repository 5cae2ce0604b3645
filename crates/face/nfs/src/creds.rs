//! For whom a call is made: what AUTH_SYS claims, and how much of it is believed.
//!
//! AUTH_SYS is a claim that nobody checks. A port below 1024 says a little more, since a program must be root, on most
//! systems, to have one; the clients in kernels use these.

use crate::rpc::Auth;

/// Whose claims to be root are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Squash {
    /// Root is believed where the call comes from a port below 1024.
    #[default]
    Ports,
    /// Everybody is believed.
    Nobody,
    /// Root never is.
    Root,
    /// Nobody is: each call is made for the one user of [`Identity`].
    All,
}

/// A user and his group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// The user.
    pub uid: u32,
    /// His group.
    pub gid: u32,
}

impl Identity {
    /// The user who owns nothing.
    pub const NOBODY: Identity = Identity { uid: 65534, gid: 65534 };
}

/// The user for whom a call is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Creds {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    groups: Vec<u32>,
}

impl Creds {
    /// `None`: the call cannot be made for anybody, for this reason.
    pub(crate) fn of(auth: Auth, low_port: bool, squash: Squash, squashed: Identity) -> Creds {
        let nobody = || Creds { uid: squashed.uid, gid: squashed.gid, groups: Vec::new() };
        let roots = match squash {
            Squash::Nobody => true,
            Squash::Ports => low_port,
            Squash::Root | Squash::All => false,
        };
        match auth {
            _ if squash == Squash::All => nobody(),
            Auth::None | Auth::Bad(_) => nobody(),
            Auth::Sys { uid: 0, .. } if !roots => nobody(),
            Auth::Sys { uid, gid, mut groups } => {
                // Root's group goes with root.
                groups.retain(|group| roots || *group != 0);
                let gid = if gid == 0 && !roots { squashed.gid } else { gid };
                Creds { uid, gid, groups }
            }
        }
    }

    /// All of it, as bytes: two that differ have others.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        [self.uid, self.gid].iter().chain(&self.groups).flat_map(|id| id.to_be_bytes()).collect()
    }

    pub(crate) fn is_root(&self) -> bool {
        self.uid == 0
    }

    pub(crate) fn is_in(&self, group: u32) -> bool {
        self.gid == group || self.groups.contains(&group)
    }

    /// As the file system knows the maker of something new. The client has taken its umask off already.
    pub(crate) fn caller(&self) -> ordo_vfs::Caller {
        ordo_vfs::Caller { uid: self.uid, gid: self.gid, umask: 0, privileged: self.is_root() }
    }
}

#[cfg(test)]
pub(crate) fn user(uid: u32, gid: u32, groups: &[u32]) -> Creds {
    Creds { uid, gid, groups: groups.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_believed_as_the_option_says() {
        let root = || Auth::Sys { uid: 0, gid: 0, groups: vec![0, 5] };
        let of = |auth, low, squash| Creds::of(auth, low, squash, Identity::NOBODY).uid;
        assert_eq!(of(root(), true, Squash::Ports), 0);
        assert_eq!(of(root(), false, Squash::Ports), 65534);
        assert_eq!(of(root(), false, Squash::Nobody), 0);
        assert_eq!(of(root(), true, Squash::Root), 65534);
        let user = || Auth::Sys { uid: 7, gid: 0, groups: vec![0, 5] };
        let seen = Creds::of(user(), false, Squash::Ports, Identity::NOBODY);
        assert_eq!(seen, super::user(7, 65534, &[5]), "root's group is not for everybody");
        let me = Identity { uid: 501, gid: 20 };
        assert_eq!(Creds::of(user(), true, Squash::All, me), super::user(501, 20, &[]));
        assert_eq!(of(Auth::None, true, Squash::Nobody), 65534);
    }
}
