import type { RedirectOperator } from 'unbash';
import { type Argument, type CommandFrame, refuse } from '../frame.ts';
import { matchesGlob } from '../glob.ts';
import { resolvePath } from '../paths.ts';
import { accountFile, isDevice, keyFile } from '../places.ts';
import { excerpt } from '../verdict.ts';

/** Checks the target of `<`, `>` and similar. */
export function checkRedirect(operator: RedirectOperator, target: Argument, frame: CommandFrame): void {
  const path = resolvePath(target.pattern, frame);
  const [top = '', name = ''] = path.parts;
  const isConnection = matchesGlob(name, 'tcp') || matchesGlob(name, 'udp');
  if (path.rooted && matchesGlob(top, 'dev') && isConnection && path.parts.length > 2) {
    refuse(frame, 'reverse-shell', `It would open a raw connection through ${excerpt(target.text)}.`);
  }
  const key = keyFile(path, frame.policy);
  if (operator.startsWith('<') && key !== undefined) {
    refuse(frame, 'key-files', `It would read ${key}, which contains secrets.`);
  }
  if (operator === '<' || operator === '<&') return;
  if (isDevice(path)) refuse(frame, 'device', `It would overwrite the device ${excerpt(target.text)}.`);
  const account = accountFile(path);
  if (account !== undefined) refuse(frame, 'destroy', `It would overwrite ${account}.`);
  // Other key files may be created; these give access or change Geode.
  const givesAccess =
    key?.startsWith('/etc/') || key?.includes('geode') || path.parts.at(-1) === 'authorized_keys';
  if (key !== undefined && givesAccess) {
    refuse(frame, 'key-files', `It would overwrite ${excerpt(target.text)}.`);
  }
}
