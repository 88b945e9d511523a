/** Files of a sandbox. */

import { GeodeError } from '../../base/errors.ts';
import type { files } from '../../contract/files.ts';
import type { Files } from '../../seams/files.ts';
import type { Call } from '../call.ts';
import { runningSandbox, startedSandbox } from '../sandbox-of.ts';
import type { Handlers } from '../serve.ts';
import { untilAborted } from '../until-aborted.ts';
import { localFileHandlers } from './local-files.ts';

export const fileHandlers: Handlers<typeof files> = {
  ...localFileHandlers,
  async list({ path, depth, limit, ...where }, call) {
    const options = { ...(depth !== undefined && { depth }), ...(limit !== undefined && { limit }) };
    return (await looked(where, call)).list(path, { ...options, signal: call.signal });
  },
  stat: async ({ path, follow, ...where }, call) =>
    (await looked(where, call)).stat(path, { follow, signal: call.signal }),
  search: async ({ path, pattern, limit, ...where }, call) =>
    (await looked(where, call)).search(path, pattern, {
      ...(limit !== undefined && { limit }),
      signal: call.signal,
    }),
  grep: async ({ chat, root, path, pattern, ...options }, call) =>
    (await looked({ chat, root }, call)).grep(path, pattern, { ...options, signal: call.signal }),
  async watch({ path, recursive, ...where }, call) {
    const { signal } = call;
    const place = await looked(where, call);
    await place.stat(path, { signal });
    return untilAborted(place.watch(path, { recursive, signal }), signal);
  },

  async read({ path, ...where }, call) {
    const { signal } = call;
    const place = await looked(where, call);
    const { type, size } = await place.stat(path, { follow: true, signal });
    if (type !== 'file') throw new GeodeError('not_a_file', `${JSON.stringify(path)} is a ${type}`);
    return { size, read: (range) => place.stream(path, { ...range, signal }) };
  },
  async write({ path, mode, exclusive, ...where }, call) {
    const options = { exclusive, ...(mode !== undefined && { mode }), signal: call.signal };
    return (await changed(where, call)).write(path, call.body(), options);
  },
  append: async ({ path, ...where }, call) =>
    (await changed(where, call)).append(path, call.body(), { signal: call.signal }),
  async archive({ path, ...where }, call) {
    const { signal } = call;
    const place = await looked(where, call);
    const { type } = await place.stat(path, { follow: true, signal });
    if (type !== 'directory') throw new GeodeError('not_a_file', `${JSON.stringify(path)} is not a folder`);
    return { read: () => place.archive(path, { signal }) };
  },
  extract: async ({ path, ...where }, call) =>
    (await changed(where, call)).extract(path, call.body(), { signal: call.signal }),

  async mkdir({ path, mode, ...where }, call) {
    await (await changed(where, call)).mkdir(path, {
      ...(mode !== undefined && { mode }),
      signal: call.signal,
    });
  },
  async move({ path, to, overwrite = false, ...where }, call) {
    await (await changed(where, call)).move(path, to, { overwrite, signal: call.signal });
  },
  async copy({ path, to, overwrite = false, ...where }, call) {
    await (await changed(where, call)).copy(path, to, { overwrite, signal: call.signal });
  },
  async chmod({ path, mode, ...where }, call) {
    await (await changed(where, call)).chmod(path, mode, { signal: call.signal });
  },
  replace: async ({ path, pattern, replacement, regex = false, expect, ...where }, call) =>
    (await changed(where, call)).replace(path, pattern, replacement, {
      regex,
      ...(expect !== undefined && { expect }),
      signal: call.signal,
    }),
  remove: async ({ path, ...where }, call) =>
    (await changed(where, call)).remove(path, { signal: call.signal }),
};

/** Paths in the workspace, or everywhere the sandbox's user can see. */
interface Where {
  readonly chat: string;
  readonly root?: boolean;
}

async function looked({ chat, root }: Where, call: Call): Promise<Files> {
  const sandbox = await runningSandbox(call, chat);
  return root === true ? sandbox.rootFiles : sandbox.files;
}

async function changed({ chat, root }: Where, call: Call): Promise<Files> {
  const sandbox = await startedSandbox(call, chat);
  return root === true ? sandbox.rootFiles : sandbox.files;
}
