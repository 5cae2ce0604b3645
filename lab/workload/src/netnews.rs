//! A news server: articles arrive in batches and old ones expire; consecutive articles are hardly ever in the same
//! group.
//!
//! After Seltzer et al. (USENIX 2000, section 7.3.2), who ran K. Swartz's benchmark of INN with traces of a live
//! server: 2 GB in 520,000 files in almost 7,000 directories; *unbatch* creates 78,000 files of 270 MB, *expire*
//! removes 91,000 of 250 MB. The traces are not public.
//!
//! What is reconstructed: groups are in hierarchies of a hundred. Articles arrive in rounds, each round one for every
//! group, in an order that the seed gives; so two in the same group are a round apart. Expire removes the oldest in the
//! same order. Sizes are uniform around their means: those that expire are shorter, as the paper's bytes are. An
//! article has one name, where real ones are linked into all groups that they are posted to.
//!
//! N1. Everything is the paper's divided by `scale`; only the number of articles in a group stays the same.

use crate::contents;
use crate::error::{Result, WorkloadError, at};
use crate::meter::{Meter, Phase, PhaseResult};
use crate::parameters::{Parameter, Values};
use crate::paths::{self, Held, Session};
use crate::program::Program;
use ordo_rt::Rng;
use ordo_vfs::{FileSystem, Name};

/// Its parameters; all counts are full size, before they are divided by `scale`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Netnews {
    /// Articles at the start.
    pub articles: u64,
    /// Groups that contain them.
    pub groups: u64,
    /// Articles that arrive.
    pub unbatch: u64,
    /// Articles that expire, at most as many as there are.
    pub expire: u64,
    /// Divisor of all these counts.
    pub scale: u64,
    /// The random seed for orders and sizes.
    pub seed: u64,
}

impl Default for Netnews {
    fn default() -> Netnews {
        Netnews { articles: 520_000, groups: 7_000, unbatch: 78_000, expire: 91_000, scale: 10, seed: 42 }
    }
}

/// Mean size of articles, in bytes: of those that expire (250 MB of 91,000), of the others at the start (the rest of 2
/// GB), and of those that arrive (270 MB of 78,000).
const EXPIRES: u64 = 2_747;
const STAYS: u64 = 4_079;
const COMES: u64 = 3_461;
/// Size of the shortest article, in bytes: a header and a line.
const SHORTEST: u64 = 300;

/// Groups in a hierarchy.
const HIERARCHY: u64 = 100;

impl Netnews {
    fn scaled(&self, count: u64) -> u64 {
        count / self.scale.max(1)
    }

    fn groups(&self) -> u64 {
        self.scaled(self.groups).max(1)
    }

    /// Articles from `first` on, `count` of them, in order: round by round, shuffled within each.
    fn turns(&self, rng: &mut Rng, first: u64, count: u64) -> Vec<u64> {
        let mut turns: Vec<u64> = (first..first + count).collect();
        for round in turns.chunks_mut(self.groups() as usize) {
            rng.shuffle(round);
        }
        turns
    }

    /// The directory of a group, relative to the base.
    fn group(no: u64) -> (String, String) {
        (format!("h{}", no / HIERARCHY), format!("g{no}"))
    }

    /// The name of an article in its group: its number there, as in INN.
    fn article(&self, no: u64) -> String {
        (10_000 + no / self.groups()).to_string()
    }

    fn sizes(&self, rng: &mut Rng, count: u64, mean: u64) -> Vec<u64> {
        contents::sizes(rng, count, mean, mean - SHORTEST)
    }
}

/// The server, in its spool.
struct Server<'s, 'a, F: FileSystem> {
    news: &'s Netnews,
    session: &'s Session<'a, F>,
    spool: Held<'a, F>,
    text: Vec<u8>,
}

impl<'a, F: FileSystem> Server<'_, 'a, F> {
    async fn group(&self, article: u64) -> ordo_vfs::Result<Held<'a, F>> {
        let (hierarchy, group) = Netnews::group(article % self.news.groups());
        let hierarchy = self.session.lookup(&self.spool, Name::new(hierarchy.as_bytes())?).await?;
        self.session.lookup(&hierarchy, Name::new(group.as_bytes())?).await
    }

    async fn post(&self, article: u64, size: u64) -> Result<()> {
        let name = self.news.article(article);
        let posted = async {
            let group = self.group(article).await?;
            let file = self.session.create(&group, Name::new(name.as_bytes())?).await?;
            self.session.write_at(&file, 0, &self.text[..size as usize]).await
        };
        posted.await.map_err(at("post", &name))
    }

    async fn expire(&self, article: u64) -> Result<()> {
        let name = self.news.article(article);
        let expired = async {
            let group = self.group(article).await?;
            self.session.fs.unlink(group.node(), Name::new(name.as_bytes())?).await
        };
        expired.await.map_err(at("unlink", &name))
    }
}

impl Netnews {
    async fn server<'s, 'a, F: FileSystem>(
        &'s self,
        session: &'s Session<'a, F>,
        base: &str,
    ) -> Result<Server<'s, 'a, F>> {
        let spool = session.resolve(base).await.map_err(at("lookup", base))?;
        Ok(Server { news: self, session, spool, text: paths::bytes(2 * STAYS, self.seed) })
    }
}

impl Program for Netnews {
    const NAME: &'static str = "netnews";
    const WHAT: &'static str = "a news server: articles come in and expire, each in another directory";

