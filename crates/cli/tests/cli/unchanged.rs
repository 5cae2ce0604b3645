//! Commands whose arguments turn out to be wrong leave the image as it was, byte for byte: also where the volume must
//! be opened to find that out.

use crate::common::{Scratch, ok, ordo};
use std::fs;

/// Lines of commands; IMG is the image, LONG a name that is too long, DIR the directory of the test.
const WRONG: &str = "
snapshot IMG
snapshot IMG:/
snapshot IMG:/no/such
snapshot IMG:/f
snapshot IMG:/.snap/LONG
rm IMG:/
rm IMG
rm IMG:/nosuch
rm IMG:/d
rm -r IMG:/
mkdir IMG:/
mkdir IMG:/f
mkdir IMG:/no/such
mkdir IMG:/LONG
mkdir --mode 9x IMG:/n
mv IMG:/ IMG:/n
mv IMG:/nosuch IMG:/n
mv IMG:/f DIR/other.img:/n
mv IMG:/d IMG:/d/e
ln IMG:/nosuch IMG:/n
ln IMG:/d IMG:/n
ln IMG:/f IMG:/
ln -s target IMG:/f
touch IMG:/no/such
touch --date nonsense IMG:/f
touch IMG:/LONG
chmod 9999 IMG:/f
chmod u+q IMG:/f
chmod 644 IMG:/nosuch
chown nosuchuser IMG:/f
chown 99999999999 IMG:/f
chown 1 IMG:/nosuch
truncate nonsense IMG:/f
truncate --size 0 IMG:/d
truncate --size nonsense IMG:/f
setfattr -n foo -v x IMG:/f
setfattr -n user.x -v x IMG:/nosuch
setfattr -x user.none IMG:/f
setfacl -m u:nosuch:rw IMG:/f
setfacl -m garbage IMG:/f
setfacl -m u:1:rw IMG:/nosuch
setfacl -m d:u:1:rw IMG:/f
tune IMG
tune -o nonsense IMG
tune -o label=LONG IMG
tune -o minfree=200 IMG
tune -o journal=1 IMG
tune -o log=1 IMG
resize --size 1 IMG
quota --set nonsense IMG
cp DIR/nosuch IMG:/n
cp DIR/junk IMG:/no/such/f
cp DIR/junk IMG:/f/g
cp DIR/junk IMG:/LONG
cp IMG:/nosuch IMG:/n
tar x IMG:/ DIR/nosuch.tar
tar x IMG:/ DIR/junk
tar x IMG:/nosuch DIR/junk
tar x IMG:/
clean IMG
mkfs IMG
mkfs --size 1 IMG
mkfs --size 16M IMG
mkfs -d DIR/d IMG
mkfs --force --size 1 IMG
mkfs --force --label LONG IMG
mkfs --force --label a/b IMG
mkfs --force --block-size 3 IMG
mkfs --force -o acls=nfs4 IMG
mkfs --force -d DIR/nosuch IMG
mkfs --force -d DIR/junk IMG
mkfs --force -d IMG DIR/d
mkfs --force -d DIR/d -F DIR/junk IMG
mkfs --force -d DIR/d --free 1G IMG
wafs mkfs IMG
wafs mkfs --size 1M IMG
wafs append IMG
age --profile nosuch IMG
";

#[test]
fn wrong_arguments_leave_the_image_as_it_was() {
    let scratch = Scratch::new();
    let (base, image) = (scratch.path("base.img"), scratch.path("v.img"));
    fs::create_dir(scratch.path("d")).unwrap();
    fs::write(scratch.path("d/one"), "one").unwrap();
    fs::write(scratch.path("junk"), "no line of anything\n".repeat(100)).unwrap();
    for kind in ["ufs2", "ufs1"] {
        ok(ordo(["mkfs", "-q", "--force", "--type", kind, "--size", "16M", &base]));
        ok(ordo(["mkdir", &format!("{base}:/d")]));
        ok(ordo(["cp", &scratch.path("junk"), &format!("{base}:/f")]));
        let before = fs::read(&base).unwrap();
        let mut changed = Vec::new();
        for line in WRONG.lines().filter(|line| !line.is_empty()) {
            fs::write(&image, &before).unwrap();
            let (dir, long) = (scratch.path("."), "x".repeat(300));
            let words =
                line.split(' ').map(|word| word.replace("IMG", &image).replace("LONG", &long).replace("DIR", &dir));
            let ran = ordo(words);
            assert!(!ran.status.success() && !ran.stderr.is_empty(), "{line}: {ran:?}");
            if fs::read(&image).unwrap() != before {
                changed.push(line);
            }
        }
        assert!(changed.is_empty(), "{kind}: {changed:#?}");
    }
}

#[test]
fn a_snapshot_needs_a_name_and_the_command_says_which() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let ran = ordo(["snapshot", &image]);
    let said = String::from_utf8(ran.stderr).unwrap();
    assert!(ran.status.code() == Some(2) && said.contains(&format!("ordo snapshot {image}:/.snap/NAME")), "{said}");
    ok(ordo(["fsck", "-n", "-f", &image]));
}
