#!/usr/bin/env bash
# Writes what clusterctl needs to install the providers and to make clusters with them, as a repository of its own:
#   DIR/infrastructure-nvidia-bmm/VERSION/*.yaml
#   DIR/infrastructure-ibm-powervs/VERSION/*.yaml
# and prints these folders. Arguments: VERSION DIR [IMAGE:TAG]. Without an image of bmm-manager it is that of config/bmm with the version
# as its tag. Our other images are found beside it by the same tag, so that a digest is of no use.
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
overlay=$dir/.overlay
trap 'rm -rf "$overlay"' EXIT
# All images are where bmm-manager's is, with the same tag.
beside=${image%:*} tag=${image##*:}
beside=${beside%"${beside##*/}"}

# provider writes how a provider is installed. Arguments: its folder in config, its name, the image of its manager without the tag.
provider() {
  local named
  named=$(sed -n 's/^ *image: //p' "config/$1/manager/manager.yaml")
  grep -Pzq "major: $major\n +minor: $minor\n" "config/$1/clusterctl/metadata.yaml" ||
    refuse "config/$1/clusterctl/metadata.yaml has no release series for $version"
  release=$dir/infrastructure-$2/$version
  rm -rf "$release" "$overlay"
  mkdir -p "$release" "$overlay"
  cat > "$overlay/kustomization.yaml" <<EOF
resources: ["$(realpath --relative-to="$overlay" "config/$1/default")"]
images: [{name: ${named%:*}, newName: "$3", newTag: "$tag"}]
EOF
  kustomize "$overlay" > "$release/infrastructure-components.yaml"
  cp "config/$1/clusterctl/metadata.yaml" "$release/metadata.yaml"
  echo "$release"
}
# Kustomize takes the quotes from variables that are strings; only counts, ports and memory are numbers.
quote() { sed -E '/_(COUNT|PORT|MEMORY)(:=[^}]*)?\}/! s/^([^'\''"]*: )([^'\''" ]*\$\{[^'\''" ]*)$/\1'\''\2'\''/'; }
nodes() { sed "s|image: .*/\(bmm-cloud-controller-manager\):.*|image: $beside\1:$tag|" "$@"; }
template() { cat "$1" <(echo ---) <(nodes "$2/cloud-controller-manager.yaml"); } # a cluster with its cloud controller manager

provider bmm nvidia-bmm "${image%:*}"
template examples/bmm/cluster.yaml examples/bmm > "$release/cluster-template.yaml"
kustomize config/bmm/clusterctl/fnn | nodes | quote > "$release/cluster-template-fnn.yaml"
cp examples/bmm/clusterclass.yaml "$release/clusterclass-bmm.yaml"
template examples/bmm/cluster-from-class.yaml examples/bmm > "$release/cluster-template-topology.yaml"

provider powervs ibm-powervs "${beside}powervs-manager"
template examples/powervs/cluster.yaml examples/powervs > "$release/cluster-template.yaml"
template examples/powervs-ignition/cluster.yaml examples/powervs > "$release/cluster-template-ignition.yaml"
kustomize config/powervs/clusterctl/plain | quote > "$release/cluster-template-plain.yaml"
cp examples/powervs/clusterclass.yaml "$release/clusterclass-powervs.yaml"
template examples/powervs/cluster-from-class.yaml examples/powervs > "$release/cluster-template-topology.yaml"
