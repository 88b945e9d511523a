import { GeodeError } from '../../core/errors.ts';
import { type ContextLanguage, contextLanguages } from '../../runs/contexts/languages.ts';
import { languageOf } from '../../runs/languages/index.ts';
import { type CliCommand, text } from '../command.ts';
import { converse } from '../converse.ts';
import { connectRuns } from '../hosting.ts';
import { envFrom, limitsFrom, runtimeFrom, sandboxOptions, timeoutFrom } from '../input/sandbox-options.ts';

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
    const quiet = context.values.quiet === true || context.json;
    const image = text(context.values, 'image');
    const { streams } = context;
    const terminal = streams.inputKind() === 'terminal';
    await using host = connectRuns(context);
    await using interpreter = await host.client.contexts.open(language, {
      env: envFrom(context.values, context.host),
      limits: limitsFrom(context.values),
      ...(runtime !== undefined && { runtime }),
      ...(image !== undefined && { image }),
      signal: context.signal,
    });
    if (!quiet) {
      const { sandbox, runtime: chosen, grade } = interpreter;
      context.err(`sandbox ${sandbox}: runtime ${chosen}, isolation grade ${grade}`);
      if (terminal) context.err(`${language}; Ctrl-C interrupts, Ctrl-D ends`);
    }
    return await converse(interpreter, {
      input: streams.stdin,
      output: streams.stdout,
      errors: streams.stderr,
      terminal,
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
