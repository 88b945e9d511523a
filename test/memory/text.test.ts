import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scrub } from '../../src/base/scrub.ts';
import { withoutSecrets } from '../../src/base/secret-shapes.ts';
import { words } from '../../src/base/words.ts';
import { openKeys } from '../../src/identity/keys.ts';
import { chunks } from '../../src/memory/text/chunks.ts';
import { errorSignatures } from '../../src/memory/text/error-signature.ts';
import { temporaryFolder } from '../temporary-folder.ts';

describe('words', () => {
  it.each([
    ['The parseHttpHeader function', ['pars', 'http', 'header', 'parsehttpheader', 'function']],
    ['MAX_SIZE of XMLHttpRequest', ['max', 'size', 'max_size', 'xml', 'http', 'request', 'xmlhttprequest']],
    ['error E0382', ['error', 'e', '0382', 'e0382']],
    ['Naïve café, studies running', ['naiv', 'cafe', 'studi', 'run']],
    ['日本語 text', ['日本', '本語', 'text']],
    ['what is the', []],
  ])('of %j', (text, expected) => {
    expect(words(text)).toEqual(expected);
  });

  it('contain no white space, for random texts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        for (const word of words(text)) expect(word).not.toMatch(/\s/);
      }),
    );
  });
});

describe('chunks', () => {
  it('keep short text whole and split long text at paragraphs and sentences', () => {
    expect(chunks('short', 100)).toEqual(['short']);
    const text = `${'First part. '.repeat(8)}\n\n${'Second part. '.repeat(8)}`;
    expect(chunks(text, 150)[0]).toBe('First part. '.repeat(8).trim());
  });

  it('contain every character of the text, are never too long, and split no surrogate pair', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 400 }),
        fc.integer({ min: 10, max: 80 }),
        (text, length) => {
          const pieces = chunks(text, length);
          for (const piece of pieces) {
            expect(piece.length).toBeLessThanOrEqual(length);
            expect(piece.isWellFormed()).toBe(true);
          }
          const joined = new Set(pieces.join('').replace(/\s/g, ''));
          for (const character of text.replace(/\s/g, ''))
            expect(joined.has(character) || joined.has(character[0] ?? '')).toBe(true);
        },
      ),
    );
  });
});

describe('error signatures', () => {
  it.each([
    [
      "TypeError: Cannot read properties of undefined (reading 'x')\n    at /a/b.js:1:2",
      ["TypeError: Cannot read properties of undefined (reading 'x')"],
    ],
    ['Error: ENOENT: no such file, open /tmp/a1/b.txt', ['Error: ENOENT: no such file, open <path>']],
    [
      'error[E0382]: use of moved value: `v` at src/main.rs:10',
      ['error[E<n>]: use of moved value: `v` at <path>:<n>'],
    ],
    ['panic: index out of range [5] with length 3', ['panic: index out of range [<n>] with length <n>']],
    ['All is well: no error here', []],
  ])('of %j', (text, expected) => {
    expect(errorSignatures(text)).toEqual(expected);
  });

  it('are the same with other paths and numbers', () => {
    const here = errorSignatures('ValueError: bad row 17 in /home/a/data-1.csv');
    expect(here).toEqual(errorSignatures('ValueError: bad row 4021 in /srv/b/c/data-77.csv'));
    expect(here).toHaveLength(1);
  });
});

describe('secrets', () => {
  it.each([
    `geode_${'a1'.repeat(6)}_${'b2-'.repeat(14)}_`,
    `ghp_${'a'.repeat(36)}`,
    `github_pat_${'a1'.repeat(20)}`,
    `sk-proj-${'aB3_'.repeat(10)}`,
    `AKIA${'A1B2'.repeat(4)}`,
    `xoxb-${'1234567890-'.repeat(2)}abc`,
    `sk_live_${'a1B2'.repeat(6)}`,
    `AIza${'a1B2c'.repeat(7)}`,
    `npm_${'a1B2'.repeat(9)}`,
    `hf_${'a1B2'.repeat(9)}`,
    `123456789:${'aB3_x'.repeat(7)}`,
    `eyJ${'a1'.repeat(8)}.eyJ${'b2'.repeat(8)}.${'c3'.repeat(8)}`,
    '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----',
    'postgres://bob:s3cr3tpass@db/x',
    'Authorization: Bearer abcdefgh12345678',
    'API_KEY="abcdefgh12345678"',
  ])('are removed: %j', (secret) => {
    const { text, count } = scrub(`before ${secret} after`);
    expect(count).toBeGreaterThan(0);
    expect(text).toMatch(/^before .*removed\].* after$/s);
  });

  it.each([
    ['postgres://bob:s3cr3tpass@db/x', 'postgres://bob:[redacted]@db/x'],
    ['Authorization: Bearer abcdefgh12345678', 'Authorization: Bearer [redacted]'],
    ['http://localhost:8080/a@b', 'http://localhost:8080/a@b'],
  ])('withoutSecrets turns the log line %j into %j', (line, shown) => {
    expect(withoutSecrets(line, [])).toBe(shown);
  });

  it("Geode's own keys are removed, wherever they stand (MEM-8, SEC-1)", () => {
    using folder = temporaryFolder();
    using keys = openKeys(`${folder.path}/keys.db`);
    for (let i = 0; i < 50; i += 1) {
      const { secret } = keys.create({ user: 'alice', scopes: ['memory:read'] });
      const { text, count } = scrub(`GEODE_KEY=${secret}; old_${secret}, https://x.test/?key=${secret}`);
      expect(count).toBe(3);
      expect(text).not.toContain(secret.slice(-20));
    }
    expect(scrub('geode_memory_search_results_by_category').count).toBe(0);
  });

  it('are removed by a known value, also in its encoded forms', () => {
    const value = 'p@ss word/42';
    const { text, count } = scrub(
      `${value} ${encodeURIComponent(value)} ${Buffer.from(value).toString('base64')}`,
      [value],
    );
    expect(count).toBe(3);
    expect(text).not.toMatch(/p@ss|p%40|cEBzcy/);
  });

  it.each([
    'The password is checked by the server',
    'const token = next();',
    'ask for a secret: see docs',
    'sk-learn and task-based work',
  ])('are not found in the harmless text %j', (text) => {
    expect(scrub(text, ['x', ''])).toEqual({ text, count: 0 });
  });
});
