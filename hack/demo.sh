#!/usr/bin/env bash
# The main job, shown: a bare-metal cluster from YAML to Ready nodes in a lab of its own, and away again.
# Arguments go to `bedplate lab up`.
set -euo pipefail
bin=${BEDPLATE_TOOLS:-bin}
lab=${TMPDIR:-/tmp}/bedplate-demo.$$
down() {
	status=$?
	"$bin/bedplate" lab down --dir "$lab" || status=1
	exit "$status"
}
trap down EXIT

"$bin/bedplate" lab up --dir "$lab" --example bmm "$@"
echo
"$bin/bedplate" describe cluster demo --kubeconfig "$lab/kubeconfig"
echo
"$bin/kubectl" --kubeconfig "$lab/kubeconfig" get clusters,machines
echo
"$bin/kubectl" --kubeconfig "$lab/demo.kubeconfig" get nodes -o custom-columns=NODE:.metadata.name,READY:'.status.conditions[?(@.type=="Ready")].status',VERSION:.status.nodeInfo.kubeletVersion,PROVIDER-ID:.spec.providerID
echo
