import type { ReactNode } from 'react';

export type Tone = 'good' | 'bad' | 'warn' | 'plain';

const tones: Readonly<Record<Tone, string>> = {
  good: 'border-good text-good',
  bad: 'border-bad text-bad',
  warn: 'border-warn text-warn',
  plain: 'border-line text-faint',
};

export function Badge({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <span className={`inline-block rounded-full border px-2 text-xs whitespace-nowrap ${tones[tone]}`}>
      {children}
    </span>
  );
}

export function stateTone(state: string): Tone {
  if (state === 'running' || state === 'allowed' || state === 'verified') return 'good';
  if (state === 'paused' || state === 'unknown' || state === 'unverified') return 'warn';
  return state === 'denied' || state === 'failed' ? 'bad' : 'plain';
}
