import { GeodeError } from './errors.ts';

export function protocolError(what: string): GeodeError {
  return new GeodeError('guest_protocol', `The guest violated the protocol: ${what}.`);
}
