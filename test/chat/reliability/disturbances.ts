import { generator } from '../../fixtures/random.ts';
import type { TelegramServer } from '../../fixtures/telegram-server.ts';

export interface Disturbance {
  /** It happens when so many answers were read. */
  readonly at: number;
  readonly kind: (typeof kinds)[number];
}

/** Each of them comes as often as the kills, so that no seed leaves one out. */
const kinds = [
  'kill',
  'send-cut-before',
  'send-cut-after',
  'edit-cut-after',
  'send-refused',
  'edit-refused',
  'send-500',
  'send-502',
  'send-503',
  'edit-502',
  'poll-cut',
  'poll-refused',
  'drop',
] as const;

/** The disturbances in their order, within the first part of the messages. The rest is for measuring memory. */
export function planned(kills: number, messages: number, seed: number): Disturbance[] {
  const random = generator(seed);
  return kinds
    .flatMap((kind) => Array.from({ length: kills }, () => ({ kind, at: Math.floor(random() * messages) })))
    .toSorted((a, b) => a.at - b.at);
}

const tooMany = {
  status: 429,
  body: { ok: false, error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 1 } },
};

function broken(status: number) {
  return { status, body: { ok: false, error_code: status, description: 'Try again later' } };
}

/** Faults of the platform; kills are counted separately. */
export function disturb(telegram: TelegramServer, kind: Exclude<Disturbance['kind'], 'kill'>): void {
  if (kind === 'send-cut-before') telegram.fail('sendMessage', 'cut-before');
  else if (kind === 'send-cut-after') telegram.fail('sendMessage', 'cut-after');
  else if (kind === 'edit-cut-after') telegram.fail('editMessageText', 'cut-after');
  else if (kind === 'send-refused') telegram.fail('sendMessage', tooMany);
  else if (kind === 'edit-refused') telegram.fail('editMessageText', tooMany);
  else if (kind === 'send-500') telegram.fail('sendMessage', broken(500));
  else if (kind === 'send-502') telegram.fail('sendMessage', broken(502));
  else if (kind === 'send-503') telegram.fail('sendMessage', broken(503));
  else if (kind === 'edit-502') telegram.fail('editMessageText', broken(502));
  else if (kind === 'poll-cut') telegram.fail('getUpdates', 'cut-after');
  else if (kind === 'poll-refused') telegram.fail('getUpdates', tooMany);
  else telegram.drop();
}
