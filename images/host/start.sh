# Checks what the container can isolate, then is the host until it is stopped.
geode doctor || true
exec geode gateway
