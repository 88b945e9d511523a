# Turns a Debian root folder into the tar of an image: packages and files are put on top of it, the folder
# itself stays as it is. Runs in its own mount and process namespaces (see rootfs.ts), so that no mount and no
# process outlives it, however it ends.
#   layer.sh <base> <work folder> <package cache> <extra files or ''> <tar> [package…]
set -eu
base=$1 work=$2 cache=$3 extra=$4 tar=$5
shift 5

root=$work/root
mkdir -p "$work/upper" "$work/overlay" "$root" "$cache/archives" "$cache/lists"
mount -t overlay overlay -o "lowerdir=$base,upperdir=$work/upper,workdir=$work/overlay" "$root"

if [ $# -gt 0 ]; then
  mkdir -p "$root/var/cache/apt/archives" "$root/var/lib/apt/lists"
  mount --bind "$cache/archives" "$root/var/cache/apt/archives"
  mount --bind "$cache/lists" "$root/var/lib/apt/lists"
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  export DEBIAN_FRONTEND=noninteractive LC_ALL=C
  chroot "$root" apt-get -q -o Acquire::Retries=3 update
  chroot "$root" apt-get -q -o Acquire::Retries=3 -o APT::Keep-Downloaded-Packages=true \
    -o Dpkg::Options::=--force-unsafe-io install --yes --no-install-recommends "$@"
fi

if [ -n "$extra" ]; then cp -a "$extra/." "$root/"; fi
: >"$root/etc/resolv.conf"
mkdir -p "$root/proc" "$root/dev"

# Without the device files, the manuals and the package lists: an engine makes the first, no test reads the rest.
tar --create --file "$tar" --directory "$root" --numeric-owner --one-file-system \
  --exclude='./dev/*' --exclude='./proc/*' --exclude='./usr/share/doc/*' --exclude='./usr/share/man/*' \
  --exclude='./usr/share/locale/*' --exclude='./var/cache/apt/*' --exclude='./var/lib/apt/lists/*' .
