#!/usr/bin/env bash
# The main job, shown: a bare-metal cluster from YAML to Ready nodes in a lab of its own, a machine that is lost, and away again.
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
"$bin/kubectl" --kubeconfig "$lab/kubeconfig" get clusters.cluster.x-k8s.io,machines.cluster.x-k8s.io
echo
nodes() { "$bin/kubectl" --kubeconfig "$lab/demo.kubeconfig" "$@"; }
show_nodes() {
	nodes get nodes -o custom-columns=NODE:.metadata.name,READY:'.status.conditions[?(@.type=="Ready")].status',ZONE:'.metadata.labels.topology\.kubernetes\.io/zone',TYPE:'.metadata.labels.node\.kubernetes\.io/instance-type',TAINTS:'.spec.taints[*].key',PROVIDER-ID:.spec.providerID
	echo
}
echo "The cloud controller manager has initialised the nodes:"
show_nodes

worker=$(nodes get nodes -l '!node-role.kubernetes.io/control-plane' -o jsonpath='{.items[0].metadata.name}')
[ -n "$worker" ] || exit 0
instance=$(nodes get node "$worker" -o jsonpath='{.spec.providerID}')
simulator=$("$bin/kubectl" --kubeconfig "$lab/kubeconfig" get secret demo-bmm -o jsonpath='{.data.endpoint}' | base64 -d)
echo "The instance of $worker is deleted outside Bedplate:"
"$bin/kubectl" --server "$simulator" create --raw /simulator/vanish -f - <<< "{\"id\": \"${instance##*/}\"}"
SECONDS=0
nodes wait --for=delete "node/$worker" --timeout=2m
echo "The node was deleted after $SECONDS s, and no other node was:"
show_nodes
