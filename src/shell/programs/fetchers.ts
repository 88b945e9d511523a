import { type Field, quoted } from '../field.ts';
import { type Frame, unknown } from '../frame.ts';
import { readOptions, valuesOf } from '../options.ts';
import { writeFile } from '../written-files.ts';
import type { Call, Program } from './call.ts';

/** Programs that bring text from elsewhere, to their output or into a file. */
export const fetchers: Readonly<Record<string, Program>> = {
  curl: runCurl,
  wget: runWget,
  aria2c: (call) => {
    const options = readOptions(call.args, { short: 'odxsj', long: ['out', 'dir'] });
    return (
      save(valuesOf(options, 'o', 'out'), call.frame) ?? saveByName(options.operands, undefined, call.frame)
    );
  },
  ...Object.fromEntries(
    [
      'fetch',
      'http',
      'https',
      'httpie',
      'lynx',
      'w3m',
      'links',
      'elinks',
      'ftp',
      'lftp',
      'tftp',
      'scp',
      'sftp',
    ].map((name) => [name, ({ frame }: Call) => downloaded(frame)]),
  ),
  ...Object.fromEntries(
    ['nc', 'ncat', 'netcat', 'nc.traditional', 'nc.openbsd', 'telnet', 'socat', 'ztcp'].map((name) => [
      name,
      ({ frame }: Call) => unknown(frame, 'connection'),
    ]),
  ),
};

function downloaded(frame: Frame): string {
  return unknown(frame, 'downloaded');
}

const curlValues = 'AbcCdDeEFhHKmoPQrtTuUwxXyYz';
const curlLongValues =
  'output data data-raw data-binary data-urlencode header request user form url user-agent max-time retry proxy cookie cookie-jar write-out upload-file referer connect-timeout cacert cert key output-dir range resolve config'.split(
    ' ',
  );

function runCurl({ args, frame }: Call): string {
  const options = readOptions(args, { short: curlValues, long: curlLongValues });
  const files = valuesOf(options, 'o', 'output');
  const byName =
    options.flags.has('O') || options.flags.has('remote-name') || options.flags.has('remote-name-all');
  if (files.length > 0) return save(files, frame) ?? '';
  if (!byName) return downloaded(frame);
  const [folder] = valuesOf(options, 'output-dir');
  return saveByName([...options.operands, ...valuesOf(options, 'url')], folder, frame);
}

function runWget({ args, frame }: Call): string {
  const options = readOptions(args, {
    short: 'aBDeIiloOPQtTUwX',
    long: [
      'output-document',
      'directory-prefix',
      'tries',
      'timeout',
      'user-agent',
      'header',
      'input-file',
      'output-file',
      'post-data',
    ],
  });
  const saved = save(valuesOf(options, 'O', 'output-document'), frame);
  if (saved !== undefined) return saved;
  const [folder] = valuesOf(options, 'P', 'directory-prefix');
  return saveByName(options.operands, folder, frame);
}

/** Notes the named files as downloaded; returns the output, which is the download where the name means "print". */
function save(files: readonly Field[], frame: Frame): string | undefined {
  if (files.length === 0) return undefined;
  let output = '';
  for (const file of files) {
    if (/^(?:-|\/dev\/stdout|\/dev\/fd\/1|\/proc\/self\/fd\/1)$/.test(file.text)) output = downloaded(frame);
    else writeFile(file, downloaded(frame), false, frame);
  }
  return output;
}

/** The file is named as the last part of the address. */
function saveByName(addresses: readonly Field[], folder: Field | undefined, frame: Frame): string {
  for (const address of addresses) {
    const path = address.text.replace(/[?#].*$/s, '').replace(/^\w+:\/\/[^/]*/, '');
    const name = path.slice(path.lastIndexOf('/') + 1) || 'index.html';
    writeFile(
      quoted(folder === undefined ? name : `${folder.text}/${name}`),
      downloaded(frame),
      false,
      frame,
    );
  }
  return '';
}
