"""
The runner of the conformance cases: it performs the steps of a case on a cluster while
an operator runs, observes what the operator does, and compares that with what the
reference did. ../README.md describes the cases.

    api           a small client of the API server
    audit         what the operators requested, from the audit log
    pace          a clock that slows down while the machine is overloaded
    devcluster    the throw-away cluster
    resources     how steps name objects
    operators     the processes of operators
    waits         when something is reached, or quiet
    steps         what a case does
    cases         the life of one case
    observations  what was seen, reduced to what is compared
    normal        names, times and identifiers replaced by markers
    compare       the modes of comparison
    record        making expected.json from the reference
    runs          many cases in parallel, and the report
"""
