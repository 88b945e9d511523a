import type { RedirectOperator } from 'unbash';
import type { Field } from '../field.ts';
import { type Frame, refuse } from '../frame.ts';
import { matchesGlob } from '../glob.ts';
import { resolvePath } from '../paths.ts';
import { accountFile, isDevice, keyFile } from '../places.ts';
import { excerpt } from '../verdict.ts';
import { overwritesKeyFile } from './key-files.ts';

/** What may not be read from or written to with `<` and `>`. */
export function checkRedirect(operator: RedirectOperator, target: Field, frame: Frame): void {
  const path = resolvePath(target, frame);
  const [top = '', name = ''] = path.parts;
  if (
    path.rooted &&
    matchesGlob(top, 'dev') &&
    (matchesGlob(name, 'tcp') || matchesGlob(name, 'udp')) &&
    path.parts.length > 2
  ) {
    refuse(frame, 'reverse-shell', `It would open a raw connection through ${excerpt(target.text)}.`);
  }
  if (operator.startsWith('<')) {
    const key = keyFile(path, frame.inspection.policy);
    if (key !== undefined) refuse(frame, 'key-files', `It would read ${key}, which holds secrets.`);
  }
  if (operator === '<' || operator === '<&') return;
  if (isDevice(path)) refuse(frame, 'device', `It would overwrite the device ${excerpt(target.text)}.`);
  const account = accountFile(path);
  if (account !== undefined) refuse(frame, 'destroy', `It would overwrite ${account}.`);
  if (overwritesKeyFile(path, frame))
    refuse(frame, 'key-files', `It would overwrite ${excerpt(target.text)}.`);
}
