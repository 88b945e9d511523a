import type { HatchDoor } from '../../seams/egress.ts';
import type { Binding } from '../bindings/bindings.ts';

/**
 * Environment variables that name the proxy. Each exists in both cases: curl reads `http_proxy` in lower case only,
 * others in upper case only. `ALL_PROXY` names HTTP too, because some clients hang or fail on SOCKS; the same port
 * accepts SOCKS5. NO_PROXY has no `[::1]`, because that breaks every call of Python's httpx.
 */
export function proxyVariables({ port, path }: HatchDoor): Readonly<Record<string, string>> {
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
 * The certificate file that each program reads. Most variables replace the roots, so the file has all of them; Node's
 * adds to them. Wget and apt read no variable and need an option.
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

/** Where tools find the service; also its socket, for tools that need no loopback. */
export function bindingVariables(
  { name, upstream, variables }: Binding,
  { port, path }: HatchDoor,
): Readonly<Record<string, string>> {
  const socket = `GEODE_${name.toUpperCase().replaceAll('-', '_')}_SOCKET`;
  return {
    ...(port === null ? {} : variables(`http://127.0.0.1:${port}${upstream.pathname.replace(/\/$/, '')}`)),
    ...(path === null ? {} : { [socket]: path }),
  };
}
