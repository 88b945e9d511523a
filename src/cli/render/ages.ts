/** Times as people say them. */

const steps = [
  { name: 's', ms: 1_000 },
  { name: 'min', ms: 60_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'd', ms: 86_400_000 },
] as const;

/** "3 min": rounded, in the largest unit that there is at least one of. */
export function spanText(ms: number): string {
  const { name, ms: unit } = steps.findLast((step) => Math.round(ms / step.ms) >= 1) ?? steps[0];
  return `${Math.round(Math.max(ms, 0) / unit)} ${name}`;
}

export function agoText(time: number, now = Date.now()): string {
  return now - time < 1_000 ? 'now' : `${spanText(now - time)} ago`;
}

/** "90s", "30m", "2h", "1d", or seconds. Undefined for anything else. */
export function parseSpan(text: string): number | undefined {
  const [, amount, unit = 's'] = /^(\d{1,9}(?:\.\d+)?)(s|m|min|h|d)?$/.exec(text.trim()) ?? [];
  if (amount === undefined) return undefined;
  const { ms } = steps.find(({ name }) => name === (unit === 'm' ? 'min' : unit)) ?? steps[0];
  return Math.round(Number(amount) * ms);
}
