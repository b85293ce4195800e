#!/bin/sh
# Installs what the tests and the demo run: libvirt, QEMU and their like, as
# packages of this Debian or Ubuntu. Does nothing, and needs no rights, when all
# of it is there. Starts no service and enables none.
set -eu

PATH=$PATH:/usr/sbin:/sbin

# needs WHAT PACKAGE...: WHAT is a command, or a path that may have wildcards.
# Of several packages the first that this release has is taken.
missing=
needs() {
	what=$1
	shift
	case $what in
	/*) for file in $what; do [ -e "$file" ] && return; done ;;
	*) command -v "$what" >/dev/null && return ;;
	esac
	missing="$missing $*;"
}

check() {
	missing=
	drivers='/usr/lib/*/libvirt/connection-driver/libvirt_driver'
	needs libvirtd libvirt-daemon
	needs virtlogd libvirt-daemon-log libvirt-daemon
	needs virsh libvirt-clients
	needs "${drivers}_qemu.so" libvirt-daemon-driver-qemu
	needs "${drivers}_network.so" libvirt-daemon-driver-network libvirt-daemon
	needs "${drivers}_storage.so" libvirt-daemon-driver-storage libvirt-daemon
	needs "${drivers}_nodedev.so" libvirt-daemon-driver-nodedev libvirt-daemon
	needs "${drivers}_interface.so" libvirt-daemon-driver-interface libvirt-daemon
	needs "${drivers}_secret.so" libvirt-daemon-driver-secret libvirt-daemon
	needs "${drivers}_nwfilter.so" libvirt-daemon-driver-nwfilter libvirt-daemon
	needs qemu-system-x86_64 qemu-system-x86
	needs qemu-img qemu-utils
	needs /usr/share/seabios/bios-256k.bin seabios
	needs '/usr/share/OVMF/OVMF_CODE*.fd' ovmf
	needs swtpm swtpm
	needs swtpm_setup swtpm-tools
	needs dnsmasq dnsmasq-base
	needs iptables iptables
	needs ip iproute2
	needs nsenter util-linux
	needs ps procps
	needs dmidecode dmidecode
	needs ssh openssh-client
	needs sshd openssh-server
	needs '/usr/lib/postgresql/*/bin/initdb' postgresql
	needs /etc/ssl/certs/ca-certificates.crt ca-certificates
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		echo "install-deps: root or sudo is needed for: $*" >&2
		exit 1
	fi
}

# known PACKAGE: this release has it.
known() {
	[ -n "$(apt-cache madison "$1" 2>/dev/null)" ]
}

# choose PACKAGE...: the first that is known.
choose() {
	for package in "$@"; do
		if known "$package"; then
			echo "$package"
			return
		fi
	done
	echo "install-deps: this release has none of: $*" >&2
	exit 1
}

# A policy that forbids package scripts to start services, unless there is one.
policy=/usr/sbin/policy-rc.d
forbid_services() {
	[ -e $policy ] && return
	trap 'as_root rm -f $policy' EXIT
	trap 'exit 130' INT TERM
	printf '#!/bin/sh\nexit 101\n' | as_root sh -c "cat >$policy && chmod 755 $policy"
}

check
if [ -z "$missing" ]; then
	exit 0
fi
if ! command -v apt-get >/dev/null; then
	echo "install-deps: no apt-get here; what is missing, as Debian calls it:$missing" >&2
	exit 1
fi
echo "install-deps: reading package lists"
as_root apt-get update -qq
packages=
while [ -n "$missing" ]; do
	alternatives=${missing%%;*}
	missing=${missing#*;}
	# shellcheck disable=SC2086 # words are meant to split
	packages="$packages $(choose $alternatives)"
done
# shellcheck disable=SC2086
packages=$(printf '%s\n' $packages | sort -u | tr '\n' ' ')
echo "install-deps: installing $packages"
forbid_services
# shellcheck disable=SC2086
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $packages
check
if [ -n "$missing" ]; then
	echo "install-deps: installed, and still not found:$missing" >&2
	exit 1
fi
echo "install-deps: done"
