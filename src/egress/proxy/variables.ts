import type { Door } from '../../seams/egress.ts';
import type { Binding } from '../bindings/bindings.ts';

/**
 * How programs find the proxy: each name in both cases, since curl reads `http_proxy` in lower case alone and others
 * only in upper case. `ALL_PROXY` speaks HTTP too: some clients hang or fail when it says SOCKS, although the same port
 * takes SOCKS5. No `[::1]` in NO_PROXY: it makes Python's httpx fail on every call.
 */
export function proxyVariables({ port, path }: Door): Readonly<Record<string, string>> {
  const socket = path === null ? {} : { GEODE_PROXY_SOCKET: path };
  if (port === null) return socket;
  const proxy = `http://127.0.0.1:${port}`;
  const none = 'localhost,127.0.0.1,::1';
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];
  const both = (name: string, value: string) => [
    [name, value],
    [name.toLowerCase(), value],
  ];
  return {
    ...Object.fromEntries([...names.flatMap((name) => both(name, proxy)), ...both('NO_PROXY', none)]),
    // Node's own fetch and http use the variables only with this setting.
    NODE_USE_ENV_PROXY: '1',
    ...socket,
  };
}

/**
 * Which file of certificates each program reads. Most of these replace the roots, so the file has all of them; Node's
 * own adds to them. Wget and apt read no variable: they take the file as an option.
 */
export function trustVariables(file: string): Readonly<Record<string, string>> {
  const names = [
    'SSL_CERT_FILE',
    'NODE_EXTRA_CA_CERTS',
    'REQUESTS_CA_BUNDLE',
    'CURL_CA_BUNDLE',
    'GIT_SSL_CAINFO',
    'PIP_CERT',
    'npm_config_cafile',
    'CARGO_HTTP_CAINFO',
    'CODEX_CA_CERTIFICATE',
    'AWS_CA_BUNDLE',
    'DENO_CERT',
  ];
  return Object.fromEntries(names.map((name) => [name, file]));
}

/** Where tools look for the service; its socket too, for those that need no loopback. */
export function bindingVariables(
  { name, upstream, variables }: Binding,
  { port, path }: Door,
): Readonly<Record<string, string>> {
  const socket = `GEODE_${name.toUpperCase().replaceAll('-', '_')}_SOCKET`;
  return {
    ...(port === null ? {} : variables(`http://127.0.0.1:${port}${upstream.pathname.replace(/\/$/, '')}`)),
    ...(path === null ? {} : { [socket]: path }),
  };
}
