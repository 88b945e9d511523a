import { loadConfig } from '../../config/load.ts';
import { type CliCommand, type CliContext, exitCodes } from '../command.ts';
import { wrongUsage } from '../input/values.ts';
import type { CheckedPlan } from '../onboard/check-plan.ts';
import type { Kept } from '../onboard/keep-plan.ts';
import { type SetupStep, steps } from '../onboard/plan.ts';
import { answerOptions } from '../onboard/unattended.ts';

export const onboardCommand: CliCommand = {
  name: 'onboard',
  summary: 'Set up providers, runtime, channels and budget',
  usage: `[OPTION …] [${steps.join('|')} …]`,
  words: steps,
  examples: [
    ['geode onboard', 'asks for everything the first time, later for what to change'],
    ['geode onboard channels', 'sets up one part; keeps the rest of the config and its comments'],
    [
      'geode onboard --yes --provider anthropic --key-from ANTHROPIC_API_KEY --model claude-sonnet-4-5 --budget 5',
      'asks nothing',
    ],
    [
      'geode onboard --yes --answers answers.json --start',
      'takes the answers from a file, then starts the gateway',
    ],
  ],
  options: {
    yes: { type: 'boolean', short: 'y', description: 'ask nothing; take the answers from flags or a file' },
    unchecked: { type: 'boolean', description: 'with --yes: save the answers without testing them' },
    start: { type: 'boolean', description: 'start the gateway in this terminal afterwards' },
    ...answerOptions,
  },
  async run(context) {
    const wanted = stepsFrom(context);
    await context.loaded();
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
  readonly checked: readonly CheckedPlan[];
  readonly starts: boolean;
}

function stepsFrom({ positionals }: CliContext): readonly SetupStep[] {
  return positionals.map((word) => {
    const step = steps.find((each) => each === word);
    if (step === undefined) throw wrongUsage(`There is no step ${word}. Choose from: ${steps.join(', ')}`);
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

async function attended(wanted: readonly SetupStep[], context: CliContext): Promise<Onboarded> {
  const { streams, values, loaded } = context;
  if (streams.stdin.isTTY !== true || streams.stdout.isTTY !== true)
    throw wrongUsage('geode onboard needs a terminal; without one, give --yes and the answers as flags');
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

function ending(kept: Kept, checked: readonly CheckedPlan[], starts: boolean): readonly string[] {
  const { file, settings, secrets, outdated } = kept;
  return [
    ...checked.map(({ what, found }) => `✓ ${what} ${found}`),
    settings.length === 0 ? 'Nothing changed.' : `Set in ${file}: ${settings.join(', ')}.`,
    ...(secrets.length === 0 ? [] : [`Stored as secrets: ${secrets.join(', ')}.`]),
    ...(outdated === null
      ? []
      : [`The running gateway (pid ${outdated}) still uses the old settings. Restart it.`]),
    ...(starts ? [] : ['Start the gateway: geode gateway']),
  ];
}

/** Starts the gateway with the new config. */
async function startGateway(file: string, context: CliContext): Promise<number> {
  const [{ gatewayCommand }, { createGeode }] = await Promise.all([
    import('./gateway.ts'),
    import('../../host/geode.ts'),
  ]);
  const loaded = await loadConfig(context.machine, file);
  const geode = createGeode(loaded.config, context.machine, (message) => context.err(`warning: ${message}`));
  return gatewayCommand.run({
    ...context,
    values: {},
    positionals: [],
    loaded: async () => loaded,
    geode: async () => geode,
  });
}
