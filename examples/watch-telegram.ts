/**
 * Two minutes with the gateway on Telegram: an unknown person is paired, an agent works in its sandbox, a dangerous
 * command is asked about, and the gateway is killed in the middle of an answer. The Telegram and the model are small
 * servers of this project that speak the real wires, so no account and no key is needed.
 *
 *   npm install && npm run guest
 *   node scripts/node24.cjs examples/watch-telegram.ts                   options are passed on to geode gateway,
 *   node scripts/node24.cjs examples/watch-telegram.ts --containerized   such as this one
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { lastSaid } from '../test/chat/gateway-world.ts';
import { sandboxHome } from '../test/cli/sandbox-home.ts';
import { type ModelCall, type Reply, startModelServer } from '../test/fixtures/model-server/model-server.ts';
import { startTelegram, telegramToken } from '../test/fixtures/telegram-server.ts';

const ann = 42;
const mostWaitMs = 120_000;

await using telegram = await startTelegram();
await using model = await startModelServer(think);
const settings = Object.entries(process.env).filter(([name]) => name.startsWith('GEODE_'));
await using home = await sandboxHome({
  ...Object.fromEntries(settings.map(([name, value]) => [name, value ?? ''])),
  GEODE_GATEWAY_PORT: '0',
  GEODE_GATEWAY_LOG_LEVEL: 'warn',
  BOT_TOKEN: telegramToken,
  MODEL_KEY: 'no-real-key-is-needed',
});
/** The bot's printed messages in the chat, and how many there were when Ann last wrote. */
const printed: string[] = [];
let before = 0;

say('The first minute: which model, which channel. Each answer is tried before it is kept.');
const answers = join(home.folder, 'answers.json');
await writeFile(answers, JSON.stringify({ channels: { telegram: { settings: { api_url: telegram.url } } } }));
await show(
  ...['onboard', '--yes', '--answers', answers, '--token-from', 'telegram=BOT_TOKEN'],
  ...[
    '--provider',
    'anthropic',
    '--base-url',
    `${model.url}/v1`,
    '--model',
    'scripted',
    '--key-from',
    'MODEL_KEY',
  ],
);
let gateway = await startGateway();

say('Ann writes to the bot. The bot does not know her yet.');
annWrites('Hello?');
const code = /code is `?([A-Z0-9]{8})/.exec(await bot(/code is/))?.[1] ?? '';
say('The owner of the gateway pairs her, and her message is answered.');
await show('chat', 'pair', code, '--as', 'ann');
await bot(/You are paired/);
await bot(/^ready$/);

say('Her agent has a sandbox of its own. What it writes grows in the chat.');
annWrites('Count the planets in a file.');
await bot(/all eight\.$/);
annWrites('/file planets.txt');
await bot(/planets/);

say('A command that looks dangerous is shown as it would run; only she can press the buttons.');
annWrites('Now read my SSH key.');
await bot(/no-such-key/);
const question = telegram.messages.findLast(({ buttons }) => buttons.length > 0);
if (question === undefined) throw new Error('Nothing was asked');
console.log('Ann presses: Deny');
telegram.press(ann, question, 'Deny');
await bot(/leave it alone/);

say('Kill the gateway in the middle of an answer. The next one continues it.');
annWrites('Tell me a long story.');
await bot(/^Once upon(.*answered it){3}/s);
console.log(`$ kill -9 ${gateway.pid}`);
const killed = once(gateway, 'exit');
gateway.kill('SIGKILL');
await killed;
gateway = await startGateway();
await bot(/The end\.$/);

say('The record of all of it.');
annWrites('/status');
await bot(/Spent today/);
await show('status');
const ended = once(gateway, 'close');
gateway.kill('SIGTERM');
await ended;

/** Everything that this model answers. */
function think(call: ModelCall): Reply {
  const said = lastSaid(call);
  if (said.includes('planets'))
    return {
      text: 'I write them down.',
      calls: [
        shell(
          'printf "%s\\n" Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune > planets.txt; wc -l planets.txt',
        ),
      ],
    };
  if (said.includes('SSH')) return { text: '', calls: [shell('cat ~/.ssh/no-such-key')] };
  if (said.includes('story'))
    return {
      text: `Once upon a time ${'there was a message, and somebody answered it, and '.repeat(8)}so on. The end.`,
      everyMs: 200,
    };
  if (said !== '') return { text: 'ready' };
  return JSON.stringify(call.body).includes('denied this command')
    ? { text: 'You said no, so I leave it alone.' }
    : {
        text: 'They are in planets.txt, one on each line: I counted them, and it has all eight.',
        everyMs: 400,
      };
}

function shell(command: string) {
  return { tool: 'shell', input: { command } };
}

async function startGateway() {
  const options = process.argv.slice(2);
  console.log(`$ geode ${['gateway', ...options].join(' ')} &`);
  const child = home.start('gateway', ...options);
  let output = '';
  child.stderr.on('data', (piece) => process.stderr.write(piece));
  child.stdout.on('data', (piece) => {
    output += piece;
  });
  await until(() => {
    if (child.exitCode !== null) throw new Error('The gateway ended');
    return output.includes('Geode listens on');
  }, 'the gateway');
  return child;
}

/** Shows a command as a person would type it, and runs it. */
async function show(...args: readonly string[]): Promise<void> {
  console.log(`$ geode ${args.join(' ')}`);
  console.log((await home.ok(args)).trimEnd());
}

function say(words: string): void {
  console.log(`\n# ${words}`);
}

function annWrites(text: string): void {
  console.log(`Ann: ${text}`);
  before = telegram.shown(ann).length;
  telegram.write(ann, text);
}

/** Prints what the bot says as it appears and grows, until it has answered with these words. */
async function bot(words: RegExp): Promise<string> {
  return await until(() => {
    const messages = telegram.messages.filter(({ chat }) => chat === ann);
    const texts = messages.map(({ text }) => text.replace(/\\(.)/g, '$1'));
    for (const [index, text] of texts.entries()) {
      if (text === printed[index]) continue;
      console.log(`${printed[index] === undefined ? 'Bot:' : 'Bot, same message:'} ${shortened(text)}`);
      printed[index] = text;
      const { buttons = [], file } = messages[index] ?? {};
      if (buttons.length > 0) console.log(`     ${buttons.map((button) => `[${button.text}]`).join(' ')}`);
      if (file !== undefined) console.log(`     (a file of ${file.bytes.length} bytes)`);
    }
    return texts.slice(before).findLast((text) => words.test(text));
  }, `the bot to say ${words}`);
}

function shortened(text: string): string {
  return text.length > 200 ? `${text.slice(0, 80)} … ${text.slice(-80)}` : text;
}

async function until<T>(look: () => T | undefined | false, what: string): Promise<T> {
  const last = Date.now() + mostWaitMs;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > last) throw new Error(`Waited in vain for ${what}`);
    await delay(50);
  }
}
