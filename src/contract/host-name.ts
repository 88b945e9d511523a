import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';

const longestName = 253;
const label = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;

/**
 * One spelling for each host: lower case, no trailing dot, other scripts in their ASCII form, IPv6 without brackets.
 * Undefined for an invalid host. Numbers that some programs read as addresses (`127.1`, `0x7f.1`, `2130706433`,
 * `0177.0.0.1`) are invalid, because two programs would see two addresses.
 */
export function hostOf(text: string): string | undefined {
  const bare = /^\[[^[\]]*\]$/.test(text) ? text.slice(1, -1) : text;
  if (isIP(bare) === 6) return bare.includes('%') ? undefined : (ipv6Of(bare) ?? undefined);
  if (bare !== text) return undefined;
  if (isIP(text) === 4) return text;
  const name = asciiOf(text.endsWith('.') ? text.slice(0, -1) : text);
  if (name === '' || name.length > longestName || isIP(name) !== 0) return undefined;
  const labels = name.split('.');
  if (!labels.every((part) => label.test(part))) return undefined;
  return isNumber(labels.at(-1) ?? '') ? undefined : name;
}

/** Only for non-ASCII text, because `domainToASCII` reads numbers as addresses. */
function asciiOf(name: string): string {
  const lower = name.toLowerCase();
  return /^[\x21-\x7e]*$/.test(lower) ? lower : domainToASCII(lower);
}

/** If the last label is a number, `inet_aton` reads the whole name as a number. */
function isNumber(text: string): boolean {
  return /^(0x[0-9a-f]*|[0-9]+)$/.test(text);
}

/** In its shortest form, as the kernel prints it. */
function ipv6Of(text: string): string | undefined {
  try {
    return new URL(`http://[${text}]/`).hostname.slice(1, -1);
  } catch {
    return undefined;
  }
}

/** Parses `host:port`; undefined for anything else. */
export function targetOf(authority: string): { host: string; port: number } | undefined {
  const parts = /^(\[[^\]]+\]|[^:@/\s]+):(\d{1,5})$/.exec(authority);
  const host = hostOf(parts?.[1] ?? '');
  const port = Number(parts?.[2]);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/** As written in a URL or a CONNECT. */
export function shownTarget({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
