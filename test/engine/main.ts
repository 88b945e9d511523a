/**
 * The engines by hand: `node test/engine/main.ts up|down|status`. After `up` every test run finds them ready.
 */
import { pidOf } from './daemon.ts';
import { runtimeFolder } from './folders.ts';
import { keepEngines, releaseEngines } from './index.ts';

const commands: Record<string, () => Promise<void>> = { up, down, status };
const run = commands[process.argv[2] ?? ''];
if (run === undefined) {
  console.error('usage: node test/engine/main.ts up|down|status');
  process.exitCode = 2;
} else {
  await run();
}

async function up(): Promise<void> {
  const facts = await keepEngines();
  for (const [name, fact] of Object.entries(facts)) {
    console.log(name, JSON.stringify(fact));
    if (!fact.available) process.exitCode = 1;
  }
}

async function down(): Promise<void> {
  const outcome = await releaseEngines();
  console.log(outcome === 'stopped' ? 'stopped' : 'a test run uses the engines; the last one stops them');
}

async function status(): Promise<void> {
  for (const name of ['docker', 'podman']) {
    const pid = pidOf(name);
    console.log(
      pid === null
        ? `${name} is not running`
        : `${name} runs as process ${pid}, log ${runtimeFolder}/${name}.log`,
    );
  }
}
