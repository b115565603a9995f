#!/bin/bash
# Keeps the embedded cluster up until Ctrl-C or SIGTERM. Its objects survive in .cache/cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$PWD/.cache/cluster
echo "starting a cluster in $dir..."
exec 3< <(exec .cache/bin/devcluster run --dir "$dir")
cluster=$!
trap 'kill -TERM "$cluster" 2>/dev/null' TERM # Ctrl-C reaches it without us
trap : INT
while read -r word kubeconfig <&3; do
	[ "$word" = ready ] || continue
	echo "The cluster is ready until Ctrl-C. In another terminal:"
	echo
	echo "    export KUBECONFIG='$kubeconfig'"
	echo "    kubectl get namespaces"
	echo
	echo "Its objects survive; remove $dir for an empty cluster."
done
wait "$cluster"
