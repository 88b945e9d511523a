import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { GeodeError } from '../../../base/errors.ts';
import { type CliCommand, exitCodes, text } from '../../command.ts';
import { onePositional } from '../../input/values.ts';
import { userClient } from '../../user-client.ts';

export const imageImportCommand: CliCommand = {
  name: 'image import',
  summary: "take the images of an archive into Geode's own store",
  usage: '[OPTION …] FILE',
  examples: [
    ['geode image import app.tar', 'an archive of docker save, or an OCI layout'],
    ['docker save my-app:1 | geode image import -', 'from stdin'],
    ['geode image import --name my-app:2 layout.tar', 'for an image without a name'],
  ],
  options: {
    name: { type: 'string', value: 'NAME', description: 'of the image, where the archive has none' },
  },
  async run(context) {
    const { cwd, json, out, signal, streams, values } = context;
    const file = onePositional(context, 'FILE, or - for stdin');
    const name = text(values, 'name');
    const path = resolve(cwd, file);
    if (file !== '-') await checkFile(path);
    const names = await userClient(context).images.store.load(
      file === '-' ? streams.stdin : createReadStream(path),
      { ...(name !== undefined && { name }), signal },
    );
    if (json) out(JSON.stringify({ names }));
    else for (const each of names) out(each);
    return exitCodes.done;
  },
};

async function checkFile(path: string): Promise<void> {
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isFile()) return;
  throw new GeodeError(
    facts === undefined ? 'file_not_found' : 'not_a_file',
    `${path} on this machine ${facts === undefined ? 'does not exist' : 'is not a file'}.`,
    { hint: 'Give an archive of docker save, or an OCI layout in a tar file.' },
  );
}
