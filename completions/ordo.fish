# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_ordo_global_optspecs
    string join \n h/help V/version
end

function __fish_ordo_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_ordo_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_ordo_using_subcommand
    set -l cmd (__fish_ordo_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c ordo -n "__fish_ordo_needs_command" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_needs_command" -s V -l version -d 'Print version'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "mkfs" -d 'Makes a volume'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "mount" -d 'Mounts a volume; returns when the mount is usable'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "umount" -d 'Unmounts a volume: writes everything, marks it clean'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "sync" -d 'Makes all changes to a mounted volume durable'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "fsck" -d 'Checks a volume, and repairs it on request'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "recover" -d 'Copies what can be read from a damaged UFS volume'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "scan" -d 'Finds volumes of UFS and LFS at any byte of a file or a disk'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "timeline" -d 'Lists the times of all files of a UFS volume, removed ones too, as a body file of The Sleuth Kit'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "hash" -d 'Prints the SHA-256 of every file, as sha256sum does'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "clean" -d 'Cleans a log-structured volume: copies what is alive out of its segments as long as that makes segments usable'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "scrub" -d 'Reads all that an active journal knows, verifies it, and heals what is wrong from its copies'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "versions" -d 'Lists the older versions of files that an active journal still has'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "age" -d 'Lets users work on a volume for months, so that it looks like one of a server'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "tune" -d 'Changes settings of a volume: soft updates, journal, log, check hashes, access control lists, label, reserve'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "info" -d 'Shows the type, the fill level and the health of a volume'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "ls" -d 'Lists a directory of an image'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "cat" -d 'Writes files of an image to standard output'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "stat" -d 'Shows the attributes of files of an image'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "cp" -d 'Copies between the host and images, or between images'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "mv" -d 'Moves or renames files within an image'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "rm" -d 'Removes files of an image'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "mkdir" -d 'Makes directories in an image'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "ln" -d 'Makes a hard link or a symbolic link in an image'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "chmod" -d 'Changes the permissions of files of an image'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "chown" -d 'Changes the owners of files of an image'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "touch" -d 'Makes empty files in an image, or sets the times of files'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "truncate" -d 'Cuts or lengthens files of an image'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "find" -d 'Finds files in an image'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "tar" -d 'Packs a tree of an image into an archive, or unpacks one into an image'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "batch" -d 'Does many things to an image, with one open'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "resize" -d 'Gives a volume another size, in its place'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "df" -d 'Shows the space of volumes'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "tree" -d 'Draws the tree below a directory of an image'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "schemes" -d 'Lists the schemes, which keep metadata consistent across crashes'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "workloads" -d 'Lists the workloads of ordo bench'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "disks" -d 'Lists the drives that can be modelled, and compares a model with its drive'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "wafs" -d 'The write-ahead file system by itself: a circular log of records'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "bench" -d 'Runs workloads under schemes and shows the cost of each'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "sim" -d 'Plays traces on simulated file systems: the simulator of the paper on active journaling'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "paper" -d 'Runs the experiments of a paper again and shows our results beside the paper\'s'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "crash" -d 'Cuts the power at every moment, recovers, and checks the result against the scheme\'s promises'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "trace" -d 'Shows what one call writes, when, and why; records what is done to a mount, and replays it'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "report" -d 'Makes one HTML page with pictures from results'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "demo" -d 'A tour of two minutes: real work on a volume, under each scheme'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "man" -d 'Writes the manual pages, one for each command and each command of a command'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "completions" -d 'Prints the completions for a shell'
complete -c ordo -n "__fish_ordo_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -s d -l tree -d 'Fill the volume with the contents of a directory or a tar archive (- for standard input; .gz too)' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -s F -l manifest -d 'An mtree manifest: owners, modes, times, flags, and files that the tree lacks (with -d)' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l user-db -d 'Find the manifest\'s user and group names in DIR/passwd and DIR/group [default: /etc]' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l owner -d 'Give all files of the tree to this owner and group, as numbers (with -d)' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l free -d 'Space that stays free for users in the new volume (with -d)' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l free-inodes -d 'Inodes that stay free in the new volume (with -d)' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -s t -l type -d 'The format' -r -f -a "ufs1\t''
ufs2\t''
lfs\t'BSD\'s log-structured file system'"
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -s s -l size -d 'Bytes of the volume; the file is made with this size' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -s b -l block-size -d 'Bytes of a block: 4k to 64k [default: 32k]; lfs: 512 to 64k [default: 8k]' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -s f -l frag-size -d 'Bytes of a fragment: a block or a half, quarter or eighth of one [default: an eighth]; lfs: up to 8k [default: 1k]' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -s i -l inode-density -d 'Bytes of the volume for each inode [default: two fragments]' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l endian -d 'Byte order' -r -f -a "little\t''
big\t''"
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l for -d 'The other system that will write to the volume [default: freebsd; of an lfs netbsd]' -r -f -a "freebsd\t''
netbsd\t''"
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -s L -l label -d 'Name of the volume, at most 31 bytes' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l maxcontig -d 'Maximum number of blocks in one transfer' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l rotdelay -d 'Milliseconds between two blocks on the disk (ufs1)' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -s m -l minfree -d 'Percent of the space that is kept free [default: 8; lfs 10]' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l segment-size -d 'Bytes of a segment (lfs) [default: 1M, less on a small volume]' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l min-free-segments -d 'Segments that are not counted as space, so that cleaning stays cheap (lfs) [default: a tenth, at least 20]' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l reserve-segments -d 'Segments that only the cleaner may fill (lfs) [default: half of those and one, at least 15]' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l lfs-version -d 'Form of the log (lfs): 1, of 4.4BSD and early NetBSD; 2, of NetBSD; 64, with 64-bit addresses [default: 2]' -r -f -a "1\t''
2\t''
64\t''"
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l log-size -d 'Also make a log of this many bytes in the volume, for wafs, journal-file and block-journal (ordo tune -o log=)' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l force -d 'Overwrite whatever the disk holds, and wipe its signatures'
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -s q -l quiet -d 'Print nothing'
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -l json -d 'Show the new volume as one JSON document, as info does'
complete -c ordo -n "__fish_ordo_using_subcommand mkfs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand mount" -s o -l options -d 'Options, between commas; may be given several times' -r
complete -c ordo -n "__fish_ordo_using_subcommand mount" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand mount" -s f -l foreground -d 'Stay in the foreground until the volume is unmounted'
complete -c ordo -n "__fish_ordo_using_subcommand mount" -s s -l sloppy -d 'Ignore unknown options'
complete -c ordo -n "__fish_ordo_using_subcommand mount" -l fake -d 'Do everything but the mount (mount -f)'
complete -c ordo -n "__fish_ordo_using_subcommand mount" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand umount" -s l -l lazy -d 'Detach the mount now, even if it is in use; the server ends when the last user is gone'
complete -c ordo -n "__fish_ordo_using_subcommand umount" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand sync" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -l log -d 'The disk of the volume\'s log, if a mount with log=PATH put it on another disk (see ordo info); without this option such a log is not replayed' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -s C -d 'Write progress as numbers to this descriptor; 0 or less: show a bar on the terminal' -r
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -s t -d 'Of fsck(8); no effect' -r
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -s n -d 'Change nothing, only report'
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -s p -d 'Repair what a crash leaves, without questions; stop at real damage. A clean volume is not checked. Also -a'
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -s y -d 'Repair everything'
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -s f -d 'Check a clean volume, too'
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -s V -d 'Of fsck(8); no effect'
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -s T -d 'Of fsck(8); no effect'
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -s l -d 'Of fsck(8); no effect'
complete -c ordo -n "__fish_ordo_using_subcommand fsck" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand recover" -l map -d 'The map of GNU ddrescue: what it does not call finished counts as unreadable' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand recover" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand recover" -l json -d 'The report as one JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand recover" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand scan" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand scan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand timeline" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand timeline" -l json -d 'One JSON object a line'
complete -c ordo -n "__fish_ordo_using_subcommand timeline" -l forensic -d 'Never write to the image, and replay no log into it: for evidence'
complete -c ordo -n "__fish_ordo_using_subcommand timeline" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand hash" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand hash" -l forensic -d 'Never write to the image, and replay no log into it: for evidence'
complete -c ordo -n "__fish_ordo_using_subcommand hash" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand clean" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand clean" -l cleaner -d 'Which segments are cleaned first, as mount -o cleaner= has it: greedy or cost-benefit' -r
complete -c ordo -n "__fish_ordo_using_subcommand clean" -l coalesce -d 'Write files whose blocks are far apart again'
complete -c ordo -n "__fish_ordo_using_subcommand clean" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand clean" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand scrub" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand scrub" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand scrub" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand versions" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand versions" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand versions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand age" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand age" -l profile -d 'The server: cnews, glan5, staff, usr4, usr6, white; or neutral, a bit of each' -r
complete -c ordo -n "__fish_ordo_using_subcommand age" -l days -d 'The day of the study that is the last; it began on 20 October 1994, day 0, and ended on 26 July 1995, day 279' -r
complete -c ordo -n "__fish_ordo_using_subcommand age" -l seed -d 'Where the random choices start' -r
complete -c ordo -n "__fish_ordo_using_subcommand age" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand age" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand tune" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand tune" -s o -l options -d 'What to change; may be given more than once' -r
complete -c ordo -n "__fish_ordo_using_subcommand tune" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand tune" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand info" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand info" -l segments -d 'The segments of a log-structured volume, which is not mounted: state and live share of each'
complete -c ordo -n "__fish_ordo_using_subcommand info" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand info" -l forensic -d 'Never write to the image, and replay no log into it: for evidence'
complete -c ordo -n "__fish_ordo_using_subcommand info" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand ls" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand ls" -s l -l long -d 'Mode, links, owner, group, size and time'
complete -c ordo -n "__fish_ordo_using_subcommand ls" -s R -l recursive -d 'Directories below, too'
complete -c ordo -n "__fish_ordo_using_subcommand ls" -l json -d 'One JSON list of all files'
complete -c ordo -n "__fish_ordo_using_subcommand ls" -l deleted -d 'Instead of the files: names that were removed and are still to be read, with the inodes that they had'
complete -c ordo -n "__fish_ordo_using_subcommand ls" -l forensic -d 'Never write to the image, and replay no log into it: for evidence'
complete -c ordo -n "__fish_ordo_using_subcommand ls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand cat" -l version -d 'An older version of the file, by its number in ordo versions' -r
complete -c ordo -n "__fish_ordo_using_subcommand cat" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand cat" -l forensic -d 'Never write to the image, and replay no log into it: for evidence'
complete -c ordo -n "__fish_ordo_using_subcommand cat" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand stat" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand stat" -s L -l dereference -d 'Show the target of a symbolic link, not the link'
complete -c ordo -n "__fish_ordo_using_subcommand stat" -l copies -d 'Where each block of the files lies: at home, and where an active journal has a copy of it'
complete -c ordo -n "__fish_ordo_using_subcommand stat" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand stat" -l forensic -d 'Never write to the image, and replay no log into it: for evidence'
complete -c ordo -n "__fish_ordo_using_subcommand stat" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand cp" -l version -d 'Copy an older version of one file to the host, by its number in ordo versions' -r
complete -c ordo -n "__fish_ordo_using_subcommand cp" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand cp" -s r -l recursive -d 'Copy directories and their contents'
complete -c ordo -n "__fish_ordo_using_subcommand cp" -s p -l preserve -d 'Keep modes, owners, times, hard links and extended attributes'
complete -c ordo -n "__fish_ordo_using_subcommand cp" -s a -l archive -d 'Same as -r -p'
complete -c ordo -n "__fish_ordo_using_subcommand cp" -l devices -d 'Make device files, also on the host'
complete -c ordo -n "__fish_ordo_using_subcommand cp" -l setuid -d 'Keep set-user-id and set-group-id bits, also on the host (with -p)'
complete -c ordo -n "__fish_ordo_using_subcommand cp" -l forensic -d 'Never write to the image, and replay no log into it: for evidence'
complete -c ordo -n "__fish_ordo_using_subcommand cp" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand mv" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand mv" -s n -l no-clobber -d 'Refuse to replace a file'
complete -c ordo -n "__fish_ordo_using_subcommand mv" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand rm" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand rm" -s r -l recursive -d 'Remove directories and all their contents'
complete -c ordo -n "__fish_ordo_using_subcommand rm" -s f -l force -d 'No error if the file does not exist'
complete -c ordo -n "__fish_ordo_using_subcommand rm" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand mkdir" -s m -l mode -d 'Permissions, in octal' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkdir" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand mkdir" -s p -l parents -d 'Make parent directories too; no error if the directory exists'
complete -c ordo -n "__fish_ordo_using_subcommand mkdir" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand ln" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand ln" -s s -l symbolic -d 'Make a symbolic link to TARGET, taken literally'
complete -c ordo -n "__fish_ordo_using_subcommand ln" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand chmod" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand chmod" -s R -l recursive -d 'Directories with all their contents'
complete -c ordo -n "__fish_ordo_using_subcommand chmod" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand chown" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand chown" -s R -l recursive -d 'Directories with all their contents'
complete -c ordo -n "__fish_ordo_using_subcommand chown" -s h -l no-dereference -d 'Change symbolic links themselves: always so'
complete -c ordo -n "__fish_ordo_using_subcommand chown" -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand touch" -s d -l date -d 'This time instead of now: RFC 3339, with up to nine digits of a second, or @SECONDS since 1970' -r
complete -c ordo -n "__fish_ordo_using_subcommand touch" -s r -l reference -d 'The times of this file, IMAGE:/path or a path of the host' -r
complete -c ordo -n "__fish_ordo_using_subcommand touch" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand touch" -s c -l no-create -d 'Make no file'
complete -c ordo -n "__fish_ordo_using_subcommand touch" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand truncate" -s s -l size -d 'The new size, or with + or - in front how much longer or shorter' -r
complete -c ordo -n "__fish_ordo_using_subcommand truncate" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand truncate" -s c -l no-create -d 'Make no file'
complete -c ordo -n "__fish_ordo_using_subcommand truncate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand find" -l name -d 'The name matches this pattern: *, ?, [a-z]' -r
complete -c ordo -n "__fish_ordo_using_subcommand find" -l type -d 'A file, directory, symbolic link, pipe, socket, block or character device' -r -f -a "f\t''
d\t''
l\t''
p\t''
s\t''
b\t''
c\t''"
complete -c ordo -n "__fish_ordo_using_subcommand find" -l size -d 'The size, rounded up to units: N, more (+N) or less (-N); of 512 bytes, or c (bytes), k, M, G' -r
complete -c ordo -n "__fish_ordo_using_subcommand find" -l newer -d 'The contents changed after those of this file, IMAGE:/path or a path of the host' -r
complete -c ordo -n "__fish_ordo_using_subcommand find" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand find" -l print0 -d 'End each path with a NUL instead of a newline'
complete -c ordo -n "__fish_ordo_using_subcommand find" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand find" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand tar" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand tar" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand batch" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand batch" -s k -l keep-going -d 'Also do the lines after one that failed'
complete -c ordo -n "__fish_ordo_using_subcommand batch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand resize" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand resize" -s s -l size -d 'Bytes that the volume will have' -r
complete -c ordo -n "__fish_ordo_using_subcommand resize" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand resize" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand df" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand df" -s H -l human -d 'Sizes with suffixes'
complete -c ordo -n "__fish_ordo_using_subcommand df" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand df" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand tree" -s L -l level -d 'No deeper than this many directories' -r
complete -c ordo -n "__fish_ordo_using_subcommand tree" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand tree" -l json -d 'One JSON list, each directory before what it holds'
complete -c ordo -n "__fish_ordo_using_subcommand tree" -l forensic -d 'Never write to the image, and replay no log into it: for evidence'
complete -c ordo -n "__fish_ordo_using_subcommand tree" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand schemes" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand schemes" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand workloads" -s p -l parameters -d 'Also list the parameters (ordo bench --param)'
complete -c ordo -n "__fish_ordo_using_subcommand workloads" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand workloads" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand disks; and not __fish_seen_subcommand_from list validate" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand disks; and not __fish_seen_subcommand_from list validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand disks; and not __fish_seen_subcommand_from list validate" -f -a "list" -d 'Lists the drives; the same as no command'
complete -c ordo -n "__fish_ordo_using_subcommand disks; and not __fish_seen_subcommand_from list validate" -f -a "validate" -d 'Replays a trace of the real drive on its model, and says how far apart they are'
complete -c ordo -n "__fish_ordo_using_subcommand disks; and __fish_seen_subcommand_from list" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand disks; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand disks; and __fish_seen_subcommand_from validate" -l trace -d 'Trace of the real drive' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand disks; and __fish_seen_subcommand_from validate" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand disks; and __fish_seen_subcommand_from validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and not __fish_seen_subcommand_from mkfs append read scan info reclaim serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and not __fish_seen_subcommand_from mkfs append read scan info reclaim serve" -f -a "mkfs" -d 'Makes a log'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and not __fish_seen_subcommand_from mkfs append read scan info reclaim serve" -f -a "append" -d 'Appends standard input as one record, and prints its number when it is durable'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and not __fish_seen_subcommand_from mkfs append read scan info reclaim serve" -f -a "read" -d 'Writes one record to standard output'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and not __fish_seen_subcommand_from mkfs append read scan info reclaim serve" -f -a "scan" -d 'Lists the records: number, bytes, time'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and not __fish_seen_subcommand_from mkfs append read scan info reclaim serve" -f -a "info" -d 'Shows the format and the fill level of a log'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and not __fish_seen_subcommand_from mkfs append read scan info reclaim serve" -f -a "reclaim" -d 'Frees the space of all records below one'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and not __fish_seen_subcommand_from mkfs append read scan info reclaim serve" -f -a "serve" -d 'Serves a log to many programs at once, through a Unix socket'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from mkfs" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from mkfs" -s s -l size -d 'Bytes of the log; the file is made with this size' -r
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from mkfs" -s u -l unit -d 'Bytes of a unit, in which each write begins: 512 to 64k [default: 4k]' -r
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from mkfs" -l force -d 'Overwrite what is there'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from mkfs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from append" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from append" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from read" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from read" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from scan" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from scan" -l from -d 'The first record: that with this number or the next one' -r
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from scan" -l backward -d 'Newest first'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from scan" -l json -d 'One JSON list of lsn, length and time (nanoseconds since 1970)'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from scan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from info" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from info" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from info" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from reclaim" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from reclaim" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from serve" -l offset -d 'The volume starts at this byte of the image' -r
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from serve" -l socket -d 'The socket; its file is made for this user alone' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from serve" -l mode -d 'When a commit is durable' -r -f -a "sync\t'On return; each record by itself'
group\t'On return; one write for all waiting commits'
async\t'Within a second'"
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from serve" -l linger -d 'How long a group commit waits for more records, in microseconds' -r
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from serve" -l volatile-cache -d 'Whether a power cut empties the disk\'s cache; no for RAM that survives [default: as the disk says]' -r
complete -c ordo -n "__fish_ordo_using_subcommand wafs; and __fish_seen_subcommand_from serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand bench" -l scheme -d 'Schemes, between commas (ordo schemes), among them lfs, the order of a log-structured volume; without effect on dir:PATH [default: all but lfs]' -r
complete -c ordo -n "__fish_ordo_using_subcommand bench" -l layout -d 'The layout of the volume, where no scheme says it [default: ffs]' -r -f -a "ffs\t'UFS: the fast file system'
lfs\t'A log-structured volume, which takes no scheme'"
complete -c ordo -n "__fish_ordo_using_subcommand bench" -l workload -d 'Workloads, between commas (ordo workloads)' -r
complete -c ordo -n "__fish_ordo_using_subcommand bench" -l disk -d 'Where to run: ram, file:PATH (created and removed), sim:NAME (a modelled drive in virtual time; ordo disks), or dir:PATH (a directory on any mounted file system, for comparison)' -r
complete -c ordo -n "__fish_ordo_using_subcommand bench" -l users -d 'Number of programs that run at the same time' -r
complete -c ordo -n "__fish_ordo_using_subcommand bench" -l runs -d 'Runs of each; the table shows medians' -r
complete -c ordo -n "__fish_ordo_using_subcommand bench" -l machine -d 'The machine around a modelled drive; with lfs that of 1995 writes its log as 4.4BSD did [default: 1994 for hp_c2447, 1995 for dec_dsp3105 and 2000 for seagate_cheetah_9gb_2000, the drives of those machines; otherwise today]' -r -f -a "1994\t'A 33 MHz 486 with 44 MB and UNIX SVR4'
1995\t'A SPARCstation 2 with 4.4BSD'
2000\t'A 500 MHz Pentium III with 512 MB and FreeBSD of that year'
today\t'One whose CPU costs next to nothing'"
complete -c ordo -n "__fish_ordo_using_subcommand bench" -l set -d 'Options of the schemes, as for mount -o: allocinit=, logmode=, data=, commit=; log=separate: the transaction log is on a second disk of the same kind: in memory, a modelled drive, or for file:PATH the file PATH.log, which is created and removed; beside a modelled drive also the log that tpcb keeps with log=' -r
complete -c ordo -n "__fish_ordo_using_subcommand bench" -l param -d 'Parameters of the workload (ordo workloads -p)' -r
complete -c ordo -n "__fish_ordo_using_subcommand bench" -l size -d 'Bytes of the volume' -r
complete -c ordo -n "__fish_ordo_using_subcommand bench" -l bsize -d 'Bytes of a block of the volume; a fragment is an eighth [default: as mkfs has it, or as the machine around a modelled drive]' -r
complete -c ordo -n "__fish_ordo_using_subcommand bench" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand bench" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand sim; and not __fish_seen_subcommand_from list" -l system -d 'Systems: ext2, ext3, lfs, dualfs, hfs, active, which are the default; ext3-journal, ext3-writeback, active-virtual' -r
complete -c ordo -n "__fish_ordo_using_subcommand sim; and not __fish_seen_subcommand_from list" -l trace -d 'Traces (ordo sim list), or files [default: the six that are made]' -r
complete -c ordo -n "__fish_ordo_using_subcommand sim; and not __fish_seen_subcommand_from list" -l cache -d 'Memory for pages, inodes and names' -r
complete -c ordo -n "__fish_ordo_using_subcommand sim; and not __fish_seen_subcommand_from list" -l seed -d 'Seed of the traces that are made' -r
complete -c ordo -n "__fish_ordo_using_subcommand sim; and not __fish_seen_subcommand_from list" -l requests -d 'Only so many requests of each trace' -r
complete -c ordo -n "__fish_ordo_using_subcommand sim; and not __fish_seen_subcommand_from list" -l scheduler -d 'Which request comes next: fifo, elevator, deadline or anticipatory' -r
complete -c ordo -n "__fish_ordo_using_subcommand sim; and not __fish_seen_subcommand_from list" -l root -d 'The directory that becomes the root of a trace of strace; other files are left out [default: /, without /dev, /proc and /sys]' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand sim; and not __fish_seen_subcommand_from list" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand sim; and not __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand sim; and not __fish_seen_subcommand_from list" -f -a "list" -d 'Lists the traces that are made here, or those that were recorded, and what they are like'
complete -c ordo -n "__fish_ordo_using_subcommand sim; and __fish_seen_subcommand_from list" -l seed -d 'Seed of the traces' -r
complete -c ordo -n "__fish_ordo_using_subcommand sim; and __fish_seen_subcommand_from list" -l recorded -d 'Those that were recorded: a source build, pgbench, a git clone'
complete -c ordo -n "__fish_ordo_using_subcommand sim; and __fish_seen_subcommand_from list" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand sim; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand paper" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand paper" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l scheme -d 'The scheme (ordo schemes) [default: softupdates]' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l layout -d 'The layout of the volume [default: ffs]' -r -f -a "ffs\t'UFS: the fast file system'
lfs\t'A log-structured volume, which takes no scheme'"
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l set -d 'allocinit=, logmode=, data= and commit= as for mount -o; log=separate: the log is on a second disk; size=, bsize=, fsize=, format=ufs1|ufs2, version=1|2|64 (of an lfs), endian=little|big: the volume; profile=NAME|all: the kind of random scripts; steer=yes|no: every other random script is varied from one that reached something new; pauses=yes|no: time passes between calls, so that the syncer writes; recovery=N: the recovery of one image in N is cut, too (0: none); exhaustive=N: every subset of up to N writes that are not durable is tried' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l workload -d 'Scripts between commas, or a set: hand, bugs, ufs, all of these, seq1 to seq3, moves1 to moves3, random' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l script -d 'A script of your own, in the form that --list-workloads --json shows' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l sample -d 'Run this many scripts of a set of sequences or random scripts, chosen by the seed [default: all; of seq3 2000, of random 100]' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l disk -d 'The disk; honest: all disks that obey flushes; all: also liar, which ignores them (--list-disks)' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l states -d 'States to try for each script, not counting those of cut recoveries [default: 5000; with --cuts: 20 for each cut]' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l seed -d 'Seed of the random numbers' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l jobs -d 'Threads [default: as many as there are processors]' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l shard -d 'Run only part I of N, counted from 1; the reports can be merged' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l without -d 'Switch off a rule of the scheme (--list-rules)' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l replay -d 'Reconstruct one state and show what is wrong with it' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l merge -d 'Merge the JSON reports of shards' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l cuts -d 'Let one volume work for hours and cut its power N times; after each cut it goes on with what is left' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l hours -d 'Virtual hours that --cuts takes' -r
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l no-shrink -d 'Do not shrink a violation to its shortest script'
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l mutants -d 'Seed bugs into the scheme, one after the other, and show which of them the explorer finds with the scripts of hand and ufs'
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l faults -d 'Leave the power on; in each run one disk request fails, is torn, is lost, goes to a wrong place or rots later'
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l list-rules -d 'List the rules of all schemes'
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l list-disks -d 'List the disks'
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l list-workloads -d 'List the scripts and sets'
complete -c ordo -n "__fish_ordo_using_subcommand crash" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand crash" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -l scheme -d 'The scheme (ordo schemes) [default: softupdates]' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -l layout -d 'The layout of the volume [default: ffs]' -r -f -a "ffs\t'UFS: the fast file system'
lfs\t'A log-structured volume, which takes no scheme'"
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -l set -d 'allocinit=, logmode=, data= and commit= as mount -o has them; log=separate: the log on a second disk' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -l disk -d 'The disk (ordo crash --list-disks)' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -l setup -d 'A call to make before, which is then made durable; may be given several times, in order' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -l seed -d 'Seed of the random numbers' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -l svg -d 'Also draw a picture' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -l explain -d 'Explains one call'
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -l at-once -d 'When the call has returned, write every buf at once in arbitrary order, as if memory were short'
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -a "flushes" -d 'Counts the writes and flushes that the disk gets for each promise'
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -a "record" -d 'Records what is done to a mount, until Ctrl-C or until it is unmounted'
complete -c ordo -n "__fish_ordo_using_subcommand trace; and not __fish_seen_subcommand_from flushes record replay" -a "replay" -d 'Does again what ordo trace record recorded, on a modelled drive in virtual time'
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from flushes" -l scheme -d 'Schemes (ordo schemes), among them lfs [default: all]' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from flushes" -l set -d 'allocinit=, logmode=, data= and commit= as mount -o has them; log=separate: the log on a second disk' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from flushes" -l disk -d 'The disk (ordo crash --list-disks)' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from flushes" -l seed -d 'Seed of the random numbers' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from flushes" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from flushes" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from record" -s o -l output -d 'The file to write, which must not lie on the mount; - is standard output' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from replay" -l scheme -d 'Schemes (ordo schemes), among them lfs' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from replay" -l disk -d 'The modelled drive (ordo disks) [default: that of a trace that is made; otherwise sim:quantum_atlas_10k]' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from replay" -l set -d 'Options of the schemes, as for mount -o: allocinit=, logmode=, data=, commit=' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from replay" -l cache -d 'Memory for the cache' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from replay" -l size -d 'Bytes of the volume [default: the whole drive for a trace that is made, otherwise 2G]' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from replay" -l seed -d 'Seed of the traces that are made' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from replay" -l requests -d 'Only so many requests of each trace' -r
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from replay" -l root -d 'The directory that becomes the root of a trace of strace; other files are left out [default: /, without /dev, /proc and /sys]' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from replay" -l json -d 'One JSON list'
complete -c ordo -n "__fish_ordo_using_subcommand trace; and __fish_seen_subcommand_from replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand report" -s o -l output -d 'Where the page goes, as index.html' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand report" -l aged-log -d 'Also shows the segments of a log-structured volume that was in use, before and after cleaning'
complete -c ordo -n "__fish_ordo_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand demo" -l scheme -d 'Schemes, between commas [default: all]' -r
complete -c ordo -n "__fish_ordo_using_subcommand demo" -l dir -d 'Where the scratch directory is made [default: the system\'s]' -r -F
complete -c ordo -n "__fish_ordo_using_subcommand demo" -l no-mount -d 'Work in this process, without a mount'
complete -c ordo -n "__fish_ordo_using_subcommand demo" -l json -d 'One JSON document'
complete -c ordo -n "__fish_ordo_using_subcommand demo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c ordo -n "__fish_ordo_using_subcommand man" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand completions" -s h -l help -d 'Print help'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "mkfs" -d 'Makes a volume'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "mount" -d 'Mounts a volume; returns when the mount is usable'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "umount" -d 'Unmounts a volume: writes everything, marks it clean'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "sync" -d 'Makes all changes to a mounted volume durable'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "fsck" -d 'Checks a volume, and repairs it on request'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "recover" -d 'Copies what can be read from a damaged UFS volume'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "scan" -d 'Finds volumes of UFS and LFS at any byte of a file or a disk'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "timeline" -d 'Lists the times of all files of a UFS volume, removed ones too, as a body file of The Sleuth Kit'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "hash" -d 'Prints the SHA-256 of every file, as sha256sum does'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "clean" -d 'Cleans a log-structured volume: copies what is alive out of its segments as long as that makes segments usable'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "scrub" -d 'Reads all that an active journal knows, verifies it, and heals what is wrong from its copies'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "versions" -d 'Lists the older versions of files that an active journal still has'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "age" -d 'Lets users work on a volume for months, so that it looks like one of a server'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "tune" -d 'Changes settings of a volume: soft updates, journal, log, check hashes, access control lists, label, reserve'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "info" -d 'Shows the type, the fill level and the health of a volume'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "ls" -d 'Lists a directory of an image'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "cat" -d 'Writes files of an image to standard output'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "stat" -d 'Shows the attributes of files of an image'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "cp" -d 'Copies between the host and images, or between images'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "mv" -d 'Moves or renames files within an image'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "rm" -d 'Removes files of an image'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "mkdir" -d 'Makes directories in an image'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "ln" -d 'Makes a hard link or a symbolic link in an image'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "chmod" -d 'Changes the permissions of files of an image'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "chown" -d 'Changes the owners of files of an image'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "touch" -d 'Makes empty files in an image, or sets the times of files'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "truncate" -d 'Cuts or lengthens files of an image'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "find" -d 'Finds files in an image'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "tar" -d 'Packs a tree of an image into an archive, or unpacks one into an image'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "batch" -d 'Does many things to an image, with one open'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "resize" -d 'Gives a volume another size, in its place'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "df" -d 'Shows the space of volumes'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "tree" -d 'Draws the tree below a directory of an image'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "schemes" -d 'Lists the schemes, which keep metadata consistent across crashes'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "workloads" -d 'Lists the workloads of ordo bench'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "disks" -d 'Lists the drives that can be modelled, and compares a model with its drive'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "wafs" -d 'The write-ahead file system by itself: a circular log of records'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "bench" -d 'Runs workloads under schemes and shows the cost of each'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "sim" -d 'Plays traces on simulated file systems: the simulator of the paper on active journaling'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "paper" -d 'Runs the experiments of a paper again and shows our results beside the paper\'s'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "crash" -d 'Cuts the power at every moment, recovers, and checks the result against the scheme\'s promises'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "trace" -d 'Shows what one call writes, when, and why; records what is done to a mount, and replays it'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "report" -d 'Makes one HTML page with pictures from results'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "demo" -d 'A tour of two minutes: real work on a volume, under each scheme'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "man" -d 'Writes the manual pages, one for each command and each command of a command'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "completions" -d 'Prints the completions for a shell'
complete -c ordo -n "__fish_ordo_using_subcommand help; and not __fish_seen_subcommand_from mkfs mount umount sync fsck recover scan timeline hash clean scrub versions age tune info ls cat stat cp mv rm mkdir ln chmod chown touch truncate find tar batch resize df tree schemes workloads disks wafs bench sim paper crash trace report demo man completions help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from disks" -f -a "list" -d 'Lists the drives; the same as no command'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from disks" -f -a "validate" -d 'Replays a trace of the real drive on its model, and says how far apart they are'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from wafs" -f -a "mkfs" -d 'Makes a log'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from wafs" -f -a "append" -d 'Appends standard input as one record, and prints its number when it is durable'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from wafs" -f -a "read" -d 'Writes one record to standard output'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from wafs" -f -a "scan" -d 'Lists the records: number, bytes, time'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from wafs" -f -a "info" -d 'Shows the format and the fill level of a log'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from wafs" -f -a "reclaim" -d 'Frees the space of all records below one'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from wafs" -f -a "serve" -d 'Serves a log to many programs at once, through a Unix socket'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from sim" -f -a "list" -d 'Lists the traces that are made here, or those that were recorded, and what they are like'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "flushes" -d 'Counts the writes and flushes that the disk gets for each promise'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "record" -d 'Records what is done to a mount, until Ctrl-C or until it is unmounted'
complete -c ordo -n "__fish_ordo_using_subcommand help; and __fish_seen_subcommand_from trace" -f -a "replay" -d 'Does again what ordo trace record recorded, on a modelled drive in virtual time'