    fn parameters() -> Vec<Parameter> {
        let d = Netnews::default();
        let set = Parameter::new;
        vec![
            set("articles", d.articles, "articles that are there"),
            set("groups", d.groups, "directories that they lie in"),
            set("unbatch", d.unbatch, "articles that come in"),
            set("expire", d.expire, "articles that go"),
            set("scale", d.scale, "one in so many of all these"),
            set("seed", d.seed, "where the random orders and sizes start"),
        ]
    }

    fn new(values: &Values) -> Netnews {
        Netnews {
            articles: values.get("articles"),
            groups: values.get("groups"),
            unbatch: values.get("unbatch"),
            expire: values.get("expire"),
            scale: values.get("scale"),
            seed: values.get("seed"),
        }
    }

    fn check(&self) -> Result<()> {
        let unusable = |why| Err(WorkloadError::Unusable { workload: Self::NAME, why });
        if self.scale == 0 {
            return unusable("scale must be at least 1");
        }
        if self.expire > self.articles {
            return unusable("no more articles can expire than are there");
        }
        Ok(())
    }

    /// Makes the spool, filled round by round as articles would have arrived.
    async fn prepare<F: FileSystem>(&self, session: &Session<'_, F>, base: &str) -> Result<()> {
        for no in 0..self.groups() {
            let (hierarchy, group) = Netnews::group(no);
            let path = format!("{base}/{hierarchy}/{group}");
            drop(session.mkdir_all(&path).await.map_err(at("mkdir", &path))?);
        }
        let server = self.server(session, base).await?;
        let mut rng = Rng::new(self.seed);
        let (all, old) = (self.scaled(self.articles), self.scaled(self.expire));
        let mut sizes = self.sizes(&mut rng, old, EXPIRES);
        sizes.extend(self.sizes(&mut rng, all - old, STAYS));
        for (article, size) in (0..).zip(sizes) {
            server.post(article, size).await?;
        }
        Ok(())
    }

    /// The unit is the article.
    async fn work<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        meter: Meter<'_>,
    ) -> Result<Vec<PhaseResult>> {
        let server = self.server(session, base).await?;
        let mut rng = Rng::new(self.seed ^ 1);
        let come = self.scaled(self.unbatch);
        let sizes = self.sizes(&mut rng, come, COMES);

        let mut unbatch = Phase::start("unbatch", meter);
        for (article, size) in self.turns(&mut rng, self.scaled(self.articles), come).into_iter().zip(sizes) {
            server.post(article, size).await?;
            unbatch.done(size);
        }
        let unbatch = unbatch.end();

        let mut expire = Phase::start("expire", meter);
        for article in self.turns(&mut rng, 0, self.scaled(self.expire)) {
            server.expire(article).await?;
            expire.done(0);
        }
        Ok(vec![unbatch, expire.end()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Reading;
    use crate::tests::Calls;
    use ordo_model::{MemFs, ready};
    use ordo_vfs::Kind;

    /// Section 7.3.2: 520,000 files of 2 GB, 78,000 of 270 MB, 91,000 of 250 MB; here one in a hundred.
    #[test]
    fn a_hundredth_of_the_papers_server_comes_in_and_expires() {
        let calls = Calls::of(MemFs::timeless());
        let session = Session::new(&calls);
        let news = Netnews { scale: 100, ..Netnews::default() };
        ready(session.mkdir_all("b")).unwrap();
        let seen = || {
            let (mut files, mut dirs, mut bytes) = (0, 0, 0);
            let see = |_: &str, attr: &ordo_vfs::Attr| match attr.kind {
                Kind::Directory => dirs += 1,
                _ => (files, bytes) = (files + 1, bytes + attr.size),
            };
            ready(session.walk("b", see)).unwrap();
            (files, dirs, bytes)
        };
        ready(news.prepare(&session, "b")).unwrap();
        let (files, dirs, before) = seen();
        assert_eq!((files, dirs), (5_200, 70 + 1));
        assert!(before.abs_diff(20_000_000) < 10_000, "{before}");
        calls.reset();
        let results = ready(news.work(&session, "b", &Reading::default)).unwrap();
        let of = |no: usize| (results[no].phase, results[no].ops);
        assert_eq!((of(0), of(1)), (("unbatch", 780), ("expire", 910)));
        assert!(results[0].bytes.abs_diff(2_700_000) < 1_000, "{}", results[0].bytes);
        assert_eq!(["mknod", "unlink"].map(|call| calls.count(call)), [780, 910]);
        let (files, _, after) = seen();
        assert_eq!(files, 5_200 + 780 - 910);
        assert!((before + results[0].bytes - after).abs_diff(2_500_000) < 1_000);
        assert_eq!(calls.fs.lookups(), 0);
    }

    #[test]
    fn two_articles_of_a_group_are_seldom_together() {
        let news = Netnews { scale: 10, ..Netnews::default() };
        let turns = news.turns(&mut Rng::new(1), 0, 9_100);
        let together = turns.windows(2).filter(|two| two[0] % news.groups() == two[1] % news.groups()).count();
        assert!(together <= 2, "{together}: only where one round ends and the next begins");
        let mut all = turns.clone();
        all.sort_unstable();
        assert_eq!(all, (0..9_100).collect::<Vec<_>>());
        assert_ne!(turns, news.turns(&mut Rng::new(2), 0, 9_100));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        assert!(Netnews { scale: 0, ..Netnews::default() }.check().is_err());
        assert!(Netnews { articles: 5, expire: 6, ..Netnews::default() }.check().is_err());
    }
}
