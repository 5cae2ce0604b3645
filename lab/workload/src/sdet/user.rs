//! One user of `sdet`: each command as calls.

use super::mix::Command;
use super::setting::{DOCS, HEADERS, SOURCES, Sdet};
use crate::compile::{At, Compile};
use crate::paths::{self, Held, split};
use crate::unix::{Costs, Unix};
use ordo_vfs::{FileSystem, Name, RenameMode, Result, SetAttr, SetTime};
use std::rc::Rc;
use std::time::Duration;

/// The user.
pub(super) struct User<'u, 'a, F: FileSystem> {
    params: &'u Sdet,
    unix: Unix<'u, 'a, F>,
    home: Rc<Held<'a, F>>,
    tmp: Held<'a, F>,
}

impl<'u, 'a, F: FileSystem> User<'u, 'a, F> {
    /// Starts in the prepared home `base`.
    pub(super) async fn new(
        params: &'u Sdet,
        session: &'u paths::Session<'a, F>,
        base: &str,
    ) -> Result<User<'u, 'a, F>> {
        let costs = Costs {
            process: Duration::from_micros(params.process_us),
            look: Duration::from_micros(params.look_us),
            byte_ns: params.byte_ns,
        };
        let home = Rc::new(session.resolve(base).await?);
        let tmp = session.lookup(&home, Name::new(b"tmp")?).await?;
        Ok(User { params, unix: Unix { session, costs, transfer: params.transfer }, home, tmp })
    }

    /// Runs one command and returns the bytes that it moved.
    pub(super) async fn give(&self, command: Command) -> Result<u64> {
        self.unix.process().await;
        match command {
            Command::Plain => Ok(0),
            Command::Ls(dir) => self.unix.list(&self.home, Name::new(dir.as_bytes())?).await.map(|_| 0),
            Command::Find => self.unix.find(&self.home, Name::new(b".")?).await.map(|_| 0),
            Command::Scan(files) => self.scan(files).await,
            Command::Cp(from, to) => {
                let ((from_dir, from), (to_dir, to)) = (self.at(from).await?, self.at(to).await?);
                self.unix.copy((&from_dir, from), (&to_dir, to)).await
            }
            Command::Mv(from, to) => {
                let ((from_dir, from), (to_dir, to)) = (self.at(from).await?, self.at(to).await?);
                drop(self.unix.session.lookup(&from_dir, from).await?);
                drop(self.unix.if_there(&to_dir, to).await?);
                let (from_dir, to_dir) = (from_dir.node(), to_dir.node());
                let renamed = self.unix.session.fs.rename(from_dir, from, to_dir, to, RenameMode::Replace).await;
                renamed.map(|()| 0)
            }
            Command::Touch(file) => self.touch(file).await,
            Command::Rm(files) => {
                for file in files {
                    let (dir, name) = self.at(file).await?;
                    self.unix.remove(&dir, name).await?;
                }
                Ok(0)
            }
            Command::Mkdir(dir) => {
                let made = self.unix.session.mkdir(&self.home, Name::new(dir.as_bytes())?).await;
                made.map(|_| 0)
            }
            Command::RmTree(dir) => self.unix.remove_tree(&self.home, Name::new(dir.as_bytes())?).await.map(|_| 0),
            Command::Ed(file) => self.ed(file).await,
            Command::Nroff(file, out) => self.nroff(file, out).await,
            Command::Spell(file) => self.spell(file).await,
            Command::Cc(source, program) => self.cc(source, program).await,
            Command::Make(program) => self.make(program).await,
            Command::Cpio(dir, archive) => self.cpio(dir, archive).await,
        }
    }

    /// The directory of `path`, and the name in it.
    async fn at(&self, path: &'static str) -> Result<(Rc<Held<'a, F>>, Name<'static>)> {
        let (dir, name) = split(path)?;
        if dir.is_empty() {
            return Ok((self.home.clone(), name));
        }
        Ok((Rc::new(self.unix.session.lookup(&self.home, Name::new(dir.as_bytes())?).await?), name))
    }

