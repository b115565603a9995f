#!/bin/bash
# Keeps the embedded cluster up until Ctrl-C. Its objects survive in .cache/cluster.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$PWD/.cache/cluster
echo "starting a cluster in $dir..."
.cache/bin/devcluster run --dir "$dir" | while read -r word kubeconfig; do
	[ "$word" = ready ] || continue
	echo "The cluster is ready until Ctrl-C. In another terminal:"
	echo
	echo "    export KUBECONFIG='$kubeconfig'"
	echo "    kubectl get namespaces"
	echo
	echo "Its objects survive; remove $dir for an empty cluster."
done
