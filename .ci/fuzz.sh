#!/usr/bin/env bash
# Runs every fuzz target for FUZZTIME, one after the other. A failing input is
# left under testdata/fuzz of its package, from where the tests replay it.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}

for pkg in $("$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do
	dir=$("$go" list -f '{{.Dir}}' "$pkg")
	targets=$(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | cut -d' ' -f2 || true)
	for target in $targets; do
		# Shrinking an input that merely reaches new code would use up the time.
		"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-20s}" -fuzzminimizetime 10x "$pkg"
	done
done
