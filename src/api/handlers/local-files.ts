/** Copies files between a sandbox and the host's machine, for the operator: paths here are paths of that machine. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { GeodeError } from '../../base/errors.ts';
import type { files } from '../../contract/files.ts';
import { defaultLimits } from '../../seams/limits.ts';
import { type Call, refuseUnlessOwnSocket } from '../call.ts';
import { startedSandbox } from '../sandbox-of.ts';
import type { Handlers } from '../serve.ts';

export const localFileHandlers: Pick<Handlers<typeof files>, 'save' | 'download' | 'upload'> = {
  async save({ chat, root, path, to, mode, maxBytes }, call) {
    const { place, most } = await placeOf(call, chat, root);
    const options = { maxBytes: maxBytes ?? most, ...(mode !== undefined && { mode }) };
    await place.save(path, to, { ...options, signal: call.signal });
    return 1;
  },
  async download({ chat, root, path, to, maxBytes }, call) {
    const { place, most } = await placeOf(call, chat, root);
    return place.download(path, to, { maxBytes: maxBytes ?? most, signal: call.signal });
  },
  async upload({ chat, root, from, path }, call) {
    const { place } = await placeOf(call, chat, root);
    const { signal } = call;
    const facts = await stat(from).catch((cause) => {
      throw new GeodeError('file_not_found', `${from} on this machine: ${cause.message}.`, { cause });
    });
    if (facts.isDirectory()) return place.upload(from, path, { signal });
    await place.write(path, createReadStream(from), { mode: facts.mode & 0o777, signal });
    return 1;
  },
};

/** The disk limit of a sandbox is also the limit for a copy on this machine. */
async function placeOf(call: Call, chat: string, root: boolean | undefined) {
  refuseUnlessOwnSocket(call, "Files of the host's machine are copied");
  const sandbox = await startedSandbox(call, chat);
  const most = sandbox.limits.diskBytes ?? defaultLimits.diskBytes;
  return { place: root === true ? sandbox.rootFiles : sandbox.files, most };
}
