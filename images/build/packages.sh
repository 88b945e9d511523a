# Installs Debian packages and leaves no lists behind: packages.sh NAME…
# DEBIAN_MIRROR, if set, is used for this installation only.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt() {
  apt-get -q -o Acquire::Retries=3 -o Dpkg::Options::=--force-unsafe-io "$@"
}
if [ -n "${DEBIAN_MIRROR:-}" ]; then
  . /etc/os-release
  echo "deb $DEBIAN_MIRROR $VERSION_CODENAME main" >/tmp/build/sources.list
  apt() {
    apt-get -q -o Acquire::Retries=3 -o Dpkg::Options::=--force-unsafe-io \
      -o Dir::Etc::SourceList=/tmp/build/sources.list -o Dir::Etc::SourceParts=/dev/null "$@"
  }
fi
apt update
apt install --yes --no-install-recommends "$@"
apt-get clean
rm -rf /var/lib/apt/lists/*
