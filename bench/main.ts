/**
 * What Geode costs, against what else does it on the same machine in the same run.
 *
 *   npm run bench                       every section
 *   npm run bench -- exec transfer      some of them
 *   npm run bench -- --quick            a few rounds only, to see that it works; nothing is kept
 *   npm run bench -- --write            docs/performance.* from the kept results, without measuring
 *
 * Results are kept in bench/results/spine.json. On Debian as root the engines are installed and started
 * when they are missing, as for the tests.
 */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type EngineFacts, leftovers, startEngines } from '../test/engine/index.ts';
import { writeDocuments } from './documents.ts';
import { thisMachine } from './machine.ts';
import { machineText, sectionText, targetText } from './report.ts';
import { type Results, readResults, saveResults } from './results.ts';
import type { Bench, Section } from './section.ts';
import { burstSection } from './spine/burst.ts';
import { createSection } from './spine/create.ts';
import { execSection } from './spine/exec.ts';
import { firstByteSection } from './spine/first-byte.ts';
import { footprintSection } from './spine/footprint.ts';
import { growthSection } from './spine/growth.ts';
import { outputSection } from './spine/output.ts';
import { benchOwner } from './spine/place.ts';
import { transferSection } from './spine/transfer.ts';

/** All that the bench knows, in the order in which it is measured and shown. */
const sections: readonly Section[] = [
  execSection,
  firstByteSection,
  burstSection,
  outputSection,
  transferSection,
  createSection,
  footprintSection,
  growthSection,
];

const quickShare = 0.1;

await main();

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: 'boolean', default: false }, write: { type: 'boolean', default: false } },
  });
  const unknown = positionals.filter((name) => !sections.some((section) => section.name === name));
  if (unknown.length > 0) {
    const names = sections.map(({ name }) => name).join(', ');
    console.error(`There is no section ${unknown.join(', ')}. The sections are ${names}.`);
    process.exitCode = 2;
    return;
  }
  const writeOnly = values.write && positionals.length === 0;
  const wanted = sections.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  if (!writeOnly) await measure(wanted, values.quick);
  if (values.write && process.exitCode === undefined) await write();
}

async function measure(wanted: readonly Section[], quick: boolean): Promise<void> {
  const stop = stopOnSignals();
  await using engines = await startEngines();
  await using scratch = scratchFolder(engines.facts);
  const bench: Bench = {
    engines: engines.facts,
    signal: stop,
    rounds: (full) => Math.max(quick ? Math.round(full * quickShare) : full, 1),
  };
  try {
    const results: Results = { machine: await thisMachine(engines.facts), sections: {} };
    console.log(`${machineText(results.machine)}\n`);
    for (const section of wanted) {
      stop.throwIfAborted();
      console.log(section.title);
      const findings = await section.run(bench);
      console.log(`${sectionText(findings)}\n`);
      const measuredOn = new Date().toISOString().slice(0, 10);
      results.sections[section.name] = { title: section.title, measuredOn, ...findings };
    }
    sumUp(results);
    if (!quick) await saveResults(results, sections.map(({ name }) => name));
  } catch (error) {
    if (!stop.aborted) throw error;
    console.error('Stopped; nothing was kept.');
    process.exitCode = 130;
  } finally {
    await scratch.check();
  }
}
