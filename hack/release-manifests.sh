#!/usr/bin/env bash
# Writes what clusterctl needs to install the providers and to make clusters with them, as a repository of its own:
#   DIR/infrastructure-nvidia-bmm/VERSION/*.yaml
# Arguments: VERSION DIR [IMAGE:TAG]. Without an image of the manager it is that of config/bmm with the version as its tag.
# The cloud controller manager's image is found beside the manager's by the same tag, so that a digest is of no use.
set -euo pipefail
version=$1 dir=$(realpath -m "$2") image=${3:-}
cd "$(dirname "$0")/.."
kustomize() { "${BEDPLATE_TOOLS:-bin}/kubectl" kustomize "$1"; }
refuse() { echo "$1" >&2; exit 1; }

source_image=$(sed -n 's/^ *image: //p' config/bmm/manager/manager.yaml)
image=${image:-${source_image%:*}:$version}
number='(0|[1-9][0-9]*)' identifier='(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)'
[[ $version =~ ^v$number\.$number\.$number(-$identifier(\.$identifier)*)?$ ]] ||
  refuse "the version $version isn't one like v1.2.3 or v1.2.3-rc.1: it becomes a folder, and the tag of images"
major=${BASH_REMATCH[1]} minor=${BASH_REMATCH[2]}
[[ $image != *@* ]] || refuse "the image $image has a digest: name it by its tag"
[[ ${image##*/} == *:* ]] || refuse "the image $image has no tag"
host='[A-Za-z0-9.-]+(:[0-9]+)?/' name='[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*' tag='[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}'
[[ $image =~ ^($host)?($name/)*$name:$tag$ ]] || refuse "the image $image isn't one like registry.example.com/bmm-manager:v1.2.3"
grep -Pzq "major: $major\n +minor: $minor\n" config/bmm/clusterctl/metadata.yaml ||
  refuse "config/bmm/clusterctl/metadata.yaml has no release series for $version"
release=$dir/infrastructure-nvidia-bmm/$version
overlay=$dir/.overlay
rm -rf "$release"
mkdir -p "$release" "$overlay"
trap 'rm -rf "$overlay"' EXIT

cat > "$overlay/kustomization.yaml" <<EOF
resources: ["$(realpath --relative-to="$overlay" config/bmm/default)"]
images: [{name: ${source_image%:*}, newName: "${image%:*}", newTag: "${image##*:}"}]
EOF
kustomize "$overlay" > "$release/infrastructure-components.yaml"
cp config/bmm/clusterctl/metadata.yaml "$release/metadata.yaml"
# Each cluster brings its cloud controller manager: from where the manager's image is, with the same tag.
repository=${image%:*}
nodes() { sed "s|image: .*/\(bmm-cloud-controller-manager\):.*|image: ${repository%"${repository##*/}"}\1:${image##*:}|" "$@"; }
# Kustomize takes the quotes from variables that are strings; only counts and ports are numbers.
quote() { sed -E '/_(COUNT|PORT)(:=[^}]*)?\}/! s/^([^'\''"]*: )([^'\''" ]*\$\{[^'\''" ]*)$/\1'\''\2'\''/'; }
template() { cat "$1" <(echo ---) <(nodes examples/bmm/cloud-controller-manager.yaml); }
template examples/bmm/cluster.yaml > "$release/cluster-template.yaml"
kustomize config/bmm/clusterctl/fnn | nodes | quote > "$release/cluster-template-fnn.yaml"
cp examples/bmm/clusterclass.yaml "$release/clusterclass-bmm.yaml"
template examples/bmm/cluster-from-class.yaml > "$release/cluster-template-topology.yaml"
echo "$release"
