/**
 * Measures Geode against its alternatives on the same machine in the same run.
 *
 *   npm run bench                       every section
 *   npm run bench -- exec transfer      some of them
 *   npm run bench -- --quick            a few rounds only, to see that it works; nothing is kept
 *   npm run bench -- --write            docs/performance.* from the kept results, without measuring
 *
 * Results are kept in bench/results/spine.json. On Debian as root the engines are installed and started
 * when they are missing, as for the tests.
 */
import { parseArgs } from 'node:util';
import { type EngineFacts, leftBehind, RunFolder, startEngines } from '../test/engine/index.ts';
import { writeDocuments } from './documents.ts';
import { thisMachine } from './machine.ts';
import { inOwnProcess } from './own-process.ts';
import { machineText, sectionText, targetText } from './report.ts';
import { type Results, readResults, saveResults } from './results.ts';
import type { Section } from './section.ts';
import { sections } from './sections.ts';

const names = sections.map(({ name }) => name);
const quickShare = 0.1;

await main();

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { quick: { type: 'boolean', default: false }, write: { type: 'boolean', default: false } },
  });
  const unknown = positionals.filter((name) => !names.includes(name));
  if (unknown.length > 0) {
    console.error(`There is no section ${unknown.join(', ')}. The sections are ${names.join(', ')}.`);
    process.exitCode = 2;
    return;
  }
  const writeOnly = values.write && positionals.length === 0;
  const wanted = sections.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  if (!writeOnly) await measure(wanted, values.quick);
  if (values.write && process.exitCode === undefined) await write();
}

async function measure(wanted: readonly Section[], quick: boolean): Promise<void> {
  await using engines = await startEngines();
  const signal = stopSignal();
  await using _scratch = scratchFolder(engines.facts);
  const machine = await thisMachine(engines.facts);
  const results: Results = {};
  console.log(`${machineText(machine)}\n`);
  try {
    for (const { name, title } of wanted) {
      console.log(title);
      const task = { section: name, engines: engines.facts, share: quick ? quickShare : 1 };
      const findings = await inOwnProcess(task, signal);
      console.log(`${sectionText(findings)}\n`);
      const measuredOn = new Date().toISOString().slice(0, 10);
      results[name] = { title, measuredOn, machine, ...findings };
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    console.error('Stopped; nothing is kept.');
    process.exitCode = 130;
    return;
  }
  sumUp(results);
  if (!quick) await saveResults(results, names);
}

/** The first Ctrl-C lets the section put away what it opened; the second does not wait for that. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(130);
      console.error('\nStopping, and putting everything away …');
      stop.abort(new Error('stopped'));
    });
  }
  return stop.signal;
}

/** All folders of a bench are below this one, so that a forgotten one is seen, and gone all the same. */
function scratchFolder(facts: EngineFacts): AsyncDisposable {
  const run = new RunFolder();
  process.env.TMPDIR = run.path;
  return {
    async [Symbol.asyncDispose]() {
      const left = await leftBehind(facts, run);
      run.remove();
      if (left.length > 0) throw new Error(`The bench left something behind:\n${left.join('\n')}`);
    },
  };
}

function sumUp(results: Results): void {
  const targets = Object.values(results).flatMap((findings) => findings.targets);
  const missed = targets.filter(({ met }) => !met);
  console.log(`${targets.length - missed.length} of ${targets.length} targets are met.`);
  for (const target of missed) console.log(`  missed ${targetText(target)}`);
}

async function write(): Promise<void> {
  const results = await readResults();
  if (results === undefined) throw new Error('There are no results yet: run `npm run bench` first.');
  await writeDocuments(results);
}
