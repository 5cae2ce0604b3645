//! What a newcomer reads first of `ordo --help` and of ordo(8): what to type, and the commands by what they are for.

/// What every command takes as IMAGE, and its exit status.
pub(crate) const AFTER: &str = "\
IMAGE is a file, a block device, or the address of a network block device (nbd://HOST/EXPORT, nbd+unix:///?socket=PATH). A \
partition in it is chosen with a suffix: disk.img@p2, disk.img@s1, disk.img@s1a, disk.img@gpt:LABEL; it is found \
automatically if only one holds a volume. IMAGE:/path names a file inside; the path begins after the last ':/' that follows an \
existing image. To name a file of the host whose path looks like that, change into its directory and give its name.

Sizes take suffixes: 512, 64k, 1G.

Exit status: 0 done, 1 the answer is no, 2 wrong usage, 3 an error; fsck uses that of fsck(8).";

/// The commands by what they are for, each once.
const GROUPS: [(&str, &str); 6] = [
    ("look", "info ls cat stat find tree df hash getfattr getfacl disks schemes"),
    ("change", "cp mv rm mkdir ln chmod chown touch truncate setfattr setfacl tar batch quota"),
    ("volumes", "mkfs tune resize snapshot versions clean scrub"),
    ("mounts and servers", "mount umount sync serve wafs"),
    ("repair and rescue", "fsck recover scan timeline"),
    ("laboratory", "demo bench crash trace paper age sim workloads report merge fuzz"),
];

const STEPS: &str = "\
First steps:
  ordo info disk.img                    what is it?
  ordo ls -l disk.img:/etc              look into it, without a mount and without root
  ordo cp -r disk.img:/home ./home      copy out of it, or the other way round
  ordo mount disk.img DIR               mount it; then ordo umount DIR
  ordo mkfs --size 1G new.img           make a volume
  ordo fsck -n disk.img                 check it, and change nothing
  ordo COMMAND --help                   options and examples of a command";

fn groups() -> String {
    GROUPS.iter().map(|(what, names)| format!("  {what}\n      {names}\n")).collect()
}

/// All of it, and what every command takes as IMAGE.
pub(crate) fn after() -> String {
    format!("{STEPS}\n\nThe commands, by what they are for:\n{}\n{AFTER}", groups())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.split(' ')).collect();
        let command = crate::lab::beside(crate::args::command());
        let all = command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
        for name in all {
            assert_eq!(grouped.iter().filter(|other| **other == name).count(), 1, "{name}");
            assert!(groups().contains(name), "{name}");
        }
        for name in grouped {
            assert!(command.find_subcommand(name).is_some(), "there is no {name}");
        }
    }
}
