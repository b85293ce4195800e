#!/usr/bin/env bash
# make demo and make demo-clean. Everything that the demo makes lies in .demo and
# in one temporary folder, which .demo/host names; only the packages that it
# installs stay. The machine's own libvirt is not touched.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
demo=$root/.demo
go=${GO:-go}
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)
export CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1 TF_CLI_CONFIG_FILE=$demo/cli.tfrc
export MUSTER_TEST_CACHE=$demo/cache

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n== %s\n' "$*"; }

# timed NAME COMMAND...: runs the command and remembers how long it took.
report=()
timed() {
	local name=$1 began=$SECONDS
	shift
	"$@"
	report+=("$(printf '%-34s %4d s' "$name" $((SECONDS - began)))")
}

need() {
	command -v "$1" >/dev/null || { echo "demo: $1 is needed and not installed: $2" >&2; exit 1; }
}

down() {
	if [ -f "$demo/host" ]; then
		local host
		host=$(cat "$demo/host")
		if [ -d "$host" ]; then
			"${as_root[@]}" "$demo/bin/labhost" down "$host/h"
			"${as_root[@]}" rm -rf "$host"
		fi
	fi
	# Go keeps what it has downloaded read-only; the cache holds none of that.
	rm -rf "$demo"
}

build() {
	mkdir -p "$demo/bin" "$demo/guest"
	"$go" build -buildvcs=false -o "$demo/bin/terraform-provider-muster" .
	"$go" build -buildvcs=false -o "$demo/bin/labhost" ./internal/libvirt/libvirttest/cmd/labhost
	"$go" run ./internal/testguest/cmd/testguest "$demo/guest" >"$demo/guest/files"
}

# The guest's image lies in the clone, which root's daemon need not be able to
# read: the provider uploads it.
start_host() {
	mktemp -d "${TMPDIR:-/tmp}/muster-demo.XXXXXX" >"$demo/host"
	chmod 755 "$(cat "$demo/host")"
	"${as_root[@]}" "$demo/bin/labhost" up "$(cat "$demo/host")/h" >"$demo/uri"
	cat >"$demo/cli.tfrc" <<TFRC
provider_installation {
  dev_overrides { "musterlab/muster" = "$demo/bin" }
  direct {}
}
TFRC
	cp -r examples/lab "$demo/lab"
	cat >"$demo/env" <<ENV
export TF_CLI_CONFIG_FILE="$demo/cli.tfrc" CHECKPOINT_DISABLE=1
export TF_VAR_uri="$(tail -n 1 "$demo/uri")"
export TF_VAR_image="$(sed -n 's/^IMAGE=//p' "$demo/guest/files")"
cd "$demo/lab"
ENV
}

# terraform in the lab, without the reminder that the provider is built here.
lab() {
	# shellcheck source=/dev/null
	(. "$demo/env" && terraform "$@") 2> >(grep -v 'dev_overrides' >&2)
}

apply() {
	lab plan -no-color -input=false -out=plan "$@" >"$demo/plan.txt"
	sed -n '/^Plan:/p; /^  # .* will be/p; /^Warning: node_vm/p' "$demo/plan.txt"
	lab apply -no-color -input=false plan | grep -E ' complete after |: Still |^Apply complete'
}

# Nothing but in-place changes is in the second plan, or the demo has failed.
check_second() {
	grep -q '^Plan: 0 to add, 3 to change, 0 to destroy' "$demo/plan.txt" || {
		echo "demo: the second plan is not three changes in place:" >&2
		cat "$demo/plan.txt" >&2
		exit 1
	}
}

compare() {
	printf '%-8s %-6s %-37s %-37s\n' machine what before after
	paste -d ' ' "$demo/before" "$demo/after" | while read -r name what before name2 what2 after; do
		local verdict=same
		[ "$name $what $before" = "$name2 $what2 $after" ] || verdict=CHANGED
		printf '%-8s %-6s %-37s %-37s %s\n' "$name" "$what" "$before" "$after" "$verdict"
	done
	cmp -s "$demo/before" "$demo/after" || { echo "demo: an identity changed" >&2; exit 1; }
}

next() {
	cat <<NEXT

What to try next:

  . .demo/env                              # in a shell: into the lab, with its settings
  terraform plan                           # wants memory and console back as they are in variables.tf
  terraform apply -replace='muster_node_vm.node["node-2"]'
  terraform output identity                # a new machine under the old MACs and UUID
  terraform apply -var 'nodes=["node-1"]'  # two machines go
  virsh -c "\$TF_VAR_uri" list              # the machines, as libvirt sees them

  make demo-clean                          # removes all of it
NEXT
}

up() {
	need "$go" "https://go.dev/dl/"
	need terraform "https://developer.hashicorp.com/terraform/install"
	trap 'echo "demo: not finished; make demo starts it again, make demo-clean removes it" >&2' EXIT
	[ ! -e "$demo" ] || { say "Removing an earlier demo"; down; }

	say "Packages: libvirt and QEMU, where they are missing"
	timed "packages" .ci/install-deps.sh
	say "Building the provider, the test guest and the host's keeper"
	timed "build" build
	local began=$SECONDS

	say "Starting a private libvirtd"
	timed "start libvirtd" start_host
	echo "at $(tail -n 1 "$demo/uri")"

	say "First apply: a network, an image, three machines that boot and report ready"
	timed "first apply" first_apply
	say "The last lines of their consoles"
	lab output -raw console

	say "Second apply: memory 192 to 256 MiB, no console; each machine restarts in turn"
	timed "second apply" second_apply
	say "Identities before and after"
	compare

	say "What still waits for a power cycle, and what libvirt says of the machines"
	lab output -no-color pending_restart
	memory

	say "Took"
	printf '  %s\n' "${report[@]}"
	printf '  %-34s %4d s\n' "all but packages and build" $((SECONDS - began))
	next
	trap - EXIT
}

first_apply() {
	apply
	identities >"$demo/before"
}

second_apply() {
	apply -var memory_mib=256 -var console=false
	identities >"$demo/after"
	check_second
}

# Asked past Terraform.
memory() {
	local uri name
	uri=$(tail -n 1 "$demo/uri")
	for name in node-1 node-2 node-3; do
		printf '%s: ' "$name"
		virsh -c "$uri" dominfo "$name" | sed -n 's/^Max memory: */maximum memory /p'
	done
}

identities() { lab output -raw identity && echo; }

case ${1:-} in
up) up ;;
down) down && echo "the demo is gone; packages that it installed stay" ;;
*) echo "usage: demo.sh up|down" >&2; exit 2 ;;
esac
