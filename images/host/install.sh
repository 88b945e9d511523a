# Installs Geode into /opt/geode, without a Node of its own: the image has one.
set -eu
. /tmp/build/trust.sh
npm install --prefix /opt/geode --omit=optional --ignore-scripts --no-fund --no-audit \
  --registry "$NPM_REGISTRY" "geode-home@$GEODE_VERSION"
