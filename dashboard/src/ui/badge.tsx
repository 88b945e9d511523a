import type { ReactNode } from 'react';

export type Tone = 'good' | 'bad' | 'warn' | 'work' | 'plain';

const tones: Readonly<Record<Tone, string>> = {
  good: 'bg-good-soft text-good',
  bad: 'bg-bad-soft text-bad',
  warn: 'bg-warn-soft text-warn',
  work: 'bg-accent-soft text-accent-text',
  plain: 'bg-hover text-muted',
};

export function Badge({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <span
      className={`inline-flex items-center gap-1.5 rounded-chip px-1.5 text-sm font-medium whitespace-nowrap ${tones[tone]}`}
    >
      {children}
    </span>
  );
}

export type StateName =
  | 'running'
  | 'working'
  | 'waiting'
  | 'paused'
  | 'hibernated'
  | 'stopped'
  | 'failed'
  | 'unknown';

const dots: Readonly<Record<StateName, string>> = {
  running: 'bg-good',
  working: 'bg-accent-text',
  waiting: 'bg-warn-fill',
  failed: 'bg-bad',
  paused: 'border-2 border-faint',
  hibernated: 'border-2 border-faint',
  stopped: 'border-2 border-faint',
  unknown: 'border-2 border-faint',
};

/** The state of something as a colour and a form; the word stands beside it. */
export function Dot({ state }: { readonly state: StateName }) {
  return <span aria-hidden className={`dot ${dots[state]}`} />;
}

const stateTones: Readonly<Record<StateName, Tone>> = {
  running: 'good',
  working: 'work',
  waiting: 'warn',
  failed: 'bad',
  paused: 'plain',
  hibernated: 'plain',
  stopped: 'plain',
  unknown: 'plain',
};

export function State({ state, children }: { readonly state: StateName; readonly children: ReactNode }) {
  return (
    <Badge tone={stateTones[state]}>
      <Dot state={state} />
      {children}
    </Badge>
  );
}

export function stateTone(state: string): Tone {
  if (state === 'running' || state === 'allowed' || state === 'verified') return 'good';
  if (state === 'paused' || state === 'unknown' || state === 'unverified') return 'warn';
  return state === 'denied' || state === 'failed' ? 'bad' : 'plain';
}
