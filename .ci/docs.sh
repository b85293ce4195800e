#!/usr/bin/env bash
# Writes docs/ from the provider's schema, templates/ and examples/. With
# --check it changes nothing and fails where docs/ differs from what it would
# write. Needs terraform, and no network: the schema comes from a provider built
# here.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
go=${GO:-go}
check=${1:-}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The schema, as terraform sees it.
mkdir -p "$scratch/bin" "$scratch/config"
"$go" build -buildvcs=false -o "$scratch/bin/terraform-provider-muster" .
cat >"$scratch/cli.tfrc" <<TFRC
provider_installation {
  dev_overrides { "musterlab/muster" = "$scratch/bin" }
  direct {}
}
TFRC
cat >"$scratch/config/main.tf" <<'TF'
terraform {
  required_providers {
    muster = { source = "musterlab/muster" }
  }
}
TF
(cd "$scratch/config" && TF_CLI_CONFIG_FILE=$scratch/cli.tfrc CHECKPOINT_DISABLE=1 \
	terraform providers schema -json) |
	# tfplugindocs looks for the short name.
	sed 's#"registry.terraform.io/musterlab/muster"#"muster"#' >"$scratch/schema.json"

# The pages' examples are one configuration, which has to be valid, as has the lab.
validate() {
	(cd "$1" && TF_CLI_CONFIG_FILE=$scratch/cli.tfrc CHECKPOINT_DISABLE=1 terraform validate -no-color) >"$scratch/log" 2>&1 ||
		{ cat "$scratch/log" >&2; exit 1; }
}
mkdir "$scratch/examples"
for example in examples/provider/*.tf examples/resources/*/*.tf examples/data-sources/*/*.tf examples/functions/*/*.tf; do
	cp "$example" "$scratch/examples/$(dirname "$example" | tr / -)-$(basename "$example")"
done
touch "$scratch/examples/installer.raw"
validate "$scratch/examples"
cp -r examples/lab "$scratch/lab"
validate "$scratch/lab"

# Rendered beside the tree: a failure leaves docs/ as it was.
mkdir "$scratch/site"
cp -r templates examples "$scratch/site/"
"$go" tool tfplugindocs generate --provider-dir "$scratch/site" \
	--provider-name muster --rendered-provider-name Muster \
	--providers-schema "$scratch/schema.json" >"$scratch/log" 2>&1 || { cat "$scratch/log" >&2; exit 1; }

# What is written by hand lives in docs/ too and is not touched.
generated=(index.md resources data-sources functions guides)
if [ "$check" = --check ]; then
	stale=0
	for part in "${generated[@]}"; do
		[ -e "docs/$part" ] || [ -e "$scratch/site/docs/$part" ] || continue
		diff -ruN "docs/$part" "$scratch/site/docs/$part" || stale=1
	done
	if [ "$stale" = 1 ]; then
		echo "docs/ is not what schema, templates and examples make: run 'make generate' and commit the result" >&2
		exit 1
	fi
	echo "docs/ is current"
	exit 0
fi
for part in "${generated[@]}"; do
	rm -rf "$root/docs/$part"
	[ ! -e "$scratch/site/docs/$part" ] || cp -r "$scratch/site/docs/$part" "$root/docs/$part"
done
echo "docs/ written"
