import { stripVTControlCharacters } from 'node:util';
import type { BuildEvent } from '../../seams/images.ts';
import type { CliContext } from '../command.ts';
import { pullOf } from './show-pull.ts';

/** Shows the progress of a build on stderr: one line for each step, and with `--verbose` the output of the steps. */
export interface BuildDisplay {
  show(event: BuildEvent): void;
  /** Erases the progress line before other output. Idempotent. */
  end(): void;
}

const widest = 100;

/** For programs nothing is shown. */
export function buildDisplay(
  { json, streams, err }: Pick<CliContext, 'json' | 'streams' | 'err'>,
  verbose: boolean,
): BuildDisplay {
  const pull = pullOf({ json, streams });
  const { stderr } = streams;
  let unfinished = false;
  const end = () => {
    pull.end();
    if (unfinished) stderr.write('\r\x1b[K');
    unfinished = false;
  };
  return {
    show(event) {
      if (json) return;
      if (event.type === 'pull-progress') return pull.show(event);
      if (event.type === 'build-step') {
        end();
        err(`${event.image} ${event.step}/${event.steps} ${event.instruction.slice(0, widest)}`);
      } else if (verbose) err(`  ${event.line}`);
      else if (stderr.isTTY) {
        stderr.write(`\r  ${stripVTControlCharacters(event.line).slice(0, widest)}\x1b[K`);
        unfinished = true;
      }
    },
    end,
  };
}
