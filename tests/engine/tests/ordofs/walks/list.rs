//! The walks.

use crate::walks::{BLOCK, CLUSTER, FRAGMENT, POINTERS};
use ordo_workload::Session;
use ordofs::Fs;
use ordofs::vfs::{Error, FileSystem, Mode, Refusal, RenameMode, Result, SetAttr, XattrMode};
use std::pin::Pin;

/// A function that uses a volume, as a value.
pub(crate) type Part = for<'a> fn(&'a Session<'a, Fs>) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// A walk: how the volume is prepared, the call, and what must hold after a power cut at any time and fsck.
pub(crate) struct Walk {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) before: Part,
    pub(crate) call: Part,
    pub(crate) always: Part,
}

macro_rules! part {
    (|$s:ident| $body:block) => {
        |$s| {
            Box::pin(async move {
                $body
                Ok(())
            })
        }
    };
}

async fn rename(s: &Session<'_, Fs>, from: &str, to: &str) -> Result<()> {
    let ((dir, name), (to_dir, to_name)) = (s.parent(from).await?, s.parent(to).await?);
    s.fs.rename(dir.node(), name, to_dir.node(), to_name, RenameMode::Replace).await
}

async fn there(s: &Session<'_, Fs>, path: &str) -> Result<bool> {
    match s.resolve(path).await {
        Ok(_) => Ok(true),
        Err(Error::Refused(Refusal::NotFound)) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn absent_or(s: &Session<'_, Fs>, path: &str, contents: &[u8]) -> Result<()> {
    if there(s, path).await? {
        assert!(s.read_file(path).await? == contents, "{path} is there, and not with its contents");
    }
    Ok(())
}

/// A rename from `old` to `new`, where another file was: each name leads to a file, the new one under one of them.
async fn one_of_two(s: &Session<'_, Fs>, old: &str, new: &str) -> Result<()> {
    match &s.read_file(new).await?[..] {
        b"new" => absent_or(s, old, b"new").await,
        b"old" => {
            assert_eq!(s.read_file(old).await?, b"new");
            Ok(())
        }
        other => panic!("{new} holds {other:?}"),
    }
}

pub(crate) fn walks() -> Vec<Walk> {
    vec![
        Walk {
            name: "create a/f",
            about: "The inode is initialised before its name is entered.",
            before: part!(|s| {
                s.mkdir_all("a").await?;
            }),
            call: part!(|s| {
                let (dir, name) = s.parent("a/f").await?;
                s.create(&dir, name).await?;
            }),
            always: part!(|s| { absent_or(s, "a/f", b"").await? }),
        },
        Walk {
            name: "mkdir a/d",
            about: "A crash between any two steps leaves at worst a leak, or a count that is too high.",
            before: part!(|s| {
                s.mkdir_all("a").await?;
            }),
            call: part!(|s| {
                let (dir, name) = s.parent("a/d").await?;
                let made = s.fs.mkdir(&s.who, dir.node(), name, Mode::new(0o755)).await?;
                s.fs.forget(made.node, 1);
            }),
            always: part!(|s| {
                if there(s, "a/d").await? {
                    assert!(s.list(&s.resolve("a/d").await?).await?.is_empty())
                }
            }),
        },
        Walk {
            name: "unlink a/f, its last link",
            about: "The name is removed first; the link, the blocks and the inode number are freed as the scheme \
                    returns their\ntickets. The count of 0 and the cleared pointers are one change of the inode.",
            before: part!(|s| {
                s.mkdir_all("a").await?;
                s.write_file("a/f", &[1; 5 * BLOCK as usize]).await?;
            }),
            call: part!(|s| {
                let (dir, name) = s.parent("a/f").await?;
                s.fs.unlink(dir.node(), name).await?;
            }),
            always: part!(|s| { absent_or(s, "a/f", &[1; 5 * BLOCK as usize]).await? }),
        },
        Walk {
            name: "rename a/x a/y, over an existing name",
            about: "The count of x is raised before it has two names, and lowered after the old one is gone: no crash \
                    loses both.",
            before: part!(|s| {
                s.mkdir_all("a").await?;
                s.write_file("a/x", b"new").await?;
                s.write_file("a/y", b"old").await?;
            }),
            call: part!(|s| { rename(s, "a/x", "a/y").await? }),
            always: part!(|s| { one_of_two(s, "a/x", "a/y").await? }),
        },
        Walk {
            name: "rename a/x b/y, over an existing name in another directory",
            about: "The same, with two directories.",
            before: part!(|s| {
                s.mkdir_all("a").await?;
                s.mkdir_all("b").await?;
                s.write_file("a/x", b"new").await?;
                s.write_file("b/y", b"old").await?;
            }),
            call: part!(|s| { rename(s, "a/x", "b/y").await? }),
            always: part!(|s| { one_of_two(s, "a/x", "b/y").await? }),
        },
        Walk {
            name: "rename a/d b/e, a directory over an empty one in another directory",
            about: "The new parent's count is raised before `..` leads to it, and the old parent's is lowered after.",
            before: part!(|s| {
                s.mkdir_all("a/d").await?;
                s.mkdir_all("b/e").await?;
                s.write_file("a/d/inside", b"still").await?;
            }),
            call: part!(|s| { rename(s, "a/d", "b/e").await? }),
            always: part!(|s| {
                let found = (there(s, "a/d/inside").await?, there(s, "b/e/inside").await?);
                assert!(found.0 || found.1, "the directory is lost");
            }),
        },
        Walk {
            name: "append to f, whose fragments cannot grow where they are",
            about: "The contents are written to their new place before a pointer leads there; the old fragments are \
                    freed\nwhen nothing points to them any more.",
            before: part!(|s| {
                s.write_file("f", &[1; 3 * FRAGMENT as usize]).await?;
                s.write_file("in-the-way", &[2; FRAGMENT as usize]).await?;
            }),
            call: part!(|s| {
                let file = s.resolve("f").await?;
                s.write_at(&file, 3 * FRAGMENT, &[3; (BLOCK - 3 * FRAGMENT) as usize]).await?;
            }),
            always: part!(|s| {
                let found = s.read_file("f").await?;
                assert_eq!(found[..3 * FRAGMENT as usize], [1; 3 * FRAGMENT as usize], "what was durable is lost");
                assert_eq!(s.read_file("in-the-way").await?, [2; FRAGMENT as usize]);
            }),
        },
        Walk {
            name: "truncate f, with triple indirection, to the middle of block 14",
            about: "From the end, in bounded steps: pointers first, then what they led to.",
            before: part!(|s| {
                let file = {
                    let (dir, name) = s.parent("f").await?;
                    s.create(&dir, name).await?
                };
                for block in [0, 14, 15, 12 + POINTERS + 7, 12 + POINTERS + POINTERS * POINTERS + 9] {
                    s.write_at(&file, block * BLOCK, &[4; BLOCK as usize]).await?;
                }
            }),
            call: part!(|s| {
                let file = s.resolve("f").await?;
                let size = Some(14 * BLOCK + BLOCK / 2);
                s.fs.setattr(file.node(), &SetAttr { size, ..SetAttr::default() }).await?;
            }),
            always: part!(|s| {
                let file = s.resolve("f").await?;
                assert!(file.attr.size >= 14 * BLOCK + BLOCK / 2);
                for block in [0, 14] {
                    assert_eq!(s.read_at(&file, block * BLOCK, BLOCK as u32 / 2).await?, [4; BLOCK as usize / 2]);
                }
            }),
        },
    ]
}

/// Walks that are too long, or too simple, for the page.
pub(crate) fn untold_walks() -> Vec<Walk> {
    vec![
        Walk {
            name: "setxattr over attributes that were there",
            about: "",
            before: part!(|s| {
                s.write_file("f", b"contents").await?;
                set_attribute(s, &[1; 900]).await?;
            }),
            call: part!(|s| { set_attribute(s, &[2; 1500]).await? }),
            always: part!(|s| {
                let value = s.fs.getxattr(s.resolve("f").await?.node(), b"user.a").await?.to_vec();
                assert!(value == [1; 900] || value == [2; 1500], "neither the old value nor the new one");
            }),
        },
        Walk {
            name: "a byte of each block of f, whose blocks lie apart and are brought together",
            about: "",
            before: part!(|s| {
                for block in 0..CLUSTER {
                    if block == CLUSTER / 2 {
                        // A cluster that is not dirty as a whole is not moved.
                        s.fs.syncfs().await?;
                    }
                    for path in ["f", "between"] {
                        let (dir, name) = s.parent(path).await?;
                        if block == 0 {
                            s.create(&dir, name).await?;
                        }
                        s.write_at(&s.resolve(path).await?, block * BLOCK, &[5; BLOCK as usize]).await?;
                    }
                }
            }),
            call: part!(|s| {
                let file = s.resolve("f").await?;
                for block in 0..CLUSTER {
                    s.write_at(&file, (block + 1) * BLOCK - 1, &[6]).await?;
                }
            }),
            always: part!(|s| {
                let found = s.read_file("f").await?;
                for block in found.chunks(BLOCK as usize) {
                    let (last, rest) = block.split_last().expect("a chunk is not empty");
                    assert!(rest.iter().all(|&b| b == 5) && (*last == 5 || *last == 6), "what was durable is lost");
                }
            }),
        },
    ]
}

async fn set_attribute(s: &Session<'_, Fs>, value: &[u8]) -> Result<()> {
    let file = s.resolve("f").await?;
    s.fs.setxattr(&s.who, file.node(), b"user.a", value, XattrMode::Set).await
}
