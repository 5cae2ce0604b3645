# What the benchmarks of one mount share; a script beside this one sources it. ORDO=PATH measures that program.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -n ${ORDO:-} ]] || cargo build --profile dist --quiet
ordo=$(realpath "${ORDO:-${CARGO_TARGET_DIR:-target}/dist/ordo}")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ordo-bench.XXXXXX")
cleanup() {
  "$ordo" umount "$work/m" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
mkdir "$work/m"
