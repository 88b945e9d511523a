import type { App } from '../../app.ts';
import { GeodeError } from '../../core/errors.ts';
import type { SandboxSpec } from '../../core/sandbox.ts';
import { openContext } from '../../runs/contexts/context.ts';
import { type ContextLanguage, contextLanguages } from '../../runs/contexts/languages.ts';
import { checkImageName } from '../../runs/images.ts';
import { defaultImages, languageOf } from '../../runs/languages/index.ts';
import { type CliCommand, type CliContext, text } from '../command.ts';
import { converse } from '../converse.ts';
import { envFrom, limitsFrom, runtimeFrom, sandboxOptions, timeoutFrom } from '../sandbox-options.ts';
import { showPull } from '../show-pull.ts';

export const replCommand: CliCommand = {
  name: 'repl',
  summary: 'talk with an interpreter in a fresh sandbox, line by line',
  usage: '[OPTION …] python|javascript',
  examples: [
    ['geode repl python', 'variables live on; Ctrl-C interrupts, Ctrl-D ends'],
    ['geode repl --runtime bubblewrap javascript', 'with the node of this machine'],
    ['geode repl --json python < lines.py', 'one JSON result per statement'],
  ],
  options: {
    ...sandboxOptions,
    image: { type: 'string', value: 'IMAGE', description: "instead of the language's own" },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      description: 'interrupt a statement after that long (default 0: never)',
    },
    quiet: { type: 'boolean', short: 'q', description: 'do not name the sandbox on stderr' },
  },
  async run(context) {
    const language = languageFrom(context.positionals);
    const timeoutMs = timeoutFrom({ timeout: '0', ...context.values });
    const runtime = runtimeFrom(context.values);
    const app = await context.app();
    const quiet = context.values.quiet === true || context.json;
    const pull = showPull();
    await using sandbox = await app
      .open(await specFor(app, language, context), {
        ...(runtime === undefined ? {} : { runtime }),
        signal: context.signal,
        onPull: quiet ? () => {} : pull.show,
      })
      .finally(pull.end);
    await using interpreter = await openContext(sandbox, language, { signal: context.signal });
    if (!quiet) {
      context.err(`sandbox ${sandbox.id}: runtime ${sandbox.runtime}, isolation grade ${sandbox.grade}`);
      if (process.stdin.isTTY) context.err(`${language}; Ctrl-C interrupts, Ctrl-D ends`);
    }
    return await converse(interpreter, {
      input: process.stdin,
      output: process.stdout,
      errors: process.stderr,
      terminal: process.stdin.isTTY === true,
      json: context.json,
      timeoutMs,
      signal: context.signal,
    });
  },
};

function languageFrom(positionals: readonly string[]): ContextLanguage {
  const [name = '', ...more] = positionals;
  const known = contextLanguages.find(
    (language) => language === name || languageOf(language).aliases.includes(name),
  );
  if (known !== undefined && more.length === 0) return known;
  throw new GeodeError(
    'invalid_input',
    name === '' ? 'There is no language to talk in.' : `geode repl does not take ${positionals.join(' ')}.`,
    { hint: `geode repl ${contextLanguages.join('|')}`, details: { usage: true } },
  );
}

async function specFor(
  app: App,
  language: ContextLanguage,
  { values, loaded, host, signal }: CliContext,
): Promise<SandboxSpec> {
  const image = await imageFor(app, language, { values, loaded, signal });
  return {
    env: envFrom(values, host),
    ...(image === undefined ? {} : { image }),
    limits: limitsFrom(values),
  };
}

/** Undefined where the runtime has no images and the machine's own interpreter is used. */
async function imageFor(
  app: App,
  language: ContextLanguage,
  { values, loaded, signal }: Pick<CliContext, 'values' | 'loaded' | 'signal'>,
): Promise<string | undefined> {
  const runtime = await app.runtime(runtimeFrom(values));
  const found = await runtime.probe({ signal });
  const { config } = await loaded();
  const own = found.available && found.capabilities.images;
  const image = text(values, 'image') ?? (own ? config.runs.images[language] : undefined);
  const wanted = image ?? (own ? defaultImages[language] : undefined);
  if (wanted !== undefined && runtime.images !== undefined) checkImageName(wanted);
  return wanted;
}
