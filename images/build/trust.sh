# Certificates of this network, if the builder has any, count while the image is built and not in it.
if [ -s /tmp/build/ca.crt ]; then
  export CURL_CA_BUNDLE=/tmp/build/ca.crt NODE_EXTRA_CA_CERTS=/tmp/build/ca.crt
fi
