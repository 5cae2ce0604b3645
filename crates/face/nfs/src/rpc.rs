//! Calls and replies of ONC RPC (RFC 5531), and what a call says of its caller.
//!
//! The header is decoded here and not by `nfs3_types`: its decoder would make room for the groups that AUTH_SYS
//! announces before it looks for them (nfs-wire-2).

use crate::wire::{finish, outgoing, word};
use nfs3_types::rpc::{accept_stat, auth_stat};
use nfs3_types::xdr_codec::Pack;

/// A call's header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call<'a> {
    pub(crate) xid: u32,
    pub(crate) program: u32,
    pub(crate) version: u32,
    pub(crate) procedure: u32,
    pub(crate) auth: Auth,
    pub(crate) args: &'a [u8],
}

/// Who the caller says he is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Auth {
    /// He does not.
    None,
    /// A user, and his groups.
    Sys { uid: u32, gid: u32, groups: Vec<u32> },
    /// He says it in a way that this server does not understand.
    Bad(auth_stat),
}

/// Why there is no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoCall {
    /// Not even a header: there is nobody to answer.
    Garbage,
    /// A version of RPC other than 2.
    Version {
        /// Of the call.
        xid: u32,
    },
}

/// Most bytes of credentials, and most groups in them (RFC 5531).
const MOST_AUTH: u32 = 400;
const MOST_GROUPS: u32 = 16;
const MOST_MACHINE: u32 = 255;

impl Call<'_> {
    pub(crate) fn read(record: &[u8]) -> Result<Call<'_>, NoCall> {
        let garbage = || NoCall::Garbage;
        let (xid, rest) = word(record).ok_or_else(garbage)?;
        let (kind, rest) = word(rest).ok_or_else(garbage)?;
        let (rpc, rest) = word(rest).ok_or_else(garbage)?;
        if kind != 0 {
            return Err(NoCall::Garbage);
        }
        if rpc != 2 {
            return Err(NoCall::Version { xid });
        }
        let (program, rest) = word(rest).ok_or_else(garbage)?;
        let (version, rest) = word(rest).ok_or_else(garbage)?;
        let (procedure, rest) = word(rest).ok_or_else(garbage)?;
        let (flavor, credentials, rest) = opaque_auth(rest).ok_or_else(garbage)?;
        let (_, _, args) = opaque_auth(rest).ok_or_else(garbage)?;
        let auth = match flavor {
            0 => Auth::None,
            1 => auth_sys(credentials).unwrap_or(Auth::Bad(auth_stat::AUTH_BADCRED)),
            _ => Auth::Bad(auth_stat::AUTH_REJECTEDCRED),
        };
        Ok(Call { xid, program, version, procedure, auth, args })
    }
}

fn opaque_auth(bytes: &[u8]) -> Option<(u32, &[u8], &[u8])> {
    let (flavor, rest) = word(bytes)?;
    let (len, rest) = word(rest).filter(|(len, _)| *len <= MOST_AUTH)?;
    let (body, _) = rest.split_at_checked(len as usize)?;
    Some((flavor, body, rest.get(len.next_multiple_of(4) as usize..)?))
}

fn auth_sys(bytes: &[u8]) -> Option<Auth> {
    let (_stamp, rest) = word(bytes)?;
    let (machine, rest) = word(rest).filter(|(len, _)| *len <= MOST_MACHINE)?;
    let (uid, rest) = word(rest.get(machine.next_multiple_of(4) as usize..)?)?;
    let (gid, rest) = word(rest)?;
    let (count, mut rest) = word(rest).filter(|(count, _)| *count <= MOST_GROUPS)?;
    let mut groups = Vec::with_capacity(count as usize);
    for _ in 0..count {
        let (group, after) = word(rest)?;
        groups.push(group);
        rest = after;
    }
    rest.is_empty().then_some(Auth::Sys { uid, gid, groups })
}

fn words(xid: u32, words: &[u32]) -> Vec<u8> {
    let mut record = outgoing();
    record.extend(xid.to_be_bytes());
    words.iter().for_each(|word| record.extend(word.to_be_bytes()));
    record
}

const REPLY: u32 = 1;
const ACCEPTED: u32 = 0;
const DENIED: u32 = 1;

/// The reply of a procedure that ran, whatever became of it.
pub(crate) fn success(xid: u32, result: &impl Pack) -> Vec<u8> {
    let mut record = words(xid, &[REPLY, ACCEPTED, 0, 0, accept_stat::SUCCESS as u32]);
    // No result is longer than what one call may move, and a vector takes all that there is memory for.
    match result.pack(&mut record) {
        Ok(_) => finish(record),
        Err(_) => refused(xid, accept_stat::SYSTEM_ERR),
    }
}

/// The reply to a call that is for no procedure, or without arguments for it.
pub(crate) fn refused(xid: u32, why: accept_stat) -> Vec<u8> {
    finish(words(xid, &[REPLY, ACCEPTED, 0, 0, why as u32]))
}

/// The reply to a call for another version of a program than `version`.
pub(crate) fn wrong_version(xid: u32, version: u32) -> Vec<u8> {
    finish(words(xid, &[REPLY, ACCEPTED, 0, 0, accept_stat::PROG_MISMATCH as u32, version, version]))
}

/// The reply to a call in another version of RPC.
pub(crate) fn wrong_rpc(xid: u32) -> Vec<u8> {
    finish(words(xid, &[REPLY, DENIED, 0, 2, 2]))
}

/// The reply to a caller who did not say who he is.
pub(crate) fn unauthentic(xid: u32, why: auth_stat) -> Vec<u8> {
    finish(words(xid, &[REPLY, DENIED, 1, why as u32]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(rpc: u32, auth: &[u32]) -> Vec<u8> {
        let head = [7, 0, rpc, 100_003, 3, 1];
        head.iter().chain(auth).chain(&[0, 0]).flat_map(|word| word.to_be_bytes()).collect()
    }

    fn auth(words: &[u32]) -> Auth {
        Call::read(&call(2, words)).unwrap().auth
    }

    #[test]
    fn a_caller_is_who_he_says() {
        let sys = Auth::Sys { uid: 10, gid: 20, groups: vec![30, 31] };
        assert_eq!(auth(&[1, 28, 99, 0, 10, 20, 2, 30, 31]), sys);
        assert_eq!(auth(&[0, 0]), Auth::None);
        assert_eq!(auth(&[6, 0]), Auth::Bad(auth_stat::AUTH_REJECTEDCRED), "Kerberos");
    }

    #[test]
    fn credentials_that_announce_what_is_not_there_are_refused() {
        for words in
            [&[1, 20, 99, 0, 10, 20, u32::MAX][..], &[1, 12, 99, u32::MAX, 10], &[1, 0], &[1, 20, 9, 0, 1, 2, 1]]
        {
            assert_eq!(auth(words), Auth::Bad(auth_stat::AUTH_BADCRED), "{words:?}");
        }
        assert_eq!(Call::read(&call(2, &[1, 404])), Err(NoCall::Garbage));
        assert_eq!(Call::read(&call(3, &[0, 0])), Err(NoCall::Version { xid: 7 }));
        let whole = call(2, &[0, 0]);
        for len in 0..whole.len() {
            assert_eq!(Call::read(&whole[..len]), Err(NoCall::Garbage), "{len} bytes");
        }
    }
}
