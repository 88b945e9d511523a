import { Cron } from 'croner';
import { GeodeError } from '../base/errors.ts';
import { naturalTime } from './natural-time.ts';

/** When a schedule runs: by cron text in a time zone, at an interval, or once. */
export type ScheduleTime =
  | { readonly kind: 'cron'; readonly text: string; readonly zone: string }
  | { readonly kind: 'every'; readonly ms: number }
  | { readonly kind: 'once'; readonly at: number };

const units: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Shorter intervals would only fill the queue. */
const leastMs = 10_000;

/**
 * `0 9 * * 1-5 [ZONE]`, `every 2h`, `in 20m`, `2027-01-31T09:00`, `tomorrow 9am` or `every monday at 9`. Throws
 * `invalid_input` for anything else.
 */
export function parseScheduleTime(text: string, zone: string, now: number): ScheduleTime {
  const words = (naturalTime(text, zone, now) ?? text).trim().split(/\s+/);
  const [first = '', second = ''] = words;
  if ((first === 'every' || first === 'in') && words.length === 2) {
    const [, number, unit = ''] = /^(\d{1,6})([smhd])$/.exec(second) ?? [];
    const ms = Number(number) * (units[unit] ?? Number.NaN);
    if (Number.isNaN(ms)) throw wrong(text);
    if (first === 'in') return { kind: 'once', at: now + ms };
    if (ms < leastMs) throw wrong(text, 'the shortest interval is 10s');
    return { kind: 'every', ms };
  }
  if (/^\d{4}-\d{2}-\d{2}T/.test(first) && words.length <= 2) return once(first, second || zone, now, text);
  if (words.length !== 5 && words.length !== 6) throw wrong(text);
  const time = { kind: 'cron', text: words.slice(0, 5).join(' '), zone: words[5] ?? zone } as const;
  if (nextRun(time, now) === undefined) throw wrong(text, 'it never runs');
  return time;
}

/** The first time after a moment; undefined if no time is left. Throws `invalid_input` for an invalid text or zone. */
export function nextRun(time: ScheduleTime, after: number): number | undefined {
  if (time.kind === 'once') return time.at > after ? time.at : undefined;
  if (time.kind === 'every') return after + time.ms;
  return cron(time.text, time.zone).nextRun(new Date(after))?.getTime();
}

function once(text: string, zone: string, now: number, given: string): ScheduleTime {
  const at = cron(text, zone).nextRun(new Date(now))?.getTime();
  if (at === undefined) throw wrong(given, 'that time is in the past');
  return { kind: 'once', at };
}

function cron(text: string, zone: string): Cron {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return new Cron(text, { timezone: zone, paused: true });
  } catch (cause) {
    throw wrong(`${text} ${zone}`, cause instanceof Error ? cause.message : undefined);
  }
}

function wrong(text: string, why = 'that is not a time'): GeodeError {
  return new GeodeError('invalid_input', `${JSON.stringify(text)}: ${why}.`, {
    hint: 'Use `tomorrow 9am`, `every monday at 9`, `every 2h`, `in 20m`, `0 9 * * 1-5` or `2027-01-31T09:00`, with an optional time zone at the end.',
  });
}
