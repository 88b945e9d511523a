import { GeodeError } from '../../base/errors.ts';
import { languageWords } from '../../seams/languages.ts';
import { type ContextLanguage, contextLanguages } from '../../seams/run.ts';
import { type CliCommand, text } from '../command.ts';
import { converse } from '../converse.ts';
import { connectRuns } from '../hosting.ts';
import { envFrom, limitsFrom, runtimeFrom, sandboxOptions, timeoutFrom } from '../input/sandbox-options.ts';

export const replCommand: CliCommand = {
  name: 'repl',
  summary: 'Start an interpreter that keeps its variables',
  usage: '[OPTION …] python|javascript',
  examples: [
    ['geode repl python', 'keeps variables; Ctrl-C interrupts, Ctrl-D exits'],
    ['geode repl --runtime bubblewrap javascript', 'uses the node of this machine'],
    ['geode repl --json python < lines.py', 'prints one JSON result per statement'],
  ],
  options: {
    ...sandboxOptions,
    image: {
      type: 'string',
      value: 'IMAGE',
      description: "use this image instead of the language's default",
    },
    timeout: {
      type: 'string',
      value: 'SECONDS',
      description: 'interrupt a statement after this time (default 0: never)',
    },
    quiet: { type: 'boolean', short: 'q', description: "do not print the sandbox's name on stderr" },
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
      env: envFrom(context.values, context.machine),
      limits: limitsFrom(context.values),
      ...(runtime !== undefined && { runtime }),
      ...(image !== undefined && { image }),
      signal: context.signal,
    });
    if (!quiet) {
      const { sandbox, runtime: chosen, grade } = interpreter;
      context.err(`sandbox ${sandbox}: runtime ${chosen}, isolation grade ${grade}`);
      if (terminal) context.err(`${language}; Ctrl-C interrupts, Ctrl-D exits`);
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
    (language) => language === name || languageWords[language].aliases.includes(name),
  );
  if (known !== undefined && more.length === 0) return known;
  throw new GeodeError(
    'invalid_input',
    name === '' ? 'Name a language.' : `geode repl does not take ${positionals.join(' ')}.`,
    { hint: `geode repl ${contextLanguages.join('|')}`, details: { usage: true } },
  );
}
