#!/bin/sh
# Check the few programs that pip cannot bring; as root, install what is missing, else say how.
set -eu

missing_required=""
missing_optional=""

need() { # program package required|optional
    if command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]; then return 0; fi
    if [ "$3" = required ]; then missing_required="$missing_required $2"; else missing_optional="$missing_optional $2"; fi
}

need g++ g++ required
need ip iproute2 required
need tc iproute2 required
need unshare util-linux required
need nsenter util-linux required
need sysctl procps required
need hostname hostname required
need chromium chromium optional
need ssh openssh-client optional
need sshd openssh-server optional
[ -d /usr/share/fonts/truetype/dejavu ] || missing_optional="$missing_optional fonts-dejavu-core"
[ -d /usr/share/fonts/truetype/liberation ] || [ -d /usr/share/fonts/truetype/liberation2 ] ||
    missing_optional="$missing_optional fonts-liberation"
python3 -c "import ensurepip" >/dev/null 2>&1 || missing_required="$missing_required python3-venv"

missing=$(printf '%s\n' $missing_required $missing_optional | sort -u | tr '\n' ' ')
[ -n "$(printf %s "$missing" | tr -d ' ')" ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "system packages: installing $missing"
    log=$(mktemp)
    if apt-get update >"$log" 2>&1 &&
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >>"$log" 2>&1; then
        rm -f "$log"
        exit 0
    fi
    tail -n 20 "$log" >&2
    rm -f "$log"
    echo "system packages: apt-get could not install $missing" >&2
    [ -z "$missing_required" ] && exit 0
    exit 1
fi

if [ -n "$missing_required" ]; then
    echo "system packages: missing$missing_required; as root: apt-get install$missing_required" >&2
fi
if [ -n "$missing_optional" ]; then
    echo "system packages: for ssh clusters and some tests, as root: apt-get install$missing_optional" >&2
fi
[ -z "$missing_required" ]
