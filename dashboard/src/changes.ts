import type { HostEvent } from '../../src/seams/events.ts';

/** Which answers an event makes old. */
export function keysToAskAgain(event: HostEvent): readonly (readonly string[])[] {
  const { type } = event;
  if (type.startsWith('sandbox-'))
    return [['sandboxes'], ...('chat' in event && event.chat ? [['sandbox', event.chat]] : [])];
  if (event.type === 'process-start' || event.type === 'process-exit')
    return [['sandbox', event.chat, 'processes']];
  if (type === 'run-end') return [['runs'], ['run']];
  if (event.type === 'cell-end') return [['contexts', event.context]];
  if (type === 'egress-denied') return [['egress']];
  if (type.startsWith('approval-')) return [['approvals']];
  if (type.startsWith('turn-')) return [['agents'], ['chats']];
  if (type.startsWith('solve-') || type === 'attempt-end' || type === 'crystal-change') return [['solves']];
  if (type.startsWith('entr')) return [['memory']];
  if (event.type === 'webhook-change') return [['webhooks'], ['egress']];
  return [];
}
