#!/bin/bash
# Runs the tests of what depends on the version of the API server on several versions of Kubernetes:
# matrix.sh VERSION...
# Each version but that of test/cluster takes minutes to build at the first time, and 3 GB of build
# cache. The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# = 0 ]; then
	echo "usage: $0 VERSION..." >&2
	exit 2
fi
mkdir -p .cache/bin .cache/test
go build -o .cache/bin/tally ./scripts/tally
own=$(sed -n 's|^[[:space:]]*k8s.io/kubernetes \(v[^ ]*\)$|\1|p' test/cluster/go.mod)

# Tests whose result the API server decides: watches and listings, discovery, patches and their refusals, definitions with
# rules, conversion, admission, policies of admission, tokens and impersonation, leases, events, deletion of namespaces.
# They need no engines and no compilers but Go.
tests='
	TestWholeLife TestResumeAfterRestart TestRetriesGoOnAfterRestart TestResultAndStatus TestStreams
	TestSelectors TestSharedWatches TestResourceAppearsLater TestBrokenGroup TestDyingNamespace
	TestAggregatedDiscovery TestDiscoveryAsOfClientGo TestRejectedPatch TestTooLargeResult
	TestUserAgentAndFieldManagers TestDefinitionsOfTypes TestDefinitionsRefuse TestConversion
	TestAutomaticServer TestReviewsMutate TestReviewsWarn TestConfigurationsLiveWithTheOperator
	TestManifestsOfRights TestFewRights TestServedOperators
	TestServedOperatorsHaveTheRightsOfTheirAccounts TestAuthorsMustBeAllowedToImpersonate
	TestRemovedOperatorsReleaseTheirObjects TestReplicasTakeOver TestEvents TestDryRun
	TestRotatedCredentials'

# tested VERSION SERVER: the tests on an API server.
tested() {
	export KOPF_KUBERNETES=$1 KOPF_DEVCLUSTER=$2 CI=true
	go test -count=1 -timeout 20m -json ./test/clustertest
	# shellcheck disable=SC2086 # the words are names
	go test -count=1 -timeout 20m -json -run "^($(echo $tests | tr ' ' '|'))\$" ./test/e2e
	(cd test/chart && go test -count=1 -timeout 20m -json -run '^TestAPIServerAcceptsTheChart$' .)
}

passed=0 failed=0
for version; do
	server=$PWD/.cache/bin/devcluster
	if [ "$version" != "$own" ]; then
		server=$server-$version
		test/cluster/build-version.sh "$server" "$version"
	else
		test/cluster/build.sh "$server"
	fi
	echo "=== Kubernetes $version"
	log=.cache/test/matrix.log
	tested "$version" "$server" | .cache/bin/tally | tee "$log" || true # the tally has counted the failures
	read -r p _ f _ < <(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -1)
	passed=$((passed + p)) failed=$((failed + f))
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
