import { loadConfig } from '../../config/load.ts';
import { type CliCommand, type CliContext, exitCodes } from '../command.ts';
import { wrongUsage } from '../input/values.ts';
import type { Checked } from '../onboard/check-plan.ts';
import type { Kept } from '../onboard/keep-plan.ts';
import { type Step, steps } from '../onboard/plan.ts';
import { answerOptions } from '../onboard/unattended.ts';

export const onboardCommand: CliCommand = {
  name: 'onboard',
  summary: 'set up provider, runtime, channels and budget; asks, tries each answer, and writes the config',
  usage: `[OPTION …] [${steps.join('|')} …]`,
  words: steps,
  examples: [
    ['geode onboard', 'the first time: everything; later: choose what to change'],
    ['geode onboard channels', 'one thing only; the rest of the config and its comments stay'],
    [
      'geode onboard --yes --provider anthropic --key-from ANTHROPIC_API_KEY --model claude-sonnet-4-5 --budget 5',
      'asks nothing',
    ],
    ['geode onboard --yes --answers answers.json --start', 'the same from a file; then be the gateway'],
  ],
  options: {
    yes: { type: 'boolean', short: 'y', description: 'ask nothing: the answers are flags or a file' },
    unchecked: { type: 'boolean', description: 'with --yes: keep the answers without trying them' },
    start: { type: 'boolean', description: 'start the gateway afterwards, in this terminal' },
    ...answerOptions,
  },
  async run(context) {
    const wanted = stepsFrom(context);
    const isAsked = context.values.yes !== true;
    const { kept, checked, starts } = isAsked ? await attended(wanted, context) : await unattended(context);
    if (kept === undefined) return exitCodes.done;
    if (context.json) context.out(JSON.stringify({ ...kept, checked }));
    else for (const line of ending(kept, checked, starts)) context.out(line);
    return starts ? startGateway(kept.file, context) : exitCodes.done;
  },
};

interface Onboarded {
  readonly kept: Kept | undefined;
  readonly checked: readonly Checked[];
  readonly starts: boolean;
}

function stepsFrom({ positionals }: CliContext): readonly Step[] {
  return positionals.map((word) => {
    const step = steps.find((each) => each === word);
    if (step === undefined) throw wrongUsage(`There is no step ${word}; there are: ${steps.join(', ')}`);
    return step;
  });
}

async function unattended(context: CliContext): Promise<Onboarded> {
  const [{ unattendedPlan }, { checkPlan }, { keepPlan }] = await Promise.all([
    import('../onboard/unattended.ts'),
    import('../onboard/check-plan.ts'),
    import('../onboard/keep-plan.ts'),
  ]);
  const plan = await unattendedPlan(context);
  const checked = context.values.unchecked === true ? [] : await checkPlan(plan, context);
  return { kept: await keepPlan(plan, context), checked, starts: context.values.start === true };
}

async function attended(wanted: readonly Step[], context: CliContext): Promise<Onboarded> {
  const { streams, values, loaded } = context;
  if (streams.stdin.isTTY !== true || streams.stdout.isTTY !== true)
    throw wrongUsage('geode onboard asks at a terminal; without one give --yes and the answers as flags');
  const [{ terminalAsk }, { askPlan }, { keepPlan }] = await Promise.all([
    import('../onboard/ask.ts'),
    import('../onboard/questions.ts'),
    import('../onboard/keep-plan.ts'),
  ]);
  const ask = terminalAsk(context);
  const { file } = await loaded();
  const choices = steps.map((value) => ({ value, label: value }));
  const asked =
    wanted.length > 0
      ? wanted
      : file.found
        ? await ask.several(`What should change in ${file.path}?`, choices, [])
        : steps;
  if (asked.length === 0) return { kept: undefined, checked: [], starts: false };
  const kept = await keepPlan(await askPlan(asked, ask, context), context);
  const starts =
    values.start === true || (await ask.confirm('Start the gateway now?', kept.outdated === null));
  return { kept, checked: [], starts };
}

function ending(kept: Kept, checked: readonly Checked[], starts: boolean): readonly string[] {
  const { file, settings, secrets, outdated } = kept;
  return [
    ...checked.map(({ what, found }) => `✓ ${what} ${found}`),
    settings.length === 0 ? 'Nothing changed.' : `Set in ${file}: ${settings.join(', ')}.`,
    ...(secrets.length === 0 ? [] : [`Stored as secrets: ${secrets.join(', ')}.`]),
    ...(outdated === null
      ? []
      : [
          `The gateway, process ${outdated}, goes on with the settings from before: end it and start it again.`,
        ]),
    ...(starts ? [] : ['Start the gateway with: geode gateway']),
  ];
}

/** With the config as it is now. */
async function startGateway(file: string, context: CliContext): Promise<number> {
  const [{ gatewayCommand }, { createApp }] = await Promise.all([
    import('./gateway.ts'),
    import('../../app.ts'),
  ]);
  const loaded = await loadConfig(context.host, file);
  const app = createApp(loaded.config, context.host, (message) => context.err(`warning: ${message}`));
  return gatewayCommand.run({
    ...context,
    values: {},
    positionals: [],
    loaded: async () => loaded,
    app: async () => app,
  });
}
