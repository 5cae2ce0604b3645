#!/usr/bin/env python3
"""Databases on mounts whose server is killed at random moments: whole afterwards, with every commit that was acknowledged.

    cargo build --profile dist && benches/kills.py [--kills N] [--jobs N] [--dir DIR] [--database sqlite|postgres] [CASE...]

A CASE is what `mount -o scheme=` takes, with further options behind commas: `wafs,data=journal`. Without one all schemes
that promise anything are tried. As root, with /dev/fuse.

SQLite: databases of the journal modes DELETE, TRUNCATE, PERSIST and WAL, each with synchronous=FULL and EXTRA, are written at
once. Each commit that SQLite has reported is noted outside the mount. What SQLite itself does not promise is allowed: with
DELETE and FULL the last commit may be undone, for the removal of its journal is not synced.

PostgreSQL, where it is installed (run as the user postgres): pgbench with two clients, whose log has a line for each
transaction that was acknowledged. Afterwards all of them are there, pg_amcheck finds nothing, and at the end all checksums are
right.

The volume is kept from kill to kill. After each it is mounted again; `sync` and its relatives ask for `ordo fsck -p` first. At the
end `ordo fsck -n` finds nothing.
"""

import argparse
import contextlib
import itertools
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ORDO = os.environ.get("ORDO", str(pathlib.Path(__file__).resolve().parent.parent / "target/dist/ordo"))
CASES = [
    "sync", "conventional", "flag-full", "flag-part-nr-cb", "chains-cb", "chains-barrier-cb", "softupdates", "suj",
    "journal-file", "wafs", "wafs,logmode=async", "wafs,data=journal", "block-journal", "block-journal,data=journal",
]  # fmt: skip
LOGS = {"suj": "journal=on", "wafs": "log=on", "journal-file": "log=on", "block-journal": "log=on"}
# A mount at once is no promise of these.
CHECKED = ("sync", "conventional", "flag-", "chains")
BASES = [(mode, level) for mode in ("delete", "truncate", "persist", "wal") for level in ("full", "extra")]
TABLE = "create table if not exists t(id integer primary key, v blob)"


def quiet(*cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)


class Volume:
    """A volume in a directory of its own, mounted and killed again and again."""

    def __init__(self, case, size, scratch):
        self.scheme, _, more = case.partition(",")
        self.options = f"scheme={case},allow_other"
        self.image, self.mount = f"{scratch}/v.img", f"{scratch}/m"
        os.mkdir(self.mount)
        self.ordo("mkfs", "--size", size, self.image)
        if self.scheme in LOGS:
            self.ordo("tune", "-o", LOGS[self.scheme], self.image)
        self.server = None

    def ordo(self, *args, codes=(0,)):
        done = quiet(ORDO, *args)
        if done.returncode not in codes:
            raise Broken(f"ordo {' '.join(args)} gives {done.returncode}: {done.stdout.strip()[-300:]}")

    def up(self):
        self.server = subprocess.Popen(
            [ORDO, "mount", "-f", "-o", self.options, self.image, self.mount], stderr=subprocess.DEVNULL
        )
        while not os.path.ismount(self.mount) and self.server.poll() is None:
            time.sleep(0.01)
        if not os.path.ismount(self.mount) or os.statvfs(self.mount).f_flag & os.ST_RDONLY:
            raise Broken("no mount for writing comes up")

    def kill(self):
        if self.server is not None:
            self.server.kill()
            self.server.wait()
            self.server = None
            quiet("umount", "-l", self.mount)

    def recover(self):
        """What is there to be done before a mount."""
        if self.scheme.startswith(CHECKED):
            # 1: it was repaired.
            self.ordo("fsck", "-p", self.image, codes=(0, 1))

    def down(self):
        self.ordo("umount", self.mount)
        self.server.wait()
        self.server = None
        self.ordo("fsck", "-n", self.image)


class Broken(Exception):
    """What must not be."""


def sqlite_writer(mount, log, seed):
    """Commits without end to every database, and notes each once it was reported."""
    out = os.open(log, os.O_WRONLY | os.O_APPEND)

    def one(mode, level):
        rng = random.Random(f"{seed} {mode} {level}")
        base = sqlite3.connect(f"{mount}/{mode}-{level}", isolation_level=None, timeout=10)
        base.executescript(f"pragma journal_mode={mode}; pragma synchronous={level}; {TABLE}")
        first = base.execute("select coalesce(max(id), 0) + 1 from t").fetchone()[0]
        for n in itertools.count(first):
            base.execute("begin immediate")
            base.execute("insert into t values(?, ?)", (n, rng.randbytes(rng.choice([10, 500, 5000, 30000]))))
            if n % 7 == 0:
                base.execute("delete from t where id < ? and id % 7 <> 0", (n - 60,))
            base.execute("commit")
            os.write(out, f"{mode}-{level} {n}\n".encode())

    threading.excepthook = lambda _: None  # the mount ends under them
    for base in BASES:
        threading.Thread(target=one, args=base).start()


