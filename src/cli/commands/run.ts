import { basename } from 'node:path';
import { GeodeError } from '../../base/errors.ts';
import type { LiveRunOptions } from '../../client/run-socket.ts';
import type { RemoteRunEvent } from '../../client/runs.ts';
import { languageNamed, languageOfFile } from '../../seams/languages.ts';
import { languageNames } from '../../seams/run.ts';
import { type Artifact, foldRun } from '../../seams/run-result.ts';
import { type CliCommand, type CliContext, text, texts } from '../command.ts';
import { connectRuns } from '../hosting.ts';
import {
  egressFrom,
  egressOptions,
  networkFrom,
  networkOption,
  warnIfAdvice,
} from '../input/egress-options.ts';
import { readGiven } from '../input/read-given.ts';
import {
  envFrom,
  exitCodeOf,
  limitsFrom,
  runtimeFrom,
  sandboxOptions,
  timeoutFrom,
} from '../input/sandbox-options.ts';
import { atCode } from '../input/split-arguments.ts';
import { showDenied } from '../render/show-denied.ts';
import { showRun } from '../render/show-run.ts';
import { orNotRun, stdinOf } from '../run-command.ts';

export const runCommand: CliCommand = {
  name: 'run',
  summary: 'Run code in a fresh sandbox',
  usage: '[OPTION …] FILE|LANGUAGE [OPTION …] [-c CODE | -] [[--] ARGUMENT …]',
  examples: [
    ["geode run python -c 'print(6*7)'", `languages: ${languageNames.join(', ')}`],
    [
      'geode run --file data.csv --artifact plot.png script.py',
      'language from the file extension; files in and out',
    ],
    ['echo "echo hi" | geode run shell -', 'reads the code from stdin'],
    ['geode run script.py -- --timeout 3', 'passes everything after -- to the code'],
    ['geode run --allow pypi,example.com fetch.py', 'allows only these hosts'],
  ],
  options: {
    ...sandboxOptions,
    ...egressOptions,
    ...networkOption,
    image: {
      type: 'string',
      value: 'IMAGE',
      description: "use this image instead of the language's default",
    },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      description: 'stop the code after this time (default 60; 0: never)',
    },
    cpus: { type: 'string', value: 'NUMBER', description: 'processors: 0.5, 2, or none (default 1)' },
    file: {
      type: 'string',
      short: 'f',
      multiple: true,
      value: 'PATH[=NAME]',
      description: 'copy a file next to the code; may be repeated',
    },
    artifact: {
      type: 'string',
      short: 'a',
      multiple: true,
      value: 'PATTERN',
      description: 'copy files, folders or globs back; may be repeated',
    },
    output: {
      type: 'string',
      short: 'o',
      value: 'FOLDER',
      description: 'folder for artifacts (default ./artifacts)',
    },
    quiet: { type: 'boolean', short: 'q', description: 'print only what the code prints' },
  },
  split: atCode,
  async run(context) {
    const { code, language, argv, stdin } = await codeFrom(context);
    const options = { ...(await optionsFrom(context)), argv, ...stdin };
    return orNotRun(context, async () => {
      await using host = connectRuns(context);
      return await showToEnd(host.client.runs.live(code, language, options), context);
    });
  },
};

async function showToEnd(events: AsyncIterable<RemoteRunEvent>, context: CliContext): Promise<number> {
  const { json, values, out, err } = context;
  const quiet = values.quiet === true || json;
  // Output that was already shown need not be kept.
  const {
    bytes: _,
    artifacts,
    ...result
  } = await foldRun(
    showRun(events, json ? 'nothing' : quiet ? 'output' : 'all', context),
    json ? {} : { outputLimitBytes: 0 },
  );
  const folder = text(values, 'output') ?? 'artifacts';
  const saved = artifacts.length === 0 ? [] : await save(folder, artifacts);
  if (json) {
    const { compile, ...rest } = result;
    const compiler =
      compile === null
        ? null
        : { exitCode: compile.exitCode, stdout: compile.stdout, stderr: compile.stderr };
    out(JSON.stringify({ ...rest, compile: compiler, artifacts: saved }));
  } else if (!quiet) {
    for (const path of saved) err(`geode: saved ${path}`);
    for (const { path, reason } of result.missedArtifacts) err(`geode: ${path} was not saved: ${reason}`);
    showDenied(result.denied ?? [], context);
    if (result.denied !== undefined) warnIfAdvice(result.sandbox.runtime !== 'native', { err });
    if (result.timedOut) err('geode: timed out; killed the code and everything that it started');
    if (result.oomKilled) err('geode: the memory limit was reached');
    if (result.outcome === 'compile-failed') err('geode: the code does not compile');
  }
  return exitCodeOf(result);
}

async function save(folder: string, artifacts: readonly Artifact[]): Promise<readonly string[]> {
  const { saveArtifacts } = await import('../save-artifacts.ts');
  return saveArtifacts(folder, artifacts);
}

interface Source {
  readonly code: Uint8Array;
  readonly language: string;
  readonly argv: readonly string[];
  readonly stdin: Pick<LiveRunOptions, 'stdin'>;
}

/** `script.py …`, `python -c CODE …` or `python - …`. Stdin is the code's, unless it is the code. */
async function codeFrom({ positionals: [first, ...rest], streams, cwd }: CliContext): Promise<Source> {
  const piped = stdinOf(streams);
  const stdin = piped === undefined ? {} : { stdin: piped };
  if (first === undefined) throw usage('Name a file or a language to run.');
  const language = languageOfFile(first);
  if (language !== undefined) {
    return { code: await readGiven(first, cwd), language, argv: rest, stdin };
  }
  const name = languageNamed(first);
  const [flag, code, ...argv] = rest;
  if (flag === '-c' && code !== undefined) return { code: Buffer.from(code), language: name, argv, stdin };
  if (flag === '-') {
    const { buffer } = await import('node:stream/consumers');
    return { code: await buffer(streams.stdin), language: name, argv: rest.slice(1), stdin: {} };
  }
  throw usage(`No code given: geode run ${first} -c CODE, or - to read it from stdin.`);
}

function usage(message: string): GeodeError {
  return new GeodeError('invalid_input', message, {
    hint: 'See geode run --help.',
    details: { usage: true },
  });
}

async function optionsFrom({ values, machine, signal, cwd }: CliContext): Promise<LiveRunOptions> {
  const egress = await egressFrom(values);
  const image = text(values, 'image');
  const runtime = runtimeFrom(values);
  return {
    signal,
    timeoutMs: timeoutFrom(values),
    env: envFrom(values, machine),
    files: await filesFrom(texts(values, 'file'), cwd),
    artifacts: texts(values, 'artifact'),
    limits: limitsFrom(values),
    ...(image === undefined ? {} : { image }),
    ...(runtime === undefined ? {} : { runtime }),
    ...(egress === undefined ? {} : { egress }),
    ...networkFrom(values),
  };
}

async function filesFrom(
  wanted: readonly string[],
  cwd: string,
): Promise<Readonly<Record<string, Uint8Array>>> {
  const files = wanted.map(async (word) => {
    const at = word.lastIndexOf('=');
    const [path, name] = at > 0 ? [word.slice(0, at), word.slice(at + 1)] : [word, basename(word)];
    const content = await readGiven(path, cwd);
    return [name, content] as const;
  });
  return Object.fromEntries(await Promise.all(files));
}
