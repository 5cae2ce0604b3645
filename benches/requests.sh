#!/usr/bin/env bash
# Which requests the kernel sends for a program on a mount, by operation: counted by the kernel's own trace point
# (fuse:fuse_request_send, Linux 6.10). FORGET, which has no reply, and what the kernel answers itself are not counted.
#
#   benches/requests.sh DIR COMMAND...     DIR: a FUSE mount; needs root and tracefs
#   benches/requests.sh /mnt tar -C /mnt -xf tree.tar
set -euo pipefail
(($# > 1)) || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }
dir=$1
shift
device=$(mountpoint -d "$dir")
trace=/sys/kernel/tracing
[[ -d $trace/instances ]] || trace=/sys/kernel/debug/tracing
here=$trace/instances/ordo-requests
mkdir "$here"
cleanup() {
  echo 0 >"$here/events/fuse/fuse_request_send/enable"
  echo 0 >"$here/events/fuse/fuse_request_send/filter"
  rmdir "$here"
}
trap cleanup EXIT
event=$here/events/fuse/fuse_request_send
echo "${KB:-65536}" >"$here/buffer_size_kb"
# The kernel's own coding of a device number: twenty bits for the minor one.
echo "connection == $(((${device%:*} << 20) | ${device#*:}))" >"$event/filter"
echo 1 >"$event/enable"
status=0
"$@" || status=$?
echo 0 >"$event/enable"
if grep -qv '^overrun: 0$' <(grep -h '^overrun' "$here"/per_cpu/cpu*/stats); then
  echo "more requests than fit: set KB, the kilobytes of the kernel's buffer for each CPU" >&2
  exit 1
fi
sed -n 's/.* opcode \([0-9]*\) (\(.*\)) len .*/\2 \1/p' "$here/trace" | sort | uniq -c | sort -rn |
  while read -r count name opcode; do
    [[ $name == FUSE_* ]] || name="operation $opcode"
    printf '%8d %s\n' "$count" "${name#FUSE_}"
  done
exit "$status"
