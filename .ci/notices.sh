#!/usr/bin/env bash
# Writes the licence texts of all modules that the provider links in to
# DIR/THIRD-PARTY-NOTICES.txt. A module without a licence text is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=${1:?usage: notices.sh DIR}
mkdir -p "$dir"
out=$dir/THIRD-PARTY-NOTICES.txt

echo "terraform-provider-muster contains the following modules under their own licences." >"$out"
CGO_ENABLED=0 go list -buildvcs=false -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' . |
	sort -u | while read -r path version source; do
	printf '\n%s\n%s %s\n%s\n\n' "$(printf '=%.0s' {1..78})" "$path" "$version" "$(printf '=%.0s' {1..78})"
	texts=$(find "$source" -maxdepth 1 -type f \( -iname 'licen[sc]e*' -o -iname 'copying*' -o -iname 'notice*' \) | sort)
	[ -n "$texts" ] || { echo "$path $version has no licence text" >&2; exit 1; }
	for text in $texts; do cat "$text"; echo; done
done >>"$out"
echo "$out"
