#!/usr/bin/env bash
# Does what the pages tell a newcomer to type first, each page as if it were the first on this computer: in a fresh clone of what is
# committed here, with nothing built and no Go module downloaded. Only Go's build cache is that of this computer, which makes it quick.
# A page's first commands are its first block of commands that begins with "git clone" or "make".
# Arguments are pages; without any they are all that have first commands.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
clone=$(grep '^git clone ' README.md)

first_commands() {
	awk '/^```/ {if (run) exit; begins = inside = !inside; next}
		begins {run = /^(git clone|make) /; begins = 0}
		run' "$1"
}

world=$(mktemp -d)
leave() {
	status=$?
	for home in "$world"/*; do
		if [ -d "$home/.local/state/bedplate/lab" ]; then HOME=$home "$home/bedplate/bin/bedplate" lab down || status=1; fi
	done
	chmod -R u+w "$world" # the module cache is read-only
	rm -rf "$world"
	exit "$status"
}
trap leave EXIT

# What a newcomer has of this computer: Go and its settings, and this repository in the place of the published one. Modules that this
# computer has needn't come over the network.
url=$(awk '{print $3}' <<< "$clone")
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="url.file://$here.insteadOf" GIT_CONFIG_VALUE_0=$url
export GIT_CONFIG_GLOBAL=${GIT_CONFIG_GLOBAL:-$HOME/.gitconfig}
GOENV=$(go env GOENV) GOCACHE=$(go env GOCACHE) GOPROXY="file://$(go env GOMODCACHE)/cache/download,$(go env GOPROXY)"
export GOENV GOCACHE GOPROXY
unset BEDPLATE_TOOLS XDG_STATE_HOME MAKEFLAGS
git diff --quiet HEAD || echo "Only what is committed is tried: $(git log -1 --format='%h %s')"

tried=0
if (($# == 0)); then set -- README.md docs/*.md; fi
for page; do
	commands=$(first_commands "$page")
	if [ -z "$commands" ]; then continue; fi
	[[ $commands == "$clone"* ]] || commands=$clone$'\n'$commands
	home=$world/$((++tried))
	mkdir "$home"
	printf '\n-- %s (%ss)\n' "$page" "$SECONDS"
	(cd "$home" && HOME=$home GOMODCACHE=$home/modules exec bash -xeuo pipefail -c "$commands")
	GOPROXY=file://$home/modules/cache/download,$GOPROXY
done
if ((tried == 0)); then
	echo "no page has first commands" >&2
	exit 1
fi

# What a newcomer has built is what is built here: it needn't be linked again.
if [ ! -e bin ]; then
	rm -rf out/bin && mkdir -p out/bin
	for built in "$world"/*/bedplate/bin; do cp -a "$built/." out/bin; done
	mv out/bin bin
fi
printf '\n%s pages work on a bare computer (%ss)\n' "$tried" "$SECONDS"
