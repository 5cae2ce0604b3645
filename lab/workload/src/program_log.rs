//! The log of a program that keeps one of its own.

use crate::error::{Result, at};
use crate::own_log::OwnLog;
use crate::paths::{Held, Session, join};
use ordo_vfs::{FileSystem, Name};

/// The name of the log where it is a file.
const FILE: &str = "log";

/// The log of a program: on a disk of its own where the session has one, otherwise in a file beside the program's
/// other files.
pub(crate) enum ProgramLog<'s, 'a, F: FileSystem> {
    Disk(&'a dyn OwnLog),
    /// Session, file, its path, its end.
    File(&'s Session<'a, F>, Held<'a, F>, String, u64),
}

impl<'s, 'a, F: FileSystem> ProgramLog<'s, 'a, F> {
    /// Begins an empty log of a program in `base`.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(crate) async fn begin(session: &'s Session<'a, F>, base: &str) -> Result<ProgramLog<'s, 'a, F>> {
        if let Some(disk) = session.own_log() {
            return Ok(ProgramLog::Disk(disk));
        }
        let path = join(base, FILE);
        let file = async {
            let dir = session.resolve(base).await?;
            session.create(&dir, Name::new(FILE.as_bytes())?).await
        };
        let file = file.await.map_err(at("create", &path))?;
        Ok(ProgramLog::File(session, file, path, 0))
    }

    /// Appends so many bytes, and waits until they are durable.
    ///
    /// # Errors
    /// `Io`; in a file also `NoSpace`.
    pub(crate) async fn append(&mut self, bytes: u64) -> Result<()> {
        match self {
            ProgramLog::Disk(disk) => disk.append(bytes).await.map_err(at("append", "the log's disk")),
            ProgramLog::File(session, file, path, end) => {
                session.write_at(file, *end, &vec![0x6c; bytes as usize]).await.map_err(at("write", path))?;
                *end += bytes;
                session.fs.fsync(file.node(), true).await.map_err(at("fsync", path))
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ordo_model::{MemFs, ready};
    use std::cell::RefCell;
    use std::pin::Pin;

    /// Notes what is appended.
    #[derive(Default)]
    pub(crate) struct Noted(pub(crate) RefCell<Vec<u64>>);

    impl OwnLog for Noted {
        fn append(&self, bytes: u64) -> Pin<Box<dyn Future<Output = ordo_vfs::Result<()>> + '_>> {
            Box::pin(async move {
                self.0.borrow_mut().push(bytes);
                Ok(())
            })
        }
    }

    #[test]
    fn a_log_goes_to_the_disk_of_the_session_or_to_a_file() {
        let (fs, disk) = (MemFs::timeless(), Noted::default());
        ready(async {
            for session in [Session::new(&fs).with_own_log(&disk), Session::new(&fs)] {
                session.mkdir_all("b").await.unwrap();
                let mut log = ProgramLog::begin(&session, "b").await.unwrap();
                for bytes in [10, 700] {
                    log.append(bytes).await.unwrap();
                }
                drop(log);
                let file = session.resolve("b/log").await.map(|file| file.attr.size);
                match session.own_log() {
                    Some(_) => assert!(file.is_err(), "nothing is in the file system"),
                    None => assert_eq!(file.unwrap(), 710),
                }
            }
        });
        assert_eq!((disk.0.take(), fs.lookups()), (vec![10, 700], 0));
    }
}
