/** Numbers, times and names as people read them. */

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  const value = bytes / 1024 ** power;
  return `${value >= 100 || power === 0 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

export function timeText(at: number | string): string {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
}

export function agoText(at: number): string {
  const seconds = Math.max(0, Math.round((Date.now() - at) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86_400)} d ago`;
}

/** As `agoText` for narrow lists: without "ago", the weekday after a day, the date after a week. */
export function shortAgoText(at: number): string {
  const ms = Date.now() - at;
  if (ms < 86_400_000) return ms < 60_000 ? 'now' : agoText(at).replace(' ago', '');
  const isRecent = ms < 6 * 86_400_000;
  return new Date(at).toLocaleDateString(
    undefined,
    isRecent ? { weekday: 'short' } : { day: 'numeric', month: 'short' },
  );
}

export function clockText(at: number): string {
  return new Date(at).toLocaleTimeString(undefined, { timeStyle: 'short', hourCycle: 'h23' });
}

/** 950, 12.3k, 1.2M. */
export function shortNumber(value: number): string {
  if (value < 1000) return String(value);
  const [scaled, unit] = value < 1_000_000 ? [value / 1000, 'k'] : [value / 1_000_000, 'M'];
  return `${scaled < 100 ? scaled.toFixed(1) : Math.round(scaled)}${unit}`;
}

export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = Math.round((ms % 60_000) / 1000);
  return minutes < 60 && seconds > 0 ? `${minutes} min ${seconds} s` : `${Math.round(ms / 60_000)} min`;
}

/** The time until something ends, in whole units. */
export function leftText(until: number, now = Date.now()): string {
  const seconds = Math.max(0, Math.ceil((until - now) / 1000));
  if (seconds <= 60) return `${seconds} s left`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min left`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h left`;
  return `${Math.round(seconds / 86_400)} d left`;
}

/** A host as people write it: the usual port of the web is left out. */
export function hostText(host: string, port: number): string {
  return nameText(port === 443 ? host : `${host}:${port}`);
}

/** A command on one line. */
export function lineText(command: string): string {
  return nameText(plainText(command).trim().replaceAll('\n', ' ⏎ '));
}

export function percentText(share: number): string {
  return `${Math.round(share * 100)}%`;
}

export function costText(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`;
}

/**
 * A name that others chose, made harmless to read: characters that turn the direction of text around, or that nobody
 * sees, are shown as their codes.
 */
export function nameText(name: string): string {
  return name.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** As `nameText`, with its lines and tabs. */
export function linesText(words: string): string {
  const line = (each: string) => each.split('\t').map(nameText).join('\t');
  return words.replaceAll('\r\n', '\n').split('\n').map(line).join('\n');
}

/** Output without the sequences that colour it and move the cursor. */
export function plainText(output: string): string {
  return output
    .replace(
      // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one.
      /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g,
      '',
    )
    .replace(/\r\n/g, '\n')
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`);
}