    async fn scan(&self, files: &[&'static str]) -> Result<u64> {
        let mut bytes = 0;
        for file in files {
            let (dir, name) = self.at(file).await?;
            bytes += self.unix.scan(&dir, name).await?;
        }
        Ok(bytes)
    }

    /// Sets the time of an existing file, or creates an empty one.
    async fn touch(&self, file: &'static str) -> Result<u64> {
        let (dir, name) = self.at(file).await?;
        match self.unix.if_there(&dir, name).await? {
            Some(file) => {
                let now = SetAttr { mtime: Some(SetTime::Now), atime: Some(SetTime::Now), ..SetAttr::default() };
                self.unix.session.fs.setattr(file.node(), &now).await?;
            }
            None => drop(self.unix.session.create(&dir, name).await?),
        }
        Ok(0)
    }

    /// Writes a temporary file of `size` bytes and reads it back.
    async fn temp(&self, name: &'static [u8], size: u64) -> Result<u64> {
        let name = Name::new(name)?;
        let written = self.unix.write(&self.tmp, name, &paths::bytes(size, 1)).await?;
        Ok(written + self.unix.read(&self.tmp, name).await?)
    }

    async fn remove_temp(&self, name: &'static [u8]) -> Result<()> {
        self.unix.session.fs.unlink(self.tmp.node(), Name::new(name)?).await
    }

    /// The shell keeps the here-document, and ed its buffer, in a temporary file each; the file is rewritten.
    async fn ed(&self, file: &'static str) -> Result<u64> {
        let (dir, name) = self.at(file).await?;
        let mut moved = self.temp(b"sh0", HERE_DOCUMENT).await?;
        let size = self.unix.scan(&dir, name).await?;
        moved += size + self.temp(b"e0", size).await?;
        moved += self.unix.write(&dir, name, &paths::bytes(size, 2)).await?;
        self.remove_temp(b"e0").await?;
        self.remove_temp(b"sh0").await?;
        Ok(moved)
    }

    /// One temporary file, as long as the document; the output has the same length.
    async fn nroff(&self, file: &'static str, out: &'static str) -> Result<u64> {
        let ((dir, name), (out_dir, out)) = (self.at(file).await?, self.at(out).await?);
        let size = self.unix.scan(&dir, name).await?;
        self.unix.session.compute(Duration::from_millis(self.params.nroff_ms)).await;
        let mut moved = size + self.temp(b"ta0", size).await?;
        moved += self.unix.write(&out_dir, out, &paths::bytes(size, 3)).await?;
        self.remove_temp(b"ta0").await?;
        Ok(moved)
    }

    /// A shell script: deroff, sort, spellprog; the list of words in a temporary file.
    async fn spell(&self, file: &'static str) -> Result<u64> {
        for _ in ["deroff", "sort", "spellprog"] {
            self.unix.process().await;
        }
        let (dir, name) = self.at(file).await?;
        let size = self.unix.scan(&dir, name).await?;
        self.unix.session.compute(Duration::from_millis(self.params.spell_ms)).await;
        let moved = size + self.temp(b"spell0", size).await?;
        self.remove_temp(b"spell0").await?;
        Ok(moved)
    }

    /// One source and all headers, into an object beside the program.
    async fn compile(
        &self,
        source: (&Held<'a, F>, String),
        src: &Held<'a, F>,
        object: (&Held<'a, F>, String),
    ) -> Result<u64> {
        let headers = (0..HEADERS).map(|no| At { dir: src, name: format!("h{no}.h") }).collect();
        let compile = Compile {
            source: At { dir: source.0, name: source.1 },
            headers,
            object: At { dir: object.0, name: object.1 },
            tmp: &self.tmp,
            temps: self.params.temps,
            work: Duration::from_millis(self.params.compile_ms),
        };
        self.unix.compile(&compile).await
    }

    /// Compiles, links, and removes the object.
    async fn cc(&self, source: &'static str, program: &'static str) -> Result<u64> {
        let (src, name) = self.at(source).await?;
        let object = || At { dir: &*self.home, name: "a.o".to_owned() };
        let source = String::from_utf8_lossy(name.bytes()).into_owned();
        let mut moved = self.compile((&src, source), &src, (&self.home, object().name)).await?;
        let program = At { dir: &*self.home, name: program.to_owned() };
        moved += self.unix.link(&[object()], &program, self.link_time()).await?;
        self.unix.session.fs.unlink(self.home.node(), object().name()?).await?;
        Ok(moved)
    }

    /// Examines all sources, compiles two, links them.
    async fn make(&self, program: &'static str) -> Result<u64> {
        let src = self.unix.session.lookup(&self.home, Name::new(b"src")?).await?;
        for no in 0..SOURCES {
            drop(self.unix.look(&src, Name::new(format!("s{no}.c").as_bytes())?).await?);
        }
        let mut moved = 0;
        let mut objects = Vec::new();
        for no in [1, 2] {
            let object = format!("s{no}.o");
            drop(self.unix.look_if_there(&src, Name::new(object.as_bytes())?).await?);
            moved += self.compile((&src, format!("s{no}.c")), &src, (&src, object.clone())).await?;
            objects.push(At { dir: &src, name: object });
        }
        let program = At { dir: &*self.home, name: program.to_owned() };
        Ok(moved + self.unix.link(&objects, &program, self.link_time()).await?)
    }

    fn link_time(&self) -> Duration {
        Duration::from_millis(self.params.link_ms)
    }

    /// Examines every file of the directory and copies all into one.
    async fn cpio(&self, dir: &'static str, archive: &'static str) -> Result<u64> {
        let mut size = 0;
        for found in self.unix.find(&self.home, Name::new(dir.as_bytes())?).await?.iter().skip(1) {
            size += self.unix.read(&found.dir, Name::new(&found.name)?).await?;
        }
        let (dir, name) = self.at(archive).await?;
        Ok(size + self.unix.write(&dir, name, &paths::bytes(size, 4)).await?)
    }
}

/// Bytes of the here-document for ed.
const HERE_DOCUMENT: u64 = 500;

/// Makes the user's home at `base`: sources, headers, documents, and a directory for temporary files.
pub(super) async fn make_home<F: FileSystem>(session: &paths::Session<'_, F>, base: &str) -> Result<()> {
    drop(session.mkdir_all(&format!("{base}/tmp")).await?);
    let kinds = [("src", "s", ".c", SOURCES, 3000), ("src", "h", ".h", HEADERS, 2000), ("doc", "d", "", DOCS, 6000)];
    for (dir, letter, suffix, count, size) in kinds {
        drop(session.mkdir_all(&format!("{base}/{dir}")).await?);
        for no in 0..count {
            let data = paths::bytes(size, no);
            session.write_file(&format!("{base}/{dir}/{letter}{no}{suffix}"), &data).await?;
        }
    }
    Ok(())
}
