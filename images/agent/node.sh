# Installs Node and npm from the npm registry, each checked against the hash that is pinned here.
set -eu
. /tmp/build/trust.sh
node_version=24.21.0
npm_version=11.21.1
npm_hash=613ccbe90044257c87713bb426251ced128ca7e9b3949b65eeb18b98445a5d441e14720c73d6ad76be86f4cf42f2f0d66efe347a9a13400ccd2f6fcfb5954385
case $(dpkg --print-architecture) in
amd64)
  arch=x64
  node_hash=de750bb336795f47dc898a46d2de93add029273027f3e16520d3fa3a2317ed5f07aefa404cf37ddfa5352e545e389ae22d16b87bcc84a900580a72f23cd02ced
  ;;
arm64)
  arch=arm64
  node_hash=1692513c4cf63afbd32df8c83a5346158f492cf30a825e66f9de2819804b836e242759a6bcdd5997f1cf2601781c3689e752127afd65d5c459fc333e91e5d6e6
  ;;
*)
  echo "There is no Node for $(dpkg --print-architecture) here: amd64 and arm64 are supported." >&2
  exit 1
  ;;
esac

# fetch NAME VERSION HASH FOLDER
fetch() {
  curl --fail --silent --show-error --location --retry 3 --output /tmp/build/fetched.tgz \
    "$NPM_REGISTRY/$1/-/$1-$2.tgz"
  echo "$3  /tmp/build/fetched.tgz" | sha512sum --check --quiet
  mkdir -p "$4"
  tar --extract --gzip --no-same-owner --strip-components=1 --directory "$4" --file /tmp/build/fetched.tgz
  rm /tmp/build/fetched.tgz
}

fetch "node-linux-$arch" "$node_version" "$node_hash" /tmp/build/node
install -m 755 /tmp/build/node/bin/node /usr/local/bin/node
rm -rf /tmp/build/node
fetch npm "$npm_version" "$npm_hash" /usr/local/lib/node_modules/npm
ln -sf ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
ln -sf ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
chmod 755 /usr/local/lib/node_modules/npm/bin/*.js
node --version
npm --version
