#!/usr/bin/env bash
# Writes what clusterctl needs to install the providers and to make clusters with them, as a repository of its own:
#   DIR/infrastructure-nvidia-bmm/VERSION/*.yaml
# Arguments: VERSION DIR [IMAGE:TAG]. Without an image of the manager it is that of config/bmm with the version as its tag.
set -euo pipefail
version=$1 dir=$(realpath -m "$2") image=${3:-}
cd "$(dirname "$0")/.."
kustomize() { "${BEDPLATE_TOOLS:-bin}/kubectl" kustomize "$1"; }
refuse() { echo "$1" >&2; exit 1; }

source_image=$(sed -n 's/^ *image: //p' config/bmm/manager/manager.yaml)
image=${image:-${source_image%:*}:$version}
[[ ${image##*/} == *:* ]] || refuse "the image $image has no tag"
[[ $version =~ ^v([0-9]+)\.([0-9]+)\.[0-9] ]] || refuse "the version $version isn't one like v1.2.3"
grep -Pzq "major: ${BASH_REMATCH[1]}\n +minor: ${BASH_REMATCH[2]}\n" config/bmm/clusterctl/metadata.yaml ||
  refuse "config/bmm/clusterctl/metadata.yaml has no release series for $version"
release=$dir/infrastructure-nvidia-bmm/$version
overlay=$dir/.overlay
rm -rf "$release"
mkdir -p "$release" "$overlay"
trap 'rm -rf "$overlay"' EXIT

cat > "$overlay/kustomization.yaml" <<EOF
resources: [$(realpath --relative-to="$overlay" config/bmm/default)]
images: [{name: ${source_image%:*}, newName: ${image%:*}, newTag: "${image##*:}"}]
EOF
kustomize "$overlay" > "$release/infrastructure-components.yaml"
cp config/bmm/clusterctl/metadata.yaml "$release/metadata.yaml"
# Each cluster brings its cloud controller manager: from where the manager's image is, with the same tag.
nodes() { sed "s|image: .*/\(bmm-cloud-controller-manager\):.*|image: ${image%/*}/\1:${image##*:}|" "$@"; }
template() { cat "$1" <(echo ---) <(nodes examples/bmm/cloud-controller-manager.yaml); }
template examples/bmm/cluster.yaml > "$release/cluster-template.yaml"
kustomize config/bmm/clusterctl/fnn | nodes > "$release/cluster-template-fnn.yaml"
cp examples/bmm/clusterclass.yaml "$release/clusterclass-bmm.yaml"
template examples/bmm/cluster-from-class.yaml > "$release/cluster-template-topology.yaml"
echo "$release"