class Sqlite:
    """Databases of all journal modes."""

    size = "200M"

    def __init__(self, volume, scratch):
        self.volume, self.log, self.acknowledged = volume, f"{scratch}/acknowledged", {}
        open(self.log, "w").close()

    def prepare(self):
        pass

    def work(self, seed, seconds):
        """Works until the volume is killed; how many commits were acknowledged."""
        writer = subprocess.Popen([sys.executable, __file__, "--sqlite-writer", self.volume.mount, self.log, str(seed)])
        while os.path.getsize(self.log) == 0 and writer.poll() is None:
            time.sleep(0.01)
        time.sleep(seconds)
        # What SQLite reports of a dead mount does not count.
        noted = os.path.getsize(self.log)
        self.volume.kill()
        writer.kill()
        writer.wait()
        with open(self.log) as log:
            lines = log.read(noted).split("\n")
        os.truncate(self.log, 0)
        commits = [line.split() for line in lines if line]
        self.acknowledged |= {name: int(n) for name, n in commits}
        return len(commits)

    def verify(self, last):
        for mode, level in BASES:
            name = f"{mode}-{level}"
            acknowledged = self.acknowledged.get(name, 0)
            try:
                base = sqlite3.connect(f"{self.volume.mount}/{name}")
                whole = base.execute("pragma integrity_check").fetchone()[0]
                base.execute(TABLE)
                found = base.execute("select coalesce(max(id), 0) from t").fetchone()[0]
                base.close()
            except sqlite3.Error as error:
                whole, found = str(error), 0
            if whole != "ok":
                raise Broken(f"{name} is damaged: {whole[:200]}")
            if found < acknowledged - ((mode, level) == ("delete", "full")):
                raise Broken(f"{name} ends with commit {found}, and {acknowledged} was acknowledged")


