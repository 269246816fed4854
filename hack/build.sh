#!/usr/bin/env bash
# Builds programs: a name to show, and the arguments of `go build`. A dot is 40 packages that were compiled, or modules that were
# downloaded. When interrupted, it leaves each program whole or not at all, because the Go tool only has to rename it.
set -euo pipefail
name=$1 bin=${BEDPLATE_TOOLS:-bin}
shift
mkdir -p "$bin"
work=$(mktemp -d "$bin/.build.XXXXXX")
trap 'rm -rf "$work"' EXIT

printf 'building %-27s ' "$name"
SECONDS=0 steps=0 said=
while IFS= read -r line; do
	case $line in
	"go: downloading "*) ;;
	*[\ :]*) said+=$line$'\n' ;; # the others are names of packages
	esac
	if ((++steps % 40 == 0)); then printf .; fi
done < <(GOTMPDIR=$work GOFLAGS="$(go env GOFLAGS) -v" exec go build "$@" 2>&1)
if ! wait $!; then
	printf ' failed\n%s' "$said"
	exit 1
fi
echo "$( ((steps < 40)) || echo ' ')${SECONDS}s"
