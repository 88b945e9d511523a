import { createWriteStream } from 'node:fs';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GeodeError } from '../../../base/errors.ts';
import { replaceFile } from '../../../base/replace-file.ts';
import { type CliCommand, exitCodes } from '../../command.ts';
import { wrongUsage } from '../../input/values.ts';
import { userClient } from '../../user-client.ts';

export const imageExportCommand: CliCommand = {
  name: 'image export',
  summary: "write an image of Geode's own store to an archive",
  usage: 'NAME FILE',
  examples: [
    ['geode image export alpine:3.22 alpine.tar', 'an OCI layout, which docker load reads too'],
    ['geode image export alpine:3.22 - | docker load', 'to stdout'],
  ],
  options: {},
  async run(context) {
    const { cwd, json, out, signal, streams } = context;
    const [name, file, ...more] = context.positionals;
    if (name === undefined || file === undefined || more.length > 0)
      throw wrongUsage('Give the NAME of an image and a FILE');
    const { body } = await userClient(context).images.store.save({ name, signal });
    const archive = Readable.from(body ?? []);
    if (file === '-') {
      await pipeline(archive, streams.stdout, { end: false });
      return exitCodes.done;
    }
    const path = resolve(cwd, file);
    await replaceFile(path, (draft) => pipeline(archive, createWriteStream(draft, { flags: 'wx' }))).catch(
      (error) => {
        if (error.syscall === undefined) throw error;
        throw new GeodeError('file_refused', `${path} on this machine cannot be written: ${error.message}.`, {
          hint: 'Choose another file, or free space on its disk.',
          cause: error,
        });
      },
    );
    out(json ? JSON.stringify({ name, file: path }) : `${name} written to ${file}`);
    return exitCodes.done;
  },
};
