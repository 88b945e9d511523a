/** The spans of a chat message: its arrival, and later the work on it, which may be on another host. */
import { finishing, parseTraceparent } from '../base/spans.ts';
import type { BusMessage } from '../seams/bus.ts';
import type { Telemetry } from '../seams/telemetry.ts';
import { messageBody } from './bodies.ts';

export function inArrivalSpan<T>(
  telemetry: Telemetry | undefined,
  channel: string,
  work: () => Promise<T>,
): Promise<T> {
  if (telemetry === undefined) return work();
  const attributes = { 'messaging.system': channel, 'messaging.operation.name': 'receive' };
  return finishing(telemetry.root('receive message', { kind: 'producer', attributes }), work);
}

export function inMessageSpan<T>(
  telemetry: Telemetry | undefined,
  message: Pick<BusMessage, 'id' | 'body' | 'tries'>,
  work: () => Promise<T>,
): Promise<T> {
  if (telemetry === undefined) return work();
  const { channel, trace } = messageBody(message);
  const span = telemetry.root('process message', {
    kind: 'consumer',
    parent: parseTraceparent(trace),
    attributes: {
      'messaging.system': channel,
      'messaging.operation.name': 'process',
      'messaging.message.id': `${message.id}`,
      'geode.message.tries': message.tries,
    },
  });
  return finishing(span, work);
}