class Postgres:
    """A cluster with checksums, and two clients."""

    size = "512M"
    bin = pathlib.Path(os.path.realpath(shutil.which("initdb") or "/")).parent

    def __init__(self, volume, scratch):
        self.volume, self.scratch, self.data = volume, f"{scratch}/pg", f"{volume.mount}/data"
        os.mkdir(self.scratch)
        shutil.chown(self.scratch, "postgres", "postgres")
        self.host, self.server, self.acknowledged = ["-h", self.scratch, "-U", "postgres"], None, {}

    def as_user(self, tool, *args, ok=True):
        done = quiet(str(self.bin / tool), *args, user="postgres", group="postgres", extra_groups=[], cwd=self.scratch)
        if ok and done.returncode != 0:
            raise Broken(f"{tool} {' '.join(args)} gives {done.returncode}: {done.stdout.strip()[-400:]}")
        return done

    def sql(self, text):
        rows = self.as_user("psql", *self.host, "-d", "postgres", "-AtF", " ", "-c", text).stdout
        return [row.split() for row in rows.splitlines()]

    def prepare(self):
        shutil.chown(self.volume.mount, "postgres", "postgres")
        self.as_user("initdb", "-D", self.data, "-U", "postgres", "--data-checksums", "--wal-segsize=1", "-A", "trust")
        self.start()
        self.as_user("pgbench", *self.host, "-i", "-s", "1", "-q", "postgres")
        self.sql("create table done(round int, client int)")
        self.sql("checkpoint")

    def start(self):
        args = ["-D", self.data, "-k", self.scratch, "-c", "listen_addresses=", "-c", "shared_buffers=16MB"]
        args += ["-c", "max_wal_size=16MB", "-c", "min_wal_size=2MB", "-c", "checkpoint_timeout=30s"]
        log = open(f"{self.scratch}/log", "a")
        self.server = subprocess.Popen(
            [str(self.bin / "postgres"), *args], stdout=log, stderr=log, cwd=self.scratch,
            user="postgres", group="postgres", extra_groups=[],
        )  # fmt: skip
        until = time.time() + 60
        while self.as_user("pg_isready", *self.host, "-q", ok=False).returncode != 0:
            if self.server.poll() is not None or time.time() > until:
                with open(f"{self.scratch}/log") as log:
                    raise Broken(f"postgres does not start: {log.read()[-600:]}")
            time.sleep(0.05)

    def stop(self, how):
        if self.server is not None and self.server.poll() is None:
            children = quiet("pgrep", "-P", str(self.server.pid)).stdout.split()
            self.server.send_signal(how)
            self.server.wait()
            if how == signal.SIGKILL:
                # One that waits for a lock of another that has died does not see that the server is gone.
                for child in children:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(child), how)
        self.server = None

    def work(self, seed, seconds):
        script = f"{self.scratch}/script.sql"
        with open(script, "w") as out:
            out.write("\\set aid random(1, 100000)\n\\set delta random(-5000, 5000)\nbegin;\n")
            out.write("update pgbench_accounts set abalance = abalance + :delta where aid = :aid;\n")
            out.write(f"insert into done values ({seed}, :client_id);\nend;\n")
        os.chmod(script, 0o644)
        prefix = f"{self.scratch}/acks"
        client = subprocess.Popen(
            [str(self.bin / "pgbench"), *self.host, "-n", "-c", "2", "-T", "600", "-f", script, "-l",
             f"--log-prefix={prefix}", "postgres"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.scratch,
            user="postgres", group="postgres", extra_groups=[],
        )  # fmt: skip
        time.sleep(seconds)
        self.volume.kill()
        self.stop(signal.SIGKILL)
        client.wait()
        lines = []
        for log in pathlib.Path(self.scratch).glob("acks*"):
            lines += log.read_text().splitlines()
            log.unlink()
        for line in lines:
            key = (seed, int(line.split()[0]))
            self.acknowledged[key] = self.acknowledged.get(key, 0) + 1
        # Its children leave when they see that it is gone.
        time.sleep(0.3)
        return len(lines)

    def verify(self, last):
        if self.server is None:
            self.start()
        rows = self.sql("select round, client, count(*) from done group by 1, 2")
        found = {(int(seed), int(client)): int(count) for seed, client, count in rows}
        for (seed, client), count in self.acknowledged.items():
            there = found.get((seed, client), 0)
            if there < count:
                raise Broken(f"postgres: {count} commits of client {client} were acknowledged, {there} are there")
        self.as_user("pg_amcheck", *self.host, "-d", "postgres", "--install-missing", "--heapallindexed")
        if last:
            self.stop(signal.SIGINT)
            self.as_user("pg_checksums", "--check", "-D", self.data)


def trial(case, database, kills, where):
    """Kills and commits; what is wrong, if anything."""
    done = commits = 0
    with tempfile.TemporaryDirectory(prefix="ordo-kills-", dir=where) as scratch:
        os.chmod(scratch, 0o755)
        volume = base = None
        try:
            volume = Volume(case, database.size, scratch)
            base = database(volume, scratch)
            volume.up()
            base.prepare()
            rng = random.Random(f"{case} {database.__name__}")
            for done in range(kills):
                base.verify(False)
                commits += base.work(done, rng.uniform(0.2, 1.5))
                volume.recover()
                volume.up()
            done = kills
            base.verify(True)
            volume.down()
            return case, database.__name__, done, commits, None
        except Broken as why:
            return case, database.__name__, done, commits, str(why)
        finally:
            if isinstance(base, Postgres):
                base.stop(signal.SIGKILL)
            if volume is not None:
                volume.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--dir", default="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    parser.add_argument("--database", choices=["sqlite", "postgres"])
    parser.add_argument("cases", nargs="*", metavar="CASE")
    args = parser.parse_args()
    databases = {"sqlite": Sqlite, "postgres": Postgres}
    if args.database:
        chosen = [databases[args.database]]
    else:
        chosen = [Sqlite] + ([Postgres] if shutil.which("initdb") and shutil.which("psql") else [])
    todo = [(case, database) for database in chosen for case in args.cases or CASES]
    wrong = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        futures = [pool.submit(trial, case, database, args.kills, args.dir) for case, database in todo]
        for future in futures:
            case, name, kills, commits, why = future.result()
            wrong += why is not None
            print(f"{case:28} {name:9} {kills:4} kills {commits:7} commits  {why or 'none lost, none damaged'}", flush=True)
    sys.exit(1 if wrong else 0)


if len(sys.argv) > 1 and sys.argv[1] == "--sqlite-writer":
    sqlite_writer(*sys.argv[2:])
else:
    main()
