/** Plain words: no sentence that hides its subject, and one word for one thing in names, guides and screens. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));
const files = execFileSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' }).split('\n');
const read = (file: string) => readFileSync(`${root}/${file}`, 'utf8');

/** Openings and phrases that hide the subject of a sentence, or are out of date. */
const riddles = [
  /^(What|Who|Whom|Whoever|Whatever|Those|One that|One who|Of those|Of what|So far|Neither|Also what)\b(?!.*\?)/,
  /\b(meanwhile|anew|whoever|thereof|nobody's|somebody's)\b/i,
  /\b(is|are|was|were) told\b/i,
  /\b(who|what) (waits|asks|writes|reads|looks|calls|wants|comes|goes|holds|takes|gives|listens|speaks)\b/i,
  /\b(that|what) (is|was) no [a-z]+/i,
  /\bno more[.;,]|\bfor good\b|\bthe very\b|\bat the most\b/i,
  /\b(let in|good for once)\b/i,
];

describe('sentences', () => {
  it.each([
    ['// What may run for all that is known is not touched.', 1],
    ['/** Whoever asks memory next hears of anything else. */', 1],
    ['// If we cannot tell whether it runs, leave it alone.', 0],
    ["const text = 'what is no code';", 0],
  ])('%s has %i riddles', (line, count) => {
    expect(riddlesIn('src/a.ts', line)).toHaveLength(count);
  });

  it('no file has a riddle', () => {
    const found = files
      .filter(
        (file) => /\.(ts|tsx|go|md|mjs)$/.test(file) && !/^(CHANGELOG\.md|docs\/decisions\/)/.test(file),
      )
      .filter((file) => file !== 'test/plain-words.test.ts')
      .flatMap((file) => riddlesIn(file, read(file)));
    expect(found).toEqual([]);
  });
});

describe('glossary', () => {
  /** Words of names that need a legend, or say nothing, each with the word to use. */
  const instead: Readonly<Record<string, string>> = {
    beacon: 'notifier',
    bell: 'notifier',
    lull: 'idle gate',
    shelf: 'stock',
    holdings: 'attached sandboxes',
    frost: 'freezer',
    vital: 'liveness',
    happening: 'event',
    census: 'list',
    daemon: 'guest or host',
    box: 'sandbox',
    utils: 'the name of the thing',
    helpers: 'the name of the thing',
    helper: 'the name of the thing',
    manager: 'the name of the thing',
    info: 'facts or status',
  };

  it('holds in names of files and exported symbols', () => {
    const sources = files.filter((file) => /^src\/.*\.ts$/.test(file));
    const exported = /^export (?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm;
    const names = sources.flatMap((file) => [
      ...file.replace(/\.ts$/, '').split('/'),
      ...[...read(file).matchAll(exported)].map((match) => match[1] ?? ''),
    ]);
    const wrong = names.flatMap((name) =>
      wordsOf(name)
        .filter((word) => Object.hasOwn(instead, word))
        .map((word) => `${name}: use ${instead[word]}, not ${word}`),
    );
    expect(wrong).toEqual([]);
  });

  it('holds in guides and on screens: a sandbox is no container or box, a guest no daemon', () => {
    const shown = files.filter((file) => /^(docs\/[\w-]+\.md|dashboard\/src\/text\.ts)$/.test(file));
    expect(shown.length).toBeGreaterThan(20);
    const wrong = shown.flatMap((file) =>
      (
        read(file).match(
          /\b(sandbox(es)? containers?|sealed (box|cell)|guest (agent|daemon)|context hub)\b/gi,
        ) ?? []
      ).map((found) => `${file}: ${found}`),
    );
    expect(wrong).toEqual([]);
  });
});

function wordsOf(name: string): readonly string[] {
  return name.split(/[-_.]|(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase());
}

/** The comments of a source file, or the lines of a guide, that match a riddle. */
function riddlesIn(file: string, text: string): readonly string[] {
  return text.split('\n').flatMap((line, index) => {
    const prose = file.endsWith('.md')
      ? line.replace(/^[\s>*#|-]+/, '')
      : (/(?:^\s*(?:\/\/|\/?\*+)\s?|\s\/\/ )(.*)$/.exec(line)?.[1] ?? '').replace(/\*\/\s*$/, '').trim();
    return riddles.some((riddle) => riddle.test(prose)) ? [`${file}:${index + 1}: ${prose}`] : [];
  });
}
