import { describe, expect, it } from 'vitest';
import type { Bench } from '../language-suite.ts';

const everyByte = Array.from({ length: 256 }, (_, index) => index);

/** RUN-2: files in, artifacts out. */
export function filesBehaviour({ harness, language, source, show }: Bench): void {
  describe('files', () => {
    it('RUN-2: reads input files of any name', async () => {
      const names = [
        'a b.txt',
        'ü世.txt',
        `it's "quoted".txt`,
        'two\nlines',
        '-dash',
        '$HOME',
        'dir/deep/x.txt',
      ];
      const files = Object.fromEntries(names.map((name, index) => [name, `content ${index}\n`]));
      const { stdout, stderr } = await show('cat', names, { files });
      expect(stderr).toBe('');
      expect(stdout).toBe(Object.values(files).join(''));
    });

    it('RUN-2: reads input bytes as they are', async () => {
      const { bytes } = await show('cat', ['all.bin'], { files: { 'all.bin': Buffer.from(everyByte) } });
      expect([...bytes.stdout]).toEqual(everyByte);
    });

    it('RUN-2: refuses an input outside of its folder, or in place of the code', async () => {
      for (const path of ['../x', '/etc/x', '', 'a/../../x']) {
        await expect(show('hello', [], { files: { [path]: '' } }), path).rejects.toMatchObject({
          code: 'invalid_path',
        });
      }
    });

    it('RUN-2 RUN-3: brings artifacts back, by name, by folder and by glob', async () => {
      const { artifacts, missedArtifacts } = await show('artifacts', [], {
        artifacts: ['dir', '*.txt', 'none.*'],
      });
      const found = Object.fromEntries(artifacts.map(({ path, bytes }) => [path, [...bytes]]));
      expect(found).toEqual({ 'dir/all.bin': everyByte, 'out.txt': [...Buffer.from('made')] });
      expect(missedArtifacts).toEqual([{ path: 'none.*', reason: 'nothing matches' }]);
    });

    it('RUN-2: never follows a link for an artifact', async () => {
      const wanted = ['link.txt', 'linked/passwd', 'linked', '*', '**', '../../etc/passwd', '/etc/passwd'];
      const { artifacts, missedArtifacts } = await show('links', [], { artifacts: wanted });
      for (const { path, bytes } of artifacts)
        expect(Buffer.from(bytes).toString(), path).not.toContain('root:');
      expect(artifacts.map(({ path }) => path)).toContain('plain.txt');
      expect(missedArtifacts.map(({ path }) => path)).toContain('link.txt');
    });

    it('RUN-2: starts in the requested folder', async () => {
      expect((await show('cwd', [], { cwd: 'sub/folder' })).stdout.trim()).toMatch(/\/sub\/folder$/);
    });

    it('RUN-8: finds no files of the earlier run', async () => {
      await show('artifacts');
      expect(await show('cat', ['out.txt'])).toMatchObject({ success: false, stdout: '' });
    });

    it('RUN-2: a cancel ends it, and nothing is left of it', async () => {
      const { runs, runtime } = harness();
      const stop = new AbortController();
      let id = '';
      const events = async () => {
        for await (const event of runs.stream(source(), language, { argv: ['loop'], signal: stop.signal })) {
          if (event.type === 'sandbox-ready') id = event.sandbox.id;
          if (event.type === 'stdout') stop.abort();
        }
      };
      await expect(events()).rejects.toMatchObject({ code: 'cancelled' });
      expect(await runtime.traces()).not.toContain(id);
    });
  });
}
