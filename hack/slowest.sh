#!/usr/bin/env bash
# Prints what took longest in a run of tests: packages and tests, from gotestsum's JSON file.
set -euo pipefail
cd "$(dirname "$0")/.."
printf '\nThe slowest packages, in seconds (two for each processor run at a time):\n'
grep -E '^\{[^{]*"Action":"(pass|fail)"' "$1" | grep -v '"Test":' |
	sed -E 's/.*"Package":"([^"]*)".*"Elapsed":([0-9.]+).*/\2 \1/' | sort -rn | head -10
printf '\nThe slowest tests (they wait for each other in a package):\n'
bin/gotestsum tool slowest --jsonfile "$1" --num 20 --threshold 5s
