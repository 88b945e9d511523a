/** Questions at a terminal. Ctrl-C at any of them ends the whole, and nothing is changed. */
import * as prompts from '@clack/prompts';
import { GeodeError } from '../../base/errors.ts';
import type { CliContext } from '../command.ts';

export interface Choice<T> {
  readonly value: T;
  readonly label: string;
  readonly hint?: string;
}

export interface Ask {
  choose<T extends string>(message: string, choices: readonly Choice<T>[], first?: T): Promise<T>;
  several<T extends string>(
    message: string,
    choices: readonly Choice<T>[],
    chosen: readonly T[],
  ): Promise<readonly T[]>;
  /** Asked again until `check` gives no complaint. */
  text(message: string, options?: TextOptions): Promise<string>;
  /** Shown as dots. */
  secret(message: string, check?: (given: string) => string | undefined): Promise<string>;
  confirm(message: string, first: boolean): Promise<boolean>;
  /** Shows that something is being tried; what went wrong is shown and gives undefined. */
  trying<T>(what: string, work: () => Promise<T>, found: (result: T) => string): Promise<T | undefined>;
  show(words: string): void;
}

interface TextOptions {
  readonly initial?: string | undefined;
  readonly placeholder?: string;
  readonly check?: (given: string) => string | undefined;
}

export function terminalAsk({ streams, signal }: CliContext): Ask {
  const at = { input: streams.stdin, output: streams.stdout, signal };
  const answered = async <T>(asking: Promise<T | typeof prompts.CANCEL_SYMBOL>): Promise<T> => {
    const answer = await asking;
    if (!prompts.isCancel(answer)) return answer;
    throw new GeodeError('cancelled', 'Onboarding was left; nothing was changed.', { cause: 'SIGINT' });
  };
  return {
    choose: async (message, choices, first) => {
      const options = choices.map(({ value, ...shown }) => ({ value: value as string, ...shown }));
      const initial = first === undefined ? {} : { initialValue: first as string };
      const chosen = await answered(prompts.select<string>({ ...at, message, options, ...initial }));
      return chosenFrom(choices, chosen);
    },
    several: async (message, choices, chosen) => {
      const options = choices.map(({ value, ...shown }) => ({ value: value as string, ...shown }));
      const asking = prompts.multiselect<string>({
        ...at,
        message: `${message} (space chooses, enter goes on)`,
        options,
        initialValues: [...chosen],
        required: false,
      });
      return (await answered(asking)).map((value) => chosenFrom(choices, value));
    },
    text: async (message, { initial, placeholder, check } = {}) => {
      const asking = prompts.text({
        ...at,
        message,
        ...(initial && { initialValue: initial }),
        ...(placeholder && { placeholder }),
        validate: (given) => check?.((given ?? '').trim()),
      });
      return ((await answered(asking)) ?? '').trim();
    },
    secret: async (message, check) => {
      const validate = (given: string | undefined) => check?.((given ?? '').trim());
      return ((await answered(prompts.password({ ...at, message, validate }))) ?? '').trim();
    },
    confirm: (message, first) => answered(prompts.confirm({ ...at, message, initialValue: first })),
    async trying(what, work, found) {
      const spinner = prompts.spinner({ output: streams.stdout, signal });
      spinner.start(what);
      try {
        const result = await work();
        spinner.stop(found(result));
        return result;
      } catch (error) {
        if (!(error instanceof GeodeError) || error.code === 'cancelled') {
          spinner.error(what);
          throw error;
        }
        spinner.error(`${error.message} ${error.hint}`);
        return undefined;
      }
    },
    show: (words) => prompts.log.message(words, { output: streams.stdout }),
  };
}

function chosenFrom<T extends string>(choices: readonly Choice<T>[], value: string): T {
  const found = choices.find((choice) => choice.value === value);
  if (found === undefined) throw new GeodeError('internal', `${value} was not among the choices.`);
  return found.value;
}

/** After a trial that failed. */
export async function keepsAnyway(ask: Ask): Promise<boolean> {
  const next = await ask.choose('That did not work.', [
    { value: 'again', label: 'Try again' },
    { value: 'keep', label: 'Keep it as it is' },
  ]);
  return next === 'keep';
}

/** As secrets have to be; empty is for the caller to judge. */
export function checkKey(given: string): string | undefined {
  if (given === '' || /^[\x21-\x7e]{8,}$/.test(given)) return undefined;
  return 'At least 8 characters without white space';
}
