#!/usr/bin/env bash
# Makes a Debian base image where no registry can be reached, from the packages that this
# machine's own apt is set up to use. Needs root, debootstrap and a running Docker engine.
#
#   sandboxes/debootstrap.sh [RELEASE] [IMAGE]      default: bookworm agentgym-debian:RELEASE
#
# Recipes find the default by themselves; for another: export AGENTGYM_BASE_IMAGE=IMAGE
set -euo pipefail

release=${1:-bookworm}
image=${2:-agentgym-debian:$release}

# One at a time: a second asker waits and finds it made.
exec 9>"${TMPDIR:-/tmp}/agentgym-debootstrap-$(id -u).lock"
flock 9
if docker image inspect "$image" >/dev/null 2>&1; then
    exit 0
fi

for program in debootstrap docker; do
    command -v "$program" >/dev/null || {
        echo "$program is missing. On Debian: apt-get install debootstrap docker.io" >&2
        exit 1
    }
done
if [ "$(id -u)" != 0 ]; then
    echo "debootstrap needs root: sudo $0 $*" >&2
    exit 1
fi

mirror=$(apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(CREATED_BY) $(REPO_URI)' \
    | awk -v release="$release" '$1 == release && $2 == "main" && $3 == "Packages" {print $4; exit}')
if [ -z "$mirror" ]; then
    echo "This machine's apt has no packages of Debian $release. It needs a line for it in" \
        "/etc/apt/sources.list, and: apt-get update" >&2
    exit 1
fi

folder=$(mktemp --directory)
trap 'rm -rf --one-file-system "$folder"' EXIT
root=$folder/root
log=$folder/log
if ! debootstrap --variant=minbase "$release" "$root" "$mirror" >"$log" 2>&1; then
    tail --lines 20 "$log" >&2
    exit 1
fi
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/* "$root"/var/log/*
rm -f "$root"/etc/hostname "$root"/etc/resolv.conf
tar --create --numeric-owner --one-file-system --directory "$root" . \
    | docker import --change 'CMD ["/bin/bash"]' - "$image" >/dev/null
