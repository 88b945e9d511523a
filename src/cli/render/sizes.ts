const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** "1.5 MB": three digits at most. */
export function sizeText(bytes: number): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const amount = bytes / 1000 ** step;
  return `${step === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[step]}`;
}
