import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nativeRuntime } from '../../src/runtimes/native/native.ts';
import { fixtureText, openHarness } from '../contracts/harness.ts';

/** Where nothing but the guest's own care keeps a file tool inside: natively the sandbox sees all of the host. */
it('SH-4: links swapped in while file tools check and open never lead them out', async () => {
  const harness = await openHarness(nativeRuntime);
  try {
    const sandbox = await harness.open();
    const outside = join(harness.options.stateDir, '..', 'outside');
    mkdirSync(join(outside, 'most'), { recursive: true });
    writeFileSync(join(outside, 'secret'), "the host's own words");
    const racer = await sandbox.spawn({
      argv: ['python3', '-c', await fixtureText('swap-links.py'), sandbox.workdir, outside],
      interactive: true,
      timeoutMs: null,
    });
    const words = racer[Symbol.asyncIterator]();
    const nextWord = async () => {
      for (;;) {
        const { value, done } = await words.next();
        if (done) throw new Error('the racer has ended');
        if (value.type === 'stdout') return Buffer.from(value.bytes).toString().trim();
        if (value.type === 'stderr') throw new Error(Buffer.from(value.bytes).toString());
      }
    };
    expect(await nextWord()).toBe('ready');
    const { files } = sandbox;
    const paths = ['door/secret', 'door/inner/secret', 'file'];
    const tally = { read: 0, refused: 0 };
    const attempt = async (work: Promise<string | undefined>) => {
      const text = await work.catch(({ code }) => {
        expect(code).toMatch(
          /^(invalid_path|file_refused|file_not_found|not_a_file|not_a_folder|file_exists)$/,
        );
        tally.refused += 1;
        return undefined;
      });
      if (text === undefined) return;
      tally.read += 1;
      expect(text).not.toContain("the host's own words");
    };
    // On a busy machine the racer may stand still for a while: the attempts go on until both outcomes were seen.
    const isSettled = () => tally.read > 0 && tally.refused > 0;
    for (let round = 0; round < 150 || (!isSettled() && round < 10_000); round += 1) {
      await Promise.all(
        paths.flatMap((path) => [
          attempt(files.readText(path)),
          attempt(files.write(path, 'own').then(() => undefined)),
          attempt(files.write(`door/most/${round}`, 'new').then(() => undefined)),
          attempt(files.chmod(path, 0o600).then(() => undefined)),
        ]),
      );
    }
    await racer.write('\n');
    expect(Number(await nextWord())).toBeGreaterThan(0);
    expect(tally.read).toBeGreaterThan(0);
    expect(tally.refused).toBeGreaterThan(0);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe("the host's own words");
    expect(readdirSync(outside, { recursive: true }).sort()).toEqual(['most', 'secret']);
  } finally {
    await harness.close();
  }
});
